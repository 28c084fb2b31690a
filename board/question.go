package board

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A QuestionID identifies a question. It is written q-18.
type QuestionID int64

// ParseQuestionID parses a QuestionID in the form that String writes, in any letter case.
func ParseQuestionID(s string) (QuestionID, error) {
	digits, ok := strings.CutPrefix(strings.ToLower(s), "q-")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 1 || digits[0] == '0' || digits[0] == '+' {
		return 0, fmt.Errorf("%w: invalid question id %.40q: want one like q-18", ErrInvalid, s)
	}
	return QuestionID(n), nil
}

func (q QuestionID) String() string { return "q-" + strconv.FormatInt(int64(q), 10) }

// A QuestionState is the state of a question: open, answered, or withdrawn because its
// task has ended.
type QuestionState string

const (
	QuestionOpen      QuestionState = "open"
	QuestionAnswered  QuestionState = "answered"
	QuestionWithdrawn QuestionState = "withdrawn"
)

// AnsweredByDefault is the AnsweredBy of a question that was closed with its default.
const AnsweredByDefault = "default"

// A Question is a worker's question to people or leads.
type Question struct {
	ID      QuestionID
	Project string
	// Claim is the claim it was asked under, or zero.
	Claim Handle
	Asker WorkerID
	// Owner is the process or key of the asker. It is empty if the asker has left: its
	// process has ended, or its claim has, and not by being parked.
	Owner   string
	ChatID  string // the asker's own id of the conversation
	Text    string
	Options []string
	Default string
	// NeededBy is the deadline: then Default becomes the answer. Without a default the
	// question stays open, and is overdue.
	NeededBy  time.Time
	Blocking  bool
	HumanOnly bool

	State      QuestionState
	Answer     string
	AnsweredBy string
	// AnsweredAs tells a person's answer from an agent's; empty for the default.
	AnsweredAs ActorKind
	AskedAt    time.Time
	AnsweredAt time.Time
}

// ByDefault reports whether the default is the answer, because nobody answered.
func (q *Question) ByDefault() bool { return q.AnsweredBy == AnsweredByDefault && q.AnsweredAs == "" }

// CheckOpen returns an ErrConflict that says who answered the question, or what else became of
// it, or nil if it is open.
func (q *Question) CheckOpen() error {
	switch {
	case q.State == QuestionOpen:
		return nil
	case q.State != QuestionAnswered:
		return conflict("%v is %s", q.ID, q.State)
	case q.ByDefault():
		return conflict("%v has its default as the answer, because nobody answered in time: %.200q", q.ID, q.Answer)
	}
	return conflict("%v was answered by %s: %.200q", q.ID, q.AnsweredAs.Named(strconv.Quote(q.AnsweredBy)), q.Answer)
}

const (
	// UpstreamChat begins the ChatID of a question that a server behind the gateway asks during a call. Such a question
	// may be for people alone and have a default, which is UpstreamCancel: if nobody answers in time, the server is told
	// so, and does nothing.
	UpstreamChat = "upstream "
	// UpstreamCancel is that default.
	UpstreamCancel = "cancel"
)

// lapses reports whether a question ends without an answer of people, though it is for them alone.
func lapses(chat, byDefault string) bool {
	return strings.HasPrefix(chat, UpstreamChat) && byDefault == UpstreamCancel
}

// A NewQuestion is a question to be asked.
type NewQuestion struct {
	Project   string // if there is no claim
	Claim     Handle
	ChatID    string
	Text      string
	Options   []string
	Default   string
	Within    time.Duration // until the deadline; 0: no deadline
	Blocking  *bool         // nil: blocking, unless there is a default
	HumanOnly bool
	Key       string
}

// AskerLeft reports whether nobody waits for the answer to an open question. If it is about
// a task, the task's next worker gets the answer, unless the task is done.
func (q *Question) AskerLeft() bool { return q.State == QuestionOpen && q.Owner == "" }
