package board

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// admitSlack is how long a lease lasts beyond the deadline of a call.
const admitSlack = 5 * time.Second

// An Admission is a call that a store is to admit.
type Admission struct {
	NewCall
	// Worker is who makes the call. Under a claim only its principal counts.
	Worker   WorkerID
	ArgsHash []byte
	// Slack is how long the lease of the claim must last beyond the call's deadline.
	Slack time.Duration
}

// Admitted is the answer of Admit.
type Admitted struct {
	ID CallID
	// Limit is how long the call may take from now on: that of the request, or the lease of
	// the claim if that is shorter.
	Limit time.Duration
	// Recorded is the call that was made under this step before: its result is the answer, and
	// the call must not be made. It is nil for a call that is to be made.
	Recorded *Call
}

// StepState is why a step refuses a call.
type StepState string

const (
	// StepUsed: another call was made under this step.
	StepUsed StepState = "used"
	// StepRunning: the call is being made.
	StepRunning StepState = "running"
	// StepUnknown: the call was made, and nobody knows what became of it.
	StepUnknown StepState = "unknown"
)

// A StepError refuses a call because of an earlier one under the same step. Its kind is
// ErrConflict.
type StepError struct {
	State StepState
	// Call is the earlier one.
	Call Call
	// Left is how long it may still take, if it is running.
	Left time.Duration
}

func (e *StepError) Error() string {
	switch e.State {
	case StepRunning:
		return fmt.Sprintf("%v: the call of step %q is still running, for another %s at most", ErrConflict, e.Call.Step, Span(e.Left))
	case StepUnknown:
		return fmt.Sprintf("%v: the call of step %q was made, and its outcome is unknown: it is never made again. Check its effect, then use another step", ErrConflict, e.Call.Step)
	}
	return fmt.Sprintf("%v: step %q was used for another call of %s__%s", ErrConflict, e.Call.Step, e.Call.Upstream, e.Call.Tool)
}

func (e *StepError) Unwrap() error { return ErrConflict }

// Admit decides whether a call of another server's tool may be sent now, and records it. It
// is the last thing before the call is sent. A call under a claim is admitted only while the
// claim is in force: none begins after the claim has ended, and the claim does not expire
// before the call's deadline. A claim whose lease is over and that no sweep has ended yet is
// revived. Otherwise the error is a *LostError, or a *StepError if the step of the call
// refuses it. After any error, also ErrUnknown, the call must not be sent.
//
// A call that takes longer than its limit is admitted again before its deadline, with Again.
// The caller ends the call with EndCalls.
func (b *Board) Admit(ctx context.Context, a Actor, n NewCall) (Admitted, error) {
	if err := checkCall(&n); err != nil {
		return Admitted{}, err
	}
	hash, err := b.argsHash(ctx, n.Digest)
	if err != nil {
		return Admitted{}, err
	}
	want := Admission{NewCall: n, Worker: WorkerID{Principal: a.Principal, Name: a.Worker}, ArgsHash: hash, Slack: admitSlack}
	for range 2 {
		call, ok, err := b.store.Admit(ctx, want)
		if err != nil {
			return Admitted{}, err
		}
		if ok {
			return Admitted{ID: call.ID, Limit: call.Deadline.Sub(call.BeganAt)}, nil
		}
		if n.Claim.IsZero() {
			return Admitted{}, conflict("call %d has ended", n.Again)
		}
		recorded, err := b.regain(ctx, a, want)
		if err != nil || recorded != nil {
			return Admitted{Recorded: recorded}, err
		}
	}
	return Admitted{}, fmt.Errorf("%w: the claim %v or step %q changes all the time", ErrUnavailable, n.Claim, n.Step)
}

// regain finds out why a call was not admitted. It returns an error if it cannot be, or the
// call that was made under its step. Otherwise the claim is in force when it returns.
func (b *Board) regain(ctx context.Context, a Actor, want Admission) (recorded *Call, err error) {
	h := want.Claim
	err = b.change(ctx, a, func(c *change) error {
		recorded = nil
		if err := c.lockHeld(h); err != nil {
			return err
		}
		held, err := c.inForce(h)
		if err != nil {
			return err
		}
		if !held.claim.LeaseUntil.After(c.now) && c.extend(held) {
			if err := c.tx.UpdateClaim(*held.claim); err != nil {
				return err
			}
		}
		if want.Again != 0 {
			return c.stillOpen(want)
		}
		if want.Step == "" {
			return nil
		}
		call, err := c.tx.Step(h.Task, want.Step)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		recorded = &call
		return repeats(&call, want, c.now)
	})
	if err != nil {
		return nil, err
	}
	return recorded, nil
}

// stillOpen refuses to continue a call that has ended, or is none of this claim's.
func (c *change) stillOpen(want Admission) error {
	call, err := c.tx.Call(want.Again)
	if err != nil {
		return err
	}
	if call.Task != want.Claim.Task || call.Worker.Principal != want.Worker.Principal || call.Upstream != want.Upstream || call.Outcome != CallOpen {
		return conflict("call %d has ended, or was made under another claim", want.Again)
	}
	return nil
}

// repeats decides whether a call gets the result of the one that was made under its step.
func repeats(made *Call, want Admission, now time.Time) error {
	refused := &StepError{Call: *made}
	refused.Call.Args, refused.Call.Result, refused.Call.ArgsHash = "", "", nil
	switch {
	case made.Upstream != want.Upstream || made.Tool != want.Tool || !bytes.Equal(made.ArgsHash, want.ArgsHash):
		refused.State = StepUsed
	case made.At(now) == CallUnknown:
		refused.State = StepUnknown
	case made.Outcome == CallOpen:
		refused.State, refused.Left = StepRunning, made.Deadline.Sub(now)
	default:
		return nil
	}
	return refused
}
