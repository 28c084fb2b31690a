//go:build unix

package check_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
)

// TestInspector_Store: the work of a report is a commit that stays, with all of its files, and what the
// target has to gain by it is known.
func TestInspector_Store(t *testing.T) {
	repo := newRepo(t)
	sh := func(script string) string {
		t.Helper()
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = repo.Root
		cmd.Env = append(cmd.Environ(), "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		return strings.TrimSpace(string(out))
	}
	main := sh("git symbolic-ref --short HEAD")
	base := sh("git rev-parse HEAD")
	i := &check.Inspector{Dir: repo.Root, Common: repo.Common, Notes: t.TempDir(), InForce: func(string) (*check.Check, string, error) { return nil, "", nil }}
	h := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "k7f2q"}
	if err := i.Begin(t.Context(), board.Work{Task: h.Task, First: h, Claim: h}); err != nil {
		t.Fatal(err)
	}
	store := func(tree string, change func(*board.Where)) (commit string, tip board.Tip, same bool) {
		t.Helper()
		w := board.Work{Task: h.Task, Worker: "otter", First: h, Claim: h, Place: i.Here(t.Context())}
		if change != nil {
			change(&w.Place)
		}
		commit, _, err := i.Store(t.Context(), w, tree, "The title", "What was done.")
		if err != nil {
			t.Fatal(err)
		}
		if kept := sh("git rev-parse refs/bossman/web-1/1"); kept != commit {
			t.Errorf("the ref keeps %s, want %s", kept, commit)
		}
		if tip, same, err = i.Tip(t.Context(), w, commit, main); err != nil {
			t.Fatal(err)
		}
		if tip.Commit != commit || tip.Tree != sh("git rev-parse "+commit+"^{tree}") {
			t.Errorf("the tip of %s is %+v", commit, tip)
		}
		return commit, tip, same
	}
	if commit, _, same := store("", nil); commit != base || !same {
		t.Errorf("nothing was done: %s, the same as the target: %v; want %s, true", commit, same, base)
	}
	sh("git switch -qc work && echo two > two && git add two && git commit -qm two")
	if commit, tip, same := store("", nil); commit != sh("git rev-parse work") || tip.Base != base || same {
		t.Errorf("a commit is stored as %s, %+v, %v", commit, tip, same)
	}
	tree := sh("git rev-parse work^{tree}")
	sh("echo three > three")
	commit, tip, same := store("", nil)
	if files := sh("git ls-tree --name-only " + commit); !strings.Contains(files, "three") || tip.Base != base || same || sh("git rev-parse "+commit+"^") != sh("git rev-parse work") {
		t.Errorf("files that are not committed are stored as %s with %q, %+v, %v", commit, files, tip, same)
	}
	if message := sh("git log -1 --format=%B " + commit); !strings.HasPrefix(message, "The title\n\nWhat was done.\n\nBossman-Task: web-1\nBossman-Attempt: 1\nBossman-Claim: web-1/1.k7f2q\n") {
		t.Errorf("its message is %q", message)
	}
	if status := sh("git status --porcelain"); status != "?? three" {
		t.Errorf("the worktree was changed: %q", status)
	}
	if commit, _, _ := store(tree, nil); commit != sh("git rev-parse work") {
		t.Errorf("what was judged is stored as %s, want the commit with that tree", commit)
	}
	sh("rm three && git switch -q -")
	if commit, _, same := store("", func(p *board.Where) { p.Branch, p.Head, p.Named = "work", "", true }); commit != sh("git rev-parse work") || same {
		t.Errorf("a branch that is checked out nowhere is stored as %s, %v", commit, same)
	}
	sh("git merge -q --squash work && git commit -qm landed")
	if _, _, same, err := tipOf(t, i, sh("git rev-parse work"), main); err != nil || !same {
		t.Errorf("what the target has in another form is the same: %v, %v", same, err)
	}
	if _, tip, same, err := tipOf(t, i, base, "nowhere"); err != nil || same || tip.Base != "" {
		t.Errorf("for a target that is not there: %+v, %v, %v", tip, same, err)
	}
	sh("git update-ref refs/remotes/origin/next " + base)
	if _, tip, _, err := tipOf(t, i, sh("git rev-parse work"), "origin/next"); err != nil || tip.Base != base {
		t.Errorf("for a target in a remote repository: %+v, %v", tip, err)
	}
	none := &check.Inspector{Dir: t.TempDir(), InForce: i.InForce}
	if commit, _, err := none.Store(t.Context(), board.Work{Task: h.Task, Claim: h, Place: board.Where{Dir: none.Dir}}, "", "t", "s"); err != nil || commit != "" {
		t.Errorf("outside git: %q, %v", commit, err)
	}
}

func tipOf(t *testing.T, i *check.Inspector, commit, land string) (string, board.Tip, bool, error) {
	t.Helper()
	tip, same, err := i.Tip(t.Context(), board.Work{}, commit, land)
	return commit, tip, same, err
}
