//go:build unix

package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// TestInstalled: a git that ignores the settings that turn filters off is not used.
func TestInstalled(t *testing.T) {
	r, dir := newRepo(t)
	for version, want := range map[string]bool{
		"2.32.0": true, "2.39.5": true, "2.50.1 (Apple Git-155)": true, "2.55.GIT": true, "3.0.0-rc1": true,
		"2.31.9": false, "1.8.3.1": false, "unknown": false,
	} {
		bin, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
		script := "#!/bin/sh\n[ \"$1\" = version ] && echo git version '" + version + "' && exit\ntouch " + ran + "\n"
		if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+":/usr/bin:/bin")
		_, old := errors.AsType[*git.OldError](git.Installed())
		_, err := r.Commit(t.Context(), "HEAD")
		_, none := os.Stat(ran)
		if old == want || (none == nil) != want {
			t.Errorf("%s in %s: too old: %v, it ran: %v, %v", version, dir, old, none == nil, err)
		}
	}
}

// TestCandidate_old: a git that cannot merge without a worktree is named as such.
func TestCandidate_old(t *testing.T) {
	r, dir := newRepo(t)
	main, real := commitOf(t, dir, "main"), sh(t, dir, "command -v git")
	bin := t.TempDir()
	script := "#!/bin/sh\n[ \"$1\" = version ] && echo git version 2.37.1 && exit\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	_, err := r.Candidate(t.Context(), git.Candidate{Target: main, Tip: main}, nil)
	if e, ok := errors.AsType[*git.OldError](err); !ok || e.Needs != "2.38" {
		t.Errorf("Candidate with git 2.37: %v", err)
	}
	if _, err := r.Commit(t.Context(), "HEAD"); err != nil {
		t.Errorf("Commit with git 2.37: %v", err)
	}
}
