package board

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// handover is how long the task of a killed process may take to another agent.
var handover = harness.Bound(2 * time.Second)

// kills is how many processes TestKilled kills; make kills asks for 100.
func kills(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("BOSSMAN_KILLS"))
	if err != nil {
		return 10
	}
	t.Logf("%d kills", n)
	return n
}

// After kill -9 of a holder the next agent has the task within two seconds, whether it
// waits already, asks afterwards, or comes back under the name of the killed one.
func TestKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	heir := s.pipe(t, s.dir)
	slowest := time.Duration(0)
	for i := range kills(t) {
		s.cli(t, "task", "add", "Task "+strconv.Itoa(i))
		victim := s.pipe(t, s.dir)
		lost := victim.call(t, "get_next_task", nil).facts.Claim
		if lost.Task == "" {
			t.Fatalf("%d: the victim was given nothing", i)
		}
		ask := args{"wait_seconds": 45}
		switch i % 3 {
		case 1:
			ask = args{}
		case 2:
			ask = args{"worker": lost.Worker}
		}
		waiting := make(chan answer, 1)
		if i%3 == 0 {
			go func() {
				a, _ := heir.try("get_next_task", ask)
				waiting <- a
			}()
			heir.call(t, "get_task", args{"task": lost.Task}) // the call above waits by now
		}
		victim.kill()
		killed := time.Now()
		if i%3 != 0 {
			a, _ := heir.try("get_next_task", ask) // the first question after the death
			waiting <- a
		}
		got := <-waiting
		took := time.Since(killed)
		slowest = max(slowest, took)
		if got.facts.Claim.Task != lost.Task || took > handover {
			t.Fatalf("%d: %v after kill -9 the heir that asked with %v was told %q, want %s within %v", i, took, ask, got.text, lost.Task, handover)
		}
		if !strings.Contains(got.text, "its process was killed") {
			t.Errorf("%d: the hand-over does not say that the process was killed:\n%s", i, got.text)
		}
		heir.call(t, "report_task_done", args{"claim": got.facts.Claim.Claim, "summary": "done"})
	}
	t.Logf("the slowest hand-over took %v", slowest.Round(time.Millisecond))
}

// A program that the killed process has started, here a check, does not keep its task.
func TestKilled_whileChecking(t *testing.T) {
	t.Parallel()
	s, ran := checked(t, "sleep 30")
	victim, heir := s.pipe(t, s.dir), s.pipe(t, s.dir)
	lost := victim.call(t, "get_next_task", nil).facts.Claim
	go func() { _, _ = victim.try("report_task_done", args{"claim": lost.Claim, "summary": "done"}) }()
	for late := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(ran); err == nil {
			break
		}
		if time.Now().After(late) {
			t.Fatal("the check does not begin")
		}
	}
	if err := victim.cmd.Process.Kill(); err != nil { // it alone, not its group
		t.Fatal(err)
	}
	killed := time.Now()
	got := heir.call(t, "get_next_task", args{"wait_seconds": 45})
	if took := time.Since(killed); got.facts.Claim.Task != lost.Task || took > handover {
		t.Errorf("%v after kill -9 the heir was told %q, want %s within %v", took, got.text, lost.Task, handover)
	}
}

// After kill -9 of the agent alone, its server sees the end of its input and leaves: the
// agent may come back within two minutes, and then the task is another's.
func TestKilled_agentAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.cli(t, "task", "add", "One")
	said := filepath.Join(s.home, "said")
	write(t, said, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_next_task","arguments":{}}}
`)
	// The agent is a program that says this, and then thinks.
	agent := exec.Command("sh", "-c", `cat "$0"; exec sleep 600`, said)
	words, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server := harness.Command(t.Context(), s.home, programs.Path(harness.Bossman), "mcp")
	server.Dir, server.Stdin = s.dir, words
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Process.Kill(); _ = agent.Wait() })
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	_ = words.Close() // ours; the server has its own
	s.untilClaims(t, func(left int) bool { return left > 500 })
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v, want 0 at the end of its input", err)
	}
	s.untilClaims(t, func(left int) bool { return left > 0 && left <= 120 })
	if os.Getenv("BOSSMAN_KILLS") == "" {
		return // the rest takes two minutes
	}
	heir := s.pipe(t, s.dir)
	for {
		got := heir.call(t, "get_next_task", args{"wait_seconds": 45})
		took := time.Since(killed)
		if got.facts.Claim.Task == "web-1" && took < 2*time.Minute+handover {
			t.Logf("handed over %v after kill -9 of the agent", took.Round(time.Second))
			return
		}
		if took > 2*time.Minute+handover {
			t.Fatalf("%v after kill -9 of the agent the heir was told %q", took, got.text)
		}
	}
}

// untilClaims waits until there is one claim and the seconds that its lease has left are
// right.
func (s *site) untilClaims(t *testing.T, right func(left int) bool) {
	t.Helper()
	for late := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		var status struct {
			Claims []struct {
				LeaseLeft int `json:"lease_left_seconds"`
			}
		}
		text := s.cli(t, "status", "--json")
		if err := json.Unmarshal([]byte(text), &status); err != nil {
			t.Fatal(err)
		}
		if len(status.Claims) == 1 && right(status.Claims[0].LeaseLeft) {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("not within %v: %s", patience, text)
		}
	}
}

// The answer to an agent's question comes after the agent has gone, or before: nobody waits
// for it.
func TestKilled_asker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	heir := s.pipe(t, s.dir)
	leave := map[string]func(*pipe){"killed": (*pipe).kill, "left": func(p *pipe) { p.end(t) }}
	q := 0
	for how, leave := range leave {
		for _, when := range []string{"before", "after"} {
			s.cli(t, "task", "add", how+" "+when+" the answer")
			asker := s.pipe(t, s.dir)
			given := asker.call(t, "get_next_task", nil).facts.Claim
			asker.call(t, "ask_question", args{"claim": given.Claim, "question": "red or blue?", "wait_seconds": 0})
			q++
			answer := func() { s.cli(t, "answer", "q-"+strconv.Itoa(q), "blue") }
			if when == "before" {
				leave(asker)
				answer()
			} else {
				answer()
				if got := heir.call(t, "get_next_task", nil); got.facts.Outcome != "none" {
					t.Errorf("while the asker is connected, another was given %s", got.text)
				}
				leave(asker)
			}
			begun := time.Now()
			got := heir.call(t, "get_next_task", args{"wait_seconds": 45})
			if took := time.Since(begun); got.facts.Claim.Task != given.Task || took > handover {
				t.Fatalf("the asker was %s %s the answer: %v later another was told %q, want %s", how, when, took, got.text, given.Task)
			}
			heir.call(t, "report_task_done", args{"claim": got.facts.Claim.Claim, "summary": "done"})
		}
	}
}

// While nobody else is there to take the task of a killed process, people see what has
// happened and what to do.
func TestKilled_status(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.cli(t, "task", "add", "One")
	victim := s.pipe(t, s.dir)
	victim.call(t, "get_next_task", nil)
	if said := s.cli(t, "status"); !strings.Contains(said, "next: nothing; agents are working") {
		t.Errorf("status while the agent works:\n%s", said)
	}
	victim.kill()
	if said := s.cli(t, "status"); !strings.Contains(said, "1 ready") || !strings.Contains(said, "next: start an agent") {
		t.Errorf("status after kill -9:\n%s", said)
	}
	if said := s.cli(t, "task", "show", "web-1"); !strings.Contains(said, "its process was killed") {
		t.Errorf("task show after kill -9:\n%s", said)
	}
}

// A claim by bossman next has no process: it outlives its command, and lasts for an hour.
func TestKilled_next(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.cli(t, "task", "add", "One")
	rival := s.pipe(t, s.dir)
	if said := s.cli(t, "next"); !strings.Contains(said, "web-1 is yours") {
		t.Fatalf("bossman next said %s", said)
	}
	got := rival.call(t, "get_next_task", args{"wait_seconds": 4})
	if got.facts.Outcome != "none" || !strings.Contains(got.text, "Another worker has had web-1 for") {
		t.Errorf("after the command another agent was told %q", got.text)
	}
	s.untilClaims(t, func(left int) bool { return left > 3500 })
	if said := s.cli(t, "status"); !strings.Contains(said, "next: nothing; agents are working") {
		t.Errorf("status:\n%s", said)
	}
	s.cli(t, "done", "--summary", "done")
}
