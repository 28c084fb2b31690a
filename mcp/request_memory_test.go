package mcp

import (
	"testing"
	"unsafe"
)

// Every call has these.
func TestSizes(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the sizes are those of 64-bit machines")
	}
	if got := unsafe.Sizeof(Request{}); got > 256 {
		t.Errorf("a Request has %d bytes, want at most 256", got)
	}
	if got := unsafe.Sizeof(Call{}); got > 112 {
		t.Errorf("a Call has %d bytes, want at most 112", got)
	}
	if got := unsafe.Sizeof(requestMeta{}); got > 112 {
		t.Errorf("a requestMeta has %d bytes, want at most 112", got)
	}
}
