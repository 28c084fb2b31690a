package mcpcli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	f := files{dir: dir}
	for _, tt := range []struct{ name, mime, want string }{
		{"tool", "image/png", "tool.png"},
		{"tool", "image/png; q=1", "tool-2.png"},
		{"logo.png", "image/png", "logo.png"},
		{"../../etc/passwd", "application/x-sh", "etc-passwd.bin"},
		{"..", "", "file.bin"},
		{"a\x00\x1b/b", "audio/WAV", "a---b.wav"},
		{strings.Repeat("x", 500), "", strings.Repeat("x", maxName) + ".bin"},
	} {
		path, err := f.write(tt.name, tt.mime, []byte("x"))
		if err != nil || path != filepath.Join(dir, tt.want) {
			t.Errorf("write(%q) = %s, %v; want %s", tt.name, path, err, tt.want)
		}
	}
	// What is there stays, also behind a link.
	if err := os.Symlink("/nowhere/at/all", filepath.Join(dir, "link.bin")); err != nil {
		t.Fatal(err)
	}
	if path, err := f.write("link", "", []byte("x")); err != nil || filepath.Base(path) != "link-2.bin" {
		t.Errorf("write(link) = %s, %v", path, err)
	}
}
