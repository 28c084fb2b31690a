package land

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// size is how large a test is: the number in a variable, or what CI does.
func size(t *testing.T, variable string, small int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return small
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// A yard is a repository whose project lands its work on main.
type yard struct {
	*testing.T
	home, dir string
}

// newYard makes a repository with files, a check and other settings, which are trusted.
func newYard(t *testing.T, files map[string]string) *yard {
	t.Helper()
	y := &yard{T: t, dir: harness.Repository(t, "web")}
	y.home = filepath.Dir(y.dir)
	for name, text := range files {
		write(t, filepath.Join(y.dir, name), text)
	}
	y.git("config", "user.name", "Ada")
	y.git("config", "user.email", "ada@example.com")
	y.git("add", ".")
	y.git("commit", "-q", "-m", "files")
	y.run("trust", "--yes")
	return y
}

func (y *yard) git(args ...string) string {
	y.Helper()
	return harness.Git(y.T, y.dir, args...)
}

// run runs a command as a person would, and returns what it says.
func (y *yard) run(args ...string) string {
	y.Helper()
	cmd := harness.Command(y.Context(), y.home, append([]string{programs.Path(harness.Bossman)}, args...)...)
	cmd.Dir = y.dir
	cmd.Env = append(cmd.Env, "BOSSMAN_PERSON=1")
	out := harness.Run(y.T, cmd)
	if out.Code != 0 {
		y.Fatalf("bossman %s: exit code %d\n%s\n%s", strings.Join(args, " "), out.Code, harness.Tail(out.Stdout, 2000), harness.Tail(out.Stderr, 4000))
	}
	return out.Stdout + out.Stderr
}

// agent writes a program for agents, in which the word bossman is this program, and returns the command.
func (y *yard) agent(script string) []string {
	y.Helper()
	path := filepath.Join(y.home, "agent.sh")
	write(y.T, path, strings.ReplaceAll(script, "bossman ", programs.Path(harness.Bossman)+" "))
	return []string{"--", "sh", path}
}

// plan adds tasks, 100 at a time.
func (y *yard) plan(items []string) {
	y.Helper()
	path := filepath.Join(y.home, "plan.md")
	for n := 0; n < len(items); n += 100 {
		write(y.T, path, fmt.Sprintf("# Part %d\n- [ ] ", n)+strings.Join(items[n:min(n+100, len(items))], "\n- [ ] ")+"\n")
		y.run("task", "plan", path)
	}
}

// board opens the board, to read it.
func (y *yard) board() *board.Board {
	y.Helper()
	store, err := sqlite.Open(y.Context(), filepath.Join(y.dir, ".git", "bossman", "board.db"), nil)
	if err != nil {
		y.Fatal(err)
	}
	y.Cleanup(func() { store.Close() })
	return board.New(store, nil)
}

// tips are the commits that main had, the newest first: those of all intents that have landed.
func (y *yard) tips(b *board.Board) (tips []string, took time.Duration) {
	y.Helper()
	list, err := b.Intents(y.Context(), board.IntentFilter{Project: "web", Target: "main", State: board.IntentLanded, Limit: 1000})
	if err != nil {
		y.Fatal(err)
	}
	for _, i := range list {
		tips = append(tips, i.New)
	}
	if len(list) > 0 {
		took = list[0].EndedAt.Sub(list[len(list)-1].At)
	}
	return tips, took
}

// tasks returns all tasks with their histories.
func (y *yard) tasks(b *board.Board, n int) []board.Dossier {
	y.Helper()
	var all []board.Dossier
	for no := range n {
		d, err := b.Get(y.Context(), board.ID{Project: "web", No: int64(no) + 1}, 1000)
		if err != nil {
			y.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}
