package board

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// lease is what the tests' projects configure. It is short, so that it runs out
// within a test, and long enough for a busy machine to renew it in time.
const lease = 4 * time.Second

// A worker that thinks for long, without a call, keeps its task as long as its pipe
// is open.
func TestPresence_thinking(t *testing.T) {
	t.Parallel()
	s := newSite(t, fmt.Sprintf("lease = %q", lease))
	s.cli(t, "task", "add", "One")
	thinker, rival := s.pipe(t, s.dir), s.pipe(t, s.dir)
	given := thinker.call(t, "get_next_task", nil).facts.Claim
	begun := time.Now()
	// The rival waits for work for two leases and more, and gets none.
	nothing := rival.call(t, "get_next_task", args{"wait_seconds": int(2*lease/time.Second) + 1})
	if nothing.facts.Outcome != "none" || !strings.Contains(nothing.text, "1 in progress") {
		t.Errorf("the rival was told %q, want that the task is in progress", nothing.text)
	}
	if waited := time.Since(begun); waited < 2*lease {
		t.Fatalf("the rival waited %v, want two leases", waited)
	}
	thinker.call(t, "report_task_done", args{"claim": given.Claim, "summary": "thought about it"})
	want := []string{"created →pending", "claimed pending→in_progress", "done in_progress→done"}
	if got := s.history(t, "web-1"); !slices.Equal(got, want) {
		t.Errorf("history = %v, want %v", got, want)
	}
}

// A worker that is killed leaves its task to another, which learns where the work
// is. Its report comes too late, and is kept as a note.
func TestPresence_killed(t *testing.T) {
	t.Parallel()
	s := newSite(t, fmt.Sprintf("lease = %q", lease))
	s.cli(t, "task", "add", "Add a login page", "-d", "With e-mail and password.")
	tree := harness.Worktree(t, s.dir, "login")
	heir := s.pipe(t, s.dir)
	victim := s.pipe(t, tree)
	given := victim.call(t, "get_next_task", nil).facts.Claim

	write(t, filepath.Join(tree, "page.html"), "<form>")
	harness.Git(t, tree, "add", "page.html")
	harness.Git(t, tree, "commit", "-q", "-m", "a form")
	head := harness.Git(t, tree, "rev-parse", "HEAD")
	write(t, filepath.Join(tree, "page.html"), "<form></form>")
	write(t, filepath.Join(tree, "page.css"), "form {}")
	victim.call(t, "report_progress", args{"claim": given.Claim, "note": "the form is there, styles come next"})

	victim.kill()
	killed := time.Now()
	next := heir.call(t, "get_next_task", args{"wait_seconds": 45})
	took := time.Since(killed)
	t.Logf("handed over %v after kill -9", took.Round(time.Millisecond))
	if next.facts.Outcome != "handed_out" || next.facts.Claim.Task != given.Task {
		t.Fatalf("the heir was told %s", next.text)
	}
	if took > handover {
		t.Errorf("the task was handed over after %v, want at most %v", took, handover)
	}
	for _, part := range []string{
		"Add a login page", "With e-mail and password.", "attempt 2", "its process was killed",
		`branch "login" at ` + head[:10], "2 uncommitted files", fmt.Sprintf("in %q", tree), "the form is there, styles come next",
	} {
		if !strings.Contains(next.text, part) {
			t.Errorf("the hand-over does not say %q:\n%s", part, next.text)
		}
	}

	// The agent lives on, and its client starts the server again.
	back := s.pipe(t, tree)
	late, err := back.try("report_task_done", args{"claim": given.Claim, "summary": "the page is on the branch login"})
	if err != nil {
		t.Fatal(err)
	}
	if !late.refused || late.facts.Error != "lease_lost" {
		t.Errorf("the late report was answered %+v, want it refused: the lease is lost", late)
	}
	for _, part := range []string{"Not recorded", "web-1 is at attempt 2", "kept as a note", "Do not push or merge", "Next: get_next_task"} {
		if !strings.Contains(late.text, part) {
			t.Errorf("the late report's refusal does not say %q:\n%s", part, late.text)
		}
	}
	s.keptLate(t, "web-1", "the page is on the branch login")
	// What it was told to do next works.
	if !strings.Contains(late.text, `Next: get_next_task {"worker":"`+given.Worker+`"}.`) {
		t.Errorf("the late report's refusal does not name the next call:\n%s", late.text)
	}
	if nothing := back.call(t, "get_next_task", args{"worker": given.Worker}); nothing.facts.Outcome != "none" {
		t.Errorf("the next call says %s", nothing.text)
	}
	heir.call(t, "report_task_done", args{"claim": next.facts.Claim.Claim, "summary": "went on from there"})
	want := []string{
		"created →pending", "claimed pending→in_progress", "note in_progress→in_progress", "expired in_progress→pending",
		"claimed pending→in_progress", "note in_progress→in_progress", "done in_progress→done",
	}
	if got := s.history(t, "web-1"); !slices.Equal(got, want) {
		t.Errorf("history = %v, want %v", got, want)
	}
}

// After its lease has run out a worker may still report that it is done, if nobody
// else has begun and the task is what it was. All else takes the claim back.
func TestPresence_lateReport(t *testing.T) {
	t.Parallel()
	s := newSite(t, fmt.Sprintf("lease = %q", lease))
	for _, title := range []string{"Reported", "Changed", "Failed", "Noted"} {
		s.cli(t, "task", "add", title)
	}
	lead := s.pipe(t, s.dir)
	victim := s.pipe(t, s.dir)
	var claims []claim
	for range 4 {
		claims = append(claims, victim.call(t, "get_next_task", args{"worker": "new"}).facts.Claim)
	}
	for _, c := range claims {
		lead.watch(t, "bossman://tasks/"+c.Task)
	}
	victim.kill()
	lead.until(t, "all four leases have run out", func() bool {
		ended := 0
		for _, e := range s.events(t) {
			if e.Kind == "expired" {
				ended++
			}
		}
		return ended == len(claims)
	})
	s.cli(t, "task", "edit", claims[1].Task, "--acceptance", "It is blue.")

	back := s.pipe(t, s.dir)
	late := back.call(t, "report_task_done", args{"claim": claims[0].Claim, "summary": "the first one"})
	if !late.facts.Late || late.facts.Status != "done" || !strings.Contains(late.text, "web-1 is done. Your lease had expired") {
		t.Errorf("the late report = %+v, want it taken", late)
	}
	// Said again, it is the same report.
	again := back.call(t, "report_task_done", args{"claim": claims[0].Claim, "summary": "the first one"})
	if again.facts.Status != "done" || !strings.Contains(again.text, "You already reported this.") {
		t.Errorf("the late report, repeated = %+v", again)
	}
	for i, c := range []struct {
		claim  claim
		tool   string
		args   args
		answer string
	}{
		{claims[1], "report_task_done", args{"summary": "a red one"}, "The task was edited after you got it."},
		{claims[2], "report_task_failed", args{"reason": "no network"}, "(1 of 3 attempts failed)"}, // the expiry does not count
		{claims[3], "report_progress", args{"note": "half of it"}, "Noted."},
	} {
		c.args["claim"] = c.claim.Claim
		got, err := back.try(c.tool, c.args)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.text, c.answer) || got.facts.Error == "lease_lost" {
			t.Errorf("%d: %s = %+v, want %s", i, c.tool, got, c.answer)
		}
		if got := s.history(t, c.claim.Task); !slices.Contains(got, "revived pending→in_progress") {
			t.Errorf("history of %s = %v, want that the claim was taken back", c.claim.Task, got)
		}
	}
	if got := s.history(t, "web-1"); got[len(got)-1] != "done pending→done" {
		t.Errorf("history of web-1 = %v, want that it ends done", got)
	}
}

// keptLate shows that what a worker had to say is in the history, and marked.
func (s *site) keptLate(t *testing.T, task, text string) {
	t.Helper()
	for _, e := range s.events(t) {
		if e.Task == task && e.Kind == "note" && e.Late && e.Text == text {
			return
		}
	}
	t.Errorf("%q is not kept as a late note of %s", text, task)
}
