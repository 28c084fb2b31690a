package failover

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// A commit that waits for the standby and is cancelled is answered by PostgreSQL as a
// success, with a warning. The caller is told that the outcome is unknown, also when it
// repeats the call, until the standby has it.
func TestCancelledWait(t *testing.T) {
	p := newPair(t, true)
	s := newScene(t, p, 1, 5)
	agent, laptop := s.agents[0].door, s.agents[2].door
	t.Cleanup(func() {
		for _, a := range append(s.agents, s.probes...) {
			a.door.close()
		}
	})
	ctx := t.Context()
	claim, _, err := agent.next(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	noted, _, err := laptop.next(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.backup.Stop("fast"); err != nil {
		t.Fatal(err)
	}
	create := func(ctx context.Context) error {
		_, err := agent.create(ctx, "a task", "key")
		return err
	}
	done := func(ctx context.Context) error { return agent.done(ctx, claim, "done") }
	for _, c := range []struct {
		name string
		call func(context.Context) error
	}{
		{"report_task_done", done},
		{"report_task_done again", done},
		{"create_task", create},
		{"create_task again", create},
		{"a note of a laptop", func(ctx context.Context) error { return laptop.note(ctx, noted, "half") }},
	} {
		err := p.cancelled(c.call)
		refused, isTool := errors.AsType[*refusedError](err)
		switch {
		case isTool && refused.code == "unknown" && strings.Contains(refused.text, "It is not known whether this was done"):
		case !isTool && errors.Is(err, board.ErrUnknown) && !errors.Is(err, board.ErrUnavailable):
		default:
			t.Errorf("%s, cancelled while it waited for the standby = %v, want that it is unknown", c.name, err)
		}
	}
	if n := strings.Count(p.primary.Log(), "canceling wait for synchronous replication"); n < 5 {
		t.Errorf("%d waits were cancelled, want at least 5", n)
	}
	if err := p.backup.Start(); err != nil {
		t.Fatal(err)
	}
	p.pids = append(p.pids, p.backup.PID())
	p.await("a synchronous standby", p.primary, `SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'`)
	if err := done(ctx); err != nil {
		t.Errorf("report_task_done with the standby: %v", err)
	}
	if err := create(ctx); err != nil {
		t.Errorf("create_task with the standby: %v", err)
	}
	p.kill(true)
	p.promote()
	store := s.open()
	made := map[board.Kind]int{}
	for _, e := range s.feed(store) {
		made[e.Kind]++
	}
	if made[board.EventCreated] != 6 || made[board.EventDone] != 1 || made[board.EventNote] != 1 {
		t.Errorf("the standby has %v, want 6 created, one done, one note", made)
	}
}

// cancelled makes a call, and cancels whatever waits for the standby until it is
// answered.
func (p *pair) cancelled(call func(context.Context) error) error {
	p.t.Helper()
	conn := p.connect(p.primary)
	defer conn.Close(context.Background())
	answer := make(chan error, 1)
	go func() { answer <- call(p.t.Context()) }()
	var err error
	eventually(p.t, "answered", func() bool {
		p.ask(conn, `SELECT count(pg_cancel_backend(pid)) >= 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
		select {
		case err = <-answer:
			return true
		default:
			return false
		}
	})
	return err
}
