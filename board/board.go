package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// boardActor is the actor of events that the board causes itself, such as a sweep.
const boardActor = "bossman"

const (
	// reserveTime is how long a task is reserved for the worker whose question about it
	// was answered, if the worker stays connected.
	reserveTime = 10 * time.Minute
	// declineTime is how long a worker is not offered a task that it gave back.
	declineTime = 10 * time.Minute
	// keyTime is how long idempotency keys are kept.
	keyTime = 7 * 24 * time.Hour
	// workerTime is how long workers are kept that were not seen.
	workerTime = 90 * 24 * time.Hour
	// maxDeliveries is how often a claim is delivered again without a sign of work in
	// between. The next delivery ends the attempt.
	maxDeliveries = 5
)

// Options configures a Board. The zero value selects the defaults.
type Options struct {
	Logger *slog.Logger // nil: no logging
	// Lease is how long a claim lasts without a sign of life if neither the task nor
	// its project sets a lease; default 10 minutes. LeaseAbsent is the same for workers
	// without presence (Wish.Absent); default 60 minutes.
	Lease, LeaseAbsent time.Duration
	// Parting is what remains of a lease when the worker's process has ended, so that
	// the worker can reconnect; default 2 minutes.
	Parting time.Duration
	// Sweep is the interval between sweeps of Run; default 1 second.
	Sweep time.Duration
	// Unanswered is how long a claim whose answer reached nobody may still be heard of; default
	// 30 seconds.
	Unanswered time.Duration
	// Home is a project that the first write creates if it does not exist. It is for a
	// board with a single project.
	Home *Project
	// Observer is notified of what the board has done.
	Observer Observer
}

// A Board holds tasks and hands them out. It is safe for concurrent use, and several
// processes may have Boards on the same database.
type Board struct {
	store Store
	o     Options

	swept   atomic.Int64 // when this process last swept, in Unix seconds
	callKey atomic.Pointer[string]

	over chan struct{} // closed by EndWaits
	end  sync.Once

	mu sync.Mutex
	// changed is closed and replaced whenever waiting calls should look again.
	changed chan struct{}
	groups  map[string]*group
	// explanations caches why calls found no task; explaining has room for one that is
	// being made.
	explanations map[string]explanation
	explaining   chan struct{}
	// abandoned are the grants that may have been made to callers that have gone, and since when.
	abandoned map[grantID]time.Time
	// unanswered are the claims whose answer reached nobody.
	unanswered map[grantID]unanswered
}

// DefaultLease is how long a claim lasts without a sign of life, unless its task, its project
// or the board says otherwise.
const DefaultLease = 10 * time.Minute

// New returns a Board on a store. Options may be nil.
func New(s Store, o *Options) *Board {
	b := &Board{store: s, over: make(chan struct{}), changed: make(chan struct{}), groups: map[string]*group{}, explanations: map[string]explanation{}, explaining: make(chan struct{}, 1)}
	if o != nil {
		b.o = *o
	}
	if b.o.Logger == nil {
		b.o.Logger = slog.New(slog.DiscardHandler)
	}
	if b.o.Home != nil {
		home := *b.o.Home
		if home.Policy == "" {
			home.Policy = PolicyEvidence
		}
		b.o.Home = &home
	}
	b.o.Lease = defaultTo(b.o.Lease, DefaultLease)
	b.o.LeaseAbsent = defaultTo(b.o.LeaseAbsent, time.Hour)
	b.o.Parting = defaultTo(b.o.Parting, 2*time.Minute)
	b.o.Sweep = defaultTo(b.o.Sweep, time.Second)
	b.o.Unanswered = defaultTo(b.o.Unanswered, 30*time.Second)
	return b
}

func defaultTo(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// Run sweeps expired claims and serves waiting calls until ctx ends. Next and Await wait
// only while it runs.
func (b *Board) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.store.Watch(ctx, b.wake); err != nil && ctx.Err() == nil {
			b.o.Logger.Error("watching the store failed", "err", err)
		}
	})
	wg.Go(func() { b.serveWaiters(ctx) })
	b.sweepAlways(ctx)
	wg.Wait()
	return ctx.Err()
}

// EndWaits ends all waits of Next and Await, current and future: they return at once, as
// if their time were over. A server calls it when it begins to shut down.
func (b *Board) EndWaits() {
	b.end.Do(func() { close(b.over) })
	b.wake()
}

// waitsOver reports whether EndWaits was called.
func (b *Board) waitsOver() bool {
	select {
	case <-b.over:
		return true
	default:
		return false
	}
}

// wake makes all waiting calls look again.
func (b *Board) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

// Changes returns a channel that is closed when something may have changed since the call. A
// caller that takes it before reading misses nothing. It is closed only while Run runs.
func (b *Board) Changes() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// Project reads a project.
func (b *Board) Project(ctx context.Context, slug string) (p Project, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		p, err = b.project(r, slug)
		return err
	})
	return p, err
}

// project reads a project. The home project exists even before it is written.
func (b *Board) project(r Reader, slug string) (Project, error) {
	p, err := r.Project(slug)
	if errors.Is(err, ErrNotFound) && b.o.Home != nil && b.o.Home.Slug == slug {
		return *b.o.Home, nil
	}
	return p, err
}

// projects reads several projects; ErrNotFound if one of them does not exist.
func (b *Board) projects(r Reader, slugs []string) ([]Project, error) {
	found, err := r.Projects(slugs...)
	if err != nil {
		return nil, err
	}
	for _, slug := range slugs {
		switch {
		case slices.ContainsFunc(found, func(p Project) bool { return p.Slug == slug }):
		case b.o.Home != nil && b.o.Home.Slug == slug:
			found = append(found, *b.o.Home)
		default:
			return nil, fmt.Errorf("project %s: %w", slug, ErrNotFound)
		}
	}
	return found, nil
}

// writable reads a project that may be changed, and creates the home project if
// needed. ErrConflict if the project is archived.
func (c *change) writable(slug string) (Project, error) {
	p, err := c.tx.Project(slug)
	if errors.Is(err, ErrNotFound) && c.b.o.Home != nil && c.b.o.Home.Slug == slug {
		p = *c.b.o.Home
		return p, c.tx.PutProject(p)
	}
	if err == nil && p.Archived {
		return p, conflict("project %s is archived", slug)
	}
	return p, err
}

// Projects lists all projects.
func (b *Board) Projects(ctx context.Context) (ps []Project, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		ps, err = r.Projects()
		return err
	})
	return ps, err
}

// SetProject creates or replaces a project.
func (b *Board) SetProject(ctx context.Context, p Project) error {
	if !ValidSlug(p.Slug) {
		return invalid("invalid project name %.40q: want a lower-case letter, then at most 15 lower-case letters and digits", p.Slug)
	}
	if p.Policy == "" {
		p.Policy = PolicyEvidence
	}
	if !slices.Contains(Policies, p.Policy) {
		return invalid("invalid policy %.20q: want one of %s", p.Policy, join(Policies))
	}
	var err error
	if p.Skills, err = checkSkills(p.Skills); err != nil {
		return err
	}
	if p.Keep < 0 {
		return invalid("a negative time to keep finished tasks")
	}
	if err := cmp.Or(checkLease(p.Lease), checkTexts(text{"name", p.Name, 200})); err != nil {
		return err
	}
	return b.store.Write(ctx, func(tx Tx) error { return tx.PutProject(p) })
}

// Get reads all that is known about a task, with its last n events.
func (b *Board) Get(ctx context.Context, id ID, n int) (d Dossier, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		if d, err = r.Dossier(id, n); err != nil {
			return archived(r, err, id)
		}
		return d.markKilled(r)
	})
	return d, err
}

// List lists tasks, oldest first.
func (b *Board) List(ctx context.Context, f TaskFilter) (ts []Task, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		ts, err = r.Tasks(f)
		return err
	})
	return ts, err
}

// Events lists a task's events after a sequence number.
func (b *Board) Events(ctx context.Context, id ID, after int64, limit int) (es []Event, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		es, err = r.Events(id, after, limit)
		return archived(r, err, id)
	})
	return es, err
}

// Feed lists the events of projects (nil: all) after a cursor.
func (b *Board) Feed(ctx context.Context, projects []string, after Cursor, limit int) (es []Event, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		es, err = r.Feed(projects, after, limit)
		return err
	})
	return es, err
}

// FeedEnd returns a cursor after the last event that Feed can return now.
func (b *Board) FeedEnd(ctx context.Context) (end Cursor, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		end, err = r.FeedEnd()
		return err
	})
	return end, err
}

// WaitFor returns when changes, a channel from Changes, is closed, when d has passed, or when
// ctx ends.
func WaitFor(ctx context.Context, changes <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-changes:
	}
}

// A Summary is an overview of a project.
type Summary struct {
	Counts Counts
	// Claims are live claims, at most MaxSummed, those on the oldest tasks.
	Claims []Claim
	// Resting are tasks that cool down or are reserved, at most 20, the first to be ready
	// first.
	Resting []Task
	// Reviews are live claims on reviews, at most MaxSummed as well.
	Reviews []Claim
	Open    []Question // open questions, at most MaxSummed
	Now     time.Time
}

// Summary reads the overview of a project.
func (b *Board) Summary(ctx context.Context, slug string) (s Summary, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		s = Summary{}
		if s.Now, err = r.Now(); err != nil {
			return err
		}
		if s.Counts, err = r.Counts([]string{slug}); err != nil {
			return err
		}
		if s.Claims, err = r.Claims(ClaimFilter{Project: slug, Limit: MaxSummed}); err != nil {
			return err
		}
		if err := markKilled(r, s.Claims); err != nil {
			return err
		}
		if s.Resting, err = r.Resting([]string{slug}, maxResting); err != nil {
			return err
		}
		if s.Reviews, err = r.Reviews(ClaimFilter{Project: slug, Limit: MaxSummed}); err != nil {
			return err
		}
		if err := markKilled(r, s.Reviews); err != nil {
			return err
		}
		s.Open, err = r.Questions(QuestionFilter{Projects: []string{slug}, State: QuestionOpen, Limit: MaxSummed})
		return err
	})
	return s, err
}

// MaxSummed bounds the lists of a Summary.
const MaxSummed = 100

// Counts counts the tasks of all projects by state.
func (b *Board) Counts(ctx context.Context) (c Counts, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		c, err = r.Counts(nil)
		return err
	})
	return c, err
}

// Usage counts the live claims and the open questions of a principal.
func (b *Board) Usage(ctx context.Context, principal string) (u Usage, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		u, err = r.Usage(principal)
		return err
	})
	return u, err
}

// Claims lists the live claims that match a filter: those on tasks, then those on reviews.
func (b *Board) Claims(ctx context.Context, f ClaimFilter) (cs []Claim, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		if cs, err = claimsAndReviews(r, f); err != nil {
			return err
		}
		return markKilled(r, cs)
	})
	return cs, err
}
