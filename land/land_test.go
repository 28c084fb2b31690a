package land

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// A yard is a repository and a board whose project lands on the branch next.
type yard struct {
	*testing.T
	dir    string
	board  *board.Board
	actor  board.Actor
	events []Event
	at     board.Where // of the work
	o      Options
}

// newYard makes a yard with a first commit that has some files. The check is a line for a shell.
func newYard(t *testing.T, line string, files map[string]string) *yard {
	t.Helper()
	y := &yard{T: t, dir: filepath.Join(t.TempDir(), "web"), actor: lander}
	y.git("init", "-q", "-b", "main", y.dir)
	y.write(files)
	y.git("-C", y.dir, "add", "-A")
	y.git("-C", y.dir, "commit", "-qm", "first")
	y.git("-C", y.dir, "branch", "next")
	store, err := sqlite.Open(t.Context(), filepath.Join(filepath.Dir(y.dir), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	y.board = board.New(store, nil)
	if err := y.board.SetProject(t.Context(), board.Project{Slug: "web", Name: "web"}); err != nil {
		t.Fatal(err)
	}
	if err := y.board.SetLand(t.Context(), y.actor, "web", "next"); err != nil {
		t.Fatal(err)
	}
	repo, err := git.Find(y.dir)
	if err != nil {
		t.Fatal(err)
	}
	runner := check.NewRunner(nil)
	t.Cleanup(runner.Close)
	y.o = landing(y.board, repo, runner, line)
	y.o.Report = func(e Event) { y.events = append(y.events, e) }
	return y
}

// lander is who lands in tests.
var lander = board.Actor{Principal: "ada", Owner: "p-lander"}

// landing returns options for landing on next, with a check that is a line for a shell.
func landing(b Board, repo *git.Repo, runner *check.Runner, line string) Options {
	o := Options{
		Board: b, Actor: lander, Project: "web", Target: board.Target{Kind: board.TargetLocal, Branch: "next"}, Holder: "a test", Repo: repo,
		Runner: runner, Batch: 8,
		Check: func() (*check.Check, error) { return &check.Check{Name: "tests", Command: check.Shell(line)}, nil },
	}
	if line == "" {
		o.Check = func() (*check.Check, error) { return nil, nil }
	}
	return o
}

// git runs git and returns what it writes.
func (y *yard) git(args ...string) string {
	y.Helper()
	cmd := exec.CommandContext(y.Context(), "git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		y.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (y *yard) write(files map[string]string) {
	y.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(y.dir, name), []byte(text), 0o666); err != nil {
			y.Fatal(err)
		}
	}
}

// task adds a task, whose work is a commit on top of base that changes some files, and reports it.
func (y *yard) task(title, base string, files map[string]string) board.ID {
	y.Helper()
	t, _, err := y.board.Create(y.Context(), y.actor, board.NewTask{Project: "web", Title: title}, "")
	if err != nil {
		y.Fatal(err)
	}
	y.report(base, files)
	return t.ID
}

// report takes the next task and reports it with a commit on top of base that changes some files.
func (y *yard) report(base string, files map[string]string) board.ID {
	y.Helper()
	return y.claim()(base, files)
}

// claim takes the next task, and returns what reports it as report does.
func (y *yard) claim() func(base string, files map[string]string) board.ID {
	y.Helper()
	worker := board.Actor{Principal: "ada", Owner: board.NewNonce()}
	h, err := y.board.Next(y.Context(), worker, board.Wish{Projects: []string{"web"}})
	if err != nil {
		y.Fatal(err)
	}
	worker.Worker = h.Claim.Worker.Name
	return func(base string, files map[string]string) board.ID {
		y.Helper()
		return y.finish(worker, h, base, files)
	}
}

// finish reports a task with a commit on top of base that changes some files.
func (y *yard) finish(worker board.Actor, h *board.Handout, base string, files map[string]string) board.ID {
	y.Helper()
	tip := y.commit(base, h.Task.Title, files)
	_, err := y.board.Done(y.Context(), worker, h.Claim.Handle, board.Report{
		Summary: "did " + h.Task.Title, Where: y.at, Tip: board.Tip{Commit: tip, Tree: y.git("-C", y.dir, "rev-parse", tip+"^{tree}"), Base: y.shell("git merge-base next " + tip + " || git rev-parse " + base)},
	})
	if err != nil {
		y.Fatal(err)
	}
	return h.Task.ID
}

// commit makes a commit on top of another one in a worktree of its own, and returns it.
func (y *yard) commit(base, title string, files map[string]string) string {
	y.Helper()
	at := &yard{T: y.T, dir: filepath.Join(y.TempDir(), "w")}
	y.git("-C", y.dir, "worktree", "add", "-q", "--detach", at.dir, base)
	at.write(files)
	y.git("-C", at.dir, "add", "-A")
	y.git("-C", at.dir, "commit", "-qm", title)
	return y.git("-C", at.dir, "rev-parse", "HEAD")
}

// land lands what is queued.
func (y *yard) land() {
	y.Helper()
	if err := New(&y.o).Run(y.Context()); err != nil {
		y.Fatal(err)
	}
}

// tells checks what a run has reported, but for checks, and forgets it.
func (y *yard) tells(want ...string) {
	y.Helper()
	var got []string
	for _, e := range y.events {
		if e.Kind == Checking {
			continue
		}
		line := string(e.Kind)
		if !e.Task.IsZero() {
			line += " " + e.Task.String()
		}
		got = append(got, line)
	}
	if !slices.Equal(got, want) {
		y.Errorf("it reported %q, not %q\n%+v", got, want, y.events)
	}
	y.events = nil
}

// status checks the status of a task.
func (y *yard) status(id board.ID, want board.Status) board.Dossier {
	y.Helper()
	d, err := y.board.Get(y.Context(), id, 20)
	if err != nil {
		y.Fatal(err)
	}
	if d.Task.Status != want {
		y.Errorf("%v is %s, not %s", id, d.Task.Status, want)
	}
	return d
}

// has checks what a file of the target has.
func (y *yard) has(file, want string) {
	y.Helper()
	if got := y.git("-C", y.dir, "show", "next:"+file); got != want {
		y.Errorf("%s has %q, not %q", file, got, want)
	}
}

func TestLand(t *testing.T) {
	y := newYard(t, "test -f a", map[string]string{"a": "1\n", "b": "1\n"})
	one := y.task("change a", "main", map[string]string{"a": "2\n"})
	two := y.task("change b", "main", map[string]string{"b": "2\n"})
	y.land()
	y.tells("landed web-1", "landed web-2")
	for id, commit := range map[board.ID]string{one: "next~1", two: "next"} {
		if got, want := y.status(id, board.Done).Doc.Result.Landed, y.git("-C", y.dir, "rev-parse", commit); got != want {
			t.Errorf("%v has landed as %s, not %s", id, got, want)
		}
	}
	y.has("a", "2")
	y.has("b", "2")
	if got := y.git("-C", y.dir, "log", "--format=%s", "main..next"); got != "change b\nchange a" {
		t.Errorf("the target has %q", got)
	}
	if got := y.git("-C", y.dir, "log", "-1", "--format=%(trailers:key=Bossman-Task,valueonly)", "next"); got != "web-2" {
		t.Errorf("the commit is of %q", got)
	}
	if got := y.git("-C", y.dir, "rev-parse", "main"); got == y.git("-C", y.dir, "rev-parse", "next") {
		t.Error("main has moved")
	}
	y.land()
	y.tells()
}

func TestLand_conflict(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("first", "main", map[string]string{"a": "2\n"})
	two := y.task("second", "main", map[string]string{"a": "3\n"})
	y.land()
	y.tells("landed web-1", "conflict web-2")
	y.status(one, board.Done)
	d := y.status(two, board.Pending)
	if d.Task.Failures != 0 {
		t.Error("a conflict counts as a failure")
	}
	var told *board.Returned
	for _, e := range d.Events {
		if e.Detail.Returned != nil {
			told = e.Detail.Returned
		}
	}
	if told == nil || told.Other != one || told.Title != "first" || !slices.Equal(told.Files, []string{"a"}) {
		t.Errorf("the next worker is told %+v", told)
	}
	y.report("next", map[string]string{"a": "23\n"})
	y.land()
	y.tells("landed web-2")
	y.has("a", "23")
}

// Two changes that merge and do not work together: the first one lands, the second one goes back.
func TestLand_red(t *testing.T) {
	y := newYard(t, "! { test -f x && test -f y; }", map[string]string{"a": "1\n"})
	ids := []board.ID{
		y.task("one", "main", map[string]string{"one": "1\n"}), y.task("x", "main", map[string]string{"x": "1\n"}),
		y.task("two", "main", map[string]string{"two": "1\n"}), y.task("y", "main", map[string]string{"y": "1\n"}),
		y.task("three", "main", map[string]string{"three": "1\n"}),
	}
	y.land()
	y.tells("landed web-1", "landed web-2", "landed web-3", "red web-4", "landed web-5")
	for i, id := range ids {
		want := board.Done
		if i == 3 {
			want = board.Pending
		}
		if d := y.status(id, want); (d.Task.Failures > 0) != (i == 3) {
			t.Errorf("%v has %d failures", id, d.Task.Failures)
		}
	}
	intents, err := y.board.Intents(t.Context(), board.IntentFilter{Project: "web"})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range intents { // every tip that the target had is green
		files := y.git("-C", y.dir, "ls-tree", "--name-only", i.New)
		if strings.Contains(files, "x\n") && strings.Contains(files, "y\n") {
			t.Errorf("the target was red at %s", i.New)
		}
	}
}

// A check that fails now and then sends nothing back, and neither does a target that is red itself.
func TestLand_innocent(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "failed")
	y := newYard(t, fmt.Sprintf("! test -f red && { ! test -f flaky || test -f %s || { touch %s; false; }; }", flag, flag), map[string]string{"a": "1\n"})
	id := y.task("flaky", "main", map[string]string{"flaky": "1\n"})
	y.land()
	y.tells("landed web-1")
	if d := y.status(id, board.Done); d.Task.Failures != 0 {
		t.Error("a flaky check counts as a failure")
	}
	y.git("-C", y.dir, "update-ref", "refs/heads/next", y.commit("next", "break it", map[string]string{"red": "1\n"}))
	id = y.task("innocent", "main", map[string]string{"b": "1\n"})
	y.land()
	y.tells("moved", "stopped")
	if d := y.status(id, board.Landing); d.Task.Failures != 0 {
		t.Error("a red target counts as a failure of others")
	}
	y.git("-C", y.dir, "update-ref", "refs/heads/next", "next~1")
	y.land()
	y.tells("landed web-2") // it is where the last landing left it
}

// dies stores the intent of a lander that then dies.
func (y *yard) dies(target, from, to string, items ...board.Item) {
	y.Helper()
	lease, err := y.board.Lead(y.Context(), y.actor, board.Lease{Project: "web", Target: target, Holder: "one that dies"})
	if err == nil {
		_, err = y.board.BeginLand(y.Context(), y.actor, lease, from, to, items)
	}
	if err != nil {
		y.Fatal(err)
	}
}

// A lander that died between the intent and its end: the next one looks where the target is.
func TestLand_settles(t *testing.T) {
	for _, moved := range []bool{false, true} {
		t.Run(fmt.Sprintf("moved=%v", moved), func(t *testing.T) {
			y := newYard(t, "", map[string]string{"a": "1\n"})
			id := y.task("change a", "main", map[string]string{"a": "2\n"})
			line, err := y.board.Line(t.Context(), "web")
			if err != nil {
				t.Fatal(err)
			}
			tip := line.Queue[0].Tip.Commit
			y.dies("next", y.git("-C", y.dir, "rev-parse", "next"), tip, board.Item{Task: id, Attempt: 1, Tip: tip})
			if moved {
				y.git("-C", y.dir, "update-ref", "refs/heads/next", tip)
			}
			y.land()
			if moved {
				y.tells()
			} else {
				y.tells("landed web-1")
			}
			y.status(id, board.Done)
			y.has("a", "2")
		})
	}
}

// The next lander finds out which commit of a batch is whose.
func TestLand_settlesBatch(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	two := y.task("two", "main", map[string]string{"two": "1\n"})
	line, err := y.board.Line(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	first := y.commit("next", "one\n\nBossman-Task: web-1", map[string]string{"one": "1\n"})
	second := y.commit(first, "two\n\nBossman-Task: web-2", map[string]string{"two": "1\n"})
	y.dies("next", y.git("-C", y.dir, "rev-parse", "next"), second,
		board.Item{Task: one, Attempt: 1, Tip: line.Queue[0].Tip.Commit}, board.Item{Task: two, Attempt: 1, Tip: line.Queue[1].Tip.Commit})
	y.git("-C", y.dir, "update-ref", "refs/heads/next", second)
	y.land()
	for id, want := range map[board.ID]string{one: first, two: second} {
		if got := y.status(id, board.Done).Doc.Result.Landed; got != want {
			t.Errorf("%v has landed as %s, not %s", id, got, want)
		}
	}
}

// Work that the target has already is done.
func TestLand_nothing(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	y.task("first", "main", map[string]string{"a": "2\n"})
	y.task("the same", "main", map[string]string{"a": "2\n"})
	y.land()
	y.tells("landed web-1", "landed web-2")
	y.task("and again", "main", map[string]string{"a": "2\n"})
	y.land()
	y.tells("landed web-3")
	if got := y.git("-C", y.dir, "log", "--format=%s", "main..next"); got != "first" {
		t.Errorf("the target has %q", got)
	}
}

// Work that cannot be merged at all keeps nobody else from landing.
func TestLand_unrelated(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	y.git("-C", y.dir, "checkout", "-q", "--orphan", "other")
	y.git("-C", y.dir, "commit", "-qm", "another beginning")
	y.git("-C", y.dir, "checkout", "-q", "main")
	y.task("unrelated", "other", map[string]string{"b": "1\n"})
	y.task("related", "main", map[string]string{"c": "1\n"})
	y.land()
	y.tells("waits web-1", "landed web-2", "waits web-1")
	line, err := y.board.Line(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	if n := line.Lander.Note; n == nil || len(n.Waits) != 1 || !n.Waits[0].ForPeople || !strings.Contains(n.Waits[0].Why, "no common ancestor") {
		t.Errorf("people are told %+v", n)
	}
}

// One rework at a time: work on a file that is in conflict waits until that is resolved.
func TestLand_rework(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n", "b": "1\n"})
	y.task("one", "main", map[string]string{"a": "2\n"})
	y.task("two", "main", map[string]string{"a": "3\n"})
	y.task("three", "main", map[string]string{"a": "4\n"})
	y.task("four", "main", map[string]string{"b": "2\n"})
	y.land()
	y.tells("landed web-1", "landed web-4", "conflict web-2", "waits web-3")
	y.report("next", map[string]string{"a": "23\n"})
	y.land()
	y.tells("landed web-2", "conflict web-3")
	y.report("next", map[string]string{"a": "234\n"})
	y.land()
	y.tells("landed web-3")
	y.has("a", "234")
}

// The target is checked out: its files follow, and a file with changes of its own delays only the work
// that changes it.
func TestLand_checkedOut(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"})
	y.git("-C", y.dir, "checkout", "-q", "next")
	y.write(map[string]string{"b": "mine\n", "d": "mine\n"})
	y.task("one", "main", map[string]string{"a": "2\n"})
	two := y.task("two", "main", map[string]string{"b": "2\n"})
	y.task("three", "main", map[string]string{"c": "2\n"})
	y.land()
	y.tells("waits web-2", "landed web-1", "landed web-3", "waits web-2")
	for file, want := range map[string]string{"a": "2\n", "b": "mine\n", "c": "2\n", "d": "mine\n"} {
		if got, err := os.ReadFile(filepath.Join(y.dir, file)); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v, not %q", file, got, err, want)
		}
	}
	in, err := y.board.Inbox(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Landing) != 1 || in.Landing[0].Task != two || !strings.Contains(in.Landing[0].Why, `"b"`) {
		t.Errorf("the inbox has %+v", in.Landing)
	}
	y.git("-C", y.dir, "checkout", "-q", "--", "b")
	y.land()
	y.tells("landed web-2")
	if got := y.git("-C", y.dir, "status", "--porcelain"); got != "?? d" {
		t.Errorf("the checkout has %q", got)
	}
}

func TestLand_led(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	y.task("first", "main", map[string]string{"a": "2\n"})
	other := y.actor
	other.Owner = "another"
	if _, err := y.board.Lead(t.Context(), other, board.Lease{Project: "web", Target: "next", Holder: "bea"}); err != nil {
		t.Fatal(err)
	}
	err := New(&y.o).Run(context.Background())
	if led, ok := err.(*board.LedError); !ok || led.Holder != "bea" {
		t.Errorf("two landers: %v", err)
	}
}

// Work that is said to begin from a commit which the target does not have would land more than reviewers were
// shown: it waits for a person.
func TestLand_shown(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	hidden := y.commit("main", "hidden", map[string]string{"backdoor": "1\n"})
	worker := board.Actor{Principal: "ada", Owner: board.NewNonce()}
	made, _, err := y.board.Create(t.Context(), y.actor, board.NewTask{Project: "web", Title: "fix"}, "")
	if err != nil {
		t.Fatal(err)
	}
	h, err := y.board.Next(t.Context(), worker, board.Wish{Projects: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	tip := y.commit(hidden, "fix", map[string]string{"a": "2\n"})
	worker.Worker = h.Claim.Worker.Name
	report := board.Report{Summary: "fixed", Tip: board.Tip{Commit: tip, Tree: y.git("-C", y.dir, "rev-parse", tip+"^{tree}"), Base: hidden}}
	if _, err := y.board.Done(t.Context(), worker, h.Claim.Handle, report); err != nil {
		t.Fatal(err)
	}
	y.land()
	y.tells("waits web-1")
	y.status(made.ID, board.Landing)
	if files := y.git("-C", y.dir, "ls-tree", "--name-only", "next"); files != "a" {
		t.Errorf("the target has %q", files)
	}
}

// Only a person makes a task that undoes another one: a trailer in a commit does not.
func TestLand_undoesNot(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"b": "1\n"})
	y.land()
	y.task("Undo web-1: really", "next", map[string]string{"c": "1\n"})
	line, err := y.board.Line(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	forged := y.git("-C", y.dir, "commit-tree", "-p", line.Queue[0].Tip.Commit, "-m", "x\n\nBossman-Undoes: "+undoesValue(one, y.git("-C", y.dir, "rev-parse", "next~1")), line.Queue[0].Tip.Tree)
	q := line.Queue[0]
	q.Tip.Commit = forged
	if got, err := New(&y.o).undoes(t.Context(), q); err != nil || got != "" {
		t.Errorf("an agent's commit undoes %q, %v", got, err)
	}
	y.land()
	if _, err := Undo(t.Context(), &y.o, y.board, person, one, "", true); err != nil {
		t.Errorf("it cannot be undone any more: %v", err)
	}
}
