package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MarkDone takes an open task straight to done, as a person's own act: without evidence,
// check, review or landing, which its event says. A worker that holds the task learns about
// it with its next call. A task in review is done only if review is set: then the act also
// is a review, and has the requirements of one.
func (b *Board) MarkDone(ctx context.Context, a Actor, id ID, note string, review bool) (Outcome, error) {
	if !a.Person {
		return Outcome{}, denied("only a person can mark %v done", id)
	}
	if err := checkTexts(text{"note", note, maxText}); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	err := b.change(ctx, a, func(c *change) error {
		t, dependents, err := c.lockFamily(id)
		if err != nil {
			return err
		}
		switch {
		case t.Status.Terminal():
			return conflict("%v is already %s", id, t.Status)
		case t.Status == InReview && !review:
			return denied("%v waits for a review", id)
		}
		if err := c.notInIntent(t); err != nil {
			return err
		}
		if t.Status == InProgress {
			held, err := c.seize(t)
			if err != nil {
				return err
			}
			if err := c.end(held, CauseClosed, note); err != nil {
				return err
			}
		}
		d, err := c.tx.Doc(id)
		if err != nil {
			return err
		}
		if t.Status != InReview && t.Status != Landing { // what was reported stays the result
			d.Result = &Result{Summary: cmp.Or(note, "Marked done by "+a.String()+".")}
			if err := c.tx.PutDoc(id, d); err != nil {
				return err
			}
		}
		out = Outcome{Task: id, Failures: t.Failures, MaxFailures: t.MaxFailures}
		if out.Unfinished, err = c.unfinished(t); err != nil {
			return err
		}
		out.Freed, err = c.finish(t, dependents, Done, EventClosed, Detail{Attempt: t.Attempt, Nonce: t.Nonce, Text: note, Cause: CauseClosed, By: a.Kind()})
		out.Status = t.Status
		return err
	})
	return out, err
}

// Reopen makes the work of a task that has ended available again. A failed task is
// retried. A terminal one stays as it is, and Reopen creates a new task with the same spec;
// its first event hands over how the old one ended, and the note. If a person reopens it, the new one
// Redoes the old one. Reopen returns the task that is pending now.
//
// With after, the new task also depends on those tasks. If an open task does the work of id again already, Reopen makes
// that one depend on them, and no longer on tasks that were cancelled, and returns it.
func (b *Board) Reopen(ctx context.Context, a Actor, id ID, note string, after ...ID) (Task, error) {
	if err := checkTexts(text{"note", note, maxText}); err != nil {
		return Task{}, err
	}
	var out Task
	err := b.change(ctx, a, func(c *change) error {
		if len(after) > 0 { // two calls at once find each other's task
			if err := c.tx.LockProject(id.Project); err != nil {
				return err
			}
		}
		t, err := c.tx.Task(id)
		if err != nil {
			return err
		}
		if !t.Status.Terminal() {
			if err := c.lock(id); err != nil {
				return err
			}
			if err := c.notHolder(id, "review it"); err != nil {
				return err
			}
			if c.tasks[id].Status != Failed {
				return conflict("%v is %s and has not ended", id, c.tasks[id].Status)
			}
			c.retry(c.tasks[id], note)
			out = *c.tasks[id]
			return nil
		}
		if len(after) > 0 {
			if open, err := c.openRedo(t); err != nil {
				return err
			} else if !open.IsZero() {
				out, err = c.delay(open, after)
				return err
			}
		}
		again, err := c.redo(t, note)
		if err != nil {
			return err
		}
		again.DependsOn = append(again.DependsOn, after...)
		if a.Person {
			again.redoes = id
		}
		made, err := c.create(id.Project, []draft{again})
		if err == nil {
			out = made[0]
		}
		return err
	})
	return out, err
}

// openRedo returns the open task that a person's Reopen has created for a terminal one; zero if there is none.
func (c *change) openRedo(t Task) (ID, error) {
	f := TaskFilter{Projects: []string{t.ID.Project}, Statuses: []Status{Pending, InProgress, Waiting, InReview, Landing, Failed}, After: t.ID, Limit: redoPage}
	for {
		list, err := c.tx.Tasks(f)
		if err != nil {
			return ID{}, err
		}
		for i := range list {
			if list[i].Redoes == t.ID {
				return list[i].ID, nil
			}
		}
		if len(list) < redoPage {
			return ID{}, nil
		}
		f.After = list[len(list)-1].ID
	}
}

// redoPage is how many open tasks openRedo reads at once.
const redoPage = 1000

// delay makes a task that nobody works on also depend on others, and no longer on tasks that were cancelled. The
// project is locked.
func (c *change) delay(id ID, after []ID) (Task, error) {
	links, _, err := c.tx.Links(id)
	if err != nil {
		return Task{}, err
	}
	t, err := c.tx.Task(id)
	if err != nil {
		return Task{}, err
	}
	others := append(slices.Clone(links), after...)
	if err := inside(id.Project, others...); err != nil {
		return Task{}, err
	}
	if err := c.lock(append(others, id, t.Parent)...); err != nil {
		return Task{}, err
	}
	if c.tasks[id].Status != Pending {
		return *c.tasks[id], nil
	}
	own, _, err := c.ownLinks(c.tasks[id])
	if err != nil {
		return Task{}, err
	}
	own = slices.DeleteFunc(own, func(b ID) bool { return c.tasks[b].Status == Cancelled })
	own = append(own, after...)
	slices.SortFunc(own, compareIDs)
	own = slices.Compact(own)
	err = c.edit(c.tasks[id], Edit{DependsOn: &own})
	return *c.tasks[id], err
}

// retry makes a locked task that has failed pending, with a new failure budget.
func (c *change) retry(t *Task, note string) {
	from := t.Status
	t.Status, t.Failures, t.NotBefore = Pending, 0, time.Time{}
	c.event(t, EventRetried, from, Detail{Attempt: t.Attempt, Text: note, By: c.actor.Kind()})
}

// redo returns the draft of a task that does the work of a terminal one again.
func (c *change) redo(t Task, note string) (draft, error) {
	d, err := c.tx.Doc(t.ID)
	if err != nil {
		return draft{}, err
	}
	n := NewTask{
		Project: t.ID.Project, Title: redoTitle(t), Description: d.Description, Acceptance: d.Acceptance,
		Priority: t.Priority, Skills: t.Skills, Areas: t.Areas, Wants: t.Wants, Lease: t.Lease, MaxFailures: t.MaxFailures,
	}
	if n.DependsOn, _, err = c.tx.Links(t.ID); err != nil {
		return draft{}, err
	}
	if !t.Parent.IsZero() {
		parent, err := c.tx.Task(t.Parent)
		if err != nil {
			return draft{}, err
		}
		if !parent.Status.Terminal() {
			n.Parent = t.Parent
		}
	}
	prior, err := c.prior(t, d.Result)
	if err != nil {
		return draft{}, err
	}
	return draft{NewTask: n, prior: prior, why: note}, nil
}

// redoTitle is the title of a task that does t again.
func redoTitle(t Task) string {
	title := t.Title
	if id, rest, ok := strings.Cut(strings.TrimPrefix(title, "Redo "), ": "); ok && strings.HasPrefix(title, "Redo ") {
		if _, err := ParseID(id); err == nil {
			title = rest
		}
	}
	title = fmt.Sprintf("Redo %v: %s", t.ID, title)
	if len(title) <= maxTitle {
		return title
	}
	cut := maxTitle - len("…")
	for !utf8.RuneStart(title[cut]) {
		cut--
	}
	return title[:cut] + "…"
}

// prior says how a terminal task ended and where its work is, for those who do it again.
func (c *change) prior(t Task, r *Result) (string, error) {
	s := fmt.Sprintf("%v is %s.", t.ID, t.Status)
	last, err := c.tx.Events(t.ID, max(t.Seq-10, 0), 10) // notes may have been added since
	if err != nil {
		return "", err
	}
	for _, e := range last {
		if e.To != e.From && e.To.Terminal() && e.Detail.Text != "" && r == nil {
			s += " The reason: " + e.Detail.Text
		}
	}
	if r != nil {
		s += " Its result: " + r.Summary
	}
	if t.Attempt == 0 {
		return s, nil
	}
	attempt, err := c.tx.Attempt(t.ID, t.Attempt)
	if err != nil {
		return "", err
	}
	var work []string
	if r != nil {
		for _, e := range r.Evidence {
			work = append(work, string(e.Kind)+" "+e.Ref)
		}
	}
	if attempt.Where.Branch != "" {
		work = append(work, "branch "+attempt.Where.Branch)
	}
	if len(work) > 0 {
		s += "\nIts work: " + strings.Join(work, ", ")
	}
	return s, nil
}
