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

// A History records the calls of a board's clients, with the times at which each began and
// was answered, by one clock. It is safe for concurrent use.
type History struct {
	begun time.Time

	mu  sync.Mutex
	ops []Op
}

// An Op is a call about one claim, and its answer. Call and Back are the times at which it
// began and was answered.
type Op struct {
	Kind   OpKind
	Claim  board.Handle  // the claim that was granted, or that the call names
	Lease  time.Duration // of a grant
	Answer Answer

	Call, Back int64
}

// An OpKind is the kind of a call.
type OpKind string

const (
	OpClaim OpKind = "claim"
	OpDone  OpKind = "done"
	OpFail  OpKind = "fail"
)

// An Answer is what a client knows about the outcome of its call.
type Answer string

const (
	Accepted Answer = "accepted"
	Lost     Answer = "lost"    // the claim has ended
	Refused  Answer = "refused" // without effect, for any other reason
	Unknown  Answer = "unknown" // with or without effect
)

// NewHistory returns an empty History.
func NewHistory() *History { return &History{begun: time.Now()} }

func (h *History) now() int64 { return int64(time.Since(h.begun)) }

// AnswerOf classifies the error of a call.
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

// Add records a call. Callers omit calls that delivered the same claim again or repeated a
// report.
func (h *History) Add(o Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, o)
}

// Claim calls ask and records the grant. A grant whose reply was lost is not recorded:
// see Logged.
func (h *History) Claim(ask func() (*board.Handout, error)) (*board.Handout, error) {
	o := Op{Kind: OpClaim, Answer: Accepted, Call: h.now()}
	out, err := ask()
	if err == nil && !out.Again {
		o.Claim, o.Lease, o.Back = out.Claim.Handle, out.Claim.Lease, h.now()
		h.Add(o)
	}
	return out, err
}

// Done calls report and records it as a report of done.
func (h *History) Done(claim board.Handle, report func() (board.Outcome, error)) (board.Outcome, error) {
	return h.report(OpDone, claim, report)
}

// Fail calls report and records it as a report of a failure.
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

// Ended records that a claim was ended by somebody else: by a person, or because the test
// let its lease expire. Early then does not report it.
func (h *History) Ended(claim board.Handle) {
	now := h.now()
	h.Add(Op{Kind: OpFail, Claim: claim, Answer: Unknown, Call: now, Back: now})
}

// Logged records the grants in a board's events that no client knows about, because the
// call was given up or its reply was lost. Call it after all others.
func (h *History) Logged(events []board.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	told := map[board.Handle]bool{}
	for _, o := range h.ops {
		if o.Kind == OpClaim && o.Answer == Accepted {
			told[o.Claim] = true
		}
	}
	for _, e := range events {
		claim := board.Handle{Task: e.Task, Attempt: e.Detail.Attempt, Nonce: e.Detail.Nonce}
		if e.Kind == board.EventClaimed && !told[claim] {
			h.ops = append(h.ops, Op{Kind: OpClaim, Claim: claim, Answer: Accepted, Call: 0, Back: math.MaxInt64})
		}
	}
}

// Early returns an error for each claim that was taken over before its lease had expired:
// another grant of the task was answered, while the first holder had not reported and its
// lease, counted from its call, had not ended. It assumes that the clock of the history
// runs at the rate of the database's.
func (h *History) Early() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	claims := map[board.ID][]Op{}
	ends := map[board.Handle]int64{} // when holders began to report
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

// grants is the state of one task in the model: its newest grant, and whether it was
// reported. Clients do not see when a lease expires, so the model allows that at any
// time; Early checks the times.
type grants struct {
	attempt int
	nonce   string
	// reported is set if the report of the newest grant was accepted, done if it ended
	// the task.
	reported, done bool
}

// claimModel is the porcupine model of one task.
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
			// The newest holder never loses a report of done; a report of a failure is too
			// late once the lease has expired and was swept.
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

// step returns the state after an accepted call, and whether the call may be accepted.
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

// Linearizable returns an error for each task whose history is not linearizable: there is
// no order of the calls that explains the answers, with each call taking effect between
// its beginning and its answer. A call with an unknown answer may take effect at any time
// after it began, or never.
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
			errs = append(errs, fmt.Errorf("the check of the history of %v did not finish within 30 s", id))
		default:
			text := ""
			for _, o := range ops {
				text += "\n\t" + claimModel.DescribeOperation(o.Input, nil)
			}
			errs = append(errs, fmt.Errorf("the history of %v is not linearizable:%s", id, text))
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
