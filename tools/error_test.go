package tools

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// TestRefuse: every error of the board becomes a refusal with all four parts.
func TestRefuse(t *testing.T) {
	id := board.ID{Project: "web", No: 142}
	h := board.Handle{Task: id, Attempt: 3, Nonce: "k7f2q"}
	me := board.WorkerID{Principal: "local", Name: "me"}
	at := time.Date(2026, 7, 28, 13, 58, 0, 0, time.UTC)
	task := board.Task{ID: id, Attempt: 4, Status: board.InProgress}
	ended := func(c board.Cause) *board.Attempt {
		return &board.Attempt{Handle: h, Worker: me, Cause: c, EndedAt: at, Reason: "no sign of life"}
	}
	holder := &board.Claim{Handle: board.Handle{Task: id, Attempt: 4, Nonce: "abcde"}, Worker: board.WorkerID{Name: "they"}, GrantedAt: at.Add(7 * time.Minute)}
	cases := map[string]struct {
		err  error
		want string
	}{
		"not found":   {board.ErrNotFound, "Not recorded. Nothing has changed. There is no task web-142 on this board. Next: list_tasks {}."},
		"invalid":     {fmt.Errorf("%w: a note needs a text", board.ErrInvalid), "Not recorded. web-142 has not changed. A note needs a text. Next: fix that and repeat the call."},
		"conflict":    {fmt.Errorf("%w: web-142 is done", board.ErrConflict), `Not recorded. web-142 has not changed. web-142 is done. Next: get_task {"task":"web-142"}.`},
		"denied":      {fmt.Errorf("%w: the claim is somebody else's", board.ErrDenied), "Not recorded. web-142 has not changed. The claim is somebody else's. Leave it to someone else; continue with your own task, or end your turn."},
		"unknown":     {board.ErrUnknown, "It is not known whether this was done. The change may or may not be saved. The database connection was lost during the write. Next: repeat the call in a minute"},
		"unavailable": {fmt.Errorf("read: %w", board.ErrUnavailable), "Not recorded. Nothing has changed, and you still hold your task for now. The board cannot be reached; this does not mean that your task is gone."},
		"too new":     {board.ErrTooNew, "Not recorded. Nothing is lost. Bossman was upgraded while this process was running."},
		"unknown hand-out": {
			&board.UnknownError{Worker: "otter-7k", Err: errors.New("unexpected EOF")},
			`It is not known whether a task was handed out. If one was, you hold it as worker otter-7k. The database connection was lost during the write. Next: get_next_task {"worker":"otter-7k"}.`,
		},
		"evidence": {
			&board.EvidenceError{Task: id, Missing: []board.EvidenceKind{"tests"}, Sent: []board.EvidenceKind{"commit"}},
			"Not recorded. You still hold web-142. It requires evidence of kind tests; you sent commit. Run the tests and repeat the call with that evidence added: report_task_done {",
		},
		"cycle":   {&board.CycleError{Path: []string{"a", "b", "a"}}, "Not recorded. web-142 has not changed. The dependencies would form a cycle: \"a\" → \"b\" → \"a\". Next: repeat the call without one of these links."},
		"held":    {&board.HeldError{Worker: board.Worker{WorkerID: board.WorkerID{Name: "they"}}, Left: 4 * time.Minute}, `Not recorded. Nothing was handed out. The name belongs to another agent. It is free when that agent's process ends, or in 4 min without a call from it. Next: get_next_task {"worker":"new"}.`},
		"stopped": {&board.StoppedError{Worker: board.Worker{StoppedBy: "ada"}}, "Not recorded. You get no more work. Cancelled: stop. \"ada\" told this worker to stop. End your turn now; make no other call."},
		"lost": {
			&board.LostError{Claim: h, Task: task, Holder: holder, Ended: ended(board.CauseExpired), Kept: true},
			`Not recorded. web-142 is at attempt 4, held by another worker since 14:05 UTC. Your lease expired at 13:58 UTC. Your text was kept as a note. Do not push or merge; leave your work on its branch. Next: get_next_task {"worker":"me"}.`,
		},
		"lost, unknown": {&board.LostError{Claim: h, Task: task}, "Not recorded. web-142 is in progress at attempt 4. There is no claim web-142/3.k7f2q"},
		"lost, stopped": {&board.LostError{Claim: h, Task: task, Ended: ended(board.CauseStopped)}, "Not recorded. web-142 is in progress at attempt 4. Cancelled: stop. You were told to stop at 13:58 UTC."},
		"lost, alive":   {&board.LostError{Claim: h, Task: task, Ended: ended("")}, "Not recorded. web-142 is in progress at attempt 4. Your claim is not the current one."},
	}
	for _, c := range []board.Cause{
		board.CauseDone, board.CauseFailed, board.CauseReleased, board.CauseNotNow, board.CauseParked, board.CauseCancelled,
		board.CauseRestarts, board.CauseUndelivered,
	} {
		cases["lost, "+string(c)] = struct {
			err  error
			want string
		}{&board.LostError{Claim: h, Task: task, Ended: ended(c)}, "Not recorded. web-142 is in progress at attempt 4. "}
	}
	tl := &caller{Caller: &access.Caller{Role: auth.Lead}, t: new(Tools)}
	web := []string{"web"}
	for name, c := range cases {
		for _, err := range []error{c.err, fmt.Errorf("report: %w", c.err)} {
			r, ok := asRefusal(tl.refuse(action{what: "Not recorded.", claim: h}, err))
			if !ok {
				t.Errorf("%s: no refusal", name)
				continue
			}
			for part, text := range map[string]string{"what": r.what, "state": r.state, "why": r.why, "next": r.next} {
				if text == "" || !strings.ContainsAny(text[len(text)-1:], ".") {
					t.Errorf("%s: %s = %q, want a sentence", name, part, text)
				}
			}
			if r.code == "" {
				t.Errorf("%s: no code for programs", name)
			}
			if strings.Contains(r.Error(), "they") || strings.Contains(r.Error(), "board: ") {
				t.Errorf("%s says %q", name, r)
			}
			if err == c.err && !strings.HasPrefix(r.Error(), c.want) {
				t.Errorf("%s:\n got %s\nwant %s", name, r, c.want)
			}
			if !errors.Is(r, err) {
				t.Errorf("%s: the refusal hides its cause", name)
			}
		}
	}
	if err := errors.New("disk on fire"); !errors.Is(tl.refuse(action{}, err), err) {
		t.Error("refuse changed an error that is not the board's")
	}
	for _, err := range []error{noProject(web, "x"), noProject(web, ""), noProject(nil, ""), whichTask(nil), whichTask([]board.Claim{*holder})} {
		if r, ok := asRefusal(err); !ok || r.what == "" || r.state == "" || r.why == "" || r.next == "" {
			t.Errorf("%q lacks a part", err)
		}
	}
}

func TestRPCError(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{fmt.Errorf("%w: x", board.ErrInvalid), jsonrpc.CodeInvalidParams},
		{board.ErrNotFound, jsonrpc.CodeInvalidParams},
		{board.ErrUnavailable, jsonrpc.CodeInternal},
		{board.ErrConflict, jsonrpc.CodeInternal},
	} {
		e, ok := rpcError("Failed", c.err).(*jsonrpc.Error)
		if !ok || e.Code != c.code || !strings.HasPrefix(e.Message, "Failed: ") {
			t.Errorf("rpcError(%v) = %v, want code %d", c.err, e, c.code)
		}
	}
	for _, kind := range []error{board.ErrUnavailable, board.ErrUnknown} {
		err := rpcError("Failed", fmt.Errorf("%w: failed to connect to user=bossman", kind))
		if strings.Contains(err.Error(), "user=") {
			t.Errorf("rpcError shows a driver's error: %v", err)
		}
	}
}
