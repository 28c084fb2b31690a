package board

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An ID identifies a task: its project and a number, written web-142. Numbers increase
// and may have gaps. The zero ID identifies no task.
type ID struct {
	Project string
	No      int64
}

// MaxNo is the largest number of a task, so that stores can pack an ID into 64 bits.
const MaxNo = 1<<40 - 1

// ParseID parses an ID in the form that String writes, in any letter case.
func ParseID(s string) (ID, error) {
	slug, digits, ok := strings.Cut(s, "-")
	slug = strings.ToLower(slug)
	no, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || !ValidSlug(slug) || no < 1 || no > MaxNo || digits[0] < '1' || digits[0] > '9' {
		return ID{}, fmt.Errorf("%w: invalid task id %.40q: want one like web-142", ErrInvalid, s)
	}
	return ID{Project: slug, No: no}, nil
}

// ParseIDIn is ParseID for text that people and models write: a bare number, 142 or #142, is
// a task of the project. An empty project has none.
func ParseIDIn(project, s string) (ID, error) {
	s = strings.TrimSpace(s)
	number := strings.TrimPrefix(s, "#")
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		return ParseID(s)
	}
	if project == "" {
		return ID{}, fmt.Errorf("%w: the task %.40q is of which project? Write it like web-142", ErrInvalid, s)
	}
	return ParseID(project + "-" + number)
}

// String returns the ID in the form web-142, and "" for the zero ID.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	return id.Project + "-" + strconv.FormatInt(id.No, 10)
}

// IsZero reports whether id is the zero ID.
func (id ID) IsZero() bool { return id == ID{} }

// inside rejects IDs of other projects, before anybody looks whether they exist. The zero
// ID is in every project.
func inside(slug string, ids ...ID) error {
	for _, id := range ids {
		if !id.IsZero() && id.Project != slug {
			return invalid("%v belongs to another project: links and parents must stay within one project", id)
		}
	}
	return nil
}

// compareIDs orders IDs in the order in which tasks are locked.
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

// A Status is the state of a task. The package comment has a diagram of the transitions.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Waiting    Status = "waiting"
	InReview   Status = "review"
	Landing    Status = "landing"
	Done       Status = "done"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

// Statuses are all statuses.
var Statuses = []Status{Pending, InProgress, Waiting, InReview, Landing, Done, Failed, Cancelled}

// Open are the statuses of tasks that are neither done nor cancelled.
var Open = []Status{Pending, InProgress, Waiting, InReview, Landing, Failed}

// Terminal reports whether s is final: the task and its result do not change any more.
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

// ParsePriority parses urgent, high, normal or low.
func ParsePriority(s string) (Priority, error) {
	for p, name := range priorities {
		if s == name {
			return Priority(p), nil
		}
	}
	return 0, fmt.Errorf("%w: invalid priority %.20q: want urgent, high, normal or low", ErrInvalid, s)
}

func (p Priority) String() string {
	if p < Urgent || p > Low {
		return "priority(" + strconv.Itoa(int(p)) + ")"
	}
	return priorities[p]
}

// A Task is a piece of work on the board. Its longer texts are in a Doc.
type Task struct {
	ID       ID
	Title    string
	Priority Priority
	// Skills are the skills that a worker must have, sorted.
	Skills []string
	// Areas are the directories that it changes. Tasks whose areas overlap those of a
	// live claim are handed out last.
	Areas []string
	// Wants are the kinds of evidence that a report must include.
	Wants []EvidenceKind
	// Parent is the task that it is a part of, or zero.
	Parent ID
	// Redoes is the task whose work it does again, because a person has said so, or zero. It never changes.
	Redoes ID `json:",omitzero"`
	// Hold is set while it is a draft: it is not handed out until somebody starts it.
	Hold bool

	Status Status
	// Attempt is the number of grants. It is the fence, and never reset. Nonce is the
	// nonce of the newest grant.
	Attempt int
	Nonce   string
	// Failures is the number of failures since the last retry, MaxFailures the budget.
	Failures    int
	MaxFailures int
	// Lease is how long a claim on it lasts without a sign of life; 0 means the default
	// of the project or the board.
	Lease time.Duration
	// SpecVersion increases with each edit of the spec.
	SpecVersion int

	// OpenBlockers is the number of tasks that it depends on and that are not done,
	// OpenChildren that of its children that are neither done nor cancelled, and
	// DoneChildren that of its children that are done.
	OpenBlockers int
	OpenChildren int
	DoneChildren int
	// NotBefore is when its cool-down or reservation ends, or zero.
	NotBefore time.Time
	// ReservedFor is the worker that it is reserved for until NotBefore, or zero.
	ReservedFor WorkerID
	// QueuedAt decides its position in the queue among tasks of the same priority.
	QueuedAt time.Time

	// Seq is the number of its events. Each write of the task adds at least one.
	Seq int64

	CreatedBy string
	CreatedAt time.Time
	EndedAt   time.Time
}

// Ready reports whether the task can be handed out to any worker. Stores keep it in an
// indexed column of its own.
func (t *Task) Ready() bool {
	return t.Status == Pending && !t.Hold && t.OpenBlockers == 0 && t.OpenChildren == 0 && t.NotBefore.IsZero()
}

// handle returns the handle of the newest claim on t.
func (t *Task) handle() Handle { return Handle{Task: t.ID, Attempt: t.Attempt, Nonce: t.Nonce} }

// A Doc has the longer texts of a task, and its result.
type Doc struct {
	// Description is what to do, in Markdown.
	Description string
	// Acceptance is the acceptance criteria.
	Acceptance string
	// Result is the result of the last report, nil before it.
	Result *Result
}

// A Result is the result of a task, from a report of done.
type Result struct {
	Summary   string
	Evidence  []Evidence
	Artifacts []string
	// Branch is the branch of the work at the time of the report.
	Branch string
	// Uncommitted is how many files of the work were not committed there then: the branch does not have them. Tip does.
	Uncommitted int
	Worker      string
	// Tip is what the work is in git, zero if that is not known. NoChanges is set if the work
	// changed nothing there.
	Tip       Tip
	NoChanges bool
	// Includes is the work of other tasks that is in it and had not landed. An export does not have it:
	// their commits do not come along.
	Includes []Included `json:",omitzero"`
	// Loose is what lay about where the work was.
	Loose Loose `json:",omitzero"`
	// Comments are what reviewers have remarked.
	Comments []Comment `json:",omitzero"`
	// Landed is the commit with which the work got into the target, empty if it did not.
	Landed string
	// Check is what became of the project's check if it is not among the evidence.
	Check string
	// ObservedBy is the credential of the process that saw the observed evidence, empty
	// on a board in a file, and ObservedOn its host, by its own account.
	ObservedBy, ObservedOn string
	// Import is who imported it and from where, if it was reported on another board.
	Import string
}

// DroppedRef is the Ref of observed evidence about work of the task that a report drops; its Detail names that.
const DroppedRef = "work of this task that is dropped"

// Dropped says which work of the task was dropped with a report of no changes, empty if none.
func (r *Result) Dropped() string {
	for _, e := range r.Evidence {
		if e.Observed && e.Ref == DroppedRef {
			return e.Detail
		}
	}
	return ""
}

// An EvidenceKind is a kind of evidence; EvidenceKinds lists them.
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

// EvidenceKinds are all kinds.
var EvidenceKinds = []EvidenceKind{EvidenceCommit, EvidencePR, EvidenceTests, EvidenceCommand, EvidenceFile, EvidenceURL, EvidenceOther}

// Evidence is proof that a task is done: a commit, a pull request, a test run.
type Evidence struct {
	Kind   EvidenceKind
	Ref    string
	Detail string
	// Observed is set if Bossman itself has seen it: it ran the check, or found the
	// commit or the file. Otherwise it is what the worker claims.
	Observed bool
}

// A NewTask is a task to be created.
type NewTask struct {
	Project     string
	Title       string // default: the first line of the description
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
	MaxFailures int // default: 3
}

// An Edit changes the fields of a task that are not nil.
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
