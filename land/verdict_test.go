package land

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
)

// TestLand_ownVerdict: what a check has said elsewhere of the same files is not believed. A worktree of agents has files that
// git ignores, too. What the lander itself has found counts.
func TestLand_ownVerdict(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	line := "pwd >> " + log + "; ! test -f broken || test -f cache"
	y := newYard(t, line, map[string]string{".gitignore": "cache\n"})
	id := y.task("works only there", "main", map[string]string{"broken": "1\n"})
	slot := filepath.Join(t.TempDir(), "slot")
	queue, err := y.board.Line(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	y.git("-C", y.dir, "worktree", "add", "-q", "--detach", slot, queue.Queue[0].Tip.Commit)
	if err := os.WriteFile(filepath.Join(slot, "cache"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	tree, err := git.Find(slot)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := y.o.Check()
	run := y.o.Runner.Check(t.Context(), slot, tree, c, "web-1/1.aaaaa")
	<-run.Done()
	if v, _ := run.Wait(t.Context(), 0); v.Result != check.Green {
		t.Fatalf("in the worktree of an agent: %+v", v)
	}
	y.land()
	y.tells("red web-1")
	y.status(id, board.Pending)

	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	y.report("next", map[string]string{"a": "1\n"})
	y.land()
	y.task("takes it back", "next", map[string]string{"a": "2\n"})
	y.land()
	y.task("as it was", "next", map[string]string{"a": "1\n"})
	y.land()
	y.tells("landed web-1", "landed web-2", "landed web-3")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(text), strings.Repeat(y.o.Repo.Room()+"\n", 2); got != want {
		t.Errorf("the check ran in\n%s, want\n%s", got, want)
	}
}

// TestLand_setupAgain: the setup runs again for files that it was run for before, if others were prepared since then.
func TestLand_setupAgain(t *testing.T) {
	y := newYard(t, "! grep -q bad installed", map[string]string{".gitignore": "installed\n", "one": "good\n", "two": "good\n"})
	y.o.Setup = func() (command, when []string, err error) {
		return check.Shell("cat one two > installed"), []string{"one", "two"}, nil
	}
	y.task("good", "main", map[string]string{"one": "better\n"})
	id := y.task("bad", "main", map[string]string{"two": "bad\n"})
	y.land()
	y.tells("landed web-1", "red web-2")
	y.status(id, board.Pending)
}
