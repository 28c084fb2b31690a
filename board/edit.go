package board

import (
	"context"
	"slices"
)

// Update edits a task that has not ended. It does not change the status. An edit of the
// spec increments SpecVersion, and the next answer tells the task's holder. An agent cannot
// edit the spec of a task that a person wrote or edited, nor of one that it held, nor start a draft that was imported.
func (b *Board) Update(ctx context.Context, a Actor, id ID, e Edit) (Task, error) {
	if err := checkEdit(&e); err != nil {
		return Task{}, err
	}
	var t *Task
	err := b.change(ctx, a, func(c *change) error {
		if e.DependsOn != nil || e.Parent != nil {
			if err := c.tx.LockProject(id.Project); err != nil {
				return err
			}
		}
		old, _, err := c.tx.Links(id)
		if err != nil {
			return err
		}
		before, err := c.tx.Task(id)
		if err != nil {
			return err
		}
		ids := append([]ID{id, before.Parent}, old...)
		if e.DependsOn != nil {
			ids = append(ids, *e.DependsOn...)
		}
		if e.Parent != nil {
			ids = append(ids, *e.Parent)
		}
		if err := inside(id.Project, ids...); err != nil {
			return err
		}
		if err := c.lock(ids...); err != nil {
			return err
		}
		t = c.tasks[id]
		if t.Status.Terminal() {
			return conflict("%v is %s and cannot be changed", id, t.State())
		}
		return c.edit(t, e)
	})
	if err != nil {
		return Task{}, err
	}
	return *t, nil
}

// edit applies an edit to a locked task, and records which fields it changed.
func (c *change) edit(t *Task, e Edit) error {
	switch spec := e.Title != nil || e.Description != nil || e.Acceptance != nil || e.Wants != nil; {
	case spec && t.Status == InReview:
		return conflict("%v is in review, where its text and evidence cannot be changed: accept or reject it first", t.ID)
	case spec && t.Status == Landing:
		return conflict("%v waits for its landing, where its text and evidence cannot be changed: return it first, with bossman land return %[1]v", t.ID)
	case t.Status == InReview && e.Hold != nil && *e.Hold:
		return conflict("%v is in review, which a draft would not delay: accept or reject it first", t.ID)
	case t.Status == Landing && (e.DependsOn != nil || e.Hold != nil && *e.Hold):
		return conflict("%v waits for its landing, which another task or a draft would not delay: return it first, with bossman land return %[1]v", t.ID)
	}
	p, err := c.tx.Project(t.ID.Project)
	if err != nil {
		return err
	}
	d, err := c.tx.Doc(t.ID)
	if err != nil {
		return err
	}
	var fields []string
	spec := false
	before, text := *t, d
	set := func(name string, isSpec, changed bool) {
		if changed {
			fields = append(fields, name)
			spec = spec || isSpec
		}
	}
	set("title", true, assign(&t.Title, e.Title))
	set("description", true, assign(&d.Description, e.Description))
	set("acceptance", true, assign(&d.Acceptance, e.Acceptance))
	set("priority", false, assign(&t.Priority, e.Priority))
	set("lease", false, assign(&t.Lease, e.Lease))
	set("max_failures", false, assign(&t.MaxFailures, e.MaxFailures))
	if e.Skills != nil {
		known, _ := p.Known(*e.Skills)
		set("skills", false, assignList(&t.Skills, known))
	}
	if e.Areas != nil {
		set("areas", false, assignList(&t.Areas, *e.Areas))
	}
	if e.Wants != nil {
		set("evidence", true, assignList(&t.Wants, *e.Wants))
	}
	was := former(&before, text, fields)
	if was != nil {
		if err := c.maySpecify(t); err != nil {
			return err
		}
	}
	moves := e.Parent != nil && *e.Parent != t.Parent
	unlinked, err := c.unlink(t, e.DependsOn, moves) // first: the links as they will be must form no cycle
	if err != nil {
		return err
	}
	if moves {
		if err := c.notPersons(t, "make it a part of another task, or a task of its own"); err != nil {
			return err
		}
		if err := c.move(t, *e.Parent); err != nil {
			return err
		}
		set("parent", false, true)
	}
	if e.DependsOn != nil {
		linked, err := c.link(t, *e.DependsOn)
		if err != nil {
			return err
		}
		set("depends_on", false, unlinked || linked)
	}
	if slices.Contains(fields, "parent") || slices.Contains(fields, "depends_on") {
		if err := c.inherit(t); err != nil {
			return err
		}
		if err := c.bequeath(t); err != nil {
			return err
		}
	}
	started := t.Hold && e.Hold != nil && !*e.Hold
	if started {
		if err := c.mayStart(t); err != nil {
			return err
		}
	}
	if !started {
		set("draft", false, assign(&t.Hold, e.Hold))
	}
	if spec {
		t.SpecVersion++
		if err := c.tx.PutDoc(t.ID, d); err != nil {
			return err
		}
	}
	if started {
		t.Hold = false
		t.QueuedAt = c.now
		c.event(t, EventStarted, t.Status, Detail{})
	}
	if len(fields) > 0 {
		c.event(t, EventEdited, t.Status, Detail{Fields: fields, Was: was, SpecNow: t.SpecVersion, By: c.actor.Kind()})
	}
	if started || slices.Contains(fields, "depends_on") {
		_, err = c.free(t)
	}
	return err
}

// assign sets *to to *from, and reports whether that changed it; nil means no change.
func assign[T comparable](to *T, from *T) bool {
	if from == nil || *to == *from {
		return false
	}
	*to = *from
	return true
}

func assignList[T comparable](to *[]T, from []T) bool {
	if slices.Equal(*to, from) {
		return false
	}
	*to = from
	return true
}

// move gives a task another parent.
func (c *change) move(t *Task, parent ID) error {
	from := t.Parent
	t.Parent = parent
	if !parent.IsZero() {
		if err := c.checkCycle(parent, t.ID); err != nil {
			return err
		}
	}
	if old, ok := c.tasks[from]; ok && !old.Status.Terminal() {
		old.OpenChildren--
		c.event(old, EventEdited, old.Status, Detail{Fields: []string{"children"}, Text: t.ID.String()})
		if _, err := c.free(old); err != nil {
			return err
		}
	}
	if parent.IsZero() {
		return nil
	}
	return c.addChild(parent, t.ID)
}

// ownLinks returns what a task depends on itself, and what it inherits.
func (c *change) ownLinks(t *Task) (own, inherited []ID, err error) {
	if own, _, err = c.tx.Links(t.ID); err != nil {
		return nil, nil, err
	}
	inherited, err = c.tx.Inherited(t.ID)
	return slices.DeleteFunc(own, func(id ID) bool { return slices.Contains(inherited, id) }), inherited, err
}

// unlink removes the links of a task that are not in want, unless that is nil, and what it
// inherits if it moves to another parent. It reports whether it had any of the former. All
// of them are locked.
func (c *change) unlink(t *Task, want *[]ID, moves bool) (changed bool, err error) {
	if want == nil && !moves {
		return false, nil
	}
	own, inherited, err := c.ownLinks(t)
	if err == nil && moves {
		_, err = c.unlinkOthers(t, inherited, nil)
	}
	if err == nil && want != nil {
		changed, err = c.unlinkOthers(t, own, *want)
	}
	return changed, err
}

// link makes a task depend on the tasks in want as well, and reports whether that changed
// anything. All of them are locked.
func (c *change) link(t *Task, want []ID) (changed bool, err error) {
	have, inherited, err := c.ownLinks(t)
	if err != nil {
		return false, err
	}
	for _, id := range want {
		if slices.Contains(have, id) {
			continue
		}
		changed = true
		if err := c.checkCycle(t.ID, id); err != nil {
			return false, err
		}
		if err := c.tx.Link(t.ID, id); err != nil {
			return false, err
		}
		if c.tasks[id].Status == Done || slices.Contains(inherited, id) {
			continue
		}
		if t.Status == InReview {
			return false, conflict("%v was reported and waits for its review, and could not be accepted before %v is done: reject it first", t.ID, id)
		}
		t.OpenBlockers++
	}
	return changed, nil
}

// unlinkOthers removes those of a task's links that are not in want, and reports whether
// there were any. All of them are locked.
func (c *change) unlinkOthers(t *Task, have, want []ID) (bool, error) {
	changed := false
	for _, id := range have {
		if slices.Contains(want, id) {
			continue
		}
		changed = true
		if err := c.tx.Unlink(t.ID, id); err != nil {
			return false, err
		}
		if c.tasks[id].Status != Done {
			t.OpenBlockers--
		}
	}
	return changed, nil
}

// maxChain is how many tasks checkCycle visits at most.
const maxChain = 10_000

// checkCycle returns a *CycleError if blocker waits for task, directly or through other
// tasks, so that task must not wait for blocker. A task waits for the tasks that it
// depends on and for its children. The project is locked.
func (c *change) checkCycle(task, blocker ID) error {
	if task == blocker {
		return &CycleError{Path: []string{task.String(), task.String()}}
	}
	from := map[ID]ID{blocker: {}}
	queue := []ID{blocker}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		awaited, _, err := c.tx.Links(id)
		if err != nil {
			return err
		}
		parts, err := c.tx.Tasks(TaskFilter{Projects: []string{id.Project}, Parent: id, Limit: maxChain})
		if err != nil {
			return err
		}
		for _, part := range parts {
			if _, locked := c.tasks[part.ID]; !locked {
				awaited = append(awaited, part.ID)
			}
		}
		for _, part := range c.order() { // which may have moved in this change
			if c.tasks[part].Parent == id {
				awaited = append(awaited, part)
			}
		}
		for _, next := range awaited {
			if _, seen := from[next]; seen {
				continue
			}
			from[next] = id
			if next == task {
				// from leads from task back to blocker, each step to its dependent.
				path := []string{task.String()}
				for at := id; !at.IsZero(); at = from[at] {
					path = append(path, at.String())
				}
				slices.Reverse(path[1:])
				return &CycleError{Path: append(path, task.String())}
			}
			queue = append(queue, next)
		}
		if len(from) > maxChain {
			return conflict("%v waits for more than %d tasks: too many to check for a cycle", blocker, maxChain)
		}
	}
	return nil
}
