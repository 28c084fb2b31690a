//go:build unix

package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOwnDir_command: the command that is advised names the directory as a shell reads it, and
// nothing in its name is run.
func TestOwnDir_command(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "web$(touch made).worktrees")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := OwnDir(dir); err == nil || !strings.HasSuffix(err.Error(), "run: chmod go-w '"+dir+"'") {
		t.Errorf("OwnDir = %v", err)
	}
}
