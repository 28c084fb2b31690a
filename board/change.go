package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A change is one transaction's work: the tasks it has locked, what became of
// them, and the events to add. Rules read and alter tasks through it, and say with
// each alteration what happened; flush writes every task once.
type change struct {
	b     *Board
	tx    Tx
	actor Actor
	now   time.Time
	// tasks are locked; read is the Seq each was read with.
	tasks  map[ID]*Task
	read   map[ID]int64
	events []Event
	// refused is returned to the caller although the transaction commits: something
	// was not done, and something else was kept.
	refused error
	// freed is set when somebody who waits may find something now.
	freed bool
	told  told
}

// change runs f in one transaction, and writes what it did to tasks.
func (b *Board) change(ctx context.Context, a Actor, f func(*change) error) error {
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

// lock locks tasks, all of them at once where that is possible, and sets the time.
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
			return err
		}
		c.adopt(locked)
	}
	return c.clock()
}

// clock reads the time, once the locks that were waited for are held.
func (c *change) clock() (err error) {
	c.now, err = c.tx.Now()
	return err
}

// adopt takes tasks that are locked already.
func (c *change) adopt(locked []Task) {
	for i := range locked {
		t := &locked[i]
		if _, ok := c.tasks[t.ID]; !ok {
			c.tasks[t.ID] = t
			c.read[t.ID] = t.Seq
		}
	}
}

// lockFamily locks a task with all that its end may touch: its dependents and its
// parent. Who adds a link locks both ends, so the second look is final.
func (c *change) lockFamily(id ID) (*Task, []ID, error) {
	t, err := c.tx.Task(id)
	if err != nil {
		return nil, nil, err
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

// event records what happened to a locked task. from is its status before.
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

// flush writes the tasks that have new events, in the order of their locks.
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

// once makes the transaction happen once for a key. If the key was used before, it
// gives what was kept then, and replays is set.
func (c *change) once(op, key string, body any) (k Key, kept string, replays bool, err error) {
	if key == "" {
		return Key{}, "", false, nil
	}
	if err := checkTexts(text{"idempotency_key", key, 200}); err != nil {
		return Key{}, "", false, err
	}
	k = Key{Principal: c.actor.Principal, Key: key, Op: op, Hash: hash(body)}
	found, err := c.tx.Once(k)
	if err != nil || found == nil {
		return k, "", false, err
	}
	if found.Op != op || found.Hash != k.Hash {
		return k, "", false, conflict("the idempotency key %q was used for another %s", key, found.Op)
	}
	return k, found.Answer, true, nil
}

// keep stores the answer for a key; there may be none.
func (c *change) keep(k Key, answer string) error {
	if k.Key == "" {
		return nil
	}
	return c.tx.Keep(k, answer)
}

// liveClaim is the claim on a task, or nil.
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
