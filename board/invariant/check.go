// Package invariant checks what must be true of a stored board at any time, whatever has
// happened to the programs that wrote it.
package invariant

import (
	"context"
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// Check checks the invariants of a stored board, and returns an error for each violation.
// If others write to the store in the meantime, it may find violations that are none: check
// again. It replays the events, and compares the
// result with the tasks, attempts, claims, questions and links:
//
//	I1   the attempts of a task do not overlap
//	I2   they are numbered 1, 2, 3 …
//	I3   every write of a holder carries the newest handle, in force or expired
//	I7   a task's events have no gap, and the feed lists each of them once
//	I8   nothing changes a terminal result
//	I9   failures are those since the last retry, each with a cause, within the budget
//	I11  a question has one answer
//	I12  the counts of blockers and children are right
//	I13  the counts of tasks by state are right
//	L2   what an intent lands is in the queue, the task's newest attempt and its tip
//	L4   a target has one open intent at most
//	G1   no call of another server's tool began when its attempt had ended
//	G2   no claim expired before the deadline of a call that was running
func Check(ctx context.Context, s board.Store) []error {
	c := &checker{ctx: ctx, store: s, seen: map[board.ID]int64{}, states: map[board.State]int{}}
	if err := c.run(); err != nil {
		c.errs = append(c.errs, fmt.Errorf("the check itself: %w", err))
	}
	return c.errs
}

// A checker is one run of Check.
type checker struct {
	ctx   context.Context
	store board.Store
	errs  []error
	// seen is the number of events of each task.
	seen map[board.ID]int64
	// states is the number of tasks in each state.
	states map[board.State]int
	// landings are the events that work was landed.
	landings []landing
}

func (c *checker) failf(id board.ID, invariant, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %v: %s", invariant, id, fmt.Sprintf(format, args...)))
}

func (c *checker) run() error {
	total := int64(0)
	for after := (board.ID{}); ; {
		var page []board.Task
		err := c.store.Read(c.ctx, func(r board.Reader) (err error) {
			page, err = r.Tasks(board.TaskFilter{After: after, Limit: 500})
			return err
		})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, t := range page {
			if err := c.task(t.ID); err != nil {
				return err
			}
			total += c.seen[t.ID]
			c.states[t.State()]++
			after = t.ID
		}
	}
	if err := c.claims(); err != nil {
		return err
	}
	if err := c.totals(); err != nil {
		return err
	}
	if err := c.landing(); err != nil {
		return err
	}
	return c.feed(total)
}

func (c *checker) task(id board.ID) error {
	var d board.Dossier
	var events []board.Event
	err := c.store.Read(c.ctx, func(r board.Reader) (err error) {
		if d, err = r.Dossier(id, 1); err != nil {
			return err
		}
		events = nil
		for {
			page, err := r.Events(id, int64(len(events)), 1000)
			if err != nil || len(page) == 0 {
				return err
			}
			events = append(events, page...)
		}
	})
	if err != nil {
		return err
	}
	c.seen[id] = int64(len(events))
	l := life{c: c, id: id, answers: map[board.QuestionID]int{}, withdrawn: map[board.QuestionID]int{}}
	for i, e := range events {
		l.next(i, e)
	}
	l.compare(d)
	c.counts(d)
	return c.calls(d)
}

// counts checks I12.
func (c *checker) counts(d board.Dossier) {
	t := d.Task
	if t.Status.Terminal() {
		return
	}
	blockers, open, done := 0, 0, 0
	for _, b := range d.Blockers {
		if b.Status != board.Done {
			blockers++
		}
	}
	for _, child := range d.Children {
		switch {
		case child.Status == board.Done:
			done++
		case !child.Status.Terminal():
			open++
		}
	}
	if t.OpenBlockers != blockers {
		c.failf(t.ID, "I12", "open_blockers is %d, want %d, the number of blockers that are not done", t.OpenBlockers, blockers)
	}
	if t.OpenChildren != open || t.DoneChildren != done {
		c.failf(t.ID, "I12", "it counts %d open and %d done children, want %d and %d", t.OpenChildren, t.DoneChildren, open, done)
	}
}

// totals checks I13.
func (c *checker) totals() error {
	return c.store.Read(c.ctx, func(r board.Reader) error {
		n, err := r.Counts(nil)
		for _, s := range board.States {
			if n.In(s) != c.states[s] {
				c.errs = append(c.errs, fmt.Errorf("I13: %d tasks are counted as %s, want %d", n.In(s), s, c.states[s]))
			}
		}
		return err
	})
}

// claims checks that each live claim is the newest grant of its task, that a review is of a
// task in review that its worker never held, and that no worker has two of these.
func (c *checker) claims() error {
	var live, reviews []board.Claim
	tasks := map[board.ID]board.Task{}
	err := c.store.Read(c.ctx, func(r board.Reader) (err error) {
		if live, err = r.Claims(board.ClaimFilter{}); err != nil {
			return err
		}
		for _, claim := range live {
			if tasks[claim.Task], err = r.Task(claim.Task); err != nil {
				return err
			}
		}
		if reviews, err = r.Reviews(board.ClaimFilter{}); err != nil {
			return err
		}
		for _, review := range reviews {
			d, err := r.Dossier(review.Task, 0)
			if err != nil {
				return err
			}
			if d.Task.Status != board.InReview {
				c.failf(review.Task, "I1", "review %v is live, but the task is %s", review.Handle, d.Task.Status)
			}
			for _, a := range d.Attempts {
				if a.Owner == review.Owner || a.Worker == review.Worker {
					c.failf(review.Task, "I1", "%s reviews its own attempt %d", review.Worker.Name, a.Attempt)
				}
			}
		}
		return nil
	})
	workers := map[board.WorkerID]board.Handle{}
	for _, claim := range live {
		if t := tasks[claim.Task]; t.Status != board.InProgress || t.Attempt != claim.Attempt || t.Nonce != claim.Nonce {
			c.failf(claim.Task, "I1", "claim %v is live, but the task is %s at attempt %d", claim.Handle, t.Status, t.Attempt)
		}
		if other, twice := workers[claim.Worker]; twice {
			c.failf(claim.Task, "I1", "%s holds %v and %v", claim.Worker.Name, other, claim.Handle)
		}
		workers[claim.Worker] = claim.Handle
	}
	for _, review := range reviews {
		if other, twice := workers[review.Worker]; twice {
			c.failf(review.Task, "I1", "%s holds %v and %v", review.Worker.Name, other, review.Handle)
		}
		workers[review.Worker] = review.Handle
	}
	return err
}

// feed checks I7 across tasks: the feed lists each event once. If transactions overlapped,
// the events of a task may come in another order than that of their Seq. If tasks were
// archived, the feed begins later.
func (c *checker) feed(total int64) error {
	type place struct {
		task board.ID
		seq  int64
	}
	left, err := c.archived()
	if err != nil {
		return err
	}
	shown := map[place]bool{}
	var cursor board.Cursor
	n := int64(0)
	// A store may hold back the newest events for a moment.
	for deadline := time.Now().Add(5 * time.Second); ; {
		var page []board.Event
		err := c.store.Read(c.ctx, func(r board.Reader) (err error) {
			page, err = r.Feed(nil, cursor, 1000)
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range page {
			p := place{e.Task, e.Seq}
			if shown[p] {
				c.failf(e.Task, "I7", "the feed lists event %d twice", e.Seq)
				return nil
			}
			shown[p] = true
			n++
			cursor = e.Cursor
		}
		if len(page) > 0 {
			continue
		}
		if n >= total || left {
			break
		}
		if time.Now().After(deadline) {
			c.errs = append(c.errs, fmt.Errorf("I7: the feed lists %d events, want %d, the events of all tasks", n, total))
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	if n > total || n < total && !left {
		c.errs = append(c.errs, fmt.Errorf("I7: the feed lists %d events, want %d, the events of all tasks", n, total))
	}
	return nil
}

// archived reports whether tasks of the board were archived.
func (c *checker) archived() (any bool, err error) {
	err = c.store.Read(c.ctx, func(r board.Reader) error {
		projects, err := r.Projects()
		for _, p := range projects {
			left, err := r.Archives(board.ArchiveFilter{Project: p.Slug, Limit: 1})
			if err != nil {
				return err
			}
			any = any || len(left) > 0
		}
		return err
	})
	return any, err
}
