package board

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// checked makes a repository with a check that a person has accepted, and a task. The
// check appends a line to the file ran, beside the repository.
func checked(t testing.TB, command string, more ...string) (*site, string) {
	t.Helper()
	s := newSite(t, append([]string{"[check]", `command = "echo run >> ../ran; ` + command + `"`}, more...)...)
	s.cli(t, "task", "add", "One")
	s.cli(t, "trust", "--yes")
	return s, filepath.Join(s.home, "ran")
}

func wantRuns(t testing.TB, file string, want int) {
	t.Helper()
	text, _ := os.ReadFile(file)
	if got := strings.Count(string(text), "run\n"); got != want {
		t.Errorf("the check ran %d times, want %d", got, want)
	}
}

// A check that takes longer than clients wait: the report is not recorded yet, other
// calls are not held up, and repeating it joins the run that is under way.
func TestCheck_slow(t *testing.T) {
	t.Parallel()
	const takes = 70 * time.Second
	s, ran := checked(t, "sleep 70")
	p := s.pipe(t, s.dir)
	claim := p.call(t, "get_next_task", nil).facts.Claim.Claim
	report := args{"claim": claim, "summary": "done"}
	begun := time.Now()
	var wg sync.WaitGroup
	var first answer
	wg.Go(func() { first = p.call(t, "report_task_done", report) })
	if asked := time.Now(); !strings.Contains(p.call(t, "get_task", args{"task": "web-1"}).text, "in progress") || time.Since(asked) > 10*time.Second {
		t.Errorf("get_task beside the check took %v", time.Since(asked))
	}
	wg.Wait()
	if took := time.Since(begun); took > 50*time.Second || !strings.Contains(first.text, "Not recorded yet. You still hold web-1.") {
		t.Errorf("the first call took %v and said %s", took, first.text)
	}
	second := p.call(t, "report_task_done", report)
	if took := time.Since(begun); took < takes || !strings.HasPrefix(second.text, "web-1 is done.") {
		t.Errorf("the second call said after %v: %s", took, second.text)
	}
	wantRuns(t, ran, 1)
}

// A check that fails: the claim stays, the agent reads the end of the output, and the
// fifth red report ends the attempt.
func TestCheck_red(t *testing.T) {
	t.Parallel()
	s, ran := checked(t, "echo 3 tests failed; exit 1")
	p := s.pipe(t, s.dir)
	claim := p.call(t, "get_next_task", nil).facts.Claim.Claim
	for n := 1; n <= 5; n++ {
		got, err := p.try("report_task_done", args{"claim": claim, "summary": "done"})
		if err != nil || !got.refused || !strings.Contains(got.text, "> 3 tests failed") {
			t.Fatalf("report %d: %s, %v", n, got.text, err)
		}
		if want := map[bool]string{true: "You still hold web-1", false: "this attempt at web-1 has failed (1 of 3)"}[n < 5]; !strings.Contains(got.text, want) {
			t.Errorf("report %d does not say %q: %s", n, want, got.text)
		}
	}
	wantRuns(t, ran, 5)
	if got := strings.Join(s.history(t, "web-1"), ", "); !strings.HasSuffix(got, "check_red in_progress→in_progress, failed in_progress→pending") {
		t.Errorf("history = %s", got)
	}
}

// A check that hangs is stopped with everything that it started. It is not the agent's
// fault; the third time people are asked, and one who waives the check decides.
func TestCheck_hangs(t *testing.T) {
	t.Parallel()
	s, ran := checked(t, "setsid sleep 4242 & wait", `timeout = "1s"`)
	p := s.pipe(t, s.dir)
	given := p.call(t, "get_next_task", nil).facts.Claim
	for n := 1; n <= 3; n++ {
		got, err := p.try("report_task_done", args{"claim": given.Claim, "summary": "done"})
		if err != nil || !got.refused || !strings.Contains(got.text, "the check could not judge your work (it took longer than 1s)") {
			t.Fatalf("report %d: %s, %v", n, got.text, err)
		}
		if n == 3 && !strings.Contains(got.text, "web-1 is parked: people were asked as q-1") {
			t.Errorf("the third report says %s", got.text)
		}
	}
	wantRuns(t, ran, 3)
	if left := running(t, "sleep\x004242\x00"); left > 0 {
		t.Errorf("%d processes of the checks still run", left)
	}
	if inbox := s.cli(t, "inbox"); !strings.Contains(inbox, "Accept the work without the check") {
		t.Errorf("the inbox says %s", inbox)
	}
	s.cli(t, "answer", "q-1", "Accept the work without the check")
	again := p.call(t, "get_next_task", args{"worker": given.Worker}).facts.Claim
	if got := p.call(t, "report_task_done", args{"claim": again.Claim, "summary": "done"}); !strings.HasPrefix(got.text, "web-1 is done.") {
		t.Errorf("the report after the waiver says %s", got.text)
	}
	wantRuns(t, ran, 3)
}

// An agent that changes the check in its worktree changes nothing, also in a worktree
// of its own, and a commit counts on the branch that the report names, if the check can
// judge that.
func TestCheck_worktree(t *testing.T) {
	t.Parallel()
	s, ran := checked(t, "test -f good")
	tree := harness.Worktree(t, s.dir, "work")
	p := s.pipe(t, tree)
	claim := p.call(t, "get_next_task", nil).facts.Claim.Claim
	write(t, filepath.Join(tree, ".bossman", "config.toml"), "[check]\ncommand = \"true\"\n")
	if got, err := p.try("report_task_done", args{"claim": claim, "summary": "done"}); err != nil || !got.refused || !strings.Contains(got.text, "exit status 1") {
		t.Errorf("with another check in the worktree: %s, %v", got.text, err)
	}
	write(t, filepath.Join(tree, "good"), "")
	harness.Git(t, tree, "add", ".")
	harness.Git(t, tree, "commit", "-q", "-m", "good")
	commit := harness.Git(t, tree, "rev-parse", "HEAD")
	harness.Git(t, tree, "checkout", "-q", "--detach", "HEAD~1")
	write(t, filepath.Join(tree, "good"), "")
	evidence := []args{{"kind": "commit", "ref": commit}}
	if got, err := p.try("report_task_done", args{"claim": claim, "summary": "done", "evidence": evidence}); err != nil || !got.refused || !strings.Contains(got.text, `Your work was last seen on branch "work". It is not checked out`) {
		t.Errorf("a commit that is not checked out: %s, %v", got.text, err)
	}
	if got, err := p.try("report_task_done", args{"claim": claim, "summary": "done", "evidence": evidence, "branch": "work"}); err != nil || !got.refused || !strings.Contains(got.text, "the check cannot judge it") {
		t.Errorf("a branch that is not checked out: %s, %v", got.text, err)
	}
	if err := os.Remove(filepath.Join(tree, "good")); err != nil {
		t.Fatal(err)
	}
	harness.Git(t, tree, "checkout", "-q", "work")
	got := p.call(t, "report_task_done", args{"claim": claim, "summary": "done", "evidence": evidence, "branch": "work"})
	if !strings.HasPrefix(got.text, "web-1 is done.") {
		t.Errorf("with the branch named: %s", got.text)
	}
	if shown := s.cli(t, "task", "show", "web-1"); !strings.Contains(shown, "commit, observed: "+commit) {
		t.Errorf("task show says %s", shown)
	}
	wantRuns(t, ran, 2)
}

// running counts processes by a part of their command line.
func running(t testing.TB, part string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), part) {
			n++
		}
	}
	return n
}
