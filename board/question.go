package board

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A QuestionID is written q-18.
type QuestionID int64

// ParseQuestionID reads q-18.
func ParseQuestionID(s string) (QuestionID, error) {
	digits, ok := strings.CutPrefix(s, "q-")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 1 || digits[0] == '0' || digits[0] == '+' {
		return 0, fmt.Errorf("%w: %.40q is not a question's id: one looks like q-18", ErrInvalid, s)
	}
	return QuestionID(n), nil
}

func (q QuestionID) String() string { return "q-" + strconv.FormatInt(int64(q), 10) }

// A QuestionState is open until there is an answer or no use for one.
type QuestionState string

const (
	QuestionOpen      QuestionState = "open"
	QuestionAnswered  QuestionState = "answered"
	QuestionWithdrawn QuestionState = "withdrawn"
)

// AnsweredByDefault is who answered a question whose time ran out.
const AnsweredByDefault = "default"

// A Question is what a worker asks people, or its lead.
type Question struct {
	ID      QuestionID
	Project string
	// Claim is the claim it was asked under, or zero.
	Claim   Handle
	Asker   WorkerID
	Owner   string // of the asker
	ChatID  string // the asker's own name for the conversation
	Text    string
	Options []string
	Default string
	// NeededBy is when Default is taken; without one the question is overdue then.
	NeededBy  time.Time
	Blocking  bool
	HumanOnly bool

	State      QuestionState
	Answer     string
	AnsweredBy string
	AskedAt    time.Time
	AnsweredAt time.Time
}

// NewQuestion is what is needed to ask.
type NewQuestion struct {
	Project   string // where there is no claim
	Claim     Handle
	ChatID    string
	Text      string
	Options   []string
	Default   string
	Within    time.Duration // 0: no deadline
	Blocking  *bool         // nil: yes, unless there is a default
	HumanOnly bool
	Key       string
}
