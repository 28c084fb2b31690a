package crew

import (
	"os/exec"
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
	for owner, want := range map[string]int{"p-1": 1, board.AnotherOwner: 0} {
		for _, at := range []board.Where{
			{Clone: repo.MakeCloneID(), Branch: "private"},
			{Clone: repo.MakeCloneID(), Head: git.Short(private), Worked: true},
		} {
			h := &board.Handout{}
			h.Task.ID = task
			h.Claim.Handle = board.Handle{Task: task, Attempt: 2, Nonce: "bbbbb"}
			h.Attempts = []board.Attempt{{Handle: board.Handle{Task: task, Attempt: 1, Nonce: "aaaaa"}, Owner: owner, Where: at}}
			if list, err := s.states(t.Context(), h); err != nil || len(list) != want {
				t.Errorf("owner %q, %+v: states = %v, %v; want %d", owner, at, list, err, want)
			}
		}
	}
}
