package crew

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// TestStates_another: work begins from what an attempt says that it left in this clone, unless that
// attempt was made with another key.
func TestStates_another(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("sh", "-ec", `git init -q -b main . && git config user.name Ada && git config user.email a@b && git commit -q --allow-empty -m one &&
git checkout -q -b private && echo x > x && git add x && git commit -qm x && git rev-parse HEAD && git checkout -q main`)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	private := strings.TrimSpace(string(out))
	repo, err := git.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &slot{r: &Runner{o: Options{Repo: repo}}}
	task := board.ID{Project: "web", No: 1}
	for by, want := range map[[2]string]int{{"local", "p-1"}: 1, {"local", board.AnotherOwner}: 0, {"key:eve", "key:eve/p-1"}: 0} {
		for _, at := range []board.Where{
			{Clone: repo.MakeCloneID(), Branch: "private"},
			{Clone: repo.MakeCloneID(), Head: git.Short(private), Worked: true},
		} {
			h := &board.Handout{}
			h.Task.ID = task
			h.Claim.Handle = board.Handle{Task: task, Attempt: 2, Nonce: "bbbbb"}
			h.Claim.Worker.Principal = "local"
			h.Attempts = []board.Attempt{{Handle: board.Handle{Task: task, Attempt: 1, Nonce: "aaaaa"}, Worker: board.WorkerID{Principal: by[0]}, Owner: by[1], Where: at}}
			if list, err := s.states(t.Context(), h, repo.Branch("main")); err != nil || len(list) != want {
				t.Errorf("%q, %+v: states = %v, %v; want %d", by, at, list, err, want)
			}
		}
	}
}

// TestStates_again: an attempt that is handed out again goes on with what is on its branch, unless
// more is stored.
func TestStates_again(t *testing.T) {
	dir := t.TempDir()
	run := func(script string) string {
		t.Helper()
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	tip := run(`git init -q -b main . && git config user.name Ada && git config user.email a@b && git commit -q --allow-empty -m one &&
git checkout -q -b bossman/web-1 && git commit -q --allow-empty -m two && git rev-parse HEAD && git checkout -q main`)
	repo, err := git.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &slot{r: &Runner{o: Options{Repo: repo}}}
	h := &board.Handout{}
	h.Task.ID = board.ID{Project: "web", No: 1}
	h.Claim.Handle = board.Handle{Task: h.Task.ID, Attempt: 1, Nonce: "aaaaa"}
	h.Attempts = []board.Attempt{{Handle: h.Claim.Handle, Owner: "p-1", Where: board.Where{Clone: repo.MakeCloneID(), Branch: "bossman/web-1"}}}
	want := func(commit, begins string) {
		t.Helper()
		if base, text, err := s.base(t.Context(), h); err != nil || base.commit != commit || !strings.Contains(text, begins) {
			t.Errorf("base = %+v, %q, %v; want %s, %s", base, text, err, commit, begins)
		}
	}
	want(tip, `branch "bossman/web-1", on which this attempt worked`)
	stored := run(`git commit-tree -p bossman/web-1 -m "three

Bossman-Claim: web-1/1.aaaaa" "bossman/web-1^{tree}"`)
	run("git update-ref refs/bossman/web-1/1 " + stored)
	want(stored, "the last state of this attempt")

	s.dir = filepath.Join(t.TempDir(), "slot-1")
	left := s.dir + asideInfix + "1"
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	s.kept.Aside = aside{"web-1/1.aaaaa", dir}
	if text := s.putAside(h); text != "" {
		t.Errorf("putAside of a strange directory = %q", text)
	}
	s.kept.Aside.Dir = left
	if text := s.putAside(h); !strings.Contains(text, left) {
		t.Errorf("putAside = %q, want %s", text, left)
	}
	h.Attempts[0].Nonce = "bbbbb" // of another board
	if text := s.putAside(h); text != "" {
		t.Errorf("putAside of another board = %q", text)
	}
}

// An elsewhere is a target whose repository has the states of another clone.
type elsewhere struct {
	repo   *git.Repo
	commit string
}

func (e elsewhere) Tip(context.Context) (string, error) { return e.repo.Branch("main"), nil }

func (e elsewhere) Fetch(ctx context.Context, ref, _ string) error {
	return e.repo.SetRef(ctx, ref, e.commit, "")
}

// TestStates_fetched: what an attempt in another clone has reported is fetched, unless a lander has done that, and the next one goes
// on with it, if it is what the board says.
func TestStates_fetched(t *testing.T) {
	for _, x := range []struct{ reported, here bool }{{reported: true}, {}, {reported: true, here: true}, {here: true}} {
		reported := x.reported
		repo, dir := newRepo(t)
		cmd := exec.Command("sh", "-ec", "git commit -q --allow-empty -m one && git commit-tree -m work -p HEAD HEAD^{tree}")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		commit := strings.TrimSpace(string(out))
		head, err := repo.Head()
		if err != nil {
			t.Fatal(err)
		}
		s := &slot{r: &Runner{o: Options{Repo: repo, Onto: elsewhere{repo, commit}}}}
		task := board.ID{Project: "web", No: 1}
		h := &board.Handout{}
		h.Task.ID = task
		h.Claim.Handle = board.Handle{Task: task, Attempt: 2, Nonce: "bbbbb"}
		at := board.Where{Clone: "another", Head: "0123456789ab", Worked: true}
		if reported {
			at.Head = git.Short(commit)
		}
		h.Attempts = []board.Attempt{{Handle: board.Handle{Task: task, Attempt: 1, Nonce: "aaaaa"}, Cause: board.CauseDone, Where: at}}
		if x.here {
			if err := repo.SetRef(t.Context(), refOf("web-1", 1), commit, ""); err != nil {
				t.Fatal(err)
			}
		}
		list, err := s.states(t.Context(), h, head.Commit)
		if err != nil || len(list) > 0 != reported || reported && list[0].commit != commit {
			t.Errorf("%+v: states = %v, %v", x, list, err)
		}
	}
}

// TestBase_missing: an agent is told if what the last attempt has reported is not in this clone.
func TestBase_missing(t *testing.T) {
	repo, dir := newRepo(t)
	cmd := exec.Command("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one")
	cmd.Dir = dir
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	s := &slot{r: &Runner{o: Options{Repo: repo}}}
	task := board.ID{Project: "web", No: 1}
	h := &board.Handout{}
	h.Task.ID, h.Task.Attempt = task, 2
	h.Claim.Handle = board.Handle{Task: task, Attempt: 2, Nonce: "bbbbb"}
	h.Attempts = []board.Attempt{{Handle: board.Handle{Task: task, Attempt: 1, Nonce: "aaaaa"}, Cause: board.CauseDone, Where: board.Where{Clone: "another", Host: "lb"}}}
	commit := strings.Repeat("1", 40)
	h.Doc.Result = &board.Result{Tip: board.Tip{Commit: commit, Tree: commit}}
	_, text, err := s.base(t.Context(), h)
	if want := "It does not have what attempt 1 reported, commit 111111111111, which is not in this clone: it is in one on \"lb\"."; err != nil || text != want {
		t.Errorf("base = %q, %v; want %q", text, err, want)
	}
}
