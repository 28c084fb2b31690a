package board

import (
	"errors"
	"time"
)

// An Observer is told what a Board has done, after the commit and in the process
// that did it: what another process did is told there. Its functions are called in
// the middle of the work and must be quick. Any of them may be nil.
type Observer struct {
	// Asked: somebody has asked for a task. waited is how long the task had been free
	// to be handed out; zero unless it was granted.
	Asked func(r Answered, waited time.Duration)
	// Ended: an attempt ended, after so long a time.
	Ended func(c Cause, ran time.Duration)
	// Decided: a question was answered, or got its default.
	Decided func(byDefault bool, open time.Duration)
}

// Answered says what became of a worker's request for a task.
type Answered string

const (
	AnsweredGranted Answered = "granted"
	AnsweredAgain   Answered = "again"   // it holds the task already
	AnsweredNothing Answered = "nothing" // there is none for it
	AnsweredRefused Answered = "refused" // the request does not fit the board or the caller
	AnsweredFailed  Answered = "failed"  // the database failed, or the caller was gone
)

// answered sorts what Next gives.
func answered(h *Handout, err error) Answered {
	if err == nil {
		if h.Again {
			return AnsweredAgain
		}
		return AnsweredGranted
	}
	if _, ok := errors.AsType[*Nothing](err); ok {
		return AnsweredNothing
	}
	if _, ok := errors.AsType[*StoppedError](err); ok {
		return AnsweredRefused
	}
	if _, ok := errors.AsType[*HeldError](err); ok {
		return AnsweredRefused
	}
	for _, kind := range []error{ErrNotFound, ErrInvalid, ErrConflict, ErrDenied, ErrLeaseLost} {
		if errors.Is(err, kind) {
			return AnsweredRefused
		}
	}
	return AnsweredFailed
}

// waited is how long a task that was just granted had been free: since the last event
// that left it so. Progress, edits and the like do not.
func (h *Handout) waited() time.Duration {
	since := h.Task.QueuedAt
	for _, e := range h.Events {
		switch e.Kind {
		case EventCreated, EventImported, EventStarted, EventUnblocked, EventDue, EventRetried, EventRejected,
			EventFailed, EventExpired, EventReleased, EventAnswered:
			if e.To == Pending && e.At.After(since) {
				since = e.At
			}
		}
	}
	return max(0, h.Claim.GrantedAt.Sub(since))
}

// told is what a transaction has for the observer if it commits.
type told struct {
	ended   []endedAttempt
	decided []decidedQuestion
}

type endedAttempt struct {
	cause Cause
	ran   time.Duration
}

type decidedQuestion struct {
	byDefault bool
	open      time.Duration
}

// tell tells the observer of a transaction that has committed.
func (o *Observer) tell(t *told) {
	if o.Ended != nil {
		for _, e := range t.ended {
			o.Ended(e.cause, e.ran)
		}
	}
	if o.Decided != nil {
		for _, d := range t.decided {
			o.Decided(d.byDefault, d.open)
		}
	}
}
