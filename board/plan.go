package board

import (
	"context"
	"slices"
	"strings"
)

// A Plan is several tasks that are created together.
type Plan struct {
	Project string
	// Goal is what they are for; it becomes the first event's text of each.
	Goal  string
	Tasks []PlanTask
	// Hold keeps all of them from being handed out until somebody starts them.
	Hold bool
	// DryRun checks everything and creates nothing.
	DryRun bool
	Key    string
}

// A PlanTask is a task of a plan. Key is its name inside the plan; After and Within
// name other tasks of the plan, or existing ones by ID.
type PlanTask struct {
	Key    string
	After  []string
	Within string // its parent
	NewTask
}

// Planned is what a plan became.
type Planned struct {
	// Tasks are in the plan's order.
	Tasks []PlannedTask
	// Longest is the number of tasks in the longest chain.
	Longest int
	Held    bool
	DryRun  bool
}

// A PlannedTask is a task that a plan made. Its ID is zero in a dry run.
type PlannedTask struct {
	Key   string
	ID    ID
	Title string
	After []string // as the plan said
	Ready bool
}

// maxPlan bounds the tasks of a plan: one transaction writes them all.
const maxPlan = 500

// CreatePlan creates the tasks of a plan, all or none. A circle is refused with its
// path.
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
		return out, b.store.Read(ctx, func(r Reader) error { return b.dryRun(r, p, drafts, &out) })
	}
	err = b.change(ctx, a, func(c *change) error {
		body := p
		body.Key = ""
		k, kept, replays, err := c.once("create_plan", p.Key, body)
		if err != nil {
			return err
		}
		if replays {
			return decode(kept, &out)
		}
		made, err := c.create(p.Project, drafts)
		if err != nil {
			return err
		}
		for i := range made {
			out.Tasks[i].ID = made[i].ID
			out.Tasks[i].Ready = made[i].Ready()
		}
		return c.keep(k, encode(out))
	})
	return out, err
}

// dryRun looks whether the existing tasks that a plan names are there.
func (b *Board) dryRun(r Reader, p Plan, drafts []draft, out *Planned) error {
	if _, err := b.project(r, p.Project); err != nil {
		return err
	}
	for i, d := range drafts {
		ready := !d.Hold && len(d.after) == 0
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
		for _, other := range drafts {
			if other.within == i+1 {
				ready = false
			}
		}
		out.Tasks[i].Ready = ready
	}
	return nil
}

// drafts checks a plan, resolves the names in it and measures its longest chain.
func (p *Plan) drafts() ([]draft, int, error) {
	if len(p.Tasks) == 0 {
		return nil, 0, invalid("a plan needs at least one task")
	}
	if len(p.Tasks) > maxPlan {
		return nil, 0, invalid("a plan has at most %d tasks, this one %d: divide it", maxPlan, len(p.Tasks))
	}
	index := make(map[string]int, len(p.Tasks))
	for i, t := range p.Tasks {
		if t.Key == "" {
			return nil, 0, invalid("task %d of the plan has no key", i+1)
		}
		if err := checkTexts(text{"key", t.Key, maxTitle}); err != nil {
			return nil, 0, err
		}
		if _, twice := index[t.Key]; twice {
			return nil, 0, invalid("the key %.40q stands twice in the plan", t.Key)
		}
		index[t.Key] = i
	}
	drafts := make([]draft, len(p.Tasks))
	for i, t := range p.Tasks {
		d := draft{NewTask: t.NewTask}
		d.Project = p.Project
		d.Hold = d.Hold || p.Hold
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
			id, err := ParseID(name)
			if err != nil {
				return nil, 0, invalid("task %.40q comes after %.40q, which is neither a key of this plan nor a task's id", t.Key, name)
			}
			d.DependsOn = append(d.DependsOn, id)
		}
		if t.Within != "" {
			if j, ok := index[t.Within]; ok {
				d.within = j + 1
			} else if id, err := ParseID(t.Within); err == nil {
				d.Parent = id
			} else {
				return nil, 0, invalid("task %.40q is part of %.40q, which is neither a key of this plan nor a task's id", t.Key, t.Within)
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
	key := func(i int) string { return p.Tasks[i].Key }
	longest, err := chain(len(drafts), key, func(i int) []int { return drafts[i].after })
	if err != nil {
		return nil, 0, err
	}
	// A task waits for its parts, too.
	parts := make([][]int, len(drafts))
	for i, d := range drafts {
		if d.within > 0 {
			parts[d.within-1] = append(parts[d.within-1], i)
		}
	}
	_, err = chain(len(drafts), key, func(i int) []int { return slices.Concat(drafts[i].after, parts[i]) })
	return drafts, longest, err
}

// chain measures the longest way through n things, each of which comes after those
// that next gives, or names a circle among them.
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
				circle := path[slices.Index(path, j):]
				names := make([]string, 0, len(circle)+1)
				for _, k := range circle {
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

// SplitList reads a list that models write either as an array or as one text with
// commas.
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
