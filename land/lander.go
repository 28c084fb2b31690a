package land

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
)

// A Board is what a lander needs of a board.
type Board interface {
	Lead(ctx context.Context, a board.Actor, l board.Lease) (board.Lease, error)
	StepDown(ctx context.Context, a board.Actor, l board.Lease) error
	Line(ctx context.Context, slug string) (board.Line, error)
	Get(ctx context.Context, id board.ID, events int) (board.Dossier, error)
	Diff(ctx context.Context, id board.ID, attempt int) (board.AttemptDiff, error)
	BeginLand(ctx context.Context, a board.Actor, l board.Lease, old, new string, items []board.Item) (board.Intent, error)
	Landed(ctx context.Context, a board.Actor, l board.Lease, id board.IntentID, commits map[board.ID]string) ([]board.Outcome, error)
	Dropped(ctx context.Context, a board.Actor, l board.Lease, id board.IntentID) error
	Intents(ctx context.Context, f board.IntentFilter) ([]board.Intent, error)
	Return(ctx context.Context, a board.Actor, id board.ID, r board.Return) (board.Outcome, error)
	Untold(ctx context.Context, slug string) ([]board.Issue, error)
	Told(ctx context.Context, a board.Actor, i board.Issue) error
	Changes() <-chan struct{}
}

// Options are what a lander lands, and how.
type Options struct {
	Board Board
	Actor board.Actor
	// Project is the project whose work lands, and Target where.
	Project string
	Target  board.Target
	// Holder is what the lander calls itself, for people.
	Holder string
	// By is who runs the lander. People read that name beside what the lander tells.
	By board.Actor
	// Host is the name of this machine.
	Host string
	Repo *git.Repo
	// Check returns the check in force, nil if there is none. It is asked before each round.
	Check  func() (*check.Check, error)
	Runner *check.Runner
	// Setup returns the command that prepares a worktree, and the paths whose changes make it run again;
	// no command if there is none.
	Setup func() (command, when []string, err error)
	// Accept accepts filters of the repository's own configuration.
	Accept func(filter string) bool
	// Pulls are the pull requests of a target that has some.
	Pulls Pulls
	// Issues are those that are told when their tasks are done; nil if there are none.
	Issues Issues
	// Style is how work is merged, and Batch how many tasks may land at once.
	Style git.Style
	Batch int
	// Leave: do not touch a checkout of the target, but wait until it is checked out nowhere.
	Leave bool
	// Withhold: keep what was changed off the board.
	Withhold bool
	// FromHere: a person says that the target is the one of this clone, although it does not have what has landed last.
	FromHere bool
	// Watch: go on until the context ends. Else a run ends when nothing more can land now.
	Watch bool
	// Report is called with what happens.
	Report func(Event)
}

// An Event is something that happened while landing.
type Event struct {
	Kind EventKind
	// Task is zero for an event that is about no task alone.
	Task  board.ID
	Title string
	// Commit is the commit of the target, if the event has one.
	Commit string
	// Text is what happened, in words that may be those of others.
	Text string
}

// An EventKind is the kind of an event.
type EventKind string

const (
	Landed   EventKind = "landed"   // Commit has it
	Conflict EventKind = "conflict" // goes back to its task: Text has the files
	Red      EventKind = "red"      // goes back to its task, because of the check
	Waits    EventKind = "waits"    // stays in the queue: Text says why
	Checking EventKind = "checking" // Text says what
	Stopped  EventKind = "stopped"  // nothing lands until somebody does what Text says
	Closed   EventKind = "closed"   // goes back to its task, because people closed the pull request Text
	Moved    EventKind = "moved"    // the target, by somebody else
	Told     EventKind = "told"     // the issue Text, that its task is done
	Untold   EventKind = "untold"   // an issue could not be told: Text says why
)

// A Lander lands work. A run of it is for one goroutine.
type Lander struct {
	o      Options
	target *target
	room   *room

	mu    sync.Mutex
	lease board.Lease
	note  board.LandNote
	// recalled is set once people were told what an earlier lander has noted about the target.
	recalled bool

	said     map[string]bool       // what was reported already and has not changed
	seen     map[string]sighting   // of pull requests, by branch
	there    map[string]string     // the states at the remote repository of the target, nil if it was not asked in this round
	diffs    map[string]string     // what untrue has returned, by task, attempt and commit
	unjudged map[board.ID]unjudged // work that the check could not judge
	again    map[board.ID]bool     // tasks of the queue that have resolved a conflict: they land before those that waited for them
	astray   bool                  // the target did not have what has landed last, in the last round
	tellAt   time.Time             // when issues are told next
	last     board.LandNote        // at the end of the last round that was not interrupted
	idle     int                   // how many queued tasks could not land in the last round; -1 during a round
}

// New makes a lander.
func New(o *Options) *Lander {
	l := &Lander{o: *o, said: map[string]bool{}, seen: map[string]sighting{}, diffs: map[string]string{}, again: map[board.ID]bool{}, unjudged: map[board.ID]unjudged{}}
	if l.o.Report == nil {
		l.o.Report = func(Event) {}
	}
	l.o.Batch = max(l.o.Batch, 1)
	l.target = &target{repo: o.Repo, at: o.Target, accept: o.Accept, leave: o.Leave}
	l.room = newRoom(&l.o)
	return l
}

const (
	// pause is how long a lander waits at most before it looks again at what the board does not tell
	// about: the target, and files in a checkout.
	pause = 5 * time.Second
	// remotePause is the same for a target at a remote repository.
	remotePause = 30 * time.Second
	// renewal is how often a lander renews its lease.
	renewal = board.LeaseTime / 6
)

// errDied means that the lease could not be renewed in time.
var errDied = errors.New("land: the landing lease could not be renewed")

// errAstray means that work lands elsewhere.
var errAstray = errors.New("land: the target is that of another repository")

// Run lands what is queued. Without Watch, an error is a *board.LedError if another process lands.
func (l *Lander) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		changed := l.o.Board.Changes()
		err := l.lead(ctx)
		led, taken := errors.AsType[*board.LedError](err)
		switch {
		case err == nil:
			l.recall()
			err = l.rounds(ctx)
			lost := errors.Is(err, board.ErrLeaseLost) || errors.Is(err, errDied)
			switch {
			case errors.Is(err, errAstray) && ctx.Err() == nil: // the lander of the right repository gets its turn
				_ = l.o.Board.StepDown(ctx, l.o.Actor, l.current())
				board.WaitFor(ctx, nil, remotePause)
				continue
			case ctx.Err() != nil || err != nil && !lost:
				return l.over(ctx, err)
			case err == nil:
				return l.over(ctx, nil)
			}
		case taken && l.o.Watch:
			l.once(Event{Kind: Waits, Text: fmt.Sprintf("%s, %q, lands now", led.Author.Lander(strconv.Quote), led.Holder)})
		case ctx.Err() != nil:
			return nil
		default:
			return err
		}
		board.WaitFor(ctx, changed, pause)
	}
	return nil
}

// over gives the lease back. What has landed last is told first.
func (l *Lander) over(ctx context.Context, err error) error {
	if l.tellAt.IsZero() && ctx.Err() != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTime)
		defer cancel()
		_ = l.issues(ctx) // else the next lander does
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pause)
	defer cancel()
	l.restore()
	_ = l.tell(ctx, "")
	_ = l.o.Board.StepDown(ctx, l.o.Actor, l.current()) // else it ends by itself
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// lead takes the landing lease.
func (l *Lander) lead(ctx context.Context) error {
	lease, err := l.o.Board.Lead(ctx, l.leader(), board.Lease{Project: l.o.Project, Target: l.o.Target.String(), Holder: l.o.Holder})
	if err == nil {
		l.mu.Lock()
		l.lease = lease
		if lease.Note != nil {
			l.note = *lease.Note
		}
		l.mu.Unlock()
	}
	return err
}

// leader is who takes the lease: the actor, with the name of who runs the lander.
func (l *Lander) leader() board.Actor {
	a := l.o.Actor
	a.Name, a.Person = cmp.Or(l.o.By.Name, a.Name), l.o.By.Person
	return a
}

// current is the lease.
func (l *Lander) current() board.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	lease := l.lease
	lease.Note = nil
	return lease
}

// keep renews the lease until ctx ends, and ends the rounds if it is lost.
func (l *Lander) keep(ctx context.Context, end context.CancelCauseFunc) {
	good := time.Now()
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, err := l.o.Board.Lead(ctx, l.leader(), l.current())
		switch {
		case err == nil:
			good = time.Now()
		case errors.Is(err, board.ErrLeaseLost) || errors.Is(err, board.ErrConflict):
			end(err)
			return
		case time.Since(good) > board.LeaseTime-2*renewal:
			end(fmt.Errorf("%w: %w", errDied, err))
			return
		}
	}
}

// rounds lands until nothing more can land; with Watch, until ctx ends.
func (l *Lander) rounds(ctx context.Context) error {
	held, end := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end(nil)
	wg.Go(func() { l.keep(held, end) })
	for {
		changed := l.o.Board.Changes()
		if err := l.prune(held); err != nil && held.Err() == nil && !stops(err) {
			l.once(Event{Kind: Waits, Text: fmt.Sprintf("states of tasks that ended long ago were not deleted: %v", err)})
		}
		l.rest(-1)
		more, left, err := l.round(held)
		if err != nil && held.Err() != nil && ctx.Err() == nil {
			return context.Cause(held)
		}
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case more:
			l.last = board.LandNote{}
			continue
		}
		if err := l.issues(held); err != nil {
			if held.Err() != nil && ctx.Err() == nil {
				return context.Cause(held)
			}
			return err
		}
		l.rest(left)
		if !l.o.Watch {
			return nil
		}
		if err := l.tell(held, ""); err != nil {
			return err
		}
		if l.astray {
			return errAstray
		}
		board.WaitFor(held, changed, l.pause())
		if held.Err() != nil && ctx.Err() == nil {
			return context.Cause(held)
		}
	}
}

// pause is how long to wait at most until the next round.
func (l *Lander) pause() time.Duration {
	if l.o.Target.Kind == board.TargetLocal {
		return pause
	}
	return remotePause
}

// Waiting is how many tasks of the queue cannot land now; -1 while it looks what can.
func (l *Lander) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.idle
}

// rest notes how many tasks of the queue cannot land now, and why.
func (l *Lander) rest(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = n
	if n >= 0 {
		l.last = *l.copyNote()
	}
}

// once reports what stays so until something else is reported of the same task.
func (l *Lander) once(e Event) {
	key := fmt.Sprint(e.Kind, e.Task, e.Text)
	if !l.said[key] {
		l.said[key] = true
		l.o.Report(e)
	}
}
