package boardtest

import (
	"errors"
	"fmt"
	"math"
	"slices"
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
	ops []Op
}

// An Op is a call about one claim, and its answer. Call and Back are when it began
// and was answered, by one clock.
type Op struct {
	Kind   OpKind
	Claim  board.Handle  // what was granted, or is named
	Lease  time.Duration // of a grant
	Answer Answer

	Call, Back int64
}

// An OpKind is what a call wanted.
type OpKind string

const (
	OpClaim OpKind = "claim"
	OpDone  OpKind = "done"
	OpFail  OpKind = "fail"
)

// An Answer is what a client knows of its call.
type Answer string

const (
	Accepted Answer = "accepted"
	Lost     Answer = "lost"    // the claim is over
	Refused  Answer = "refused" // definitely without an effect, for any other reason
	Unknown  Answer = "unknown" // with an effect or without
)

// NewHistory begins a history.
func NewHistory() *History { return &History{begun: time.Now()} }

func (h *History) now() int64 { return int64(time.Since(h.begun)) }

// AnswerOf sorts what a board answered.
func AnswerOf(err error) Answer {
	switch {
	case err == nil:
		return Accepted
	case errors.Is(err, board.ErrLeaseLost):
		return Lost
	case errors.Is(err, board.ErrConflict), errors.Is(err, board.ErrDenied), errors.Is(err, board.ErrNotFound),
		errors.Is(err, board.ErrInvalid), errors.Is(err, board.ErrUnavailable):
		return Refused
	}
	return Unknown
}

// Add records a call. One that gave the same claim again is left out, and so is one
// that repeated a report.
func (h *History) Add(o Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, o)
}

// Claim records a hand-out. ask makes the call; a claim whose reply was lost is not
// recorded, since nobody knows of it.
func (h *History) Claim(ask func() (*board.Handout, error)) (*board.Handout, error) {
	o := Op{Kind: OpClaim, Answer: Accepted, Call: h.now()}
	out, err := ask()
	if err == nil && !out.Again {
		o.Claim, o.Lease, o.Back = out.Claim.Handle, out.Claim.Lease, h.now()
		h.Add(o)
	}
	return out, err
}

// Done records a report of done, and Fail one of a failure that gives the task back.
func (h *History) Done(claim board.Handle, report func() (board.Outcome, error)) (board.Outcome, error) {
	return h.report(OpDone, claim, report)
}

// Fail records a report of a failure.
func (h *History) Fail(claim board.Handle, report func() (board.Outcome, error)) (board.Outcome, error) {
	return h.report(OpFail, claim, report)
}

func (h *History) report(k OpKind, claim board.Handle, report func() (board.Outcome, error)) (board.Outcome, error) {
	o := Op{Kind: k, Claim: claim, Call: h.now()}
	out, err := report()
	if o.Answer, o.Back = AnswerOf(err), h.now(); err != nil || !out.Again {
		h.Add(o)
	}
	return out, err
}

// Ended records that a claim was seen to end by somebody else's doing: by a person,
// or by a lease that the test let run out. Early does not miss it.
func (h *History) Ended(claim board.Handle) {
	now := h.now()
	h.Add(Op{Kind: OpFail, Claim: claim, Answer: Unknown, Call: now, Back: now})
}

// Early looks for claims that were taken away before their lease was over: another
// grant of the task was answered, and the first one's holder had neither reported
// nor had its lease, counted from its answer, run out. It takes the clock of the
// history for the database's; they may differ in rate a little, not in more.
func (h *History) Early() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	claims := map[board.ID][]Op{}
	ends := map[board.Handle]int64{} // when their holders began to end them
	for _, o := range h.ops {
		switch {
		case o.Kind == OpClaim && o.Answer == Accepted:
			claims[o.Claim.Task] = append(claims[o.Claim.Task], o)
		case o.Kind != OpClaim && (o.Answer == Accepted || o.Answer == Unknown):
			if end, ok := ends[o.Claim]; !ok || o.Call < end {
				ends[o.Claim] = o.Call
			}
		}
	}
	for _, list := range claims {
		slices.SortFunc(list, func(a, b Op) int { return a.Claim.Attempt - b.Claim.Attempt })
		for i, next := range list[min(1, len(list)):] {
			first := list[i]
			// The grant happened after the call began, so its lease ends no earlier.
			end := first.Call + int64(first.Lease)
			if reported, ok := ends[first.Claim]; ok {
				end = min(end, reported)
			}
			if next.Back < end && next.Claim != first.Claim {
				errs = append(errs, fmt.Errorf("I10: %v was granted %v before the lease of %v ended",
					next.Claim, time.Duration(end-next.Back), first.Claim))
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
		s, o := state.(grants), input.(Op)
		after, ok := s.step(o)
		switch o.Answer {
		case Accepted:
			if ok {
				return []any{after}
			}
			return nil
		case Unknown:
			if ok {
				return []any{s, after}
			}
		case Lost:
			// A report of done is lost only on who is not the newest holder; one of a
			// failure comes too late once the lease has run out.
			if ok && o.Kind == OpDone {
				return nil
			}
		}
		return []any{s}
	},
	DescribeOperation: func(input, _ any) string {
		o := input.(Op)
		return fmt.Sprintf("%d..%d %s %v %s", o.Call, o.Back, o.Kind, o.Claim, o.Answer)
	},
}

// step is what an accepted call does, if it may be accepted.
func (s grants) step(o Op) (grants, bool) {
	newest := o.Claim.Attempt == s.attempt && o.Claim.Nonce == s.nonce
	switch o.Kind {
	case OpClaim:
		// Grants whose replies were lost leave gaps in what clients saw.
		if s.done || o.Claim.Attempt <= s.attempt {
			return s, false
		}
		return grants{attempt: o.Claim.Attempt, nonce: o.Claim.Nonce}, true
	case OpDone:
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
	for i, o := range h.ops {
		back := o.Back
		if o.Answer == Unknown {
			back = math.MaxInt64
		}
		// Each call may overlap every other, so each has a client of its own.
		byTask[o.Claim.Task] = append(byTask[o.Claim.Task], porcupine.Operation{ClientId: i, Input: o, Call: o.Call, Return: back})
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
