package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Create creates a task. Repeating the call with the same key returns the same task.
func (b *Board) Create(ctx context.Context, a Actor, n NewTask, key string) (Task, Doc, error) {
	if err := checkNew(&n); err != nil {
		return Task{}, Doc{}, err
	}
	var t Task
	var d Doc
	err := b.change(ctx, a, func(c *change) error {
		drafts := []draft{{NewTask: n}}
		k, kept, replays, err := c.once("create_task", key, n, aheadOf(n.Project, drafts))
		if err != nil {
			return err
		}
		if replays {
			return c.recall(kept, &t, &d)
		}
		made, err := c.create(n.Project, drafts)
		if err != nil {
			return err
		}
		if err := c.keep(k, made[0].ID.String()); err != nil {
			return err
		}
		t, d = made[0], Doc{Description: n.Description, Acceptance: n.Acceptance}
		return nil
	})
	return t, d, err
}

// aheadOf is what create is going to read to create drafts. If they become parts of existing
// tasks, it locks the project first.
func aheadOf(slug string, drafts []draft) Ahead {
	ahead := Ahead{Project: slug}
	for _, d := range drafts {
		if !d.Parent.IsZero() {
			return Ahead{Project: slug}
		}
		ahead.Numbers++
		ahead.Skills = append(ahead.Skills, d.Skills...)
		for _, id := range d.DependsOn {
			if id.Project == slug {
				ahead.Lock = append(ahead.Lock, id)
			}
		}
	}
	return ahead
}

// recall reads the task that an earlier call with the same key created.
func (c *change) recall(kept string, t *Task, d *Doc) error {
	id, err := ParseID(kept)
	if err != nil {
		return err
	}
	if *t, err = c.tx.Task(id); err != nil {
		return err
	}
	*d, err = c.tx.Doc(id)
	return err
}

// CreateUnder is Create for the holder of a claim. The task is a draft until somebody
// starts it, and a claim can create at most five.
func (b *Board) CreateUnder(ctx context.Context, a Actor, h Handle, n NewTask, key string) (Task, Doc, error) {
	n.Project = h.Task.Project
	if err := checkNew(&n); err != nil {
		return Task{}, Doc{}, err
	}
	var t Task
	var d Doc
	err := b.change(ctx, a, func(c *change) error {
		ahead := aheadOf(n.Project, []draft{{NewTask: n}})
		ahead.Claim, ahead.Lock = h, append(ahead.Lock, h.Task)
		k, kept, replays, err := c.once("create_task", key, n, ahead)
		if err != nil {
			return err
		}
		if replays {
			return c.recall(kept, &t, &d)
		}
		if err := c.lock(append([]ID{h.Task, n.Parent}, n.DependsOn...)...); err != nil {
			return err
		}
		held, err := c.holder(h)
		if err != nil {
			return err
		}
		ids, err := c.createUnder(held, []NewTask{n})
		if err != nil {
			return err
		}
		if err := c.tx.UpdateAttempt(held.attempt); err != nil {
			return err
		}
		if err := c.keep(k, ids[0].String()); err != nil {
			return err
		}
		return c.recall(ids[0].String(), &t, &d)
	})
	return t, d, err
}

// createUnder creates drafts for the holder of a claim.
func (c *change) createUnder(h *holding, ns []NewTask) ([]ID, error) {
	if len(ns) == 0 {
		return nil, nil
	}
	if h.attempt.Created += len(ns); h.attempt.Created > maxCreated {
		return nil, conflict("a claim can create at most %d tasks; %v has created %d. Put the rest into one task, or into your summary",
			maxCreated, h.attempt.Handle, h.attempt.Created-len(ns))
	}
	drafts := make([]draft, len(ns))
	for i, n := range ns {
		n.Project = h.task.ID.Project
		n.Hold = true
		drafts[i] = draft{NewTask: n, prior: fmt.Sprintf("Proposed by the worker of %v.", h.task.ID), by: h.attempt.Worker.Name}
	}
	made, err := c.create(h.task.ID.Project, drafts)
	ids := make([]ID, len(made))
	for i := range made {
		ids[i] = made[i].ID
	}
	return ids, err
}

// A draft is a task to be created together with others.
type draft struct {
	NewTask
	after  []int // indexes of the drafts that it depends on
	within int   // 1 + the index of the draft that is its parent; 0: none

	// What it inherits from its parent: indexes of drafts, and existing tasks.
	partAfter []int
	partOn    []ID
	prior     string
	why       string
	by        string // the worker that proposed it
	author    string // who wrote it, if that is not the actor
	redoes    ID
}

// create creates tasks of one project, in the given order.
func (c *change) create(slug string, drafts []draft) ([]Task, error) {
	p, err := c.writable(slug)
	if err != nil {
		if errors.Is(err, ErrNotFound) {
			return nil, invalid("unknown project %.20q", slug)
		}
		return nil, err
	}
	var others []ID
	for i := range drafts {
		d := &drafts[i]
		others = append(others, d.DependsOn...)
		others = append(others, d.Parent)
		d.Skills, _ = p.Known(d.Skills)
	}
	if err := inside(slug, others...); err != nil {
		return nil, err
	}
	// A new child of an existing task inherits links, and if it depends on other tasks it
	// may close a cycle, as may two such children that two transactions create at the same
	// time.
	hasParent := slices.ContainsFunc(drafts, func(d draft) bool { return !d.Parent.IsZero() })
	mayCycle := hasParent && slices.ContainsFunc(drafts, func(d draft) bool { return len(d.DependsOn) > 0 })
	inherited := map[ID][]ID{}
	if hasParent {
		if err := c.tx.LockProject(slug); err != nil {
			return nil, err
		}
		for _, d := range drafts {
			if _, ok := inherited[d.Parent]; ok || d.Parent.IsZero() {
				continue
			}
			blockers, err := c.inherited(d.Parent)
			if err != nil {
				return nil, err
			}
			inherited[d.Parent] = blockers
			others = append(others, blockers...)
		}
	}
	inheritDrafts(drafts, inherited)
	if err := c.lock(others...); err != nil {
		return nil, err
	}
	first, err := c.tx.Numbers(slug, len(drafts))
	if err != nil {
		return nil, err
	}
	id := func(i int) ID { return ID{Project: slug, No: first + int64(i)} }
	made := make([]Task, len(drafts))
	for i, d := range drafts {
		parent := d.Parent
		if d.within > 0 {
			parent = id(d.within - 1)
		}
		made[i] = Task{
			ID: id(i), Title: d.Title, Priority: d.Priority, Skills: d.Skills, Areas: d.Areas, Wants: d.Wants,
			Parent: parent, Redoes: d.redoes, Hold: d.Hold, Status: Pending, MaxFailures: d.MaxFailures, Lease: d.Lease,
			SpecVersion: 1, QueuedAt: c.now, Seq: 1, CreatedBy: cmp.Or(d.author, c.actor.String()), CreatedAt: c.now,
		}
	}
	var links, inherits [][2]ID
	for i, d := range drafts {
		t := &made[i]
		for _, j := range d.after {
			links = append(links, [2]ID{t.ID, id(j)})
		}
		for _, j := range d.partAfter {
			inherits = append(inherits, [2]ID{t.ID, id(j)})
		}
		for _, b := range d.DependsOn {
			links = append(links, [2]ID{t.ID, b})
		}
		for _, b := range d.partOn {
			inherits = append(inherits, [2]ID{t.ID, b})
		}
		t.OpenBlockers = len(d.after) + len(d.partAfter)
		for _, b := range slices.Concat(d.DependsOn, d.partOn) {
			if c.tasks[b].Status != Done {
				t.OpenBlockers++
			}
		}
		switch {
		case d.within > 0:
			made[d.within-1].OpenChildren++
		case !d.Parent.IsZero():
			if err := c.addChild(d.Parent, t.ID); err != nil {
				return nil, err
			}
		}
	}
	for i, d := range drafts {
		if err := c.tx.InsertTask(made[i], Doc{Description: d.Description, Acceptance: d.Acceptance}); err != nil {
			return nil, err
		}
		created := Event{
			Task: made[i].ID, Seq: 1, Actor: c.actor.String(), Kind: EventCreated, To: Pending,
			Detail: Detail{Text: d.Title, Prior: d.prior, Why: d.why, Worker: d.by, By: c.actor.Kind()},
		}
		if d.author != "" {
			created.Actor, created.Detail.By = d.author, ""
		}
		c.events = append(c.events, created)
		c.freed = c.freed || made[i].Ready()
	}
	for _, l := range links {
		if err := c.tx.Link(l[0], l[1]); err != nil {
			return nil, err
		}
	}
	for _, l := range inherits {
		if err := c.tx.Inherit(l[0], l[1]); err != nil {
			return nil, err
		}
	}
	if !mayCycle {
		return made, nil
	}
	for i, d := range drafts {
		if d.within == 0 && !d.Parent.IsZero() {
			if err := c.checkCycle(d.Parent, id(i)); err != nil {
				return nil, err
			}
		}
	}
	return made, nil
}

// addChild counts a new child of a locked task.
func (c *change) addChild(parent, child ID) error {
	p := c.tasks[parent]
	if p.Status.Terminal() {
		return conflict("%v is %s and cannot get more children", parent, p.State())
	}
	if p.Status == Landing {
		return conflict("%v waits for its landing, where it cannot get more parts: return it first, with bossman land return %[1]v", parent)
	}
	if p.Status == InReview {
		return conflict("%v was reported and waits for its review, where it cannot get more parts: reject it first, or make a task of its own", parent)
	}
	p.OpenChildren++
	c.event(p, EventEdited, p.Status, Detail{Fields: []string{"children"}, Text: child.String()})
	return nil
}

// Known splits skills into those that the project lists and the others.
func (p Project) Known(skills []string) (known, unknown []string) {
	for _, s := range skills {
		if s = strings.ToLower(s); slices.Contains(p.Skills, s) {
			known = append(known, s)
		} else {
			unknown = append(unknown, s)
		}
	}
	slices.Sort(known)
	return slices.Compact(known), unknown
}
