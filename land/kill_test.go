package land

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// gitWrapper stands in for git. At one of its calls it kills the process that called it, or itself,
// before or after git has run.
const gitWrapper = `#!/bin/sh
n=$(($(cat "$KILL_COUNT") + 1)); echo $n > "$KILL_COUNT"
at() { [ "$n.$KILL_HOW" = "$KILL_AT.$1" ]; }
at caller-before && kill -9 $PPID && exit 1
at git-before && kill -9 $$
"$KILL_GIT" "$@"; s=$?
at caller-after && kill -9 $PPID
at git-after && kill -9 $$
exit $s
`

// mortal is a board whose caller dies before or after one of its calls.
type mortal struct {
	*board.Board
	n, at int
	after bool
}

// call counts a call of the board.
func (m *mortal) call(f func()) {
	m.n++
	if m.n == m.at && !m.after {
		die()
	}
	f()
	if m.n == m.at {
		die()
	}
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (m *mortal) Lead(ctx context.Context, a board.Actor, l board.Lease) (out board.Lease, err error) {
	m.call(func() { out, err = m.Board.Lead(ctx, a, l) })
	return out, err
}

func (m *mortal) StepDown(ctx context.Context, a board.Actor, l board.Lease) (err error) {
	m.call(func() { err = m.Board.StepDown(ctx, a, l) })
	return err
}

func (m *mortal) BeginLand(ctx context.Context, a board.Actor, l board.Lease, old, new string, items []board.Item) (out board.Intent, err error) {
	m.call(func() { out, err = m.Board.BeginLand(ctx, a, l, old, new, items) })
	return out, err
}

func (m *mortal) Landed(ctx context.Context, a board.Actor, l board.Lease, id board.IntentID, commits map[board.ID]string) (out []board.Outcome, err error) {
	m.call(func() { out, err = m.Board.Landed(ctx, a, l, id, commits) })
	return out, err
}

func (m *mortal) Dropped(ctx context.Context, a board.Actor, l board.Lease, id board.IntentID) (err error) {
	m.call(func() { err = m.Board.Dropped(ctx, a, l, id) })
	return err
}

func (m *mortal) Return(ctx context.Context, a board.Actor, id board.ID, r board.Return) (out board.Outcome, err error) {
	m.call(func() { out, err = m.Board.Return(ctx, a, id, r) })
	return out, err
}

// TestKillChild is the lander that TestLand_killed kills.
func TestKillChild(t *testing.T) {
	dir := os.Getenv("KILL_DIR")
	if dir == "" {
		t.Skip("run by TestLand_killed")
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	repo, err := git.Find(filepath.Join(dir, "web"))
	if err != nil {
		t.Fatal(err)
	}
	runner := check.NewRunner(nil)
	defer runner.Close()
	at, _ := strconv.Atoi(os.Getenv("KILL_AT"))
	m := &mortal{Board: board.New(store, nil), at: at, after: os.Getenv("KILL_HOW") == "board-after"}
	if !strings.HasPrefix(os.Getenv("KILL_HOW"), "board") {
		m.at = 0
	}
	o := landing(m, repo, runner, "! test -f red")
	if o.Target, err = board.ParseTarget(os.Getenv("KILL_TARGET")); err != nil {
		t.Fatal(err)
	}
	o.Accept = acceptsOrigin
	for range 2 { // git may be killed, and not the lander
		err = New(&o).Run(t.Context())
	}
	if err != nil {
		t.Log(err)
	}
	fmt.Printf("calls: %d\n", m.n)
}

// killer returns a function that lands on a target in a process of its own, and kills that at a call. It returns how many
// calls there were.
func (y *yard) killer(target string) func(how string, at int) (gits, boards int) {
	y.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		y.Fatal(err)
	}
	bin := y.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(gitWrapper), 0o755); err != nil {
		y.Fatal(err)
	}
	return func(how string, at int) (gits, boards int) {
		count := filepath.Join(bin, "count")
		if err := os.WriteFile(count, []byte("0"), 0o600); err != nil {
			y.Fatal(err)
		}
		cmd := exec.CommandContext(y.Context(), os.Args[0], "-test.run=^TestKillChild$")
		cmd.Env = append(
			os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KILL_DIR="+filepath.Dir(y.dir), "KILL_TARGET="+target,
			"KILL_COUNT="+count, "KILL_GIT="+real, "KILL_HOW="+how, "KILL_AT="+strconv.Itoa(at),
		)
		out, _ := cmd.CombinedOutput()
		text, _ := os.ReadFile(count)
		gits, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		if _, rest, ok := strings.Cut(string(out), "calls: "); ok {
			fmt.Sscan(rest, &boards)
		}
		return gits, boards
	}
}

// kills is how many rounds of kills there are, each of them with all ways to kill.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("BOSSMAN_LAND_KILLS")); err == nil {
		return n
	}
	return 2
}

// victims calls kill with ways to kill a lander, and the call at which to do it.
func victims(gits, boards int, kill func(name, how string, at int)) {
	for n := range kills() {
		for _, how := range []string{"caller-before", "caller-after", "git-before", "git-after", "board-before", "board-after"} {
			total := gits
			if strings.HasPrefix(how, "board") {
				total = boards
			}
			at := n%total + 1
			if kills() < total { // spread over all of them
				at = rand.IntN(total) + 1
			}
			kill(fmt.Sprintf("%s %d of %d", how, at, total), how, at)
		}
	}
}

// TestLand_killed kills a lander, or the git that it runs, before and after each of its calls of git
// and of the board. The target is never between two tips, a checkout of it has the files of one of them,
// and the next lander completes what is left.
func TestLand_killed(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"})
	run := y.killer("next")
	y.git("-C", y.dir, "checkout", "-q", "next")
	repo, err := git.Find(y.dir)
	if err != nil {
		t.Fatal(err)
	}
	y.o = landing(y.board, repo, y.o.Runner, "! test -f red")
	y.o.Report = func(Event) {}
	work := func(n int) {
		y.git("-C", y.dir, "checkout", "-q", "-f", "next")
		y.task("change", "next", map[string]string{"a": fmt.Sprintf("a%d\n", n), "b": fmt.Sprintf("b%d\n", n), fmt.Sprintf("new%d", n): "1\n"})
		y.task("another change", "next~1", map[string]string{"c": fmt.Sprintf("c%d\n", n)})
	}
	y.git("-C", y.dir, "commit", "-q", "--allow-empty", "-m", "second")
	work(0)
	gits, boards := run("none", 0)
	if gits < 10 || boards < 4 {
		t.Fatalf("a landing makes %d calls of git and %d of the board", gits, boards)
	}
	killed := 0
	victims(gits, boards, func(name, how string, at int) {
		killed++
		work(killed)
		old := y.git("-C", y.dir, "rev-parse", "next")
		run(how, at)
		y.settled(name, old)
		if err := New(&y.o).Run(t.Context()); err != nil {
			t.Fatalf("%s: the next lander: %v", name, err)
		}
		y.settled(name+", then another", y.git("-C", y.dir, "rev-parse", "next"))
		y.emptied(name)
		if got := y.git("-C", y.dir, "status", "--porcelain"); got != "" {
			t.Fatalf("%s: the checkout is not as the target: %s", name, got)
		}
	})
	t.Logf("%d kills in %d calls of git and %d of the board", killed, gits, boards)
}

// settled checks that the target is where it was or where an intent moved it, that each file of the checkout
// is as in one of the two commits, and that no lock is left once a lander has run.
func (y *yard) settled(name, old string) {
	y.Helper()
	tip := y.git("-C", y.dir, "rev-parse", "next")
	intents, err := y.board.Intents(y.Context(), board.IntentFilter{Project: "web", Limit: 3})
	if err != nil {
		y.Fatal(err)
	}
	to := tip
	if tip == old && len(intents) > 0 {
		to = intents[0].New
	}
	if tip != old && (len(intents) == 0 || intents[0].New != tip && y.git("-C", y.dir, "merge-base", tip, intents[0].New) != intents[0].New) {
		y.Fatalf("%s: the target is at %s, which no intent says", name, tip)
	}
	for _, file := range []string{"a", "b", "c"} {
		got, err := os.ReadFile(filepath.Join(y.dir, file))
		if err != nil {
			y.Fatalf("%s: %v", name, err)
		}
		text := strings.TrimSpace(string(got))
		if text != y.git("-C", y.dir, "show", old+":"+file) && text != y.git("-C", y.dir, "show", to+":"+file) {
			y.Fatalf("%s: %s has %q, as in neither commit", name, file, text)
		}
	}
}

// emptied checks that everything has landed.
func (y *yard) emptied(name string) {
	y.Helper()
	line, err := y.board.Line(y.Context(), "web")
	if err != nil {
		y.Fatal(err)
	}
	if len(line.Queue) > 0 || line.Open != nil {
		y.Fatalf("%s: the queue is stuck: %+v", name, line)
	}
}

// TestLand_killedRemote kills a lander whose target is at a remote repository, or the git that it runs. The
// next lander, in another clone, completes what is left, and all work is there once.
func TestLand_killedRemote(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	run := y.killer("origin/main")
	done := 0
	work := func() {
		for range 2 {
			done++
			y.share(y.task("change", "main", map[string]string{fmt.Sprintf("new%d", done): "1\n"}))
		}
	}
	work()
	gits, boards := run("none", 0)
	if gits < 10 || boards < 4 {
		t.Fatalf("a landing makes %d calls of git and %d of the board", gits, boards)
	}
	y.laptop(origin)
	victims(gits, boards, func(name, how string, at int) {
		work()
		old := y.git("-C", origin, "rev-parse", "main")
		run(how, at)
		tip := y.git("-C", origin, "rev-parse", "main")
		intents, err := y.board.Intents(t.Context(), board.IntentFilter{Project: "web", Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if tip != old && tip != intents[0].New {
			t.Fatalf("%s: the target is at %s, which no intent says", name, tip)
		}
		if err := New(&y.o).Run(t.Context()); err != nil {
			t.Fatalf("%s: the next lander: %v", name, err)
		}
		y.emptied(name)
		if got := strings.Count(y.git("-C", origin, "log", "--format=%s", "main")+"\n", "change\n"); got != done {
			t.Fatalf("%s: %d tasks have %d commits", name, done, got)
		}
	})
	t.Logf("%d kills in %d calls of git and %d of the board", 6*kills(), gits, boards)
}
