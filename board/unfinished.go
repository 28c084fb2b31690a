package board

import (
	"fmt"
	"slices"
	"strings"
)

// An UnfinishedError rejects a report of done, or the acceptance of work, because tasks that come
// first are not done: parts of the task that are open, and tasks that it depends on. A claim stays
// in force.
type UnfinishedError struct {
	Task            ID
	Parts, Blockers []ID
}

func (e *UnfinishedError) Error() string { return fmt.Sprintf("%v: %s", ErrConflict, e.Why()) }

func (e *UnfinishedError) Unwrap() error { return ErrConflict }

// Why names the tasks; it is empty for nil.
func (e *UnfinishedError) Why() string {
	if e == nil {
		return ""
	}
	var why []string
	for _, id := range e.Parts {
		why = append(why, fmt.Sprintf("%v is open: it is a part of %v.", id, e.Task))
	}
	for _, id := range e.Blockers {
		why = append(why, fmt.Sprintf("%v is not done: %v depends on it.", id, e.Task))
	}
	return strings.Join(why, " ")
}

// maxUnfinished is how many tasks of a kind an UnfinishedError names.
const maxUnfinished = 5

// unfinished returns an *UnfinishedError if tasks that come before a locked one are not done. Such
// tasks were added after it was handed out. What it only inherits from its parent is the parent's
// matter by then.
func (c *change) unfinished(t *Task) (*UnfinishedError, error) {
	if t.OpenChildren == 0 && t.OpenBlockers == 0 {
		return nil, nil
	}
	parts, err := c.parts(t)
	if err != nil {
		return nil, err
	}
	e := &UnfinishedError{Task: t.ID}
	for _, part := range parts {
		if !part.Status.Terminal() && len(e.Parts) < maxUnfinished {
			e.Parts = append(e.Parts, part.ID)
		}
	}
	blockers, _, err := c.tx.Links(t.ID)
	if err != nil {
		return nil, err
	}
	inherited, err := c.tx.Inherited(t.ID)
	if err != nil {
		return nil, err
	}
	for _, id := range blockers {
		b, err := c.tx.Task(id)
		if err != nil {
			return nil, err
		}
		if b.Status != Done && !slices.Contains(inherited, id) && len(e.Blockers) < maxUnfinished {
			e.Blockers = append(e.Blockers, id)
		}
	}
	if len(e.Parts) == 0 && len(e.Blockers) == 0 {
		return nil, nil
	}
	return e, nil
}

// checkFinished rejects what would make a locked task done before those that come first.
func (c *change) checkFinished(t *Task) error {
	e, err := c.unfinished(t)
	if err == nil && e != nil {
		err = e
	}
	return err
}

// parts lists the parts of a task, as this transaction leaves them.
func (c *change) parts(t *Task) ([]Task, error) {
	parts, err := c.tx.Tasks(TaskFilter{Projects: []string{t.ID.Project}, Parent: t.ID, Limit: maxChain})
	for i := range parts {
		if now := c.tasks[parts[i].ID]; now != nil {
			parts[i] = *now
		}
	}
	return slices.DeleteFunc(parts, func(part Task) bool { return part.Parent != t.ID }), err
}
