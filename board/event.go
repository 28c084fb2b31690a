package board

import "time"

// A Kind is the kind of an event.
type Kind string

const (
	EventCreated   Kind = "created"
	EventEdited    Kind = "edited"
	EventStarted   Kind = "started" // it is no longer a draft
	EventClaimed   Kind = "claimed"
	EventDelivered Kind = "delivered" // the same claim was delivered again
	EventRevived   Kind = "revived"   // the claim was renewed after its lease had expired
	EventNote      Kind = "note"
	EventRed       Kind = "check_red"        // the check found a fault, and the report was refused
	EventUnjudged  Kind = "check_not_judged" // the check could not judge the work
	EventDone      Kind = "done"
	EventReview    Kind = "review"  // reported done, and in review
	EventLanding   Kind = "landing" // reported done, and waits for its landing
	EventAccepted  Kind = "accepted"
	// EventReviewing is a worker that got the review, EventReviewEnded one that gave no verdict.
	EventReviewing   Kind = "reviewing"
	EventReviewEnded Kind = "review_ended"
	EventCommented   Kind = "commented" // a reviewer commented on the work
	EventRejected    Kind = "rejected"
	EventLanded      Kind = "landed"   // its work is in the target
	EventReturned    Kind = "returned" // it was taken out of the landing queue
	EventFailed      Kind = "failed"   // an attempt failed; To is the task's new status
	EventExpired     Kind = "expired"
	EventReleased    Kind = "released"
	EventParked      Kind = "parked"
	EventAsked       Kind = "asked"
	EventAnswered    Kind = "answered"
	EventWithdrawn   Kind = "withdrawn"
	EventUnblocked   Kind = "unblocked"
	EventDue         Kind = "due" // a cool-down or a reservation ended
	EventRetried     Kind = "retried"
	EventClosed      Kind = "closed" // a person marked it done
	EventCancelled   Kind = "cancelled"
	EventImported    Kind = "imported" // the first event of an imported task
	EventTold        Kind = "told"     // its issue was told that it is done
	EventErased      Kind = "erased"   // a person erased content; Fields says of what
)

// An Event is one entry of a task's history. It is never changed, but its content may be
// erased.
type Event struct {
	Task ID
	// Seq numbers a task's events from 1, without gaps.
	Seq   int64
	At    time.Time
	Actor string
	Kind  Kind
	// From and To are the task's status before and after.
	From, To Status
	Detail   Detail
	// Cursor is its position in the feed of all events. The store sets it.
	Cursor Cursor
}

// A Detail has the rest of an event. Most fields are empty for most kinds.
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
	Was       *Spec    // the spec that an edit replaced, as far as it did
	Run       string   // the run of a check
	Late      bool     // the writer's claim had already ended
	SpecNow   int
	LeaseSecs int
	// By tells whether a person or an agent created, edited, answered, accepted, rejected,
	// retried, closed or cancelled.
	By ActorKind
	// Prior is what a new task builds on, for its hand-outs: the task that it redoes, in the words of those who worked on that
	// and ended it, or whose holder proposed it. Worker is then that holder.
	Prior string
	// Why is what whoever created a task that redoes another one says about that.
	Why string `json:",omitzero"`
	// Comments are those that came with a rejection.
	Comments []Comment `json:",omitzero"`
	// Commit is the commit with which a task's work was landed.
	Commit string
	// Returned says why a task was taken out of the landing queue.
	Returned *Returned
	// At is the original time of an imported event.
	At time.Time
	// Erased is set if the content was erased: Text is then Erased, and Where, Was, Prior,
	// Why, Run, Comments and Returned are gone.
	Erased *Erasure
}

// Redoes reports whether a task was created to redo another one: Prior has the words of those who worked on that.
func (e *Event) Redoes() bool { return e.Detail.Prior != "" && e.Detail.Worker == "" }

// When returns when an event happened. For an imported event that is earlier than At, the
// time of the import.
func (e *Event) When() time.Time {
	if !e.Detail.At.IsZero() {
		return e.Detail.At
	}
	return e.At
}

// A Cursor is a position in the feed of all events. The zero Cursor is the beginning. A
// Cursor is opaque: only the store that made it can read it.
type Cursor string
