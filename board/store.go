package board

import (
	"context"
	"time"
)

// A Store keeps a board. Each call of a method is one transaction: all of it
// happens, or nothing. The rules are in this package and run inside Write; a store
// knows how to find, lock and keep things, and how to hand out quickly.
//
// An error that means the database cannot be reached is ErrUnavailable; a commit
// whose outcome is not known is ErrUnknown; a schema newer than the program is
// ErrTooNew. A store repeats by itself what the database aborted for the sake of
// others (deadlocks, serialization), so the functions given to Read and Write may
// run more than once and must not keep anything from a run that failed.
type Store interface {
	// Read runs f on what is committed. Statements may see different moments.
	Read(ctx context.Context, f func(Reader) error) error
	// Write runs f and commits if it returns nil. An error of f undoes everything
	// and is returned as it is.
	Write(ctx context.Context, f func(Tx) error) error
	// Claim is Tx.Claim as a transaction of its own: the hot path.
	Claim(ctx context.Context, w Want) ([]Claim, error)
	// Watch calls wake whenever another process may have changed something, and
	// returns when ctx ends. Wake-ups are hints: some may be missing.
	Watch(ctx context.Context, wake func()) error
	// Hint tells other processes that there may be work. It does not wait, and many
	// hints become one.
	Hint()
	Close() error
}

// A Reader looks things up. What is not there is ErrNotFound, unless said
// otherwise. Lists are in ascending order of their keys.
type Reader interface {
	// Now is the store's clock; callers have no other. On PostgreSQL it is the
	// database's, read when it is called.
	Now() (time.Time, error)

	Project(slug string) (Project, error)
	// Projects lists the named projects that exist; without names all there are.
	Projects(slugs ...string) ([]Project, error)

	Task(id ID) (Task, error)
	// Tasks lists tasks, oldest first.
	Tasks(f TaskFilter) ([]Task, error)
	// Dossier gathers all that is known of a task. Of its events it has the last n.
	Dossier(id ID, n int) (Dossier, error)
	// Events lists a task's events with a Seq above after, at most limit.
	Events(id ID, after int64, limit int) ([]Event, error)
	// Feed lists the events of the projects (nil: all) after a cursor, at most limit,
	// each with its Cursor. It never skips one: events not yet safe to show are left
	// for the next call. Where transactions overlapped, a task's events may come in
	// another order than that of their Seq.
	Feed(projects []string, after Cursor, limit int) ([]Event, error)
	// FeedEnd is the cursor after which Feed shows only what happens from now on, and
	// what is not yet safe to show.
	FeedEnd() (Cursor, error)
	// Counts counts the tasks of the projects.
	Counts(projects []string) (Counts, error)

	// Standing is what a worker's next call depends on. A worker that nobody has
	// heard of has a zero Worker, and that is no error.
	Standing(w WorkerID) (Standing, error)
	// Claims lists the live claims that fit.
	Claims(f ClaimFilter) ([]Claim, error)
	// Workers lists the workers seen since a moment.
	Workers(since time.Time) ([]Worker, error)

	// Stale reports whether a sweep would find something to do.
	Stale() (bool, error)

	Question(id QuestionID) (Question, error)
	Questions(f QuestionFilter) ([]Question, error)

	// Usage counts what a principal has. It must be cheap however long the board's
	// history is: a server asks before many calls.
	Usage(principal string) (Usage, error)
}

// A Tx reads and writes. Locks are taken in one order, so that two transactions
// seldom meet head-on: the project, tasks by ascending ID, then the rest.
type Tx interface {
	Reader

	// LockProject keeps others from changing the project's links until the end.
	LockProject(slug string) error
	// Lock reads tasks and keeps others from writing them until the end. They come
	// in ascending order of ID; one that does not exist is ErrNotFound.
	Lock(ids ...ID) ([]Task, error)
	// Links gives the tasks that id depends on and those that depend on it.
	Links(id ID) (blockers, dependents []ID, err error)
	// Doc reads a task's longer texts.
	Doc(id ID) (Doc, error)
	// LiveClaim reads the claim on a task; ErrNotFound if there is none.
	LiveClaim(id ID) (Claim, error)
	// Attempt reads an attempt by task and number; the nonce is the caller's to compare.
	Attempt(id ID, n int) (Attempt, error)
	// Held reports whether owner held any attempt of the task.
	Held(id ID, owner string) (bool, error)

	// Once claims an idempotency key, and must come first in a transaction. If the
	// key is taken it gives what was kept with it.
	Once(k Key) (kept *Kept, err error)
	// Keep stores the answer of a key that Once claimed in this transaction.
	Keep(k Key, answer string) error

	// PutProject creates or changes a project.
	PutProject(p Project) error
	// Numbers takes n numbers for new tasks of a project and gives the first.
	Numbers(slug string, n int) (int64, error)
	InsertTask(t Task, d Doc) error
	// UpdateTask writes everything of t but CreatedBy and CreatedAt. It fails with
	// ErrConflict if the stored task is not at seq, the Seq that t was read with.
	UpdateTask(t Task, seq int64) error
	PutDoc(id ID, d Doc) error
	// Link and Unlink record that task depends on blocker; repeating one is no error.
	Link(task, blocker ID) error
	Unlink(task, blocker ID) error

	// Claim hands out at most one ready task to each claimant: by priority, then age;
	// within a priority those whose areas overlap a live claim's come last. It writes
	// all that Grant writes. Tasks that a claimant has declined are passed over, and
	// of several projects with fitting work one is drawn. A claimant that holds a claim
	// or was stopped gets nothing. Nothing to hand out is an empty list.
	Claim(w Want) ([]Claim, error)
	// InsertClaim, UpdateClaim, DeleteClaim keep the live claim of a task. A worker
	// that has one already makes InsertClaim fail with ErrConflict; UpdateClaim does so
	// if the claim on the task is not the very one. It writes what can change: the
	// owner, the session, the lease and the deliveries.
	InsertClaim(c Claim, areas []string) error
	UpdateClaim(c Claim) error
	DeleteClaim(id ID) error
	// Renew gives a claim that has not run out its full lease again, and reports
	// whether it did. It does not wait for the task.
	Renew(h Handle) (bool, error)
	InsertAttempt(a Attempt) error
	UpdateAttempt(a Attempt) error
	// PutWorker creates or changes a worker.
	PutWorker(w Worker) error
	// Disown clears the owner of all workers of an owner that has ended.
	Disown(owner string) error
	// Decline keeps a task from being offered to a worker until a moment.
	Decline(w WorkerID, id ID, until time.Time) error

	// InsertQuestion stores a question and gives its ID.
	InsertQuestion(q Question) (QuestionID, error)
	// UpdateQuestion writes a question that is open; ErrConflict if it is not.
	UpdateQuestion(q Question) error

	// Append adds events; their Seq is set by the caller, their time by the store.
	Append(events ...Event) error

	// Expired locks and gives tasks whose claim has run out, at most limit, passing
	// over those that others have locked.
	Expired(limit int) ([]Task, error)
	// Due does the same for pending tasks whose NotBefore has come.
	Due(limit int) ([]Task, error)
	// Overdue gives open questions with a default whose time has come.
	Overdue(limit int) ([]Question, error)
	// Extend gives every claim with less than half of its lease left, or nothing, the
	// full lease again.
	Extend() error
	// Forget deletes idempotency keys older than age.
	Forget(age time.Duration) error
}

// A Want is what to hand out, and to whom.
type Want struct {
	// Projects are those the caller may work in.
	Projects []string
	// Skills is what the claimants can do, sorted; nil fits every task.
	Skills []string
	// For are those who wait, all with the same rights.
	For []Claimant
	// Lease is for tasks where neither they nor their project say.
	Lease time.Duration
}

// A Claimant is a worker that wants a task.
type Claimant struct {
	Worker WorkerID
	// New says that the name has just been drawn: if somebody has it, Claim gives
	// nothing.
	New     bool
	Owner   string
	Session string
	Where   Where
}

// A Standing is what a worker has.
type Standing struct {
	Worker Worker
	// Claim is the live claim it holds, nil if none.
	Claim *Claim
	// Reserved is the pending task that is kept for it, or zero.
	Reserved ID
}

// Usage is how much one principal has on the board now, in all projects.
type Usage struct {
	// Claims is the number of its live claims.
	Claims int
	// OpenQuestions is the number of questions that it asked and that are still open.
	OpenQuestions int
}

// A Dossier is all that is known of a task.
type Dossier struct {
	Task  Task
	Doc   Doc
	Claim *Claim
	// Attempts are all there were, oldest first.
	Attempts []Attempt
	// Blockers are the tasks it depends on, with their results; Dependents and
	// Children are briefer.
	Blockers   []Task
	Results    map[ID]Result // of Blockers
	Dependents []Task
	Children   []Task
	Questions  []Question
	// Events are the last ones, oldest first.
	Events []Event
	// Now is the store's time when it was read.
	Now time.Time
}

// Counts is how many tasks are where.
type Counts struct {
	Status map[Status]int
	// Ready, Blocked, Held and Later divide the pending ones: free to be handed out;
	// waiting for other tasks (or their own parts); on hold; cooling down or reserved.
	Ready, Blocked, Held, Later int
}

// Total is the number of tasks.
func (c Counts) Total() int {
	n := 0
	for _, k := range c.Status {
		n += k
	}
	return n
}

// A TaskFilter chooses tasks; its zero value means all.
type TaskFilter struct {
	Projects []string
	Statuses []Status
	// Ready wants only those that can be handed out now.
	Ready bool
	// Query is looked for in titles and descriptions, in any letter case.
	Query string
	Skill string
	// Worker is the name of whoever holds it now.
	Worker string
	Parent ID
	// After is the last ID of the page before; Limit bounds a page (0: 1,000).
	After ID
	Limit int
}

// A ClaimFilter chooses live claims; its zero value means all.
type ClaimFilter struct {
	Project   string
	Principal string
	Owner     string
	Worker    string
	Session   string
}

// A QuestionFilter chooses questions; its zero value means all.
type QuestionFilter struct {
	Projects []string
	State    QuestionState
	Task     ID
	// After is the last ID of the page before; Limit bounds a page (0: 1,000).
	After QuestionID
	Limit int
}

// A Key makes a write happen once. The same key with another body is a conflict.
type Key struct {
	Principal string
	Key       string
	Op        string
	// Hash is of the request's body.
	Hash string
}

// Kept is what an idempotency key has been used for.
type Kept struct {
	Op, Hash string
	Answer   string
}
