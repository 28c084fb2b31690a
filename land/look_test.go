package land

import (
	"context"
	"strings"
	"testing"
)

// A person's own commit on the target is said once, with its subject, however often they land; their inbox stays empty.
func TestLand_movedOnce(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	y.task("first", "main", map[string]string{"b": "1\n"})
	y.land()
	y.tells("landed web-1")
	y.git("-C", y.dir, "update-ref", "refs/heads/next", y.commit("next", "by hand", map[string]string{"c": "1\n"}))
	y.land()
	if len(y.events) != 1 || !strings.Contains(y.events[0].Text, `new: `) || !strings.Contains(y.events[0].Text, `"by hand"`) {
		t.Errorf("events = %+v", y.events)
	}
	y.tells("moved")
	y.land()
	y.tells()
	y.task("second", "next", map[string]string{"d": "1\n"})
	y.land()
	y.tells("landed web-2")
	y.git("-C", y.dir, "update-ref", "refs/heads/next", "next~2")
	y.land()
	if len(y.events) != 1 || !strings.Contains(y.events[0].Text, `gone: `) || !strings.Contains(y.events[0].Text, `"second" (web-2), `) {
		t.Errorf("events = %+v", y.events)
	}
	if in, err := y.board.Inbox(t.Context(), "web"); err != nil || len(in.Landing) != 0 {
		t.Errorf("inbox = %+v, %v", in.Landing, err)
	}
}

// What moved the target while a lander ran by itself stays in the inbox until the next lander has said it.
func TestLand_movedWhileWatching(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	y.o.Watch = true
	first := y.o.Report
	y.o.Report = func(e Event) {
		if first(e); e.Kind == Moved {
			end()
		}
	}
	l := New(&y.o)
	moved := false
	y.o.Board = nil
	l.o.Board = watched{y.board, func() {
		if l.lastSeen() != "" && !moved { // it has looked at the target
			moved = true
			y.git("-C", y.dir, "update-ref", "refs/heads/next", y.commit("next", "not judged", map[string]string{"c": "1\n"}))
		}
	}}
	if err := l.Run(ctx); err != nil {
		t.Fatal(err)
	}
	y.tells("moved")
	in, err := y.board.Inbox(t.Context(), "web")
	if err != nil || len(in.Landing) != 1 || !in.Landing[0].Moved || !strings.Contains(in.Landing[0].Why, `"not judged"`) {
		t.Errorf("inbox = %+v, %v", in.Landing, err)
	}
	y.o.Board, y.o.Watch = y.board, false
	y.land()
	y.tells("moved")
	if in, err := y.board.Inbox(t.Context(), "web"); err != nil || len(in.Landing) != 0 {
		t.Errorf("inbox = %+v, %v", in.Landing, err)
	}
	y.land()
	y.tells()
}

// watched is a board that calls a function before its changes are waited for.
type watched struct {
	Board
	before func()
}

func (w watched) Changes() <-chan struct{} {
	w.before()
	soon := make(chan struct{})
	close(soon)
	return soon
}
