package installcli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The suggested check follows from the files of a project, and never from their words.
func TestSuggestCheck(t *testing.T) {
	for _, tt := range []struct {
		files map[string]string
		want  string
	}{
		{nil, ""},
		{map[string]string{"go.mod": "module x"}, "go test ./..."},
		{map[string]string{"go.mod": "module x", "Makefile": "all:\n\ttrue\ntest: all\n\ttrue\n"}, "make test"},
		{map[string]string{"Makefile": "test:\n\ncheck: test\n"}, "make check"},
		{map[string]string{"Makefile": "test := x\ncheck:=y\n"}, ""},
		{map[string]string{"package.json": `{"scripts": {"test": "vitest"}}`}, "npm test"},
		{map[string]string{"package.json": `{"scripts": {"test": "vitest"}}`, "yarn.lock": ""}, "yarn run test"},
		{map[string]string{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`}, ""},
		{map[string]string{"package.json": `{"scripts": 1}`, "Cargo.toml": ""}, "cargo test"},
		{map[string]string{"package.json": "{", "uv.lock": "", "pyproject.toml": ""}, "uv run pytest"},
		{map[string]string{"pyproject.toml": ""}, "python -m pytest"},
	} {
		dir := t.TempDir()
		for name, text := range tt.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(suggestCheck(dir), " "); got != tt.want {
			t.Errorf("suggestCheck(%v) = %q, want %q", tt.files, got, tt.want)
		}
	}
	dir := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "Makefile")); err == nil && suggestCheck(dir) != nil {
		t.Error("a link is followed")
	}
}
