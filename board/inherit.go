package board

import "slices"

// A part of a task waits for everything that the task depends on: it inherits these links.
// The parent's own parts are the exception, since the parent waits for them anyway. An
// inherited link is stored with the part, like its own ones, and goes when the parent's does.

// inherited returns what the parts of an existing task inherit from it. The project is locked.
func (c *change) inherited(parent ID) ([]ID, error) {
	if parent.IsZero() {
		return nil, nil
	}
	blockers, _, err := c.tx.Links(parent)
	if err != nil {
		return nil, err
	}
	var out []ID
	for _, id := range blockers {
		part, err := isPart(c.tx, id, parent)
		if err != nil {
			return nil, err
		}
		if !part {
			out = append(out, id)
		}
	}
	return out, nil
}

// isPart reports whether a task is a part of another, or of its parts.
func isPart(r Reader, id, of ID) (bool, error) {
	for range maxChain {
		t, err := r.Task(id)
		if err != nil || t.Parent.IsZero() {
			return false, err
		}
		if t.Parent == of {
			return true, nil
		}
		id = t.Parent
	}
	return false, nil
}

// inherit gives a locked task the links that it inherits, and takes those that it no longer
// does. If that changes anything, it does the same for the task's parts.
func (c *change) inherit(t *Task) error {
	want, err := c.inherited(t.Parent)
	if err != nil {
		return err
	}
	all, _, err := c.tx.Links(t.ID)
	if err != nil {
		return err
	}
	have, err := c.tx.Inherited(t.ID)
	if err != nil {
		return err
	}
	if err := c.lock(slices.Concat(want, have)...); err != nil {
		return err
	}
	changed, err := c.unlinkOthers(t, have, want)
	if err != nil {
		return err
	}
	for _, id := range want {
		if slices.Contains(all, id) {
			continue
		}
		changed = true
		if err := c.checkCycle(t.ID, id); err != nil {
			return err
		}
		if err := c.tx.Inherit(t.ID, id); err != nil {
			return err
		}
		if c.tasks[id].Status != Done {
			t.OpenBlockers++
		}
	}
	if !changed {
		return nil
	}
	c.event(t, EventEdited, t.Status, Detail{Fields: []string{"depends_on"}, SpecNow: t.SpecVersion})
	if _, err := c.free(t); err != nil {
		return err
	}
	return c.bequeath(t)
}

// bequeath updates what the parts of a task inherit from it.
func (c *change) bequeath(t *Task) error {
	parts, err := c.parts(t)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if part.Status.Terminal() {
			continue
		}
		if err := c.lock(part.ID); err != nil {
			return err
		}
		if err := c.inherit(c.tasks[part.ID]); err != nil {
			return err
		}
	}
	return nil
}

// inheritDrafts determines what drafts inherit from their parents: those among them, and
// existing ones, whose links are in outside.
func inheritDrafts(drafts []draft, outside map[ID][]ID) {
	done := make([]bool, len(drafts))
	var visit func(i int)
	visit = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		d := &drafts[i]
		d.partAfter, d.partOn = nil, nil
		on := outside[d.Parent]
		if d.within > 0 {
			parent := &drafts[d.within-1]
			visit(d.within - 1)
			on = slices.Concat(parent.DependsOn, parent.partOn)
			for _, j := range slices.Concat(parent.after, parent.partAfter) {
				if !isDraftPart(drafts, j, d.within-1) && !slices.Contains(d.after, j) && !slices.Contains(d.partAfter, j) {
					d.partAfter = append(d.partAfter, j)
				}
			}
		}
		for _, id := range on {
			if !slices.Contains(d.DependsOn, id) && !slices.Contains(d.partOn, id) {
				d.partOn = append(d.partOn, id)
			}
		}
	}
	for i := range drafts {
		visit(i)
	}
}

// isDraftPart is isPart for drafts.
func isDraftPart(drafts []draft, i, of int) bool {
	for range drafts {
		if drafts[i].within == 0 {
			return false
		}
		if i = drafts[i].within - 1; i == of {
			return true
		}
	}
	return false
}

// waitsAsPart reports whether a new part of a task would have to wait for what the task
// depends on.
func waitsAsPart(r Reader, parent ID) (bool, error) {
	d, err := r.Dossier(parent, 0)
	if err != nil {
		return false, err
	}
	for _, b := range d.Blockers {
		if b.Status == Done {
			continue
		}
		part, err := isPart(r, b.ID, parent)
		if err != nil || !part {
			return !part, err
		}
	}
	return false, nil
}
