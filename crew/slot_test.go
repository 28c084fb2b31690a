package crew

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/git"
)

// claimed is a board with a claim.
type claimed struct {
	Board
	claim board.Claim
}

func (b claimed) Claims(ctx context.Context, _ board.ClaimFilter) ([]board.Claim, error) {
	return []board.Claim{b.claim}, ctx.Err()
}

// newRepo makes a repository without a commit.
func newRepo(t *testing.T) (repo *git.Repo, dir string) {
	t.Helper()
	dir = t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	repo, err := git.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	return repo, dir
}

// TestRun_endedFirst: a run that is ended while it takes its slots has not failed, unlike one in a
// repository without a commit.
func TestRun_endedFirst(t *testing.T) {
	repo, dir := newRepo(t)
	r := New(&Options{Repo: repo, Board: claimed{}, State: t.TempDir(), Agents: []agent.Agent{nobody{}}})
	if err := r.Run(t.Context(), t.Context()); err == nil || !strings.Contains(err.Error(), "no commit yet") {
		t.Errorf("Run without a commit = %v, want an error", err)
	}
	commit := exec.Command("git", "-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one")
	if out, err := commit.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Run(ctx, ctx); err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
}

// TestSlot_busy: a slot's worktree is left alone while another worker works there, unless it has
// another key: that can say of any place that it works there.
func TestSlot_busy(t *testing.T) {
	repo, dir := newRepo(t)
	task := board.ID{Project: "web", No: 1}
	for by, want := range map[[2]string]string{{"local", "p-2"}: "web-1", {"local", board.AnotherOwner}: "", {"key:eve", "key:eve/p-2"}: ""} {
		for _, k := range []kept{{}, {Task: "web-1"}} {
			at := board.Where{Clone: repo.MakeCloneID(), Dir: dir + ".worktrees/slot-1"}
			s := &slot{dir: at.Dir, kept: k, seat: Seat{Actor: board.Actor{Owner: "p-1"}}}
			s.r = &Runner{o: Options{Repo: repo, Principal: "local", Board: claimed{claim: board.Claim{Handle: board.Handle{Task: task}, Worker: board.WorkerID{Principal: by[0]}, Owner: by[1], Where: at}}}}
			if got, err := s.busy(t.Context()); err != nil || got != want {
				t.Errorf("%q: busy = %q, %v; want %q", by, got, err, want)
			}
		}
	}
}
