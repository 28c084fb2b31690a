package land

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
)

// A moduleYard is a yard with a submodule, lib. Its check runs the script lib/test.
type moduleYard struct {
	*yard
	lib string
}

func newModuleYard(t *testing.T) moduleYard {
	t.Helper()
	y := moduleYard{newYard(t, "if test -f lib/test; then sh lib/test; fi", map[string]string{"n": "v1\n"}), filepath.Join(t.TempDir(), "lib")}
	y.git("init", "-q", "-b", "main", y.lib)
	y.change("true")
	y.git("-C", y.dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", y.lib, "lib")
	y.git("-C", y.dir, "commit", "-qm", "lib")
	y.git("-C", y.dir, "branch", "-f", "next")
	return y
}

// change makes a new commit of the submodule's own repository, with another script, and returns it.
func (y moduleYard) change(script string) string {
	y.Helper()
	if err := os.WriteFile(filepath.Join(y.lib, "test"), []byte(script+"\n"), 0o666); err != nil {
		y.Fatal(err)
	}
	y.git("-C", y.lib, "add", "test")
	y.git("-C", y.lib, "commit", "-qm", script)
	return y.git("-C", y.lib, "rev-parse", "HEAD")
}

// bump reports a task whose work is another commit of the submodule.
func (y moduleYard) bump(commit string) board.ID {
	y.Helper()
	at := filepath.Join(y.TempDir(), "w")
	y.git("-C", y.dir, "worktree", "add", "-q", "--detach", at, "next")
	y.git("-C", at, "update-index", "--cacheinfo", "160000,"+commit+",lib")
	y.git("-C", at, "commit", "-qm", "bump")
	return y.task("bump", y.git("-C", at, "rev-parse", "HEAD"), map[string]string{"bumped": commit + "\n"})
}

// TestLand_submodule: a checkout that empties a submodule makes the setup run again, though nothing of what that depends on has
// changed.
func TestLand_submodule(t *testing.T) {
	y := newModuleYard(t)
	runs := filepath.Join(t.TempDir(), "runs")
	y.o.Setup = func() (command, when []string, err error) {
		return check.Shell("echo run >> " + runs + "; git -c protocol.file.allow=always submodule --quiet update --init"), []string{".gitmodules"}, nil
	}
	l := New(&y.o)
	land := func() {
		t.Helper()
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	count := func(want int) {
		t.Helper()
		text, err := os.ReadFile(runs)
		if got := strings.Count(string(text), "\n"); err != nil || got != want {
			t.Errorf("the setup has run %d times, %v, not %d", got, err, want)
		}
	}
	first := y.task("first", "next", map[string]string{"a": "1\n"})
	land()
	y.status(first, board.Done)
	count(1)
	second := y.task("second", "next", map[string]string{"b": "1\n"})
	land()
	y.status(second, board.Done)
	count(1)

	bump := y.bump(y.change("grep -q v1 n"))
	land()
	y.status(bump, board.Done)
	count(2)
	together := y.task("together", "next", map[string]string{"n": "v2\n"})
	land()
	y.status(together, board.Pending)
	y.has("n", "v1")

	// A commit that was not pushed cannot be checked out, and what git says about it is shown.
	missing := strings.Repeat("1", 40)
	y.bump(missing) // reports what came back
	y.events = nil
	land()
	y.status(together, board.Landing)
	if !slices.ContainsFunc(y.events, func(e Event) bool { return strings.Contains(e.Text, missing) }) {
		t.Errorf("it says %+v, without commit %s", y.events, missing)
	}
}

// TestLand_submoduleUnseen: work does not land without a submodule that belongs to it and was not there to be judged.
func TestLand_submoduleUnseen(t *testing.T) {
	y := newModuleYard(t)
	id := y.task("one", "next", map[string]string{"n": "v2\n"})
	stopped := func(want string) {
		t.Helper()
		y.events = nil
		y.land()
		y.status(id, board.Landing)
		if !slices.ContainsFunc(y.events, func(e Event) bool { return strings.Contains(e.Text, want) }) {
			t.Errorf("it says %+v, not %q", y.events, want)
		}
	}
	// It is initialized in the clone: whoever works with it has it.
	stopped(`submodule "lib" is not checked out in `)
	stopped(`[work] setup = "git submodule update --init"`)
	stopped(`git config submodule.lib.update none`)

	// Neither does a setup help that leaves it as it is, nor what was judged without it.
	y.o.Setup = func() (command, when []string, err error) { return check.Shell("true"), nil, nil }
	stopped(`submodule "lib" is not checked out in `)
	y.git("-C", y.dir, "config", "submodule.lib.update", "none")
	y.land()
	y.status(id, board.Done)

	// Where nobody has it, only another commit of it counts.
	y.git("-C", y.dir, "config", "--remove-section", "submodule.lib")
	other := y.task("other", "next", map[string]string{"a": "1\n"})
	y.land()
	y.status(other, board.Done)
	id = y.bump(y.change("false"))
	stopped(`submodule "lib" is not checked out in `)

	// A check may check it out itself, and decides then.
	y.o.Check = func() (*check.Check, error) {
		return &check.Check{Name: "tests", Command: check.Shell("git -c protocol.file.allow=always submodule --quiet update --init && test -f lib/test")}, nil
	}
	y.land()
	y.status(id, board.Done)
}

// A repository in the work that .gitmodules does not name is no submodule: no clone would get its files.
func TestLand_unnamedLink(t *testing.T) {
	y := newYard(t, "true", map[string]string{"n": "v1\n"})
	commit := y.git("-C", y.dir, "rev-parse", "next")
	at := filepath.Join(t.TempDir(), "w")
	y.git("-C", y.dir, "worktree", "add", "-q", "--detach", at, "next")
	y.git("-C", at, "update-index", "--add", "--cacheinfo", "160000,"+commit+",vendored")
	y.git("-C", at, "commit", "-qm", "vendored")
	id := y.task("vendored", y.git("-C", at, "rev-parse", "HEAD"), map[string]string{"n": "v2\n"})
	other := y.task("other", "next", map[string]string{"other": "1\n"})
	y.land()
	y.status(id, board.Landing)
	y.status(other, board.Done)
	line, err := y.board.Line(t.Context(), "web")
	if err != nil || len(line.Lander.Note.Waits) != 1 || !strings.Contains(line.Lander.Note.Waits[0].Why, `none of the files in "vendored"`) {
		t.Errorf("it waits: %+v, %v", line.Lander.Note, err)
	}
}
