package board

import (
	"errors"
	"strings"
)

// A State is a task's status as people and models see it: a pending task is ready, or the
// state says why it is not. Lists, counts, JSON, resources, tools and metrics all use these
// names; docs/agents.md explains them.
type State string

const (
	StateReady       State = "ready"        // the next worker that asks can get it
	StateBlocked     State = "blocked"      // it depends on tasks that are not done, or has open parts
	StateDraft       State = "draft"        // it is not handed out until somebody starts it
	StateReserved    State = "reserved"     // for the worker whose question was answered
	StateCoolingDown State = "cooling_down" // it waits after a failure

	StateInProgress = State(InProgress)
	StateWaiting    = State(Waiting)
	StateReview     = State(InReview)
	StateLanding    = State(Landing)
	StateDone       = State(Done)
	StateFailed     = State(Failed)
	StateCancelled  = State(Cancelled)
)

// States are all states, in the order in which they are shown.
var States = []State{
	StateInProgress, StateReady, StateBlocked, StateDraft, StateReserved, StateCoolingDown,
	StateWaiting, StateReview, StateLanding, StateFailed, StateDone, StateCancelled,
}

// State returns the state of the task. A draft that is also blocked is a draft.
func (t *Task) State() State {
	switch {
	case t.Status != Pending:
		return State(t.Status)
	case t.Hold:
		return StateDraft
	case t.OpenBlockers > 0, t.OpenChildren > 0:
		return StateBlocked
	case !t.ReservedFor.IsZero():
		return StateReserved
	case !t.NotBefore.IsZero():
		return StateCoolingDown
	}
	return StateReady
}

// Status returns the status of the tasks in the state.
func (s State) Status() Status {
	switch s {
	case StateReady, StateBlocked, StateDraft, StateReserved, StateCoolingDown:
		return Pending
	}
	return Status(s)
}

// String returns the state in words: cooling_down is "cooling down".
func (s State) String() string { return strings.ReplaceAll(string(s), "_", " ") }

// maxPages is the maximum number of pages that Page reads: ten million tasks.
const maxPages = 10_000

// Page lists up to f.Limit tasks that fit, for what a store cannot filter by, such as a state,
// and reports whether there are more. A nil fits takes all. A list that does not end, as
// only a faulty server has, is an error.
func Page(f TaskFilter, fits func(Task) bool, list func(TaskFilter) ([]Task, error)) (page []Task, more bool, err error) {
	limit := f.Limit
	f.Limit = 1000
	if fits == nil {
		f.Limit = min(limit+1, f.Limit)
	}
	for range maxPages {
		ts, err := list(f)
		if err != nil {
			return nil, false, err
		}
		for _, t := range ts {
			switch {
			case fits != nil && !fits(t):
			case len(page) == limit:
				return page, true, nil
			default:
				page = append(page, t)
			}
		}
		if len(ts) < f.Limit {
			return page, false, nil
		}
		last := ts[len(ts)-1].ID
		if last == f.After {
			break
		}
		f.After = last
	}
	return nil, false, errors.New("the board's list of tasks has no end: its server is faulty")
}

// In returns the number of tasks in a state.
func (c Counts) In(s State) int {
	switch s {
	case StateReady:
		return c.Ready
	case StateBlocked:
		return c.Blocked
	case StateDraft:
		return c.Held
	case StateReserved:
		return c.Reserved
	case StateCoolingDown:
		return c.Later - c.Reserved
	}
	return c.Status[Status(s)]
}
