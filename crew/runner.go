package crew

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/plaindir"
	"github.com/bossman-dev/bossman/proc"
)

// A Board is what a runner needs of a board.
type Board interface {
	Next(ctx context.Context, a board.Actor, w board.Wish) (*board.Handout, error)
	Get(ctx context.Context, id board.ID, events int) (board.Dossier, error)
	Summary(ctx context.Context, slug string) (board.Summary, error)
	Renew(ctx context.Context, owner string, called bool) ([]board.Claim, error)
	Claims(ctx context.Context, f board.ClaimFilter) ([]board.Claim, error)
	Locate(ctx context.Context, a board.Actor, h board.Handle, w board.Where) error
	Spent(ctx context.Context, slug string) (board.Spending, error)
	Record(ctx context.Context, a board.Actor, r board.Run, log ...board.LogPart) error
	Fail(ctx context.Context, a board.Actor, h board.Handle, f board.Failure) (board.Outcome, error)
	Ask(ctx context.Context, a board.Actor, n board.NewQuestion) (board.Question, error)
	Questions(ctx context.Context, f board.QuestionFilter) ([]board.Question, error)
	Question(ctx context.Context, id board.QuestionID) (board.Question, error)
	Answer(ctx context.Context, a board.Actor, id board.QuestionID, answer string) (board.Question, error)
	Await(ctx context.Context, id board.QuestionID, d time.Duration) (board.Question, error)
	Park(ctx context.Context, a board.Actor, id board.QuestionID) (q board.Question, parked bool, err error)
	Review(ctx context.Context, a board.Actor, id board.ID, d board.Decision) (board.Outcome, error)
	GiveBack(ctx context.Context, a board.Actor, h board.Handle, reason string) error
	Leave(ctx context.Context, owner string) error
}

// A Target is the branch that work lands on.
type Target interface {
	// Tip returns its newest commit.
	Tip(ctx context.Context) (string, error)
	// Fetch fetches the state of an attempt from the repository that the branch is in, if that is another one and has the
	// commit, or what git.Short leaves of it.
	Fetch(ctx context.Context, ref, commit string) error
}

// Options are what a runner runs, and how.
type Options struct {
	Board Board
	// Project is the project whose tasks are worked on.
	Project string
	// Repo is the repository of the work, and State a directory of this user for what has to be
	// remembered.
	Repo  *git.Repo
	State string
	// Accept accepts filters of the repository's own configuration.
	Accept func(filter string) bool
	// Setup returns the command that prepares a worktree, and the paths whose changes make it run
	// again; no command if there is none. untrusted is set if the project has another one that
	// nobody has accepted. Nil is no setup.
	Setup func() (command, when []string, untrusted bool, err error)
	// Onto is the branch that work lands on: new work begins from it. If it is nil, that is what is checked
	// out in the repository.
	Onto Target
	// Target is that branch. Agents are kept from moving it by accident.
	Target board.Target
	// Agents are the agents of the slots that work on tasks, one each, and Reviewers those of the slots
	// that review.
	Agents, Reviewers []agent.Agent
	// Principal is that of all workers, whose claims on this clone's worktrees are believed.
	Principal string
	// Seat makes a worker for a slot that works in a directory, or reviews there.
	Seat func(dir string, reviews bool) Seat
	// AsCommands rewrites the tools in a hand-out as commands, for agents that have no tools.
	AsCommands func(text string) string
	// Self is the command line of this program that calls proc.RunMinder.
	Self []string
	// Environ is the environment that agents start from.
	Environ []string
	// UntilEmpty: end when nothing is left that can be worked on without people. MaxTasks: end
	// after so many tasks; 0 for no limit.
	UntilEmpty bool
	MaxTasks   int
	// ToLand is how many tasks in the landing queue this process is still going to land, without
	// people: until then it is not empty, because some may come back. Nil if it lands none.
	ToLand func(ctx context.Context) (int, error)
	Limits Limits
	// Report is called with what happens, by several goroutines at once.
	Report func(Event)
}

// Limits are how long a job may take for what, and what it may cost. Zero is no limit.
type Limits struct {
	// Silence is how long an agent with a model may be without activity. Call stands for it while one
	// of its tools runs, and for a program, whose work nobody sees. Until the first sign of work,
	// First stands for Silence. Job is how long it may take.
	Silence, Call, Job time.Duration
	// Setup is how long the setup of a worktree may take.
	Setup time.Duration
	// First is how long an agent with a model may take to its first sign of work.
	First time.Duration
	// Parting is how long it may go on after its claim has ended by its own report, or after it
	// has ended its last turn.
	Parting time.Duration
	// Cost is what it may cost, and Day what all runs of the project may cost on a day in UTC, in
	// dollars, with agents that tell a price.
	Cost, Day float64
	// Answer is how long it may wait for a permission before its task is parked.
	Answer time.Duration
	// Grace is how long its processes have to end when they are asked to.
	Grace time.Duration
	// Rest is how long agents rest whose account has reached its limit, if nobody says until when.
	Rest time.Duration
}

// DefaultLimits are the limits if nothing else is said.
var DefaultLimits = Limits{Setup: 15 * time.Minute, First: time.Minute, Silence: 10 * time.Minute, Call: 2 * time.Hour, Parting: 30 * time.Second, Answer: 30 * time.Minute, Grace: 5 * time.Second, Rest: 5 * time.Minute}

// A Seat is the worker of a slot: an owner of its own on the board.
type Seat struct {
	Actor board.Actor
	// Bind binds a server of the board's tools to the claim of a hand-out. begins says from what
	// the worktree begins; store stores the state of a report of done before that is recorded, nil for
	// a review.
	Bind func(ctx context.Context, h *board.Handout, begins string, store Store) Bound
	// Where describes the directory.
	Where func(ctx context.Context) board.Where
}

// A Store stores the state that a report of done is about. at is the place of the work, zero if that
// is not known, and tree what was checked, if a check was run. It returns the place with the commit
// that has the state, and what is to be said of it.
type Store func(ctx context.Context, at board.Where, tree, summary string) (board.Where, board.Evidence, error)

// A Bound is a server of the board's tools that is bound to one claim.
type Bound struct {
	// Text is the hand-out for a model, and Task the task for a program, in JSON.
	Text string
	Task []byte
	// Serve serves a connection until it ends. It may serve several.
	Serve func(ctx context.Context, conn io.ReadWriteCloser)
	// Settled is called with a question of the runner's own whose answer it acts on: no report has to wait
	// until the agent has read it.
	Settled func(q board.Question)
	// Watch, if it is not nil, sets a function that is called with each question that the agent asks.
	Watch func(asked func(board.Question))
	// Unjudged, if it is not nil, says why the last check could not judge what the agent reported; why is empty
	// if it could, or there was none. counted is set if the board counts that.
	Unjudged func() (why string, counted bool)
	// Calls is how many calls are being answered.
	Calls func() int
	// Close ends the server, and what its calls have started in the directory: a check.
	Close func()
}

// An Event is something that happened in a slot.
type Event struct {
	Slot   string
	Agent  string
	Worker string
	// Task is zero for an event of the slot itself.
	Task  board.ID
	Title string
	Kind  EventKind
	// Text is what happened, in words that may be those of others.
	Text string
}

// An EventKind is the kind of an event.
type EventKind string

const (
	Waiting  EventKind = "waiting"  // for a task, or for what Text says
	Began    EventKind = "began"    // a job
	Resumed  EventKind = "resumed"  // the work of an earlier attempt: Text says which commit
	Said     EventKind = "said"     // what the agent wrote last
	Asked    EventKind = "asked"    // people a question, or for a permission: Text begins with the question's id
	Done     EventKind = "done"     // and reported so
	Review   EventKind = "review"   // reported done, and waits for a review
	Landing  EventKind = "landing"  // accepted, and waits to be landed
	Failed   EventKind = "failed"   // and the failure counts
	NotNow   EventKind = "not now"  // given back by the agent, without a failure
	Parked   EventKind = "parked"   // for an answer
	Lost     EventKind = "lost"     // the claim was taken away
	SentBack EventKind = "sentback" // its work was reported done, and was rejected or came back from the landing queue
	Untold   EventKind = "untold"   // the board could not be told how the job ended
	Returned EventKind = "returned" // without a failure
	Trouble  EventKind = "trouble"  // of the slot
	Rests    EventKind = "rests"    // the slot takes no task for a while: Text says why
	Over     EventKind = "over"     // the slot has ended

	Reviewing EventKind = "reviewing" // a review has begun
	Accepted  EventKind = "accepted"  // the work
	Rejected  EventKind = "rejected"  // it
	Skipped   EventKind = "skipped"   // the review is given back without a verdict: Text says why

	Answering EventKind = "answering" // a question: Text is its number, Title the question
	Answered  EventKind = "answered"  // it: Text has its number and the answer
)

// A Runner runs agents.
type Runner struct {
	o     Options
	run   string // the name of this run, in the marker of all its processes
	dir   string // where the worktrees of the slots are
	tasks chan struct{}

	mu      sync.Mutex
	results []Result
	resting map[string]time.Time // until when agents rest whose account has reached its limit
	// working is how many slots for tasks have not ended. looks are the slots for reviews that have not
	// ended: when each began to look for one and found none, zero while it has one. quiet is since when
	// there is nothing else to do.
	working int
	looks   map[*slot]time.Time
	quiet   time.Time
	today   today
}

// New returns a runner.
func New(o *Options) *Runner {
	r := &Runner{resting: map[string]time.Time{}, looks: map[*slot]time.Time{}, o: *o, run: "w" + strconv.Itoa(os.Getpid()) + "-" + board.NewNonce()}
	r.dir = o.Repo.Root + ".worktrees"
	if main, ok := git.Main(o.Repo.Common); ok { // it may be bare
		r.dir = main.Root + ".worktrees"
	}
	if r.o.Report == nil {
		r.o.Report = func(Event) {}
	}
	if o.MaxTasks > 0 {
		r.tasks = make(chan struct{}, o.MaxTasks)
	}
	return r
}

// Run keeps the slots busy until there is nothing to do, or until drain ends: then the slots
// finish what they have. When ctx ends, they end it at once, and their tasks are given back.
func (r *Runner) Run(ctx, drain context.Context) error {
	if _, err := r.head(ctx); err != nil {
		return err
	}
	unlock, err := r.begin()
	if err != nil {
		return err
	}
	defer unlock()
	stop, err := proc.Adopt()
	if err != nil {
		return err
	}
	defer stop()
	slots, err := r.takeSlots(ctx)
	switch {
	case ctx.Err() != nil:
		return nil // it was to end before it began
	case err != nil:
		return err
	}
	r.recoverOthers(ctx, "")
	for _, s := range slots {
		r.enter(s)
	}
	var wg sync.WaitGroup
	errs := make([]error, len(slots))
	for n, s := range slots {
		wg.Go(func() {
			defer s.unlock()
			defer r.exit(s)
			errs[n] = s.run(ctx, drain)
			if errs[n] != nil {
				s.report(Trouble, errs[n].Error())
			}
			s.report(Over, "")
		})
	}
	wg.Wait()
	return errors.Join(sayOnce(errs)...)
}

// takeSlots takes the first slots that no other runner has.
func (r *Runner) takeSlots(ctx context.Context) ([]*slot, error) {
	dir, err := r.openSlots()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	slots, err := r.takeNamed(ctx, dir, "slot-", r.o.Agents, false)
	if err != nil {
		return nil, err
	}
	reviewers, err := r.takeNamed(ctx, dir, "review-", r.o.Reviewers, true)
	return append(slots, reviewers...), err
}

// takeNamed takes slots for agents, whose names begin with a prefix.
func (r *Runner) takeNamed(ctx context.Context, dir *os.Root, prefix string, agents []agent.Agent, reviews bool) (slots []*slot, err error) {
	for n := 1; len(slots) < len(agents); n++ {
		name := prefix + strconv.Itoa(n)
		unlock, ok, err := proc.TryLockIn(dir, name+".lock")
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		s := r.slot(name, unlock)
		busy, err := s.busy(ctx)
		if err != nil {
			return nil, err
		}
		if busy != "" {
			r.o.Report(Event{Slot: name, Kind: Trouble, Text: fmt.Sprintf("%s works in %q: this slot is left alone", busy, s.dir)})
			defer unlock()
			continue
		}
		s.agent, s.seat, s.reviews = agents[len(slots)], r.o.Seat(s.dir, reviews), reviews
		slots = append(slots, s)
	}
	return slots, nil
}

// slotsDir is where slots keep what they remember.
func (r *Runner) slotsDir() string { return filepath.Join(r.o.Repo.Common, "bossman", "slots") }

// openSlots opens that directory, as long as it is one: agents may write above it.
func (r *Runner) openSlots() (*os.Root, error) { return plaindir.Open(r.slotsDir()) }

// slot returns a slot that this process has locked.
func (r *Runner) slot(name string, unlock func()) *slot {
	s := &slot{r: r, name: name, returned: map[board.ID]bool{}, dir: filepath.Join(r.dir, name), unlock: unlock, file: filepath.Join(r.slotsDir(), name+".json")}
	s.remember()
	return s
}

// recoverOthers stores what dead runs left in slots that nobody has now. It returns the name of a
// slot that somebody has, and that has still to see to the end of a job at a task; empty if there is
// none.
func (r *Runner) recoverOthers(ctx context.Context, task string) (ending string) {
	dir, err := r.openSlots()
	if err != nil {
		return ""
	}
	defer dir.Close()
	entries, _ := plaindir.Entries(dir)
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !strings.HasPrefix(name, "slot-") {
			continue
		}
		unlock, ok, err := proc.TryLockIn(dir, name+".lock")
		if err == nil && !ok && r.slot(name, nil).kept.Task == task {
			ending = name
		}
		if err != nil || !ok {
			continue
		}
		s := r.slot(name, unlock)
		s.agent = nobody{}
		if busy, err := s.busy(ctx); err == nil && busy == "" {
			if err := s.recover(ctx); err != nil {
				s.report(Trouble, err.Error())
			}
		}
		unlock()
	}
	return ending
}

// nobody is the agent of a slot that is only looked at.
type nobody struct{ agent.Agent }

func (nobody) Name() string { return "" }

// mind starts a process under a minder.
func (r *Runner) mind(cmd *exec.Cmd) (*proc.Minded, error) {
	return proc.Mind(cmd, r.o.Self, r.run, r.o.Limits.Grace)
}

// take takes one of the tasks that may still be begun, and reports whether there is one.
func (r *Runner) take() bool {
	if r.tasks == nil {
		return true
	}
	select {
	case r.tasks <- struct{}{}:
		return true
	default:
		return false
	}
}

// untake gives back what take took.
func (r *Runner) untake() {
	if r.tasks != nil {
		<-r.tasks
	}
}

// rests returns until when an agent rests.
func (r *Runner) rests(name string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resting[name]
}

// rest lets all slots of an agent rest until its account may be used again.
func (r *Runner) rest(name string, until time.Time) time.Time {
	if until.IsZero() {
		until = time.Now().Add(r.o.Limits.Rest)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if until.After(r.resting[name]) {
		r.resting[name] = until
	}
	return r.resting[name]
}
