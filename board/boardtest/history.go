package boardtest

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/bossman-dev/bossman/board"
)

// A History is what clients of a board saw: each call with the moments it began
// and was answered, by one clock. Its methods may be called from many goroutines.
type History struct {
	begun time.Time

	mu  sync.Mutex
	ops []op
}

// An op is a call and its answer.
type op struct {
	kind   opKind
	client int
	task   board.ID
	handle board.Handle // what was granted, or is named
	lease  time.Duration
	answer answer

	call, back int64
}

type opKind uint8

const (
	opClaim opKind = iota
	opDone
	opFail
)

// An answer is what a client knows of its call.
type answer uint8

const (
	accepted answer = iota
	refused         // definitely without an effect
	unknown         // with one or without
)

// NewHistory begins a history.
func NewHistory() *History { return &History{begun: time.Now()} }

func (h *History) now() int64 { return int64(time.Since(h.begun)) }

func answerOf(err error) answer {
	switch {
	case err == nil:
		return accepted
	case errors.Is(err, board.ErrLeaseLost), errors.Is(err, board.ErrConflict), errors.Is(err, board.ErrDenied),
		errors.Is(err, board.ErrNotFound), errors.Is(err, board.ErrInvalid), errors.Is(err, board.ErrUnavailable):
		return refused
	}
	return unknown
}

func (h *History) add(o op) {
	o.back = h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	o.client = len(h.ops) // each call may overlap every other
	h.ops = append(h.ops, o)
}

// Claim records a hand-out. ask makes the call; a claim whose reply was lost is not
// recorded, since nobody knows of it.
func (h *History) Claim(ask func() (*board.Handout, error)) (*board.Handout, error) {
	o := op{kind: opClaim, call: h.now()}
	out, err := ask()
	if err == nil {
		o.task, o.handle, o.lease = out.Claim.Task, out.Claim.Handle, out.Claim.Lease
		if !out.Again {
			h.add(o)
		}
	}
	return out, err
}

// Done records a report of done, and Fail one of a failure that gives the task back.
func (h *History) Done(claim board.Handle, report func() (board.Outcome, error)) (board.Outcome, error) {
	return h.report(opDone, claim, report)
}

// Fail records a report of a failure.
func (h *History) Fail(claim board.Handle, report func() (board.Outcome, error)) (board.Outcome, error) {
	return h.report(opFail, claim, report)
}

func (h *History) report(k opKind, claim board.Handle, report func() (board.Outcome, error)) (board.Outcome, error) {
	o := op{kind: k, task: claim.Task, handle: claim, call: h.now()}
	out, err := report()
	if o.answer = answerOf(err); err != nil || !out.Again {
		h.add(o)
	}
	return out, err
}

// Ended records that a claim was seen to end by somebody else's doing: by a person,
// or by a lease that the test let run out. Early does not miss it.
func (h *History) Ended(claim board.Handle) {
	h.add(op{kind: opFail, task: claim.Task, handle: claim, call: h.now(), answer: unknown})
}

// Early looks for claims that were taken away before their lease was over: another
// grant of the task was answered, and the first one's holder had neither reported
// nor had its lease, counted from its answer, run out. It takes the clock of the
// history for the database's; they may differ in rate a little, not in more.
func (h *History) Early() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, first := range h.ops {
		if first.kind != opClaim {
			continue
		}
		// The grant happened after the call began, so its lease ends no earlier.
		end := first.call + int64(first.lease)
		for _, o := range h.ops {
			if o.kind != opClaim && o.handle == first.handle && o.answer != refused {
				end = min(end, o.call)
			}
		}
		for _, next := range h.ops {
			if next.kind == opClaim && next.task == first.task && next.handle.Attempt > first.handle.Attempt && next.back < end {
				errs = append(errs, fmt.Errorf("I10: %v was granted %v before the lease of %v ended",
					next.handle, time.Duration(end-next.back), first.handle))
			}
		}
	}
	return errs
}

// grants is the state of one task in the model: its newest grant, and whether that
// was reported. A lease that ends is not seen by clients, so the model allows it at
// any time; Early looks at the times.
type grants struct {
	attempt int
	nonce   string
	// reported is set when the newest grant's report was taken, done when that ended
	// the task.
	reported, done bool
}

// claimModel says what one task may do.
var claimModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{grants{}} },
	Step: func(state, input, _ any) []any {
		s, o := state.(grants), input.(op)
		after, ok := s.step(o)
		switch {
		case o.answer == refused:
			return []any{s}
		case o.answer == unknown && ok:
			return []any{s, after}
		case o.answer == unknown:
			return []any{s}
		case ok:
			return []any{after}
		}
		return nil
	},
	DescribeOperation: func(input, _ any) string {
		o := input.(op)
		return fmt.Sprintf("%s %v %s", [...]string{"claim", "done", "fail"}[o.kind], o.handle, [...]string{"ok", "refused", "unknown"}[o.answer])
	},
}

// step is what an accepted call does, if it may be accepted.
func (s grants) step(o op) (grants, bool) {
	newest := o.handle.Attempt == s.attempt && o.handle.Nonce == s.nonce
	switch o.kind {
	case opClaim:
		// Grants whose replies were lost leave gaps in what clients saw.
		if s.done || o.handle.Attempt <= s.attempt {
			return s, false
		}
		return grants{attempt: o.handle.Attempt, nonce: o.handle.Nonce}, true
	case opDone:
		return grants{attempt: s.attempt, nonce: s.nonce, reported: true, done: true}, newest && !s.reported
	default:
		return grants{attempt: s.attempt, nonce: s.nonce, reported: true}, newest && !s.reported
	}
}

// Linearizable looks, task by task, whether the answers fit one order in which the
// calls took effect, each between its call and its answer. A call with an unknown
// answer may have taken effect at any time after it began, or never.
func (h *History) Linearizable() []error {
	h.mu.Lock()
	byTask := map[board.ID][]porcupine.Operation{}
	for _, o := range h.ops {
		back := o.back
		if o.answer == unknown {
			back = math.MaxInt64
		}
		byTask[o.task] = append(byTask[o.task], porcupine.Operation{ClientId: o.client, Input: o, Call: o.call, Return: back})
	}
	h.mu.Unlock()
	var errs []error
	for id, ops := range byTask {
		switch porcupine.CheckOperationsTimeout(claimModel.ToModel(), ops, 30*time.Second) {
		case porcupine.Ok:
		case porcupine.Unknown:
			errs = append(errs, fmt.Errorf("the history of %v was not checked to its end in 30 s", id))
		default:
			text := ""
			for _, o := range ops {
				text += "\n\t" + claimModel.DescribeOperation(o.Input, nil)
			}
			errs = append(errs, fmt.Errorf("the history of %v fits no order:%s", id, text))
		}
	}
	return errs
}

func (h *History) claim(f *fixture, b *board.Board, a *agent) board.Handle {
	f.Helper()
	out, err := h.Claim(func() (*board.Handout, error) { return b.Next(f.ctx, a.actor, a.wish()) })
	f.ok(err)
	a.name = out.Claim.Worker.Name
	return out.Claim.Handle
}

func (h *History) done(f *fixture, b *board.Board, a *agent, claim board.Handle) {
	h.Done(claim, func() (board.Outcome, error) { return b.Done(f.ctx, a.actor, claim, board.Report{Summary: "s"}) })
}
