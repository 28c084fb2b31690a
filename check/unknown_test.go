//go:build unix

package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
)

// TestInspector_Lying_unknown: where it is not known what lay about, nothing that is not committed is taken for the work.
func TestInspector_Lying_unknown(t *testing.T) {
	for name, x := range map[string]struct {
		before, after string
		notes         func(t *testing.T, dir string) // what happens to the notes
		unknown       bool
		left, more    int
	}{
		"many files": {
			before: "mkdir many; i=0; while [ $i -lt 5100 ]; do : > many/$i; i=$((i+1)); done", after: "echo a > many/new; echo b > many/5099",
			left: 20, more: 5080,
		},
		"no note":                {before: "echo a > mine", after: "echo b > new", notes: func(t *testing.T, dir string) { remove(t, dir, "*") }, unknown: true, left: 2},
		"no note of the files":   {before: "echo a > mine", after: "echo b > new", notes: func(t *testing.T, dir string) { remove(t, dir, "loose") }, unknown: true, left: 2},
		"half a note":            {before: "echo a > mine", after: "echo b > new", notes: halve, unknown: true, left: 2},
		"nothing is uncommitted": {after: "echo b > new; git add new; git commit -qm new", notes: func(t *testing.T, dir string) { remove(t, dir, "*") }},
	} {
		t.Run(name, func(t *testing.T) {
			repo, notes := newRepo(t), t.TempDir()
			sh := func(script string) {
				t.Helper()
				cmd := exec.Command("sh", "-ec", script)
				cmd.Dir, cmd.Env = repo.Root, append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", script, err, out)
				}
			}
			i := &check.Inspector{Dir: repo.Root, Common: repo.Common, Notes: notes, InForce: func(string) (*check.Check, string, error) { return nil, "", nil }}
			h := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "k7f2q"}
			w := board.Work{Task: h.Task, Worker: "otter", First: h, Claim: h}
			sh("true; " + x.before)
			if err := i.Begin(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			if x.notes != nil {
				x.notes(t, notes)
			}
			if noted := i.Noted(w); noted != (x.notes == nil) {
				t.Errorf("Noted = %v", noted)
			}
			sh(x.after)
			w.Place = i.Here(t.Context())
			got, err := i.Lying(t.Context(), w)
			if err != nil || got.Unknown != x.unknown || len(got.LeftOut) != x.left || got.More != x.more {
				t.Errorf("Lying = %+v, %v; want %d files and %d more, unknown %v", got, err, x.left, x.more, x.unknown)
			}
		})
	}
}

// remove deletes notes.
func remove(t *testing.T, dir, kind string) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(dir, "*", kind, "*"))
	if len(found) == 0 {
		t.Fatal("there are no such notes")
	}
	for _, path := range found {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// halve leaves the half of notes, as a full disk does.
func halve(t *testing.T, dir string) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(dir, "*", "loose", "*"))
	for _, path := range found {
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "mine") || os.Truncate(path, int64(len(text)-6)) != nil {
			t.Fatal(err)
		}
	}
}
