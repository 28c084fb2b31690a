//go:build unix

package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
)

// TestInspector_notes: what the repository had at the first hand-out is noted outside the
// repository. Without that note nobody knows that a commit is new, so it is not seen.
func TestInspector_notes(t *testing.T) {
	repo := newRepo(t)
	state := filepath.Join(t.TempDir(), "work")
	i := &check.Inspector{Dir: repo.Root, Common: repo.Common, Notes: state}
	first := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "k7f2q"}
	w := board.Work{Task: first.Task, Worker: "otter", First: first, Since: time.Now()}
	if err := i.Begin(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(repo.Common, "bossman")); err == nil {
		t.Error("there is a note in the repository")
	}
	cmd := exec.Command("sh", "-ec", "echo two > one && git -c user.name=Ada -c user.email=a@b commit -qam two && git rev-parse HEAD")
	cmd.Dir = repo.Root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	commit := []board.Evidence{{Kind: board.EvidenceCommit, Ref: strings.TrimSpace(string(out))}}
	w.Place = i.Here(t.Context())
	verify := func(what string, w board.Work, wantSeen bool, wantFault string) {
		t.Helper()
		seen, faults, err := i.Verify(t.Context(), w, commit)
		if err != nil || (len(seen) == 1) != wantSeen || !strings.Contains(strings.Join(faults, " "), wantFault) || (wantFault == "") != (len(faults) == 0) {
			t.Errorf("%s: seen %v, faults %q, %v; want seen %v, fault %q", what, seen, faults, err, wantSeen, wantFault)
		}
	}
	verify("a new commit", w, true, "")
	i.End(t.Context(), w, commit)
	verify("the same report again", w, true, "")
	other := w
	other.Task.No, other.First.Task.No = 2, 2
	verify("the worker's next task", other, false, "") // web-2 was never handed out here
	other.Worker = "lynx"
	verify("another worker", other, false, `evidence of "web-1"`)
	late := w
	late.First.Nonce = "aaaaa"
	if err := i.Begin(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	verify("a task that came later", late, false, "it existed when the task was first handed out")
	late.Since = time.Now().Add(time.Hour)
	late.First.Nonce = "bbbbb"
	verify("by its own time", late, false, "before the task was first handed out")
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	verify("without the note", w, false, "")
}
