package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// An IntentID identifies an intent.
type IntentID int64

func (i IntentID) String() string { return strconv.FormatInt(int64(i), 10) }

// An Intent is a move of a target that was announced before it was made: whoever lands next can
// find out whether it was made. A target has one open intent at most.
type Intent struct {
	ID              IntentID
	Project, Target string
	// Old and New are the commits that the target moves from and to, in full. Old is empty for
	// a target that does not exist yet. They are the same if the target had the work already.
	Old, New string
	// Items are the tasks whose work is in New and not in Old.
	Items []Item
	State IntentState
	// Holder and Nonce are those of the lease under which it was begun, and By is who began it.
	Holder, Nonce, By string
	At                time.Time
	EndedAt           time.Time // zero while it is open
}

// An Item is a task whose work is landed: that of an attempt, whose tip is the commit Tip.
type Item struct {
	Task    ID
	Attempt int
	Tip     string
}

// An IntentState is what became of an intent.
type IntentState string

const (
	IntentOpen    IntentState = "open"
	IntentLanded  IntentState = "landed"  // the target was moved
	IntentDropped IntentState = "dropped" // it was not
)

// An IntentFilter selects intents; the zero value selects all.
type IntentFilter struct {
	Project, Target string
	// Task selects the intents that have an item of this task.
	Task  ID
	ID    IntentID
	State IntentState
	// Limit is how many to list at most (default 20, at most 1,000).
	Limit int
}

const (
	maxItems       = 100
	defaultIntents = 20
	maxIntents     = 1000
)

// Intents lists the newest intents, newest first.
func (b *Board) Intents(ctx context.Context, f IntentFilter) (list []Intent, err error) {
	if f.Limit <= 0 {
		f.Limit = defaultIntents
	}
	f.Limit = min(f.Limit, maxIntents)
	err = b.store.Read(ctx, func(r Reader) error {
		list, err = r.Intents(f)
		return err
	})
	return list, err
}

// BeginLand announces that the lander with a lease is going to move the target, with the work of
// items, and renews the lease. Each item must be in the queue with that attempt and tip. The same
// call again gets the same intent.
func (b *Board) BeginLand(ctx context.Context, a Actor, l Lease, from, to string, items []Item) (Intent, error) {
	if !ValidObject(to) || from != "" && !ValidObject(from) {
		return Intent{}, invalid("an intent names the commits that a target moves from and to in full, not %.80q and %.80q", from, to)
	}
	if err := checkItems(l.Project, items); err != nil {
		return Intent{}, err
	}
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b Item) int { return compareIDs(a.Task, b.Task) })
	var out Intent
	err := b.change(ctx, a, func(c *change) error {
		if err := c.tx.LockProject(l.Project); err != nil {
			return err
		}
		lander, err := c.leads(l)
		if err != nil {
			return err
		}
		if err := c.lock(tasksOf(items)...); err != nil {
			return err
		}
		open, err := c.tx.Intents(IntentFilter{Project: l.Project, Target: l.Target, State: IntentOpen, Limit: 1})
		if err != nil {
			return err
		}
		if len(open) > 0 {
			out = open[0]
			if out.Nonce == l.Nonce && out.Old == from && out.New == to && slices.Equal(out.Items, items) {
				return nil
			}
			return conflict("%s already moves from %.12s to %.12s, as intent %v by %q: find out first whether it did", l.Target, out.Old, out.New, out.ID, out.Holder)
		}
		for _, item := range items {
			if err := c.landable(item); err != nil {
				return err
			}
		}
		if _, err := c.lead(lander, lander.Holder); err != nil {
			return err
		}
		out = Intent{
			Project: l.Project, Target: l.Target, Old: from, New: to, Items: items, State: IntentOpen,
			Holder: lander.Holder, Nonce: lander.Nonce, By: a.String(), At: c.now,
		}
		out.ID, err = c.tx.InsertIntent(out)
		return err
	})
	return out, err
}

// landable checks that an item, whose task is locked, is in the queue.
func (c *change) landable(item Item) error {
	t := c.tasks[item.Task]
	if t.Status != Landing || t.Attempt != item.Attempt {
		return conflict("%v is %s at attempt %d: the work of attempt %d cannot be landed", t.ID, t.State(), t.Attempt, item.Attempt)
	}
	d, err := c.tx.Doc(t.ID)
	if err != nil {
		return err
	}
	if d.Result == nil || d.Result.Tip.Commit != item.Tip {
		return conflict("the work of %v is not the commit %.12s", t.ID, item.Tip)
	}
	return nil
}

// Landed records that the target was moved as an intent said: its tasks are done. It may be an
// intent of an earlier lander. The same call again gets the same answer, as far as it is still known.
// commits are the commits of the target with the work of its tasks; of a task that is not among them, it is the last
// one of the intent.
func (b *Board) Landed(ctx context.Context, a Actor, l Lease, id IntentID, commits map[ID]string) (out []Outcome, err error) {
	for task, commit := range commits {
		if !ValidObject(commit) {
			return nil, invalid("invalid commit %.80q of %v: want the full name of a commit", commit, task)
		}
	}
	err = b.change(ctx, a, func(c *change) error {
		out = nil
		intent, err := c.ends(l, id, IntentLanded)
		if err != nil {
			return err
		}
		if intent.State != IntentOpen {
			for _, item := range intent.Items {
				out = append(out, Outcome{Task: item.Task, Status: Done, Again: true})
			}
			return nil
		}
		families := tasksOf(intent.Items)
		for _, id := range tasksOf(intent.Items) {
			t, err := c.tx.Task(id)
			if err != nil {
				return err
			}
			_, dependents, err := c.tx.Links(id)
			if err != nil {
				return err
			}
			families = append(append(families, t.Parent), dependents...)
		}
		if err := c.lock(families...); err != nil {
			return err
		}
		for _, item := range intent.Items {
			done, err := c.landed(intent, item, cmp.Or(commits[item.Task], intent.New))
			if err != nil {
				return err
			}
			out = append(out, done)
		}
		intent.State, intent.EndedAt = IntentLanded, c.now
		return c.tx.EndIntent(intent)
	})
	return out, err
}

// landed makes the task of an item done, whose work is a commit of the target. The open intent has kept it in the queue.
func (c *change) landed(i Intent, item Item, commit string) (out Outcome, err error) {
	t, dependents, err := c.lockFamily(item.Task)
	if err != nil {
		return out, err
	}
	d, err := c.tx.Doc(t.ID)
	if err != nil {
		return out, err
	}
	out = Outcome{Task: t.ID, Status: t.Status, Failures: t.Failures, MaxFailures: t.MaxFailures}
	if t.Status != Landing || t.Attempt != item.Attempt {
		return out, conflict("%v is %s at attempt %d, although intent %v named attempt %d", t.ID, t.State(), t.Attempt, i.ID, item.Attempt)
	}
	if d.Result != nil {
		out.Worker = d.Result.Worker
		landed := *d.Result
		landed.Landed, d.Result = commit, &landed
		if err := c.tx.PutDoc(t.ID, d); err != nil {
			return out, err
		}
	}
	out.Freed, err = c.finish(t, dependents, Done, EventLanded, Detail{Attempt: t.Attempt, Nonce: t.Nonce, Commit: commit, By: c.actor.Kind()})
	out.Status = t.Status
	return out, err
}

// Dropped records that the target was not moved as an intent said, and will not be: its tasks stay
// in the queue. The same call again changes nothing.
func (b *Board) Dropped(ctx context.Context, a Actor, l Lease, id IntentID) error {
	return b.change(ctx, a, func(c *change) error {
		intent, err := c.ends(l, id, IntentDropped)
		if err != nil || intent.State != IntentOpen {
			return err
		}
		if err := c.lock(tasksOf(intent.Items)...); err != nil {
			return err
		}
		c.freed = true
		intent.State, intent.EndedAt = IntentDropped, c.now
		return c.tx.EndIntent(intent)
	})
}

// ends returns an intent of the target of a lease that is open, or that has ended in this way.
func (c *change) ends(l Lease, id IntentID, as IntentState) (Intent, error) {
	if err := c.tx.LockProject(l.Project); err != nil {
		return Intent{}, err
	}
	if _, err := c.leads(l); err != nil {
		return Intent{}, err
	}
	list, err := c.tx.Intents(IntentFilter{Project: l.Project, Target: l.Target, ID: id, Limit: 1})
	if err != nil {
		return Intent{}, err
	}
	if len(list) == 0 {
		return Intent{}, fmt.Errorf("%w: intent %v of %s", ErrNotFound, id, l.Target)
	}
	if s := list[0].State; s != IntentOpen && s != as {
		return Intent{}, conflict("intent %v was %s", id, s)
	}
	return list[0], nil
}

// notInIntent refuses to take a locked task out of the landing queue while an open intent names it.
func (c *change) notInIntent(t *Task) error {
	if t.Status != Landing {
		return nil
	}
	open, err := c.tx.Intents(IntentFilter{Project: t.ID.Project, Task: t.ID, State: IntentOpen, Limit: 1})
	if err == nil && len(open) > 0 {
		err = conflict("%v is just being landed on %s by %q: try again in a moment", t.ID, open[0].Target, open[0].Holder)
	}
	return err
}

// checkItems validates the items of an intent.
func checkItems(slug string, items []Item) error {
	if len(items) == 0 || len(items) > maxItems {
		return invalid("an intent has 1 to %d items, not %d", maxItems, len(items))
	}
	for i, item := range items {
		if item.Task.IsZero() || item.Attempt < 1 || !ValidObject(item.Tip) {
			return invalid("an item has a task, an attempt and the full name of a commit, not %v, %d and %.80q", item.Task, item.Attempt, item.Tip)
		}
		if err := inside(slug, item.Task); err != nil {
			return err
		}
		if slices.ContainsFunc(items[:i], func(o Item) bool { return o.Task == item.Task }) {
			return invalid("an intent has %v twice", item.Task)
		}
	}
	return nil
}

func tasksOf(items []Item) []ID {
	ids := make([]ID, len(items))
	for i, item := range items {
		ids[i] = item.Task
	}
	return ids
}
