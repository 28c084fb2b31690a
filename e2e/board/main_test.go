// Package board runs the board as agents and people use it: bossman processes on
// pipes, beside the command line, and many at once.
package board

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// patience bounds everything that is waited for; machines can be busy.
const patience = 90 * time.Second

var programs *harness.Programs

func TestMain(m *testing.M) {
	code, err := prepared(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func prepared(run func() int) (int, error) {
	dir, err := os.MkdirTemp("", "bossman-e2e-bin-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if programs, err = harness.Build(dir, harness.Bossman); err != nil {
		return 0, err
	}
	return run(), nil
}

// A site is a git repository, where people and agents work.
type site struct {
	dir  string
	home string
}

// newSite makes a repository. Lines of its configuration may be given.
func newSite(t testing.TB, config ...string) *site {
	t.Helper()
	s := &site{dir: harness.Repository(t, "web")}
	s.home = filepath.Dir(s.dir)
	if len(config) > 0 {
		if err := os.Mkdir(filepath.Join(s.dir, ".bossman"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(s.dir, ".bossman", "config.toml"), strings.Join(config, "\n")+"\n")
		harness.Git(t, s.dir, "add", ".")
		harness.Git(t, s.dir, "commit", "-q", "-m", "configure")
	}
	return s
}

// cli runs a command as a person would, and gives what it says.
func (s *site) cli(t testing.TB, args ...string) string {
	t.Helper()
	cmd := harness.Command(t.Context(), s.home, append([]string{programs.Path(harness.Bossman)}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(cmd.Env, "BOSSMAN_PERSON=1")
	out := harness.Run(t, cmd)
	if out.Code != 0 {
		t.Fatalf("bossman %s: exit code %d\n%s", strings.Join(args, " "), out.Code, out.Stderr)
	}
	return out.Stdout
}

// An event is a line of a task's history, names and times aside.
type event struct {
	Task           string
	Kind, From, To string
	Text           string
	Late           bool
	Attempt        int
}

func (e event) String() string { return fmt.Sprintf("%s: %s %s→%s", e.Task, e.Kind, e.From, e.To) }

// events reads the history out of an export, task by task.
func (s *site) events(t testing.TB) []event {
	t.Helper()
	var all []event
	for line := range strings.Lines(s.cli(t, "task", "export")) {
		var e struct {
			event
			Type string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("export: %v in %s", err, line)
		}
		if e.Type == "event" {
			all = append(all, e.event)
		}
	}
	return all
}

// history is the events of one task, as text.
func (s *site) history(t testing.TB, task string) []string {
	t.Helper()
	var out []string
	for _, e := range s.events(t) {
		if e.Task == task {
			out = append(out, e.Kind+" "+e.From+"→"+e.To)
		}
	}
	return out
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
