package board

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An ID names a task: its project and a number in it, written web-142. Numbers
// grow, and may have gaps. The zero ID names no task.
type ID struct {
	Project string
	No      int64
}

// MaxNo bounds a task's number, so that stores may pack an ID into 64 bits.
const MaxNo = 1<<40 - 1

// ParseID reads an ID as String writes it.
func ParseID(s string) (ID, error) {
	slug, digits, ok := strings.Cut(s, "-")
	no, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || !ValidSlug(slug) || no < 1 || no > MaxNo || digits[0] < '1' || digits[0] > '9' {
		return ID{}, fmt.Errorf("%w: %.40q is not a task's id: one looks like web-142", ErrInvalid, s)
	}
	return ID{Project: slug, No: no}, nil
}

// String gives web-142, and nothing for the zero ID.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	return id.Project + "-" + strconv.FormatInt(id.No, 10)
}

// IsZero reports whether id names no task.
func (id ID) IsZero() bool { return id == ID{} }

// inside refuses ids of other projects than one, before anything looks whether they
// are there. The zero ID is of every project.
func inside(slug string, ids ...ID) error {
	for _, id := range ids {
		if !id.IsZero() && id.Project != slug {
			return invalid("%v is of another project: links and parents stay inside one", id)
		}
	}
	return nil
}

// compareIDs orders ids as locks are taken.
func compareIDs(a, b ID) int {
	if c := strings.Compare(a.Project, b.Project); c != 0 {
		return c
	}
	switch {
	case a.No < b.No:
		return -1
	case a.No > b.No:
		return 1
	}
	return 0
}

// A Status is where a task is in its life; the package comment draws the way.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Waiting    Status = "waiting"
	InReview   Status = "review"
	Done       Status = "done"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

// Statuses is every status, in the order of a task's life.
var Statuses = []Status{Pending, InProgress, Waiting, InReview, Done, Failed, Cancelled}

// Terminal reports whether nothing changes a task's result any more.
func (s Status) Terminal() bool { return s == Done || s == Cancelled }

// A Priority decides which of several ready tasks is handed out first.
type Priority int8

const (
	Urgent Priority = iota
	High
	Normal
	Low
)

var priorities = [...]string{Urgent: "urgent", High: "high", Normal: "normal", Low: "low"}

// ParsePriority reads urgent, high, normal or low.
func ParsePriority(s string) (Priority, error) {
	for p, name := range priorities {
		if s == name {
			return Priority(p), nil
		}
	}
	return 0, fmt.Errorf("%w: priority %.20q is none of urgent, high, normal, low", ErrInvalid, s)
}

func (p Priority) String() string {
	if p < Urgent || p > Low {
		return "priority(" + strconv.Itoa(int(p)) + ")"
	}
	return priorities[p]
}

// A Task is a piece of work on the board: what the hand-out and the rules look at.
// Its longer texts are in a Doc.
type Task struct {
	ID       ID
	Title    string
	Priority Priority
	// Skills is what a worker must be able to do, sorted; none suits everyone.
	Skills []string
	// Areas are the directories it touches, for keeping apart who works where.
	Areas []string
	// Wants are the kinds of evidence that a report must bring.
	Wants []EvidenceKind
	// Parent is the task it is a part of, or zero.
	Parent ID
	// Hold keeps it from being handed out until somebody starts it.
	Hold bool

	Status Status
	// Attempt counts the grants and is the fence: it grows with each and is never
	// reset. Nonce is that of the newest grant.
	Attempt int
	Nonce   string
	// Failures counts against MaxFailures; only a retry resets it.
	Failures    int
	MaxFailures int
	// Lease is how long a claim on it lasts without a sign of life; 0 means the
	// project's, or the usual.
	Lease time.Duration
	// SpecVersion grows with each edit of what is to be done.
	SpecVersion int

	// OpenBlockers counts the tasks it depends on that are not done, OpenChildren
	// its parts that are neither done nor cancelled, DoneChildren those done.
	OpenBlockers int
	OpenChildren int
	DoneChildren int
	// NotBefore is when a cooling-down or reserved task becomes free; zero: it is.
	NotBefore time.Time
	// ReservedFor is the worker that has the first right until NotBefore.
	ReservedFor WorkerID
	// QueuedAt is its age in the hand-out.
	QueuedAt time.Time

	// Seq is the number of its events; each write of the task adds at least one.
	Seq int64

	CreatedBy string
	CreatedAt time.Time
	EndedAt   time.Time
}

// Ready reports whether the task may be handed out. Stores keep it in a column of
// its own and hand out by that.
func (t *Task) Ready() bool {
	return t.Status == Pending && !t.Hold && t.OpenBlockers == 0 && t.OpenChildren == 0 && t.NotBefore.IsZero()
}

// handle is the name of the newest claim on t.
func (t *Task) handle() Handle { return Handle{Task: t.ID, Attempt: t.Attempt, Nonce: t.Nonce} }

// A Doc holds the longer texts of a task, and its result.
type Doc struct {
	// Description says what is to be done, in Markdown.
	Description string
	// Acceptance says when it is done.
	Acceptance string
	// Result is what the last report brought, nil before it.
	Result *Result
}

// A Result is what a report left behind.
type Result struct {
	Summary   string
	Evidence  []Evidence
	Artifacts []string
	// Branch is where the work was when it was reported.
	Branch string
	Worker string
}

// An EvidenceKind is one of EvidenceKinds.
type EvidenceKind string

const (
	EvidenceCommit  EvidenceKind = "commit"
	EvidencePR      EvidenceKind = "pr"
	EvidenceTests   EvidenceKind = "tests"
	EvidenceCommand EvidenceKind = "command"
	EvidenceFile    EvidenceKind = "file"
	EvidenceURL     EvidenceKind = "url"
	EvidenceOther   EvidenceKind = "other"
)

// EvidenceKinds is every kind there is.
var EvidenceKinds = []EvidenceKind{EvidenceCommit, EvidencePR, EvidenceTests, EvidenceCommand, EvidenceFile, EvidenceURL, EvidenceOther}

// Evidence shows that something was done: a commit, a pull request, a test run.
type Evidence struct {
	Kind   EvidenceKind
	Ref    string
	Detail string
}

// NewTask is what is needed to create a task.
type NewTask struct {
	Project     string
	Title       string // the description's first line if empty
	Description string
	Acceptance  string
	Priority    Priority
	Skills      []string
	Areas       []string
	Wants       []EvidenceKind
	DependsOn   []ID
	Parent      ID
	Hold        bool
	Lease       time.Duration
	MaxFailures int // 3 if zero
}

// An Edit changes what is not nil.
type Edit struct {
	Title       *string
	Description *string
	Acceptance  *string
	Priority    *Priority
	Skills      *[]string
	Areas       *[]string
	Wants       *[]EvidenceKind
	DependsOn   *[]ID
	Parent      *ID
	Hold        *bool
	Lease       *time.Duration
	MaxFailures *int
}
