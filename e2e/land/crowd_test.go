package land

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// The check takes 0.2 s, and fails when two particular edits meet. In the lander's worktree it also fails
// at the first sight of some files, and while the target is broken. Only the edits count afterwards.
const crowdCheck = `#!/bin/sh
if grep -q left src/f001.txt && grep -q right src/f002.txt; then echo "the two edits meet" >&2; exit 1; fi
[ "$1" = edits ] && exit 0
sleep 0.2
case $PWD in
*.worktrees/bossman-land)
	if [ -e broken ]; then echo "the target is broken" >&2; exit 1; fi
	for f in flaky/*; do
		if [ -e "$f" ] && mkdir "$2/seen-$(basename "$f")" 2>/dev/null; then echo "flaky" >&2; exit 1; fi
	done
esac
exit 0
`

// The agent edits a line of a file that four others edit, too, and resolves what conflicts.
const crowdAgent = `
n=${BOSSMAN_TASK#web-}
file=$(printf 'src/f%03d.txt' $((n % FILES)))
line=$((n / FILES * 4 + 2))
if [ -n "$(git diff --name-only --diff-filter=U)" ]; then
	git checkout -q --ours . && git add -A
fi
case $n in
7) echo left >> src/f001.txt ;;
8)
	git merge -q main
	if grep -q left src/f001.txt; then sed -i s/right/other/ src/f002.txt; fi
	grep -q 'right\|other' src/f002.txt || echo right >> src/f002.txt ;;
esac
if [ $((n % 200)) = 13 ]; then mkdir -p flaky && echo $n > flaky/$n; fi
sed -i "${line}s/.*/task $n/" "$file"
git add -A
git commit -qm "task $n"
bossman done --summary "did $n" || bossman done --summary "did $n"
`

// Many tasks land while many agents work: the target is green at every commit that it had, and nobody
// is blamed for a check that fails once, or for a target that somebody else has broken.
func TestCrowd(t *testing.T) {
	n := size(t, "BOSSMAN_LAND", 16)
	slots := min(20, max(4, n/50))
	for _, batch := range []int{8, 1} {
		if batch == 1 {
			n = max(n/10, 12) // for its speed
		}
		t.Run(fmt.Sprintf("batches of %d", batch), func(t *testing.T) { crowd(t, n, slots, batch) })
	}
}

func crowd(t *testing.T, n, slots, batch int) {
	const files = 200
	state := t.TempDir()
	tree := map[string]string{
		"check.sh":             crowdCheck,
		".bossman/config.toml": fmt.Sprintf("project = \"web\"\n[check]\ncommand = [\"sh\", \"check.sh\", \"all\", %q]\n[land]\nbatch = %d\n", state, batch),
	}
	var lines strings.Builder // each its own: git cannot tell where equal ones were changed
	for i := range 4 * (n/files + 2) {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	for i := range files {
		tree[fmt.Sprintf("src/f%03d.txt", i)] = lines.String()
	}
	y := newYard(t, tree)
	agent := y.agent(strings.ReplaceAll(crowdAgent, "FILES", fmt.Sprint(files)))
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf("task %d {areas: src/f%03d.txt}", i+1, (i+1)%files))
	}
	y.plan(items)
	b := y.board()
	y.run("project", "set", "--land", "main")

	// Somebody breaks the target, and repairs it when the lander has said so.
	var wg sync.WaitGroup
	wg.Go(func() { y.breaks(b, n/3) })
	began := time.Now()
	said := y.run(append([]string{"work", "-n", fmt.Sprint(slots), "--land", "--until-empty"}, agent...)...)
	wg.Wait()
	took := time.Since(began)

	conflicts, failures := 0, 0
	for _, d := range y.tasks(b, n) {
		if d.Task.Status != board.Done || d.Doc.Result == nil || d.Doc.Result.Landed == "" {
			t.Errorf("%v is %s, and has not landed: %s", d.Task.ID, d.Task.Status, d.Task.Title)
		}
		for _, e := range d.Events {
			switch {
			case e.Kind == board.EventReturned && e.Detail.Returned != nil && e.Detail.Returned.Kind == board.ReturnConflict:
				conflicts++
			case e.Kind == board.EventReturned && d.Task.ID.No != 7 && d.Task.ID.No != 8:
				t.Errorf("%v was returned: %s", d.Task.ID, e.Detail.Text)
			case e.Kind == board.EventFailed || e.Kind == board.EventExpired:
				t.Errorf("%v: an attempt %s: %s", d.Task.ID, e.Kind, e.Detail.Text)
			}
		}
		if failures += d.Task.Failures; d.Task.Failures > 0 && d.Task.ID.No != 7 && d.Task.ID.No != 8 {
			t.Errorf("%v has %d failures", d.Task.ID, d.Task.Failures)
		}
	}
	if failures > 1 {
		t.Errorf("%d failures, want one at most: of the second one of two edits that must not meet", failures)
	}
	if conflicts*20 > n {
		t.Errorf("%d of %d tasks conflicted, want less than one in 20", conflicts, n)
	}
	tips, span := y.tips(b)
	y.green(tips)
	t.Logf("%d tasks by %d slots in %v: %d moves of the target in %v, %.1f tasks a second landed; %d conflicts, %d failures",
		n, slots, took.Round(time.Second), len(tips), span.Round(time.Second), float64(n)/span.Seconds(), conflicts, failures)
	if t.Failed() {
		t.Logf("bossman work said:\n%s", said)
	}
}

// breaks commits a fault to main when some tasks have landed, and takes it back when the lander has
// stopped for it.
func (y *yard) breaks(b *board.Board, after int) {
	await := func(what string, is func() bool) bool {
		n, end := landed(y, b), time.Now().Add(patience)
		for ; !is(); time.Sleep(50 * time.Millisecond) { // it polls a board of other processes
			if now := landed(y, b); now > n {
				n, end = now, time.Now().Add(patience)
			}
			if time.Now().After(end) || y.Context().Err() != nil {
				y.Errorf("%s was not seen, and nothing has landed for %v", what, patience)
				return false
			}
		}
		return true
	}
	commit := func(args ...string) {
		for _, c := range [][]string{args, {"-c", "core.hooksPath=/dev/null", "commit", "-qm", "by hand"}} {
			cmd := exec.Command("git", c...)
			cmd.Dir = y.dir
			cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Bob", "GIT_AUTHOR_EMAIL=bob@example.com", "GIT_COMMITTER_NAME=Bob", "GIT_COMMITTER_EMAIL=bob@example.com")
			// The lander may just hold the index.
			await("git "+strings.Join(c, " "), func() bool { again := *cmd; return (&again).Run() == nil })
		}
	}
	if !await("a landing", func() bool { tips, _ := y.tips(b); return len(tips) > 0 && landed(y, b) >= after }) {
		return
	}
	write(y.T, filepath.Join(y.dir, "broken"), "broken\n")
	commit("add", "broken")
	await("that the lander stops", func() bool {
		line, err := b.Line(y.Context(), "web")
		return err == nil && line.Lander.Note != nil && strings.Contains(line.Lander.Note.Stopped, "the check fails on main itself")
	})
	commit("rm", "-q", "broken")
}

// landed counts the tasks that are done.
func landed(y *yard, b *board.Board) int {
	s, err := b.Summary(y.Context(), "web")
	if err != nil {
		y.Error(err)
	}
	return s.Counts.Status[board.Done]
}

// green runs the check on commits. A commit on top of which somebody committed by hand is among them.
func (y *yard) green(tips []string) {
	y.Helper()
	dir := y.TempDir()
	for _, tip := range tips {
		cmd := exec.CommandContext(y.Context(), "sh", "-c", `rm -rf "$1" && mkdir "$1" && git archive "$2" src check.sh | tar -x -C "$1" && cd "$1" && sh check.sh edits`, "sh", filepath.Join(dir, "t"), tip)
		cmd.Dir = y.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			y.Errorf("the target was red at %s: %v\n%s", tip, err, out)
		}
	}
}
