package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A change is the state of one write transaction: the locked tasks, as modified so far,
// and the events to append. Rules modify tasks through it and record an event with each
// modification; flush writes every task once.
type change struct {
	b     *Board
	tx    Tx
	actor Actor
	now   time.Time
	// tasks are the locked tasks, read the Seq that each was read with.
	tasks  map[ID]*Task
	read   map[ID]int64
	events []Event
	// refused is returned to the caller although the transaction commits, as for a late
	// report whose text is kept as a note.
	refused error
	// freed is set if waiting calls may find something now.
	freed bool
	told  told
}

// change runs f in one transaction, and writes the tasks that f has modified.
func (b *Board) change(ctx context.Context, a Actor, f func(*change) error) error {
	if err := checkTexts(text{"worker", a.Worker, 60}, text{"name", a.Name, 400}, text{"owner", a.Owner, 400}); err != nil {
		return err
	}
	var done *change
	err := b.store.Write(ctx, func(tx Tx) error {
		c := &change{b: b, tx: tx, actor: a, tasks: map[ID]*Task{}, read: map[ID]int64{}}
		if err := f(c); err != nil {
			return err
		}
		done = c
		return c.flush()
	})
	if err != nil {
		return err
	}
	b.o.Observer.tell(&done.told)
	if done.freed {
		b.wake()
		b.store.Hint()
	}
	return done.refused
}

// lock locks the tasks that are not locked yet, in one call, and reads the time.
func (c *change) lock(ids ...ID) error {
	var missing []ID
	for _, id := range ids {
		if _, ok := c.tasks[id]; !ok && !id.IsZero() {
			missing = append(missing, id)
		}
	}
	slices.SortFunc(missing, compareIDs)
	missing = slices.Compact(missing)
	if len(missing) > 0 {
		locked, err := c.tx.Lock(missing...)
		if err != nil {
			return archived(c.tx, err, missing...)
		}
		c.adopt(locked)
	}
	return c.clock()
}

// lockHeld locks the task of a claim, and has the store read what belongs to the claim. It
// must be called first.
func (c *change) lockHeld(h Handle) error {
	if err := c.tx.Ahead(Ahead{Lock: []ID{h.Task}, Claim: h}); err != nil {
		return err
	}
	return c.lock(h.Task)
}

// clock reads the time. It must be called after waiting for locks.
func (c *change) clock() (err error) {
	c.now, err = c.tx.Now()
	return err
}

// adopt adds tasks that the store has locked already.
func (c *change) adopt(locked []Task) {
	for i := range locked {
		t := &locked[i]
		if _, ok := c.tasks[t.ID]; !ok {
			c.tasks[t.ID] = t
			c.read[t.ID] = t.Seq
		}
	}
}

// lockFamily locks a task together with its dependents and its parent, which may change
// when it ends. Adding a link locks both tasks, so the second read of the links is final.
func (c *change) lockFamily(id ID) (*Task, []ID, error) {
	t, err := c.tx.Task(id)
	if err != nil {
		return nil, nil, archived(c.tx, err, id)
	}
	_, dependents, err := c.tx.Links(id)
	if err != nil {
		return nil, nil, err
	}
	if err := c.lock(append([]ID{id, t.Parent}, dependents...)...); err != nil {
		return nil, nil, err
	}
	if _, dependents, err = c.tx.Links(id); err != nil {
		return nil, nil, err
	}
	locked := c.tasks[id]
	return locked, dependents, c.lock(append([]ID{locked.Parent}, dependents...)...)
}

// event records an event of a locked task. from is the status before it.
func (c *change) event(t *Task, kind Kind, from Status, d Detail) {
	c.eventBy(c.actor.String(), t, kind, from, d)
}

func (c *change) eventBy(actor string, t *Task, kind Kind, from Status, d Detail) {
	t.Seq++
	c.events = append(c.events, Event{Task: t.ID, Seq: t.Seq, Actor: actor, Kind: kind, From: from, To: t.Status, Detail: d})
	if t.Ready() {
		c.freed = true
	}
}

// accept decides where accepted work of a locked task goes: to be landed, if the project lands its
// work and this has changed something, else the task is done. It returns the tasks that became ready.
func (c *change) accept(t *Task, dependents []ID, p Project, r *Result, kind Kind, d Detail) ([]ID, error) {
	if p.Land != "" && r != nil && !r.Tip.IsZero() && !r.NoChanges {
		p, err := c.tx.ShareProject(p.Slug) // it may just be switched off
		if err != nil {
			return nil, err
		}
		if p.Land != "" {
			return nil, c.enqueue(t, kind, d)
		}
	}
	return c.finish(t, dependents, Done, kind, d)
}

// flush writes the tasks that have new events, in the order of their IDs, and appends the
// events.
func (c *change) flush() error {
	for _, id := range c.order() {
		t := c.tasks[id]
		if t.Seq == c.read[id] {
			continue
		}
		if err := c.tx.UpdateTask(*t, c.read[id]); err != nil {
			return fmt.Errorf("write task %v: %w", id, err)
		}
		c.read[id] = t.Seq
	}
	if len(c.events) == 0 {
		return nil
	}
	events := c.events
	c.events = nil
	return c.tx.Append(events...)
}

func (c *change) order() []ID {
	ids := make([]ID, 0, len(c.tasks))
	for id := range c.tasks {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

// once makes the transaction take effect once per key. If the key was used before, replays
// is set and kept is the answer that was stored with it. It must be called first. ahead is
// what the transaction is going to read if the key was not used.
func (c *change) once(op, key string, body any, ahead Ahead) (k Key, kept string, replays bool, err error) {
	if key == "" {
		return Key{}, "", false, c.tx.Ahead(ahead)
	}
	if err := checkTexts(text{"idempotency_key", key, 200}); err != nil {
		return Key{}, "", false, err
	}
	k = Key{Principal: c.actor.Principal, Key: key, Op: op, Hash: hash(body)}
	ahead.Key = &k
	if err := c.tx.Ahead(ahead); err != nil {
		return k, "", false, err
	}
	found, err := c.tx.Once(k)
	if err != nil || found == nil {
		return k, "", false, err
	}
	if found.Op != op || found.Hash != k.Hash {
		return k, "", false, conflict("idempotency key %q was used for a different %s", key, found.Op)
	}
	return k, found.Answer, true, nil
}

// keep stores the answer of a key. It does nothing for a call without a key.
func (c *change) keep(k Key, answer string) error {
	if k.Key == "" {
		return nil
	}
	return c.tx.Keep(k, answer)
}

// liveClaim reads the claim on a task, or nil.
func (c *change) liveClaim(id ID) (*Claim, error) {
	claim, err := c.tx.LiveClaim(id)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &claim, nil
}
