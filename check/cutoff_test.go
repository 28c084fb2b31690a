package check_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
)

// TestInspector_cutOff: where history is cut, a worker is told what to do about it.
func TestInspector_cutOff(t *testing.T) {
	origin := newRepo(t)
	dir := filepath.Join(t.TempDir(), "shallow")
	sh := func(script string) {
		t.Helper()
		cmd := exec.Command("sh", "-ec", "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"+script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	sh("cd " + origin.Root + "; echo 2 > one; git commit -qam two; git clone -q --depth 1 file://" + origin.Root + " " + dir)
	repo, err := git.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	i := &check.Inspector{Dir: dir, Common: repo.Common, Notes: t.TempDir(), InForce: func(string) (*check.Check, string, error) { return nil, "", nil }}
	h := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "k7f2q"}
	w := board.Work{Task: h.Task, Worker: "otter", First: h, Claim: h, Land: "origin/main"}
	if err := i.Begin(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	sh("cd " + dir + "; git switch -qc work; echo 1 > work; git add work; git commit -qm work; cd " + origin.Root + "; echo 3 > one; git commit -qam three; echo 4 > one; git commit -qam four; cd " + dir + "; git fetch -q --depth 1")
	w.Place = i.Here(t.Context())
	head, err := repo.Head()
	if err != nil {
		t.Fatal(err)
	}
	_, _, failed := i.Tip(t.Context(), w, head.Commit, "origin/main")
	_, _, elsewhere := i.Elsewhere(t.Context(), w, func(board.Where, board.Idle) bool { return false })
	_, _, evidence := i.Verify(t.Context(), w, []board.Evidence{{Kind: board.EvidenceCommit, Ref: head.Commit}})
	for name, err := range map[string]error{"Tip": failed, "Elsewhere": elsewhere, "Verify": evidence} {
		e, ok := errors.AsType[*board.PlaceError](err)
		if ok && (!strings.Contains(e.Why, "is shallow") || e.Next != "run git fetch --unshallow, and report again") || !ok && (err != nil || name == "Tip") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
