package tools_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/tools"
)

// longCheck is an Inspector with a check that calls join while it is under way.
type longCheck struct {
	slowCheck
	state tools.CheckState

	mu      sync.Mutex
	begun   time.Time
	stopped int
}

func (c *longCheck) Check(ctx context.Context, _ board.Work, d time.Duration, waiting func(time.Duration, string) bool) (tools.CheckResult, error) {
	c.mu.Lock()
	if c.begun.IsZero() {
		c.begun = time.Now()
	}
	end := c.begun.Add(c.takes)
	c.mu.Unlock()
	res := tools.CheckResult{State: tools.CheckRunning, Command: "make test", Run: "r1"}
	waiting(0, "")
	goOn := true
	for deadline := time.Now().Add(d); ; goOn = waiting(time.Second, "") {
		switch now := time.Now(); {
		case !goOn:
			c.stopped++
			res.State, res.Reason = tools.CheckStopped, "it was stopped"
			return res, nil
		case !now.Before(end):
			res.State, res.Reason = c.state, "exit status 1"
			res.Evidence = board.Evidence{Kind: board.EvidenceTests, Ref: "make test", Detail: "exit 0"}
			return res, nil
		case !now.Before(deadline):
			return res, nil
		}
		select {
		case <-ctx.Done():
			return res, nil
		case <-time.After(min(time.Until(end), time.Until(deadline), 5*time.Second)):
		}
	}
}

// A report whose check takes longer than the call is told to the next worker, with the verdict if
// the process lived to hear it.
func TestTrace_longCheck(t *testing.T) {
	for _, x := range []struct {
		name     string
		state    tools.CheckState
		lives    time.Duration
		repeats  bool
		want     []string
		wantDone bool
	}{
		{"killed early", tools.CheckGreen, 5 * time.Second, false, nil, false},
		{"killed during the call", tools.CheckGreen, 20 * time.Second, false, []string{"reported done, but the check was under way: the login"}, false},
		{"killed before the verdict", tools.CheckGreen, 60 * time.Second, false, []string{"reported done, but the check was under way: the login"}, false},
		{"killed after a green one", tools.CheckGreen, 90 * time.Second, false, []string{
			"reported done, but the check was under way: the login", "the check of the report that was not recorded passed: exit 0",
		}, false},
		{"killed after a red one", tools.CheckRed, 90 * time.Second, false, []string{
			"reported done, but the check was under way: the login", "the check of the report that was not recorded failed: exit status 1",
		}, false},
		{"repeated", tools.CheckGreen, 90 * time.Second, true, []string{"reported done, but the check was under way: the login"}, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFixture(t, web, setup{}, mcp.LatestRevision)
				p := s.pipe(setup{Inspector: &longCheck{slowCheck: slowCheck{70 * time.Second}, state: x.state}})
				p.say(tool(1, "create_task", `{"title":"One","description":"x"}`), method(2, "getNextTask", `{}`))
				p.answered(time.Second, 1, 2)
				p.say(method(3, "reportTaskDone", `{"taskId":"web-1","result":"the login"}`))
				if x.repeats {
					p.answered(46*time.Second, 1, 2, 3)
					p.say(method(4, "reportTaskDone", `{"taskId":"web-1","result":"the login"}`))
				}
				time.Sleep(x.lives)
				synctest.Wait()
				d, err := s.b.Get(t.Context(), board.ID{Project: "web", No: 1}, 100)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, e := range d.Events {
					if e.Kind == board.EventNote {
						got = append(got, e.Detail.Text)
					}
				}
				if strings.Join(got, "\n") != strings.Join(x.want, "\n") {
					t.Errorf("notes are %q, want %q", got, x.want)
				}
				if done := d.Task.Status == board.Done; done != x.wantDone {
					t.Errorf("web-1 is %s", d.Task.Status)
				}
			})
		})
	}
}

// The check of an attempt that has ended is stopped, also after the call that began it, and the
// worker is not told that it still holds the task.
func TestTrace_endedDuringCheck(t *testing.T) {
	for _, after := range []time.Duration{12 * time.Second, 50 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newFixture(t, web, setup{}, mcp.LatestRevision)
			look := &longCheck{slowCheck: slowCheck{time.Hour}, state: tools.CheckGreen}
			p := s.pipe(setup{Inspector: look})
			p.say(tool(1, "create_task", `{"title":"One","description":"x"}`), method(2, "getNextTask", `{}`))
			p.answered(time.Second, 1, 2)
			p.say(method(3, "reportTaskDone", `{"taskId":"web-1","result":"the login"}`))
			time.Sleep(after)
			if _, err := s.b.Cancel(t.Context(), ada, board.ID{Project: "web", No: 1}, "not wanted", board.DependentsKeep); err != nil {
				t.Fatal(err)
			}
			got := p.answered(6*time.Second, 1, 2, 3)[3]
			if after < 45*time.Second && (strings.Contains(got, "You still hold") || !strings.Contains(got, "cancelled")) {
				t.Errorf("the report of a task that was cancelled after %v: %s", after, got)
			}
			look.mu.Lock()
			defer look.mu.Unlock()
			if look.stopped != 1 {
				t.Errorf("the check of a task that was cancelled after %v was stopped %d times", after, look.stopped)
			}
		})
	}
}
