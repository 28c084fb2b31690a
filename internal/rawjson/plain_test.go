package rawjson_test

import (
	"bytes"
	"testing"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// Each byte is found at each place, whatever is around it.
func TestPlainPrefix(t *testing.T) {
	for size := range 100 {
		text := bytes.Repeat([]byte("x"), size)
		if got := rawjson.PlainPrefix(text); got != size {
			t.Fatalf("PlainPrefix of %d plain bytes = %d", size, got)
		}
		for i := range text {
			for c := range 256 {
				plain := c >= 0x20 && c < 0x80 && c != '"' && c != '\\'
				text[i] = byte(c)
				if got := rawjson.PlainPrefix(text); plain && got != size || !plain && got != i {
					t.Fatalf("PlainPrefix(%q) = %d", text, got)
				}
			}
			text[i] = 'x'
		}
	}
	for i := 1; i < 80; i++ { // the first one counts
		text := append(bytes.Repeat([]byte("x"), i), "\"\\\x00é\x7f"...)
		if got := rawjson.PlainPrefix(text); got != i {
			t.Fatalf("PlainPrefix(%q) = %d, want %d", text, got, i)
		}
	}
}
