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

// sources are the ways to a task for one worker. Next has one set of them that runs
// each in a transaction of its own, and one that runs them all in the transaction that
// also stores an idempotency key.
type sources struct {
	// held delivers again the claim that the worker holds; errNothing if it has just
	// ended.
	held func(Claim) (delivery, error)
	// task grants one particular task; ErrConflict if it cannot be handed out now.
	task func(ID) (delivery, error)
	// queue grants the first ready task that fits; errNothing if there is none.
	queue func() (delivery, error)
}

// first tries the sources in the hand-out order, which is written here and nowhere
// else:
//
//	held      the task that the worker holds already
//	wished    the task that the call names; if it cannot be had, nothing else is tried
//	reserved  the task that is reserved for the worker, after its question was answered
//	queue     the first ready task that fits the worker, in the order of Tx.Claim
//
// If no source has a task, the error is errNothing.
func (s sources) first(w Wish, st Standing) (delivery, error) {
	if st.Claim != nil {
		d, err := s.held(*st.Claim)
		if !errors.Is(err, errNothing) {
			return d, err
		}
	}
	if !w.Task.IsZero() {
		return s.task(w.Task)
	}
	if !st.Reserved.IsZero() && slices.Contains(w.Projects, st.Reserved.Project) {
		d, err := s.task(st.Reserved)
		if !errors.Is(err, ErrConflict) {
			return d, err
		}
	}
	return s.queue()
}
