package board

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
)

// A Plan is several tasks that are created together.
type Plan struct {
	Project string
	// Goal is the purpose of the plan. It becomes the description of tasks without one.
	Goal  string
	Tasks []PlanTask
	// Hold makes all tasks drafts.
	Hold bool
	// DryRun validates the plan and creates nothing.
	DryRun bool
	// Key is an idempotency key, or empty.
	Key string
}

// A PlanTask is a task of a plan. Key is its name in the plan; After and Within name
// other tasks of the plan by their keys, or existing tasks by their IDs.
type PlanTask struct {
	Key string
	// Item identifies it in the file that the plan was read from, or is empty. The task of
	// an item is created once: a plan that has it again gets the task that is there.
	Item string
	// Author is who wrote it, if Item is the address of an issue. That may be a stranger: the task is a draft,
	// and its history names the author instead of who made the plan.
	Author string
	After  []string // the tasks that it depends on
	Within string   // its parent
	NewTask
}

// Planned is the result of a plan.
type Planned struct {
	// Tasks are in the order of the plan.
	Tasks []PlannedTask
	// Longest is the number of tasks in the longest chain of dependencies.
	Longest int
	Held    bool
	DryRun  bool
}

// A PlannedTask is a task that a plan created. Its ID is zero in a dry run.
type PlannedTask struct {
	Key   string
	ID    ID
	Title string
	After []string // as in the plan
	Ready bool
	// Existed is set if an earlier plan created it; see PlanTask.Item.
	Existed bool
}

// MaxPlan is the largest number of tasks in a plan, and maxPlanLinks that of its links,
// which one transaction writes.
const (
	MaxPlan      = 500
	maxPlanLinks = 10_000
)

// CreatePlan creates the tasks of a plan, all or none. It returns a *CycleError if they
// depend on each other in a cycle.
func (b *Board) CreatePlan(ctx context.Context, a Actor, p Plan) (Planned, error) {
	drafts, longest, err := p.drafts()
	if err != nil {
		return Planned{}, err
	}
	out := Planned{Longest: longest, Held: p.Hold, DryRun: p.DryRun}
	out.Tasks = make([]PlannedTask, len(p.Tasks))
	for i, t := range p.Tasks {
		out.Tasks[i] = PlannedTask{Key: t.Key, Title: drafts[i].Title, After: t.After}
	}
	if p.DryRun {
		return out, b.store.Read(ctx, func(r Reader) error {
			if _, err := b.project(r, p.Project); err != nil {
				return err
			}
			_, drafts, added, err := p.rest(r, &out)
			if err != nil {
				return err
			}
			return dryRun(r, drafts, added, &out)
		})
	}
	err = b.change(ctx, a, func(c *change) error {
		body := p
		body.Key = ""
		ahead := aheadOf(p.Project, drafts)
		items := slices.ContainsFunc(p.Tasks, func(t PlanTask) bool { return t.Item != "" })
		if items { // some may be there already
			ahead = Ahead{Project: p.Project}
		}
		k, kept, replays, err := c.once("create_plan", p.Key, body, ahead)
		if err != nil {
			return err
		}
		if replays {
			return decode(kept, &out)
		}
		if items {
			if _, err := c.writable(p.Project); err != nil {
				return err
			}
			if err := c.tx.LockProject(p.Project); err != nil { // the same plan may be read twice at once
				return err
			}
		}
		rest, drafts, added, err := p.rest(c.tx, &out)
		if err != nil || len(drafts) == 0 {
			return err
		}
		for i, t := range rest.Tasks {
			if t.Author != "" {
				drafts[i].author = issueAuthor(a, t)
			}
		}
		made, err := c.create(p.Project, drafts)
		if err != nil {
			return err
		}
		for i, t := range rest.Tasks {
			to := &out.Tasks[added[i]]
			to.ID, to.Ready = made[i].ID, made[i].Ready()
			if t.Item == "" {
				continue
			}
			if err := c.tx.PutPlanItem(t.Item, made[i].ID); err != nil {
				return err
			}
		}
		return c.keep(k, encode(out))
	})
	return out, err
}

// rest returns the part of a plan that is not there yet, its drafts, and the indexes of its
// tasks in the whole plan. Names of tasks that are there become their IDs. It fills in what
// out says of these.
func (p *Plan) rest(r Reader, out *Planned) (Plan, []draft, []int, error) {
	var items []string
	for _, t := range p.Tasks {
		if t.Item != "" {
			items = append(items, t.Item)
		}
	}
	rest := *p
	rest.Tasks = nil
	there, err := r.PlanItems(p.Project, items)
	if err != nil {
		return rest, nil, nil, err
	}
	ids := map[string]string{} // by key
	over := map[string]bool{}  // those that were archived: nobody has to wait for them
	var added []int
	for i, t := range p.Tasks {
		id, ok := there[t.Item]
		if !ok || t.Item == "" {
			added = append(added, i)
			continue
		}
		ids[t.Key] = id.String()
		now, err := r.Task(id)
		if errors.Is(err, ErrNotFound) {
			over[t.Key], now.Title, err = true, t.Title, nil
		}
		if err != nil {
			return rest, nil, nil, err
		}
		to := &out.Tasks[i]
		to.ID, to.Title, to.Ready, to.Existed = id, now.Title, now.Ready(), true
	}
	for _, i := range added {
		t := p.Tasks[i]
		t.Within = cmp.Or(ids[t.Within], t.Within)
		if over[p.Tasks[i].Within] {
			t.Within = ""
		}
		t.After = slices.DeleteFunc(slices.Clone(t.After), func(name string) bool { return over[name] })
		for j, name := range t.After {
			t.After[j] = cmp.Or(ids[name], name)
		}
		rest.Tasks = append(rest.Tasks, t)
	}
	if len(rest.Tasks) == 0 {
		return rest, nil, nil, nil
	}
	drafts, _, err := rest.drafts()
	return rest, drafts, added, err
}

// dryRun checks that the existing tasks that a plan names exist, and finds out which tasks
// would be ready.
func dryRun(r Reader, drafts []draft, added []int, out *Planned) error {
	for i, d := range drafts {
		ready := !d.Hold && len(d.after)+len(d.partAfter) == 0
		for _, id := range append([]ID{d.Parent}, d.DependsOn...) {
			if id.IsZero() {
				continue
			}
			t, err := r.Task(id)
			if err != nil {
				return err
			}
			if id != d.Parent && t.Status != Done {
				ready = false
			}
		}
		if !d.Parent.IsZero() {
			waits, err := waitsAsPart(r, d.Parent)
			if err != nil {
				return err
			}
			ready = ready && !waits
		}
		for _, other := range drafts {
			if other.within == i+1 {
				ready = false
			}
		}
		out.Tasks[added[i]].Ready = ready
	}
	return nil
}

// drafts validates a plan, resolves the names in it, and returns the length of its
// longest chain of dependencies.
func (p *Plan) drafts() ([]draft, int, error) {
	if len(p.Tasks) == 0 {
		return nil, 0, invalid("a plan needs at least one task")
	}
	if len(p.Tasks) > MaxPlan {
		return nil, 0, invalid("too many tasks in the plan: %d, want at most %d; split it", len(p.Tasks), MaxPlan)
	}
	index := make(map[string]int, len(p.Tasks))
	for i, t := range p.Tasks {
		if t.Key == "" {
			return nil, 0, invalid("task %d of the plan has no key", i+1)
		}
		if err := checkTexts(text{"key", t.Key, maxTitle}, text{"item", t.Item, maxTitle}); err != nil {
			return nil, 0, err
		}
		if err := checkIssue(t); err != nil {
			return nil, 0, err
		}
		if _, twice := index[t.Key]; twice {
			return nil, 0, invalid("duplicate key %.40q in the plan", t.Key)
		}
		index[t.Key] = i
	}
	drafts := make([]draft, len(p.Tasks))
	for i, t := range p.Tasks {
		d := draft{NewTask: t.NewTask}
		d.Project = p.Project
		d.Hold = d.Hold || p.Hold || t.Author != ""
		if d.Description == "" && p.Goal != "" {
			d.Description = "Part of: " + p.Goal
		}
		for _, name := range t.After {
			if j, ok := index[name]; ok {
				if !slices.Contains(d.after, j) {
					d.after = append(d.after, j)
				}
				continue
			}
			id, err := ParseIDIn(p.Project, name)
			if err != nil {
				return nil, 0, invalid("task %.40q depends on %.40q, which is neither a key of this plan nor a task id", t.Key, name)
			}
			d.DependsOn = append(d.DependsOn, id)
		}
		if t.Within != "" {
			if j, ok := index[t.Within]; ok {
				d.within = j + 1
			} else if id, err := ParseIDIn(p.Project, t.Within); err == nil {
				d.Parent = id
			} else {
				return nil, 0, invalid("the parent of task %.40q is %.40q, which is neither a key of this plan nor a task id", t.Key, t.Within)
			}
		}
		if err := inside(p.Project, slices.Concat(d.DependsOn, []ID{d.Parent})...); err != nil {
			return nil, 0, err
		}
		if err := checkNew(&d.NewTask); err != nil {
			return nil, 0, err
		}
		drafts[i] = d
	}
	inheritDrafts(drafts, nil)
	links := 0
	for _, d := range drafts {
		links += len(d.after) + len(d.DependsOn) + len(d.partAfter) + len(d.partOn)
	}
	if links > maxPlanLinks {
		return nil, 0, invalid("too many dependencies in the plan: %d with those that parts inherit from their parents, want at most %d; split it", links, maxPlanLinks)
	}
	key := func(i int) string { return p.Tasks[i].Key }
	longest, err := chain(len(drafts), key, func(i int) []int { return slices.Concat(drafts[i].after, drafts[i].partAfter) })
	if err != nil {
		return nil, 0, err
	}
	// A task also waits for its children.
	children := make([][]int, len(drafts))
	for i, d := range drafts {
		if d.within > 0 {
			children[d.within-1] = append(children[d.within-1], i)
		}
	}
	_, err = chain(len(drafts), key, func(i int) []int { return slices.Concat(drafts[i].after, drafts[i].partAfter, children[i]) })
	return drafts, longest, err
}

// chain returns the length of the longest path in a graph of n nodes, where next returns
// the successors of a node. If the graph has a cycle, the error is a *CycleError.
func chain(n int, name func(i int) string, next func(i int) []int) (int, error) {
	const (
		unseen = iota
		open
		closed
	)
	state := make([]int, n)
	depth := make([]int, n)
	var path []int
	longest := 0
	var walk func(i int) error
	walk = func(i int) error {
		state[i] = open
		path = append(path, i)
		for _, j := range next(i) {
			switch state[j] {
			case open:
				cycle := path[slices.Index(path, j):]
				names := make([]string, 0, len(cycle)+1)
				for _, k := range cycle {
					names = append(names, name(k))
				}
				return &CycleError{Path: append(names, name(j))}
			case unseen:
				if err := walk(j); err != nil {
					return err
				}
			}
			depth[i] = max(depth[i], depth[j])
		}
		depth[i]++
		longest = max(longest, depth[i])
		path = path[:len(path)-1]
		state[i] = closed
		return nil
	}
	for i := range n {
		if state[i] == unseen {
			if err := walk(i); err != nil {
				return 0, err
			}
		}
	}
	return longest, nil
}

// SplitList splits comma-separated items into a list without empty ones. Models write a
// list as an array or as one string with commas.
func SplitList(items ...string) []string {
	var out []string
	for _, item := range items {
		for s := range strings.SplitSeq(item, ",") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}
