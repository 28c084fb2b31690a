package board

import (
	"errors"
	"time"
)

// An Observer has functions that a Board calls after the commit of what this process has
// done; other processes call their own. The functions are called synchronously and must
// be quick. Any of them may be nil.
type Observer struct {
	// Asked is called after each Next. waited is how long a granted task had been ready,
	// and zero if no task was granted.
	Asked func(r Answered, waited time.Duration)
	// Waiting is called when a Next has found no task and has joined the queue of waiters.
	Waiting func()
	// Ended is called when an attempt has ended. ran is how long it took.
	Ended func(c Cause, ran time.Duration)
	// Decided is called when a question was answered, or closed with its default. open
	// is how long the question was open.
	Decided func(byDefault bool, open time.Duration)
}

// Answered is the result of a worker's request for a task.
type Answered string

const (
	AnsweredGranted Answered = "granted"
	AnsweredAgain   Answered = "again"   // the worker held the task already
	AnsweredNothing Answered = "nothing" // there is no task for it
	AnsweredRefused Answered = "refused" // the request was invalid or not allowed
	AnsweredFailed  Answered = "failed"  // the database failed, or the caller was gone
)

// answered classifies the result of Next.
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

// waited returns how long a task that was just granted had been ready: since the last
// event that made it pending. Notes and edits do not count.
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

// told is what a transaction reports to the observer if it commits.
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

// tell calls the observer's functions after a commit.
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
