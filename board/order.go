package board

import (
	"errors"
	"slices"
)

// A delivery is a claim on its way to the worker that asked for a task.
type delivery struct {
	claim Claim
	// again is set for a claim that the worker held before it asked.
	again bool
}

// errNothing means that there is no task to hand out.
var errNothing = errors.New("board: nothing")

// sources are the functions that find a task for one worker. A call without an
// idempotency key runs each in a transaction of its own; a call with a key runs them
// in the transaction that stores the key.
type sources struct {
	// held delivers the claim that the worker holds again; errNothing if it has just
	// ended.
	held func(Claim) (delivery, error)
	// task grants one particular task; ErrConflict if it cannot be handed out now.
	task func(ID) (delivery, error)
	// reviewable finds the review that comes first; zero if there is none. review grants
	// it; ErrConflict if it cannot be handed out any more.
	reviewable func() (Reviewable, error)
	review     func(ID) (delivery, error)
	// queue grants the first ready task that fits; errNothing if there is none.
	queue func() (delivery, error)
}

// first tries the sources in the hand-out order. This is the only place that knows the
// order:
//
//	held      the task or review that the worker already holds
//	wished    the task that the call names; if it is not available, no other is tried
//	reserved  the task reserved for the worker because its question was answered
//	review    the first review, if no ready task that fits is more urgent: finished work
//	          unblocks others
//	queue     the first ready task that fits the worker, in the order of Tx.Claim
//
// A worker that wishes for reviews alone gets what it holds, or a review, whatever is more urgent. If no source has a task, the error is errNothing.
func (s sources) first(w Wish, st Standing) (delivery, error) {
	if held := st.Held(); held != nil {
		d, err := s.held(*held)
		if !errors.Is(err, errNothing) {
			return d, err
		}
	}
	if !w.Task.IsZero() {
		return s.task(w.Task)
	}
	if !st.Reserved.IsZero() && !w.OnlyReviews && slices.Contains(w.Projects, st.Reserved.Project) {
		d, err := s.task(st.Reserved)
		if !errors.Is(err, ErrConflict) {
			return d, err
		}
	}
	next, err := s.reviewable()
	if err != nil {
		return delivery{}, err
	}
	if !next.Task.IsZero() && (!next.Behind || w.OnlyReviews) {
		d, err := s.review(next.Task)
		if !errors.Is(err, ErrConflict) {
			return d, err
		}
	}
	if w.OnlyReviews {
		return delivery{}, errNothing
	}
	d, err := s.queue()
	if errors.Is(err, errNothing) && next.Behind {
		// The worker has declined what is more urgent.
		if d, err := s.review(next.Task); !errors.Is(err, ErrConflict) {
			return d, err
		}
	}
	return d, err
}
