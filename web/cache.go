package web

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// maxAge is how old something cached may be, even if nothing is known to have changed: times
// pass, and not everything makes an event.
const maxAge = 2 * time.Second

// errUnread is what others get if a read that they waited for has panicked.
var errUnread = errors.New("web: reading failed")

// A cache keeps what was read about a project until the site's version moves. Concurrent
// readers of one project share a read.
type cache[T any] struct {
	mu      sync.Mutex
	entries map[string]*cached[T]
}

type cached[T any] struct {
	version uint64
	at      time.Time
	done    chan struct{}
	value   T
	err     error
}

func (c *cache[T]) get(ctx context.Context, slug string, version uint64, keep bool, read func(context.Context) (T, error)) (T, error) {
	c.mu.Lock()
	if c.entries == nil {
		c.entries = map[string]*cached[T]{}
	}
	e := c.entries[slug]
	if e == nil || !keep || e.version != version || time.Since(e.at) > maxAge {
		e = &cached[T]{version: version, at: time.Now(), done: make(chan struct{})}
		c.entries[slug] = e
		c.mu.Unlock()
		// Others may wait for it, so it must not end with this request.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		e.err = errUnread
		defer func() { // also if read panics
			if e.err != nil {
				c.forget(slug, e)
			}
			close(e.done)
		}()
		e.value, e.err = read(ctx)
		return e.value, e.err
	}
	c.mu.Unlock()
	select {
	case <-e.done:
		return e.value, e.err
	case <-ctx.Done():
		return e.value, ctx.Err()
	}
}

func (c *cache[T]) forget(slug string, e *cached[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[slug] == e {
		delete(c.entries, slug)
	}
}

// inboxRead is what needs people in a project. It is shared: nobody may change it.
type inboxRead = *board.Inbox

// inbox reads what needs people in a project.
func (s *Site) inbox(ctx context.Context, slug string) (*board.Inbox, error) {
	return s.inboxes.get(ctx, slug, s.version.Load(), s.running.Load(), func(ctx context.Context) (*board.Inbox, error) {
		in, err := s.board.Inbox(ctx, slug)
		return &in, err
	})
}

// summaryRead is an overview of a project, with the titles of the tasks that somebody holds
// and what the project cost today. It is shared: nobody may change it.
type summaryRead = *overview

type overview struct {
	board.Summary
	Project board.Project
	Titles  map[board.ID]string
	Spent   board.Spending
}

// summary reads the overview of a project.
func (s *Site) summary(ctx context.Context, slug string) (*overview, error) {
	return s.sums.get(ctx, slug, s.version.Load(), s.running.Load(), func(ctx context.Context) (*overview, error) {
		sum, err := s.board.Summary(ctx, slug)
		if err != nil {
			return nil, err
		}
		o := &overview{Summary: sum, Titles: map[board.ID]string{}}
		if o.Project, err = s.board.Project(ctx, slug); err != nil {
			return nil, err
		}
		if o.Spent, err = s.board.Spent(ctx, slug); err != nil {
			return nil, err
		}
		f := board.TaskFilter{Projects: []string{slug}, Limit: 2 * board.MaxSummed}
		for _, c := range sum.Claims {
			f.IDs = append(f.IDs, c.Task)
		}
		for _, c := range sum.Reviews {
			f.IDs = append(f.IDs, c.Task)
		}
		if len(f.IDs) == 0 {
			return o, nil
		}
		ts, err := s.board.List(ctx, f)
		for _, t := range ts {
			o.Titles[t.ID] = t.Title
		}
		return o, err
	})
}

// maxParts bounds how many rendered pages are kept.
const maxParts = 256

// parts keeps rendered pages, so that many browsers that look at the same page after an event
// cost one rendering.
type parts struct {
	cache[[]byte]
}

// do returns what was rendered for a key at a version, or renders it.
func (p *parts) do(key string, version uint64, keep bool, render func() ([]byte, error)) ([]byte, error) {
	p.mu.Lock()
	if len(p.entries) > maxParts {
		clear(p.entries)
	}
	p.mu.Unlock()
	return p.get(context.Background(), key, version, keep, func(context.Context) ([]byte, error) { return render() })
}
