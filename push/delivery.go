package push

import (
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A Delivery is one event on its way to one target. It has no text: that is read when it is
// sent, if it is sent at all.
type Delivery struct {
	// ID stays the same in all tries. Receivers tell by it what they have already.
	ID     string
	Target TargetID
	// Type is what happened: "question.asked", "task.done".
	Type string
	// At is when it happened.
	At      time.Time
	Project string
	// Task and Seq are the event's. They are zero for a question without a task.
	Task     board.ID
	Seq      int64
	Question board.QuestionID
	Attempt  int
	From, To board.Status
	// Tries is how often it was claimed.
	Tries int
	// Dead is when the last try failed, or zero, and Error what it said.
	Dead  time.Time
	Error string
}

// schedule is the time between tries. After the last one a delivery is dead.
var schedule = []time.Duration{5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}

// TypeOf returns the type of an event.
func TypeOf(e *board.Event) string {
	switch e.Kind {
	case board.EventAsked, board.EventAnswered, board.EventWithdrawn:
		return "question." + string(e.Kind)
	}
	return "task." + string(e.Kind)
}

// asked is the type of a question that was asked, the one that people are told of first.
const asked = "question." + string(board.EventAsked)

// questionType returns the type for the state of a question.
func questionType(s board.QuestionState) string {
	if s == board.QuestionOpen {
		return asked
	}
	return "question." + string(s)
}
