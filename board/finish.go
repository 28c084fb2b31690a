package board

import "time"

// finish sets the final status of a locked task, and updates its dependents and its
// parent. Its open questions are withdrawn, unless its worker went on without the answers:
// people still get those. It returns the tasks that became ready.
func (c *change) finish(t *Task, dependents []ID, s Status, kind Kind, d Detail) ([]ID, error) {
	from := t.Status
	if from == InReview {
		if err := c.tx.DeleteReview(t.ID); err != nil { // the verdict of its holder is too late
			return nil, err
		}
	}
	t.Status = s
	t.EndedAt = c.now
	t.NotBefore = time.Time{}
	t.ReservedFor = WorkerID{}
	c.event(t, kind, from, d)
	var freed []ID
	if s == Done {
		for _, id := range dependents {
			dep := c.tasks[id]
			if dep.Status.Terminal() {
				continue
			}
			dep.OpenBlockers--
			c.eventBy(boardActor, dep, EventUnblocked, dep.Status, Detail{Text: t.ID.String()})
			more, err := c.free(dep)
			if err != nil {
				return nil, err
			}
			freed = append(freed, more...)
		}
	}
	more, err := c.childEnded(t)
	if err != nil {
		return nil, err
	}
	return append(freed, more...), c.closeQuestions(t, kind)
}

// childEnded updates the parent of a task that has ended, and returns the tasks that
// became ready.
func (c *change) childEnded(t *Task) ([]ID, error) {
	if t.Parent.IsZero() {
		return nil, nil
	}
	if err := c.lock(t.Parent); err != nil {
		return nil, err
	}
	parent := c.tasks[t.Parent]
	if parent.Status.Terminal() {
		return nil, nil
	}
	parent.OpenChildren--
	if t.Status == Done {
		parent.DoneChildren++
	}
	c.eventBy(boardActor, parent, EventUnblocked, parent.Status, Detail{Text: t.ID.String()})
	if parent.OpenChildren > 0 || parent.Status != Pending {
		return nil, nil
	}
	parent.QueuedAt = c.now
	return c.free(parent)
}

// free is called when something that blocked a locked task is gone, and returns the tasks
// that became ready. A task that nobody has worked on is done when all its children are, unless
// it has acceptance criteria, requires evidence, has a question that people have yet to answer,
// or is a person's and agents decided what its parts are. Else it is handed out itself.
func (c *change) free(t *Task) ([]ID, error) {
	if !t.Ready() {
		return nil, nil
	}
	c.freed = true
	if t.DoneChildren == 0 || t.Attempt > 0 {
		return []ID{t.ID}, nil
	}
	d, err := c.tx.Doc(t.ID)
	if err != nil {
		return nil, err
	}
	asked, err := c.openToPeople(t.ID)
	if err != nil {
		return nil, err
	}
	if d.Acceptance != "" || len(t.Wants) > 0 || len(asked) > 0 {
		return []ID{t.ID}, nil
	}
	if whole, err := c.isWhole(t); err != nil || !whole {
		return []ID{t.ID}, err
	}
	_, dependents, err := c.lockFamily(t.ID)
	if err != nil {
		return nil, err
	}
	d.Result = &Result{Summary: "All its parts are done."}
	if err := c.tx.PutDoc(t.ID, d); err != nil {
		return nil, err
	}
	return c.finish(t, dependents, Done, EventDone, Detail{Text: d.Result.Summary})
}
