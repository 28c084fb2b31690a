//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package mcp_test

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bossman-dev/bossman/mcp"
)

// A child has its standard streams and nothing else of what this process has open. What
// this process has is not touched: it may be meant for others that it starts.
func TestCommand_descriptors(t *testing.T) {
	if _, err := os.Stat("/proc/self/fdinfo"); err != nil {
		t.Skip("without /proc a child cannot tell what it was started with")
	}
	var opened []int
	defer func() {
		for _, fd := range opened {
			_ = syscall.Close(fd)
		}
	}()
	for range 40 { // as whoever starts a program may leave them: not close-on-exec
		fd, err := syscall.Dup(2)
		if err != nil {
			t.Fatal(err)
		}
		opened = append(opened, fd)
	}
	for range 30 { // a gap
		_ = syscall.Close(opened[1])
		opened = slices.Delete(opened, 1, 2)
	}
	before, err := inheritable()
	if err != nil || len(before) < 3+len(opened) {
		t.Fatalf("this process has open %v, %v", before, err)
	}
	c := start(t, self("look"), mcp.ClientOptions{})
	files, err := mcp.CallAs[[]string](t.Context(), c, "files", nil, nil)
	if err != nil || strings.Join(files, " ") != "pipe pipe pipe" {
		t.Errorf("the child has open %v, %v; want three pipes", files, err)
	}
	if after, err := inheritable(); err != nil || !slices.Equal(after, before) {
		t.Errorf("what others would inherit was %v and is now %v, %v", before, after, err)
	}
}
