package board

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// boardActor is who the history names for what the board does by itself.
const boardActor = "bossman"

// How long things last unless Options say otherwise.
const (
	// reserveTime is how long an answered task is kept for whoever asked.
	reserveTime = 10 * time.Minute
	// declineTime is how long a worker is not offered what it gave back.
	declineTime = 10 * time.Minute
	// keyTime is how long idempotency keys are remembered.
	keyTime = 7 * 24 * time.Hour
	// maxDeliveries of one claim without a sign of work between end the attempt.
	maxDeliveries = 5
)

// Options are what a Board can be told; the zero value is the usual choice.
type Options struct {
	Logger *slog.Logger
	// Lease is how long a claim lasts without a sign of life where neither the task
	// nor its project says: 10 minutes for workers with presence, 60 without.
	Lease, LeaseAbsent time.Duration
	// Parting is what is left of a lease when its worker's process has ended: 2
	// minutes, enough to come back.
	Parting time.Duration
	// Sweep is how often Run looks for what has expired: every second.
	Sweep time.Duration
	// Home is made by the first write if it does not exist: for a board that is one
	// person's, and one project.
	Home *Project
	// Observer is told what is done.
	Observer Observer
}

// A Board holds tasks and hands them out. Its methods may be called from many
// goroutines, and many processes may have Boards on one Store.
type Board struct {
	store Store
	o     Options

	over chan struct{} // closed when nobody waits any longer
	end  sync.Once

	mu sync.Mutex
	// changed is closed and replaced when somebody who waits should look again.
	changed chan struct{}
	groups  map[string]*group
	// counted is what Counts last said, for the texts of those who find nothing.
	counted map[string]countedAt
}

// New gives the board that a store keeps.
func New(s Store, o *Options) *Board {
	b := &Board{store: s, over: make(chan struct{}), changed: make(chan struct{}), groups: map[string]*group{}, counted: map[string]countedAt{}}
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
	b.o.Lease = defaultTo(b.o.Lease, 10*time.Minute)
	b.o.LeaseAbsent = defaultTo(b.o.LeaseAbsent, time.Hour)
	b.o.Parting = defaultTo(b.o.Parting, 2*time.Minute)
	b.o.Sweep = defaultTo(b.o.Sweep, time.Second)
	return b
}

func defaultTo(d, usual time.Duration) time.Duration {
	if d == 0 {
		return usual
	}
	return d
}

// Run sweeps what has expired and serves those who wait, until ctx ends. Waiting
// in Next and Await needs it.
func (b *Board) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.store.Watch(ctx, b.wake); err != nil && ctx.Err() == nil {
			b.o.Logger.Error("watching the store ended", "err", err)
		}
	})
	wg.Go(func() { b.serveWaiters(ctx) })
	b.sweepAlways(ctx)
	wg.Wait()
	return ctx.Err()
}

// EndWaits lets nobody wait any longer, now or later: Next and Await return at once
// what they would at the end of their time. It is for a server that is about to end.
func (b *Board) EndWaits() {
	b.end.Do(func() { close(b.over) })
	b.wake()
}

// waitsOver reports whether nobody waits any longer.
func (b *Board) waitsOver() bool {
	select {
	case <-b.over:
		return true
	default:
		return false
	}
}

// wake lets everyone who waits look again.
func (b *Board) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

// wakened gives a channel that is closed by the next wake.
func (b *Board) wakened() <-chan struct{} {
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

// project reads a project; the home project is there before it is written.
func (b *Board) project(r Reader, slug string) (Project, error) {
	p, err := r.Project(slug)
	if errors.Is(err, ErrNotFound) && b.o.Home != nil && b.o.Home.Slug == slug {
		return *b.o.Home, nil
	}
	return p, err
}

// projects reads several; one that is not there is ErrNotFound.
func (b *Board) projects(r Reader, slugs []string) ([]Project, error) {
	there, err := r.Projects(slugs...)
	if err != nil {
		return nil, err
	}
	for _, slug := range slugs {
		switch {
		case slices.ContainsFunc(there, func(p Project) bool { return p.Slug == slug }):
		case b.o.Home != nil && b.o.Home.Slug == slug:
			there = append(there, *b.o.Home)
		default:
			return nil, fmt.Errorf("project %s: %w", slug, ErrNotFound)
		}
	}
	return there, nil
}

// writable gives a project that takes writes, and makes the home project.
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

// SetProject creates a project or changes it.
func (b *Board) SetProject(ctx context.Context, p Project) error {
	if !ValidSlug(p.Slug) {
		return invalid("%.40q cannot be a project's name: a lower-case letter, then at most 15 letters and digits", p.Slug)
	}
	if p.Policy == "" {
		p.Policy = PolicyEvidence
	}
	switch p.Policy {
	case PolicyEvidence, PolicyTrust, PolicyPerson:
	default:
		return invalid("the policy %.20q is none of evidence, trust, person", p.Policy)
	}
	var err error
	if p.Skills, err = checkSkills(p.Skills); err != nil {
		return err
	}
	if err := checkLease(p.Lease); err != nil {
		return err
	}
	return b.store.Write(ctx, func(tx Tx) error { return tx.PutProject(p) })
}

// Pause stops the hand-out of a project; nobody loses what they hold. Resume lets
// it go on.
func (b *Board) Pause(ctx context.Context, a Actor, slug string) error {
	return b.pausedBy(ctx, a, slug, a.String())
}

// Resume ends a pause.
func (b *Board) Resume(ctx context.Context, a Actor, slug string) error {
	return b.pausedBy(ctx, a, slug, "")
}

func (b *Board) pausedBy(ctx context.Context, a Actor, slug, who string) error {
	return b.change(ctx, a, func(c *change) error {
		p, err := c.writable(slug)
		if err != nil {
			return err
		}
		p.PausedBy = who
		c.freed = who == ""
		return c.tx.PutProject(p)
	})
}

// Get gathers what is known of a task, with its last n events.
func (b *Board) Get(ctx context.Context, id ID, n int) (d Dossier, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		d, err = r.Dossier(id, n)
		return err
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
		return err
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

// FeedEnd is a cursor after all that Feed can show now.
func (b *Board) FeedEnd(ctx context.Context) (end Cursor, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		end, err = r.FeedEnd()
		return err
	})
	return end, err
}

// Wait returns when something may have changed, when d has passed, or when ctx
// ends. It needs Run.
func (b *Board) Wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-b.wakened():
	}
}

// A Summary is the board at a glance.
type Summary struct {
	Counts Counts
	Claims []Claim
	Open   []Question // questions that wait for an answer
	Now    time.Time
}

// Summary gives a project at a glance.
func (b *Board) Summary(ctx context.Context, slug string) (s Summary, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		s = Summary{}
		if s.Now, err = r.Now(); err != nil {
			return err
		}
		if s.Counts, err = r.Counts([]string{slug}); err != nil {
			return err
		}
		if s.Claims, err = r.Claims(ClaimFilter{Project: slug}); err != nil {
			return err
		}
		s.Open, err = r.Questions(QuestionFilter{Projects: []string{slug}, State: QuestionOpen, Limit: 100})
		return err
	})
	return s, err
}

// Counts counts the tasks of all projects. It looks at every task: a board of a
// million takes a while.
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

// Claims lists live claims.
func (b *Board) Claims(ctx context.Context, f ClaimFilter) (cs []Claim, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		cs, err = r.Claims(f)
		return err
	})
	return cs, err
}
