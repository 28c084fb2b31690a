package board

import (
	"context"
	"time"
)

// MaxQueue bounds the landing queue as Line lists it.
const MaxQueue = 1000

// A Queued is a task in the landing queue, with what it takes to land it.
type Queued struct {
	Task Task
	// Summary, Worker, Tip and Includes are those of its result.
	Summary, Worker string
	Tip             Tip
	Includes        []Included `json:",omitzero"`
	// Where is the place of its newest attempt.
	Where Where
}

// A Line is the landing queue of a project, and who lands it.
type Line struct {
	// Queue are the first MaxQueue tasks, by priority and then by age.
	Queue []Queued
	// Lander is who lands, or did so last; zero if nobody has.
	Lander Lander
	// Open is the move of the target that is being made, or that a lander has left behind.
	Open *Intent
	Now  time.Time
}

// Line reads the landing queue of a project.
func (b *Board) Line(ctx context.Context, slug string) (l Line, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		p, err := b.project(r, slug)
		if err != nil {
			return err
		}
		l, err = readLine(r, p)
		return err
	})
	return l, err
}

func readLine(r Reader, p Project) (l Line, err error) {
	if l.Queue, err = r.Queued(p.Slug, MaxQueue); err != nil {
		return l, err
	}
	if l.Lander, err = readLander(r, p.Slug, p.Land); err != nil {
		return l, err
	}
	open, err := r.Intents(IntentFilter{Project: p.Slug, Target: p.Land, State: IntentOpen, Limit: 1})
	if err != nil {
		return l, err
	}
	if len(open) > 0 {
		l.Open = &open[0]
	}
	l.Now, err = r.Now()
	return l, err
}

// SetLand sets where the accepted work of a project is landed, or that it is not, if target is
// empty. That cannot be changed while tasks wait for their landing. From the first target on, the
// board can only be used by programs that know about landing.
func (b *Board) SetLand(ctx context.Context, a Actor, slug, target string) error {
	if target != "" {
		t, err := ParseTarget(target)
		if err != nil {
			return err
		}
		target = t.String()
	}
	return b.change(ctx, a, func(c *change) error {
		if _, err := c.writable(slug); err != nil {
			return err
		}
		if err := c.tx.LockProject(slug); err != nil {
			return err
		}
		p, err := c.tx.Project(slug)
		if err != nil || p.Land == target {
			return err
		}
		if err := c.tx.PutLand(slug, target); err != nil {
			return err
		}
		queued, err := c.tx.Queued(slug, 1) // after it: whoever accepts work has shared the project
		if err == nil && len(queued) > 0 {
			err = conflict("tasks of %s wait for their landing on %s, such as %v: land, return or cancel them first", slug, p.Land, queued[0].Task.ID)
		}
		return err
	})
}

// enqueue puts a locked task whose work was accepted into the landing queue.
func (c *change) enqueue(t *Task, kind Kind, d Detail) error {
	from := t.Status
	if from == InReview {
		if err := c.tx.DeleteReview(t.ID); err != nil {
			return err
		}
	}
	if kind == EventDone {
		kind = EventLanding
	}
	t.Status = Landing
	t.NotBefore, t.ReservedFor = time.Time{}, WorkerID{}
	c.event(t, kind, from, d)
	c.freed = true // wakes landers
	return nil
}
