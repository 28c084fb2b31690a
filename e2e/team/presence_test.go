package team

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/e2e/internal/teamserver"
	"github.com/bossman-dev/bossman/mcp"
)

// shortLease is long enough for a busy machine to renew it in time.
const shortLease = 4 * time.Second

// sweeping is what a dead worker's task may take beyond its lease.
const sweeping = 2 * time.Second

// An agent thinks on a laptop, without a call, and keeps its task for two leases,
// while two replicas are killed, one after the other. When the laptop's process is
// killed another gets the task.
func TestPresence(t *testing.T) {
	t.Parallel()
	team := teamserver.Start(t, bossman, 3)
	team.Operate(t, "project", "set", teamserver.Project, "--lease", shortLease.String())
	laptop := team.Laptop(t, team.Key(t, "--role", "lead", "--person", "bob"), teamserver.Project)
	laptop.Run(t, "task", "add", "Think")
	thinker := pipe(t, laptop)
	rival := connect(t, team.MCP(), team.Key(t, "--role", "worker", "--owner", "ada"), &mcp.ClientOptions{Revision: mcp.LatestRevision})

	given := call(t, thinker.c, "get_next_task", nil).facts.Claim
	if given.Task != "web-1" {
		t.Fatalf("the laptop was given %+v", given)
	}
	granted := time.Now()
	for _, r := range team.Replicas[:2] {
		r.Kill()
		nothing := call(t, rival, "get_next_task", args{"wait_seconds": int(shortLease/time.Second) + 1})
		if nothing.facts.Outcome != "none" || !strings.Contains(nothing.text, "1 in progress") {
			t.Fatalf("the rival was told %q, want that the task is in progress", nothing.text)
		}
		r.Start(t)
	}
	if held := time.Since(granted); held < 2*shortLease {
		t.Fatalf("the claim was held for %v, want two leases", held)
	}
	call(t, thinker.c, "report_progress", args{"claim": given.Claim, "note": "thought of it"})

	thinker.kill()
	killed := time.Now()
	next := call(t, rival, "get_next_task", args{"wait_seconds": 45})
	took := time.Since(killed)
	t.Logf("handed over %v after kill -9, with a lease of %v", took.Round(time.Millisecond), shortLease)
	if next.facts.Claim.Task != given.Task || took > shortLease+sweeping {
		t.Errorf("after %v the rival was given %q, want %s within %v", took, next.facts.Claim.Task, given.Task, shortLease+sweeping)
	}
	says(t, next.text, "thought of it", `in "`+laptop.Dir+`"`)
	call(t, rival, "report_task_done", args{"claim": next.facts.Claim.Claim, "summary": "done"})
	want := "created claimed note expired claimed done"
	if got := kinds(team.Events(t), given.Task); got != want {
		t.Errorf("history = %s, want %s", got, want)
	}
}

// kinds is the history of a task in words.
func kinds(events []board.Event, task string) string {
	var out []string
	for _, e := range events {
		if e.Task.String() == task {
			out = append(out, string(e.Kind))
		}
	}
	return strings.Join(out, " ")
}

// A piped client has started bossman mcp on a laptop.
type piped struct {
	c   *mcp.Client
	pid int
}

func pipe(t *testing.T, l *teamserver.Laptop) *piped {
	t.Helper()
	env := harness.Command(t.Context(), l.Home, bossman).Env
	p := &piped{}
	command := &mcp.Command{
		Args: []string{bossman, "mcp"}, Dir: l.Dir, Env: slices.Clone(env),
		OnStart: func(started *os.Process) { p.pid = started.Pid },
	}
	c, err := command.Connect(t.Context(), &mcp.ClientOptions{Revision: mcp.R20251125})
	if err != nil {
		t.Fatal(fmt.Errorf("bossman mcp in %s: %w", l.Dir, err))
	}
	t.Cleanup(func() { _ = c.Close() })
	p.c = c
	return p
}

// kill is kill -9.
func (p *piped) kill() {
	_ = syscall.Kill(p.pid, syscall.SIGKILL)
	<-p.c.Done()
}
