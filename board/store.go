package board

import (
	"context"
	"time"
)

// A Store persists a board. Each call of a method is one transaction: it takes effect
// completely or not at all. The rules are in this package and run inside Write; a store
// reads, locks and writes rows, and hands out tasks quickly.
//
// A store returns ErrUnavailable if the database cannot be reached, ErrUnknown if the
// outcome of a commit is not known, and ErrTooNew if the schema is newer than the
// program. It retries transactions that the database aborted because of a deadlock or a
// serialization failure. The functions passed to Read and Write may therefore run more
// than once, and must not keep state from a failed run.
type Store interface {
	// Read runs f on committed data. Its statements may see different snapshots.
	Read(ctx context.Context, f func(Reader) error) error
	// Write runs f in a transaction and commits if f returns nil. An error of f rolls
	// back the transaction and is returned unchanged.
	Write(ctx context.Context, f func(Tx) error) error
	// Claim is Tx.Claim in a transaction of its own. It is the hot path. An ErrUnknown
	// may come with claims: then it concerns the other claimants.
	Claim(ctx context.Context, w Want) ([]Claim, error)
	// Renew restores the full lease of a claim that has not expired, and reports whether it
	// did. It does not wait for a lock on the task.
	Renew(ctx context.Context, h Handle) (bool, error)
	// Admit records a call with the store's time as its beginning, and its deadline after
	// a.Limit, or the lease of the claim if that is shorter. It extends the lease of the claim to
	// a.Slack beyond that deadline, if it ends before. It reports false, and does nothing, if the
	// principal of a.Worker has no such claim, its lease is over, the task has a call with that
	// step, or the call a.Again is not open. Either the end of the claim or the call comes first:
	// no call begins at or after the time at which a transaction ends its claim.
	Admit(ctx context.Context, a Admission) (call Call, admitted bool, err error)
	// Watch calls wake whenever another process may have changed something, and returns
	// when ctx ends. Wake-ups are hints: some may be missing.
	Watch(ctx context.Context, wake func()) error
	// Attend tells the store that this process is owner. If the store can find out that a
	// process was killed, it will report the owner as Gone. Tx.Disown ends it.
	Attend(owner string)
	// Hint tells other processes that there may be work. It does not block, and several
	// hints may be merged into one.
	Hint()
	Close() error
}

// A Reader reads a board. Its methods return ErrNotFound for what does not exist, unless
// their comments say otherwise. Lists are in ascending order of their keys.
type Reader interface {
	// Now returns the store's clock, which is the only one that callers use. On
	// PostgreSQL it is the database's clock at the time of the call.
	Now() (time.Time, error)

	Project(slug string) (Project, error)
	// Projects lists those of the named projects that exist, or all without names.
	Projects(slugs ...string) ([]Project, error)

	Task(id ID) (Task, error)
	// Tasks lists tasks, oldest first.
	Tasks(f TaskFilter) ([]Task, error)
	// Dossier reads all that is known about a task, with its last n events.
	Dossier(id ID, n int) (Dossier, error)
	// Records reads what is kept about those of the tasks that exist, which are of one project,
	// with all of their events. It takes a few statements however many they are.
	Records(ids []ID) ([]Record, error)
	// Outlines reads the outlines of those of the tasks that exist.
	Outlines(ids []ID) (map[ID]Outline, error)
	// Resting lists at most n tasks of the projects that cool down or are reserved, the first
	// to be ready first.
	Resting(projects []string, n int) ([]Task, error)
	// Events lists at most limit events of a task with a Seq above after.
	Events(id ID, after int64, limit int) ([]Event, error)
	// Feed lists at most limit events of the projects (nil: all) after a cursor, each
	// with its Cursor. It never skips an event: those that are not yet safe to show are
	// left for the next call. If transactions overlapped, the events of a task may come
	// in another order than that of their Seq. If events were deleted, the feed begins after
	// the last of them, and a cursor before that, other than zero, gets ErrCursorTooOld.
	Feed(projects []string, after Cursor, limit int) ([]Event, error)
	// FeedEnd returns the cursor after which Feed lists only events from now on, and
	// those that are not yet safe to show.
	FeedEnd() (Cursor, error)
	// Finished lists tasks that may leave the board, by when they ended.
	Finished(f Finished) ([]Task, error)
	// Archives lists archives, oldest first.
	Archives(f ArchiveFilter) ([]Archive, error)
	// PlanItems returns the tasks of those items of plans that the project has.
	PlanItems(slug string, items []string) (map[string]ID, error)
	// Untold lists at most limit of those items that are addresses, whose tasks are done, and which have no
	// item "told ADDRESS". Their Commit is not set.
	Untold(slug string, limit int) ([]Issue, error)
	// Counts counts the tasks of the projects (nil: all) by state.
	Counts(projects []string) (Counts, error)

	// Queued lists the first tasks of a project's landing queue, by priority and then by age.
	Queued(slug string, limit int) ([]Queued, error)
	// Lander reads who lands on a target, also if the lease is over; zero if nobody ever did.
	Lander(slug, target string) (Lander, error)
	// Intents lists intents, newest first.
	Intents(f IntentFilter) ([]Intent, error)

	// Runs lists the runs of a task, oldest first. If the task does not exist, it has none.
	Runs(id ID) ([]Run, error)
	// Spent sums the costs of the project's runs whose At is in the day that begins at day, in
	// UTC, but for those that were imported. It reads the runs of that day only. Now and Ends are
	// not set.
	Spent(slug string, day time.Time) (Spending, error)
	// Log lists the parts of the log of an attempt with a No above after.
	Log(id ID, attempt int, after int64) ([]LogPart, error)

	// Diff reads the diff of an attempt, or of the newest attempt that has one if attempt is 0;
	// ErrNotFound if there is none.
	Diff(id ID, attempt int) (AttemptDiff, error)

	// CallKey is the key with which the arguments of calls are hashed. A board that does not
	// exist yet has none.
	CallKey() (string, error)
	// Call reads a call, and Step the one that has a step of a task.
	Call(id CallID) (Call, error)
	Step(id ID, step string) (Call, error)
	// Calls lists calls, newest first, without their arguments and results.
	Calls(f CallFilter) ([]Call, error)

	// Artifact reads an artifact.
	Artifact(id ArtifactID) (Artifact, error)
	// Upstream reads what is stored about a server behind the gateway, with its oldest pins first;
	// zero if that is nothing.
	Upstream(name string) (Upstream, error)

	// Standing reads what a worker has. For an unknown worker it returns a zero
	// Standing and no error.
	Standing(w WorkerID) (Standing, error)
	// Claims lists the live claims that match.
	Claims(f ClaimFilter) ([]Claim, error)
	// Reviews lists the live claims on reviews that match; those of a filter with Areas
	// are none. Their handles have no attempt.
	Reviews(f ClaimFilter) ([]Claim, error)
	// Reviewable finds the first task in review, by priority and then by age, whose review
	// the claimant w.For[0] may get: the task is in one of w.Reviews, whose policy is
	// PolicyReview and which is neither paused nor archived; none of its parts is open, and nobody reviews it; it requires
	// no skills that the claimant lacks; and the claimant has not declined it and never held
	// it, under this name or from this owner. The result is zero if there is none.
	Reviewable(w Want) (Reviewable, error)
	// Declined returns the tasks that a worker, or an owner, has declined, and until when.
	Declined(w WorkerID) (map[ID]time.Time, error)
	// Worker reads a worker. An unknown one is zero, and no error.
	Worker(w WorkerID) (Worker, error)
	// Workers lists the workers that were seen since a point in time.
	Workers(since time.Time) ([]Worker, error)

	// Stale reports whether a sweep would find something to do.
	Stale() (bool, error)
	// SweepDue reports whether BeginSweep should record a sweep even if it finds nothing to
	// do: there are live claims, and the last one was a while ago.
	SweepDue() (bool, error)
	// Lapsed lists at most 100 attempts of an owner that expired within the last day, and
	// after which nobody was given the task.
	Lapsed(owner string) ([]Handle, error)
	// Gone lists the owners of claims, leases, workers or open questions whose process was killed:
	// it has ended without a call of Disown. Owners about which the store does not know are
	// not gone.
	Gone() ([]string, error)

	Question(id QuestionID) (Question, error)
	Questions(f QuestionFilter) ([]Question, error)
	// Earlier returns for each of the questions at most n that its asker asked before in the
	// same conversation and project: the newest of these, oldest first.
	Earlier(ids []QuestionID, n int) (map[QuestionID][]Question, error)

	// Usage counts the claims and open questions of a principal. It must stay cheap as
	// the history grows, because servers call it often.
	Usage(principal string) (Usage, error)
}

// A Tx is a transaction: it reads and writes. Callers take locks in one order, so that
// deadlocks are rare: the project, tasks by ascending ID, then everything else.
//
// A store may delay writes. Then the error of a write is that of a later call, or of
// Store.Write. Only InsertClaim, InsertReview, UpdateReview and InsertQuestion tell at once
// whether they succeeded, and so do UpdateClaim and UpdateQuestion unless Ahead has read
// what they write.
type Tx interface {
	Reader

	// Ahead tells the store what the transaction is going to lock and read, so that the
	// store can do it in one round trip. It is optional, and must be the first call.
	Ahead(a Ahead) error
	// LockProject keeps other transactions from changing the project's links until
	// this one ends.
	LockProject(slug string) error
	// Lock reads tasks and locks them against other writers until the transaction ends.
	// It returns them in ascending order of ID; ErrNotFound if one does not exist.
	Lock(ids ...ID) ([]Task, error)
	// Links returns the tasks that id depends on, and those that depend on id.
	Links(id ID) (blockers, dependents []ID, err error)
	// Doc reads a task's longer texts.
	Doc(id ID) (Doc, error)
	// LiveClaim reads the claim on a task; ErrNotFound if there is none.
	LiveClaim(id ID) (Claim, error)
	// Attempt reads an attempt by task and number. The caller compares the nonce.
	Attempt(id ID, n int) (Attempt, error)
	// Held reports whether any attempt of the task was held from the claimant's owner, has it among
	// its Actors, or was held by its worker, by a worker whose name that owner has now, or by its principal with commands in
	// a directory; with OneWorker, by any worker of its principal.
	Held(id ID, who Claimant) (bool, error)

	// Once stores an idempotency key, and must be the first call of a transaction. If
	// the key exists, Once returns what was stored with it.
	Once(k Key) (kept *Kept, err error)
	// Keep stores the answer of a key that Once stored in this transaction.
	Keep(k Key, answer string) error

	// PutProject creates or replaces a project, except for its Land.
	PutProject(p Project) error
	// ShareProject reads a project, and keeps other transactions from changing its Land until
	// this one ends.
	ShareProject(slug string) (Project, error)
	// PutLand sets Land of a project, after transactions that have called ShareProject. From then
	// on only programs that know the status Landing can use the store; ErrConflict while another
	// one is connected.
	PutLand(slug, target string) error
	// PutLander creates or replaces who lands on a target.
	PutLander(l Lander) error
	// InsertIntent stores an intent that is open, and returns its ID; ErrConflict if its target has
	// one already.
	InsertIntent(i Intent) (IntentID, error)
	// EndIntent writes State and EndedAt of an intent that is open; ErrConflict if it is not.
	EndIntent(i Intent) error
	// Numbers allocates n numbers for new tasks of a project and returns the first.
	Numbers(slug string, n int) (int64, error)
	InsertTask(t Task, d Doc) error
	// UpdateTask writes all fields of t except CreatedBy and CreatedAt. It fails with
	// ErrConflict if the stored task is not at seq, the Seq that t was read with.
	UpdateTask(t Task, seq int64) error
	PutDoc(id ID, d Doc) error
	// PutPlanItem records the task that was created for an item of a plan.
	PutPlanItem(item string, id ID) error
	// Link records that task depends on blocker, and Unlink removes that. Both are
	// idempotent.
	Link(task, blocker ID) error
	// Inherit is Link for a link that a task has because its parent has it. It does
	// nothing if the task has the link already; Link makes an inherited one the task's own.
	Inherit(task, blocker ID) error
	// Inherited returns the tasks that id depends on because its parent does.
	Inherited(id ID) ([]ID, error)
	Unlink(task, blocker ID) error

	// Claim hands out at most one ready task to each claimant, by priority and then by
	// age. Within a priority, tasks whose areas overlap those of a live claim come last.
	// Tasks that a claimant has declined are skipped; a new name also skips those that its
	// owner has declined. If several projects have work that
	// fits, one is chosen at random. A claimant that holds a claim gets none, nor does one
	// that was stopped, under its name or its owner's. Claim writes the same as Grant. The
	// list is empty if there is no task.
	Claim(w Want) ([]Claim, error)
	// InsertClaim stores the live claim of a task; ErrConflict if the task or the worker
	// has one already.
	InsertClaim(c Claim, areas []string) error
	// UpdateClaim writes the owner, the session, the lease and the deliveries of a
	// claim; ErrConflict if it is not the live claim of its task.
	UpdateClaim(c Claim) error
	// DeleteClaim removes the live claim of a task, if there is one. Now is then later than the
	// beginning of all calls that were admitted under it.
	DeleteClaim(id ID) error
	// Busy keeps calls from being admitted under the claim on a task until the transaction ends,
	// and returns the latest deadline of those that are open; zero if there are none.
	Busy(id ID) (time.Time, error)
	// EndCall writes the end of a call of e.Principal that is open, and removes its step if free
	// is set. It does nothing if there is no such call.
	EndCall(e EndedCall, free bool) error
	// RenewAll restores the full leases of those of the claims that have not expired, and sets
	// their deliveries to 0.
	RenewAll(claims []Handle) error
	// AddReads adds to how often tools that only read were called at an attempt.
	AddReads(h Handle, r Reads) error
	// ArtifactBytes returns how many bytes the artifacts of a task take, or those of a principal that have
	// no task if id is zero, and how many all of the task's project take.
	ArtifactBytes(id ID, principal string) (own, project int64, err error)
	// InsertArtifact stores an artifact and returns its ID.
	InsertArtifact(a Artifact) (ArtifactID, error)
	// ForgetArtifacts deletes artifacts older than age.
	ForgetArtifacts(age time.Duration) error
	// PutCatalogue creates or replaces the catalogue of a server behind the gateway.
	PutCatalogue(upstream, catalogue string) error
	// PutPin adds a pin. If it exists, PutPin only sets By and At, and only if By was empty and is not now.
	PutPin(upstream string, p UpstreamPin) error
	// ForgetCalls deletes calls without a task that began longer ago than age.
	ForgetCalls(age time.Duration) error
	// EraseCalls deletes the arguments, the errors and the results of a task's calls. If all is
	// set, it deletes the calls.
	EraseCalls(id ID, all bool) error
	// InsertReview stores the claim on a review; ErrConflict if the task or the worker has
	// one already.
	InsertReview(c Claim) error
	// UpdateReview writes the owner, the session, the lease and the deliveries of a claim
	// on a review; ErrConflict if it is not live.
	UpdateReview(c Claim) error
	// DeleteReview removes the claim on the review of a task, if there is one.
	DeleteReview(id ID) error
	// ExpiredReviews returns at most limit claims on reviews that have expired, or whose
	// worker holds a task as well.
	ExpiredReviews(limit int) ([]Claim, error)
	InsertAttempt(a Attempt) error
	UpdateAttempt(a Attempt) error
	// PutRun creates or replaces the run of an attempt.
	PutRun(r Run) error
	// PutLog adds a part to the log of an attempt, unless it has one with that No. Then it
	// deletes the oldest parts, so that those that are left take at most MaxLog.
	PutLog(id ID, attempt int, p LogPart) error
	// PutDiff creates or replaces the diff of an attempt.
	PutDiff(id ID, attempt int, d Diff) error
	// PutWorker creates or replaces a worker.
	PutWorker(w Worker) error
	// Seen sets LastSeen of a worker to the time now.
	Seen(w WorkerID) error
	// Disown clears the owner of all workers and open questions, and ends the leases of landers, of an owner that has
	// ended.
	Disown(owner string) error
	// Decline keeps a task from being offered to a worker until a point in time. If the
	// worker has an owner's name, it keeps the task from new names of that owner.
	Decline(w WorkerID, id ID, until time.Time) error

	// InsertQuestion stores a question and returns its ID.
	InsertQuestion(q Question) (QuestionID, error)
	// UpdateQuestion writes a question that is open; ErrConflict if it is not.
	UpdateQuestion(q Question) error

	// Append adds events. The caller sets their Seq, the store their time.
	Append(events ...Event) error

	// Expired locks and returns at most limit tasks whose claim has expired, skipping
	// tasks that other transactions have locked.
	Expired(limit int) ([]Task, error)
	// Due does the same for pending tasks whose NotBefore has passed, and for those that
	// are reserved for a worker without an owner or for one that was stopped.
	Due(limit int) ([]Task, error)
	// Overdue returns open questions that have a default and whose deadline has passed.
	Overdue(limit int) ([]Question, error)
	// BeginSweep records in the store that a sweep takes place now, and excludes other
	// sweeps until the transaction ends. If the last one was long ago, holders could not
	// be heard either, because the database was away or the machine was suspended: then
	// it first extends the leases that were live when the gap began. every is how often
	// the caller sweeps.
	BeginSweep(every time.Duration) (Sweep, error)
	// EraseEvent replaces the detail of an event by one whose content was erased: it has
	// Erased, and nothing else of the event differs. That is the only change of an event.
	EraseEvent(e Event) error
	// EraseQuestion writes the texts of a question, whatever its state.
	EraseQuestion(q Question) error
	// EraseRuns deletes the logs, the sessions and the diffs of a task's attempts.
	EraseRuns(id ID) error
	// EraseAnswers replaces a text in the answers of all idempotency keys.
	EraseAnswers(old, new string) error

	// LockFinished locks those of the tasks, which are of one project, that Finished would
	// list and whose children are all among them. It skips tasks that other transactions
	// have locked.
	LockFinished(ids []ID, before time.Time) ([]Task, error)
	// Archive records an archive, and deletes its tasks, which are locked, with all that
	// belongs to them. Feeds begin after their events.
	Archive(a Archive) error
	// Forget deletes idempotency keys older than age.
	Forget(age time.Duration) error
	// ForgetWorkers deletes workers that were not seen for longer than age. It keeps those
	// that hold a claim or a review, that a task is reserved for, or that were stopped.
	ForgetWorkers(age time.Duration) error
}

// Ahead is what a transaction is going to lock and read. What it names need not exist.
type Ahead struct {
	// Key is the key for Once.
	Key *Key
	// Lock are the tasks to lock, or Family is one to lock together with its parent and the
	// tasks that depend on it, or Question is a question to read and whose task to lock.
	Lock     []ID
	Family   ID
	Question QuestionID
	// Claim is a claim to read with its attempt, its worker and its project. Its task is
	// among those to lock. Ends is set if the transaction is going to end it.
	Claim Handle
	Ends  bool
	// Doc is the task whose longer texts to read. It is among those to lock.
	Doc ID
	// Project is a project to read. Numbers is how many tasks will be created in it, with
	// some of Skills.
	Project string
	Numbers int
	Skills  []string
}

// A Want is a request to hand out tasks to one or more workers.
type Want struct {
	// Projects are the projects to hand out from.
	Projects []string
	// Reviews are the projects to hand out reviews from, for Reviewable.
	Reviews []string
	// Skills are the skills of the claimants, sorted; nil to be offered any task.
	Skills []string
	// For are the claimants, all with the same rights.
	For []Claimant
	// Lease applies if neither the task nor its project has a lease.
	Lease time.Duration
}

// A Claimant is a worker that asks for a task.
type Claimant struct {
	Worker WorkerID
	// New marks a newly generated name: if a worker with it exists, Claim grants
	// nothing.
	New     bool
	Owner   string
	Session string
	Where   Where
	// Nonce is that of its grant; a new one if it is empty.
	Nonce string
	// OneWorker is as in Actor. It matters for reviews only.
	OneWorker bool
}

// A Sweep is the answer of BeginSweep.
type Sweep struct {
	// At is the store's time. Claims whose leases end later must not be ended, even if the
	// transaction takes long.
	At time.Time
	// Gap is how long no sweep took place, if leases were extended because of it, and
	// Extended is how many this transaction has extended.
	Gap      time.Duration
	Extended int
	// Wait is set if no claim may be ended yet: more leases are to be extended, or another
	// process is sweeping.
	Wait bool
}

// MinProtected is the shortest lease that is extended after a gap. Holders of shorter ones
// cannot renew them in time.
const MinProtected = 20 * time.Second

// A Standing is what a worker has.
type Standing struct {
	Worker Worker
	// Claim is the live claim that the worker holds, or nil.
	Claim *Claim
	// Review is the claim on a review that the worker holds, or nil.
	Review *Claim
	// Reserved is the pending task that is reserved for the worker, or zero.
	Reserved ID
}

// Usage is what one principal has on the board, in all projects.
type Usage struct {
	// Claims is the number of its live claims.
	Claims int
	// OpenQuestions is the number of questions that it asked and that are still open.
	OpenQuestions int
}

// Counts is the number of tasks by state.
type Counts struct {
	Status map[Status]int
	// Ready, Blocked, Held and Later add up to the pending tasks: ready to be handed
	// out; blocked by other tasks or by open children; drafts; cooling down or reserved.
	// In has the number of each state.
	Ready, Blocked, Held, Later int
	// Reserved is how many of Later are reserved.
	Reserved int
}

// Total returns the number of tasks.
func (c Counts) Total() int {
	n := 0
	for _, k := range c.Status {
		n += k
	}
	return n
}

// A Key is an idempotency key: a write with it takes effect once. The same key with
// another body is a conflict.
type Key struct {
	Principal string
	Key       string
	Op        string
	// Hash is a hash of the request's body.
	Hash string
}

// Kept is what was stored with an idempotency key.
type Kept struct {
	Op, Hash string
	Answer   string
}
