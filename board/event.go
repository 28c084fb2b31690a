package board

import "time"

// A Kind says what happened to a task.
type Kind string

const (
	EventCreated   Kind = "created"
	EventEdited    Kind = "edited"
	EventStarted   Kind = "started" // a hold was lifted
	EventClaimed   Kind = "claimed"
	EventDelivered Kind = "delivered" // the same claim, given again
	EventRevived   Kind = "revived"   // renewed after its lease had ended
	EventNote      Kind = "note"
	EventDone      Kind = "done"
	EventReview    Kind = "review" // reported, and waits for a review
	EventAccepted  Kind = "accepted"
	EventRejected  Kind = "rejected"
	EventFailed    Kind = "failed" // an attempt failed; To says what became of the task
	EventExpired   Kind = "expired"
	EventReleased  Kind = "released"
	EventParked    Kind = "parked"
	EventAsked     Kind = "asked"
	EventAnswered  Kind = "answered"
	EventWithdrawn Kind = "withdrawn"
	EventUnblocked Kind = "unblocked"
	EventDue       Kind = "due" // a cool-down or a reservation ended
	EventRetried   Kind = "retried"
	EventCancelled Kind = "cancelled"
	EventImported  Kind = "imported" // the first event of a task that an import brought
)

// An Event is one line of a task's history. It is never changed.
type Event struct {
	Task ID
	// Seq counts a task's events from 1, without a gap.
	Seq   int64
	At    time.Time
	Actor string
	Kind  Kind
	// From and To are the task's status before and after.
	From, To Status
	Detail   Detail
	// Cursor is its place in the feed across tasks; reading sets it.
	Cursor Cursor
}

// A Detail is what else is known of an event; most fields are empty in most kinds.
type Detail struct {
	Attempt   int
	Nonce     string
	Worker    string
	Text      string // a note, a reason, a summary, an answer
	Cause     Cause
	Percent   int
	Question  QuestionID
	Where     Where
	Fields    []string // what an edit changed
	Late      bool     // the writer's claim had ended
	SpecNow   int
	LeaseSecs int
	// At is when it happened, in an event that an import brought.
	At time.Time
}

// When is the moment of an event. At is later for one that an import brought: then
// it was written here.
func (e *Event) When() time.Time {
	if !e.Detail.At.IsZero() {
		return e.Detail.At
	}
	return e.At
}

// A Cursor is a place in the feed of all events. The zero Cursor is its beginning.
// It is opaque: a store makes it and reads it.
type Cursor string
