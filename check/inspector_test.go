//go:build unix

package check_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
)

// TestInspector_notes: what the repository had at the first hand-out is noted outside the
// repository. Without that note nobody knows that a commit is new, so it is not seen.
func TestInspector_notes(t *testing.T) {
	repo := newRepo(t)
	state := filepath.Join(t.TempDir(), "work")
	i := &check.Inspector{Dir: repo.Root, Common: repo.Common, Notes: state}
	first := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "k7f2q"}
	w := board.Work{Task: first.Task, Worker: "otter", First: first, Claim: first, Since: time.Now()}
	if err := i.Begin(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	kept, _ := os.ReadDir(filepath.Join(repo.Common, "bossman"))
	if len(kept) != 1 || kept[0].Name() != "clone" {
		t.Errorf("there is a note in the repository: %v", kept)
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
	other.Claim = other.First
	verify("the worker's next task", other, false, "") // web-2 was never handed out here
	other.Worker = "lynx"
	verify("another worker", other, false, `evidence of "web-1"`)
	late := w
	late.First.Nonce, late.Claim.Nonce = "aaaaa", "aaaaa"
	if err := i.Begin(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	verify("a task that came later", late, false, "it existed when the task was first handed out")
	late.Since = time.Now().Add(time.Hour)
	late.First.Nonce, late.Claim.Nonce = "bbbbb", "bbbbb"
	verify("by its own time", late, false, "before the task was first handed out")
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	verify("without the note", w, false, "")
}

// TestInspector_End_stored: accepted work that was stored as a commit, which no branch had yet, is
// known once a branch has it.
func TestInspector_End_stored(t *testing.T) {
	repo := newRepo(t)
	i := &check.Inspector{Dir: repo.Root, Common: repo.Common, Notes: t.TempDir()}
	work := func(no int64, worker string) board.Work {
		h := board.Handle{Task: board.ID{Project: "web", No: no}, Attempt: 1, Nonce: "k7f2q"}
		w := board.Work{Task: h.Task, Worker: worker, First: h, Claim: h, Since: time.Now(), Place: i.Here(t.Context())}
		if err := i.Begin(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		return w
	}
	w, other := work(1, "otter"), work(2, "lynx")
	cmd := exec.Command("sh", "-ec", `echo two > one && git add one
		git -c user.name=Ada -c user.email=a@b commit-tree -p HEAD -m two $(git write-tree)`)
	cmd.Dir = repo.Root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	stored := strings.TrimSpace(string(out))
	w.Place.Head = git.Short(stored)
	i.End(t.Context(), w, nil)
	cmd = exec.Command("git", "branch", "theirs", stored)
	cmd.Dir = repo.Root
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	other.Place.Branch, other.Place.Head, other.Place.Named = "theirs", "", true
	_, _, err = i.Verify(t.Context(), other, nil)
	if e, ok := errors.AsType[*board.PlaceError](err); !ok || !strings.Contains(e.Why, `accepted commit of "web-1"`) {
		t.Errorf("for web-2: %v", err)
	}
}

// TestInspector_clock: the clock of the board may be ahead: a commit must be newer than the
// hand-out by the clock of this machine. One that was dropped before the hand-out is not.
func TestInspector_clock(t *testing.T) {
	repo := newRepo(t)
	i := &check.Inspector{Dir: repo.Root, Common: repo.Common, Notes: filepath.Join(t.TempDir(), "work")}
	first := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "k7f2q"}
	w := board.Work{Task: first.Task, Worker: "otter", First: first, Claim: first, Since: time.Now().Add(3 * time.Hour)}
	drop := exec.Command("sh", "-ec", "echo 0 > one && GIT_COMMITTER_DATE="+time.Now().Add(-10*time.Minute).Format(time.RFC3339)+
		" git -c user.name=Ada -c user.email=a@b commit -qam old && git rev-parse HEAD && git reset -q --hard HEAD~1")
	drop.Dir = repo.Root
	old, err := drop.Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OLD", strings.TrimSpace(string(old)))
	if err := i.Begin(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	const commit = "git -c user.name=Ada -c user.email=a@b commit -qam"
	const there = "git clone -q . ../there && cd ../there && echo x > one && "
	const here = " && cd - >/dev/null && git pull -q --no-rebase --ff ../there HEAD && rm -rf ../there"
	back := "GIT_COMMITTER_DATE=" + time.Now().Add(-10*time.Minute).Format(time.RFC3339) + " "
	for _, c := range []struct{ what, run, fault string }{
		{"the board is ahead", "echo 1 > one && " + commit + " one", ""},
		{"brought back", "git reset -q --hard \"$OLD\"", "it existed when the task was first handed out"},
		{"new again", "echo 2 > one && " + commit + " two", ""},
		{"pulled, new", there + commit + " three" + here, ""},
		{"pulled, old", "git reset -q --hard HEAD~1 && " + there + back + commit + " four" + here, "before the task was first handed out"},
	} {
		cmd := exec.Command("sh", "-ec", c.run+" && git rev-parse HEAD")
		cmd.Dir = repo.Root
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(c.what, err)
		}
		w.Place = i.Here(t.Context())
		_, faults, err := i.Verify(t.Context(), w, []board.Evidence{{Kind: board.EvidenceCommit, Ref: strings.TrimSpace(string(out))}})
		if text := strings.Join(faults, " "); err != nil || !strings.Contains(text, c.fault) || (c.fault == "") != (text == "") {
			t.Errorf("%s: faults %q, %v; want %q", c.what, text, err, c.fault)
		}
	}
}

// TestInspector_file: a file of the worktree is found by its path from the root, also through a
// link to the worktree, and a file elsewhere is not.
func TestInspector_file(t *testing.T) {
	repo := newRepo(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(repo.Root, link); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "one")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	i := &check.Inspector{Dir: repo.Root, Common: repo.Common, Notes: t.TempDir()}
	w := board.Work{Place: i.Here(t.Context())}
	for path, want := range map[string]bool{
		"one": true, filepath.Join(repo.Root, "one"): true, filepath.Join(link, "one"): true,
		outside: false, filepath.Join(link, "two"): false, filepath.Join(link, "..", "link", ".git"): false,
	} {
		seen, faults, err := i.Verify(t.Context(), w, []board.Evidence{{Kind: board.EvidenceFile, Ref: path}})
		if err != nil || len(seen) == 1 != want || len(faults) == 0 != want {
			t.Errorf("%s: seen %v, faults %q, %v; want it seen: %v", path, seen, faults, err, want)
		}
	}
}

// TestInspector_linkOut: evidence behind a symbolic link that leads out of the worktree is refused, and
// the agent is told that it is because of the link.
func TestInspector_linkOut(t *testing.T) {
	repo := newRepo(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "one"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	up, err := filepath.Rel(repo.Root, outside)
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"file": filepath.Join(outside, "one"), "dir": up, "dangling": "two"} {
		if err := os.Symlink(to, filepath.Join(repo.Root, name)); err != nil {
			t.Fatal(err)
		}
	}
	i := &check.Inspector{Dir: repo.Root, Common: repo.Common, Notes: t.TempDir()}
	w := board.Work{Place: i.Here(t.Context())}
	for path, want := range map[string]string{"file": "symbolic link", "dir": "symbolic link", "dir/one": "symbolic link", "dangling": "There is no file"} {
		seen, faults, err := i.Verify(t.Context(), w, []board.Evidence{{Kind: board.EvidenceFile, Ref: path}})
		if err != nil || len(seen) > 0 || !strings.Contains(strings.Join(faults, " "), want) {
			t.Errorf("%s: seen %v, faults %q, %v; want %q", path, seen, faults, err, want)
		}
	}
}

// TestInspector_oldFile: a file that git ignores is evidence, and a reviewer is told that it is in
// no commit, and may be older than the task; and so is one that has not changed.
func TestInspector_oldFile(t *testing.T) {
	repo := newRepo(t)
	i := &check.Inspector{Dir: repo.Root, Common: repo.Common, Notes: t.TempDir()}
	sh := func(script string) {
		t.Helper()
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = repo.Root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	sh(`printf 'out/\n*.log\n' > .gitignore && mkdir -p out/deep mixed && touch -t 202001010000 out/left out/deep/left old.log mixed/a.log
		touch mixed/kept forced.log loose && git add -f .gitignore mixed/kept forced.log && ln -s out/deep link && ln -s out/left aimed
		git -c user.name=Ada -c user.email=a@b commit -qm ignore`)
	first := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "k7f2q"}
	w := board.Work{Task: first.Task, Worker: "otter", First: first, Claim: first, Since: time.Now(), Place: i.Here(t.Context())}
	if err := i.Begin(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	sh("touch out/new; echo more >> one")
	const same = "it is as it was when the task was first handed out"
	const ignored = "git ignores it; it is in no commit"
	const older = ignored + "; it was last written before the task was first handed out"
	for path, want := range map[string]string{
		"one": "", "loose": "", "forced.log": same, "mixed": same, "mixed/kept": same,
		"out": ignored, "out/deep": ignored, "out/new": ignored,
		"out/left": older, "mixed/a.log": older, "old.log": older, "link/left": older, "aimed": older,
	} {
		seen, faults, err := i.Verify(t.Context(), w, []board.Evidence{{Kind: board.EvidenceFile, Ref: path}})
		if err != nil || len(faults) > 0 || len(seen) != 1 || seen[0].Detail != want {
			t.Errorf("%s: seen %+v, faults %q, %v; want the detail %q", path, seen, faults, err, want)
		}
	}
}

// TestInspector_gitDirectory: a worktree whose git directory is not among those of the repository is
// not looked at. Whoever works in it could configure what git runs.
func TestInspector_gitDirectory(t *testing.T) {
	repo := newRepo(t)
	dir := filepath.Join(t.TempDir(), "slot")
	cmd := exec.Command("sh", "-ec", `git worktree add -q -b slot "$1" && cd "$1" && cp -R "$(git rev-parse --absolute-git-dir)" own && echo "$2" > own/commondir && echo gitdir: own > .git`, "sh", dir, repo.Common)
	cmd.Dir = repo.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	first := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "k7f2q"}
	w := board.Work{Task: first.Task, Worker: "otter", First: first, Claim: first, Since: time.Now()}
	i := &check.Inspector{Dir: dir, Common: repo.Common, Notes: filepath.Join(t.TempDir(), "work")}
	if err := i.Begin(t.Context(), w); err == nil {
		t.Error("a worktree with a git directory of its own is looked at")
	}
	i.Dir = repo.Root
	w.Place = i.Here(t.Context())
	w.Place.Dir = dir
	if at, err := i.Place(t.Context(), w, ""); err == nil {
		t.Errorf("Place = %+v, want an error", at)
	}
}
