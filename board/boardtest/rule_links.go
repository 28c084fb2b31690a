package boardtest

import (
	"errors"
	"strings"
	"sync"

	"github.com/bossman-dev/bossman/board"
)

var ruleLinks = group{"dependencies", []test{
	{"a task is ready when all its blockers are done", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		c := f.create("c", after(a, b))
		x := f.agent("x")
		out := x.done(x.take(a))
		f.equal("freed by a", len(out.Freed), 0)
		out = x.done(x.take(b))
		f.equal("freed by b", ids(out.Freed), c)
		f.equal("events", f.kinds(c), "created unblocked unblocked")
		x.take(c)
	}},
	{"a done task does not block", func(f *fixture) {
		a := f.create("a")
		x := f.agent("x")
		x.done(x.take(a))
		b := f.create("b", after(a))
		x.take(b)
	}},
	{"a failed or cancelled task keeps its dependents blocked", func(f *fixture) {
		a, b := f.create("a", atMost(1)), f.create("b")
		c, d := f.create("c", after(a)), f.create("d", after(b))
		x := f.agent("x")
		x.fail(x.take(a), board.FailOther)
		_, err := f.board.Cancel(f.ctx, ada, b, "", board.DependentsKeep)
		f.ok(err)
		x.nothing()
		e := f.create("e", after(a, b)) // what is made later, too
		f.equal("blockers", f.get(e).Task.OpenBlockers, 2)
		f.create("g", after(f.create("alive")))
		stuck, err := f.board.List(f.ctx, board.TaskFilter{Projects: []string{project}, Stuck: true})
		f.ok(err)
		f.equal("stuck", taskIDs(stuck), words(c, d, e))
		for _, id := range []board.ID{c, d} {
			f.equal("blockers", f.get(id).Task.OpenBlockers, 1)
			_, why, err := f.board.Why(f.ctx, id)
			f.ok(err)
			f.equal("why", why[0].Code, board.WhyBlocked)
		}
	}},
	{"links change with an edit", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		c := f.create("c", after(a))
		_, err := f.board.Update(f.ctx, ada, c, board.Edit{DependsOn: &[]board.ID{b, b}})
		f.ok(err)
		f.equal("blockers", taskIDs(f.get(c).Blockers), b)
		x := f.agent("x")
		x.done(x.take(a))
		f.equal("open blockers", f.get(c).Task.OpenBlockers, 1)
		got, err := f.board.Update(f.ctx, ada, c, board.Edit{DependsOn: &[]board.ID{a}})
		f.ok(err)
		f.equal("open blockers, now after a done one", got.OpenBlockers, 0)
		x.take(b)
		f.agent("y").take(c)
	}},
	{"removing the last blocker frees the task", func(f *fixture) {
		a := f.create("a", held)
		b := f.create("b", after(a))
		x := f.agent("x")
		x.nothing()
		_, err := f.board.Update(f.ctx, ada, b, board.Edit{DependsOn: &[]board.ID{}})
		f.ok(err)
		x.take(b)
	}},
	{"a cycle is refused with its path", func(f *fixture) {
		a := f.create("a")
		b := f.create("b", after(a))
		c := f.create("c", after(b))
		for _, tc := range []struct {
			task board.ID
			deps []board.ID
			want string
		}{
			{a, []board.ID{c}, words(a, c, b, a)},
			{a, []board.ID{b}, words(a, b, a)},
			{a, []board.ID{a}, words(a, a)},
		} {
			_, err := f.board.Update(f.ctx, ada, tc.task, board.Edit{DependsOn: &tc.deps})
			f.cycleIs(err, tc.want)
		}
		f.equal("blockers of a", f.get(a).Task.OpenBlockers, 0)
		f.equal("events of a", f.kinds(a), "created")
	}},
	{"a cycle in a plan is refused with its path", func(f *fixture) {
		_, err := f.board.CreatePlan(f.ctx, ada, board.Plan{Project: project, Tasks: []board.PlanTask{
			{Key: "a", After: []string{"c"}, NewTask: board.NewTask{Title: "a"}},
			{Key: "b", After: []string{"a"}, NewTask: board.NewTask{Title: "b"}},
			{Key: "c", After: []string{"b"}, NewTask: board.NewTask{Title: "c"}},
			{Key: "d", NewTask: board.NewTask{Title: "d"}},
		}})
		f.cycleIs(err, "a c b a")
		f.tasks(0)
	}},
	{"an edit is judged by the links that it leads to", func(f *fixture) {
		p, x := f.create("p"), f.create("x")
		child := f.create("child", func(n *board.NewTask) { n.Parent = p })
		dep := f.create("dep", after(x))
		// It no longer is a part of p, nor waits for x, when it waits for p and has x as a part.
		_, err := f.board.Update(f.ctx, ada, child, board.Edit{Parent: &board.ID{}, DependsOn: &[]board.ID{p}})
		f.ok(err)
		_, err = f.board.Update(f.ctx, ada, dep, board.Edit{Parent: &x, DependsOn: &[]board.ID{}})
		f.ok(err)
		f.equal("blockers", words(f.get(child).Task.OpenBlockers, f.get(dep).Task.OpenBlockers), "1 0")
		// p waits for its new part, which must not wait for what waits for p.
		y := f.create("y", after(p))
		z := f.create("z")
		_, err = f.board.Update(f.ctx, ada, z, board.Edit{Parent: &p, DependsOn: &[]board.ID{y}})
		if _, ok := errors.AsType[*board.CycleError](err); !ok {
			f.Errorf("a part of p after y, which depends on p: %v, want a *CycleError", err)
		}
		// What it inherited goes with its old parent.
		q := f.create("q", after(z))
		part := f.create("part", func(n *board.NewTask) { n.Parent = q })
		f.equal("inherited", f.get(part).Task.OpenBlockers, 1)
		_, err = f.board.Update(f.ctx, ada, part, board.Edit{Parent: &z})
		f.ok(err)
		f.equal("inherited from the new parent", f.get(part).Task.OpenBlockers, 0)
	}},
	{"a cycle of parents is refused", func(f *fixture) {
		a := f.create("a")
		b := f.create("b", within(a))
		c := f.create("c", within(b))
		for _, parent := range []board.ID{a, b, c} {
			_, err := f.board.Update(f.ctx, ada, a, board.Edit{Parent: &parent})
			if _, ok := errors.AsType[*board.CycleError](err); !ok {
				f.Errorf("%v as part of %v: %v, want a *CycleError", a, parent, err)
			}
		}
		_, err := f.board.CreatePlan(f.ctx, ada, board.Plan{Project: project, Tasks: []board.PlanTask{
			{Key: "a", Within: "b", NewTask: board.NewTask{Title: "a"}},
			{Key: "b", Within: "a", NewTask: board.NewTask{Title: "b"}},
		}})
		if _, ok := errors.AsType[*board.CycleError](err); !ok {
			f.Errorf("two tasks as parts of each other: %v, want a *CycleError", err)
		}
	}},
	{"a child that depends on its own parent is refused", func(f *fixture) {
		// The parent waits for its children, so neither would ever be handed out.
		a := f.create("a")
		_, _, err := f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "b", Parent: a, DependsOn: []board.ID{a}}, "")
		f.cycle("create", err)
		b := f.create("b", within(a))
		_, err = f.board.Update(f.ctx, ada, b, board.Edit{DependsOn: &[]board.ID{a}})
		f.cycle("a link", err)
		c := f.create("c", after(a))
		_, err = f.board.Update(f.ctx, ada, b, board.Edit{DependsOn: &[]board.ID{c}})
		f.cycle("a link in two steps", err)
		_, err = f.board.Update(f.ctx, ada, c, board.Edit{Parent: &a})
		f.cycle("a parent", err)
		_, err = f.board.CreatePlan(f.ctx, ada, board.Plan{Project: project, Tasks: []board.PlanTask{
			{Key: "a", NewTask: board.NewTask{Title: "a"}},
			{Key: "b", Within: "a", After: []string{"a"}, NewTask: board.NewTask{Title: "b"}},
		}})
		f.cycle("a plan", err)
		_, err = f.board.CreatePlan(f.ctx, ada, board.Plan{Project: project, Tasks: []board.PlanTask{
			{Key: "p", Within: a.String(), After: []string{"q"}, NewTask: board.NewTask{Title: "p"}},
			{Key: "q", After: []string{c.String()}, NewTask: board.NewTask{Title: "q"}},
		}})
		f.cycle("a plan under an old task", err)
		f.tasks(3)
	}},
	{"links stay inside a project", func(f *fixture) {
		f.project(board.Project{Slug: "api"})
		other := f.create("other", func(n *board.NewTask) { n.Project = "api" })
		a := f.create("a")
		for name, n := range map[string]board.NewTask{
			"a link": {Project: project, Title: "b", DependsOn: []board.ID{other}}, "a parent": {Project: project, Title: "b", Parent: other},
		} {
			_, _, err := f.board.Create(f.ctx, ada, n, "")
			f.is(name, err, board.ErrInvalid)
		}
		_, err := f.board.Update(f.ctx, ada, a, board.Edit{DependsOn: &[]board.ID{other}})
		f.is("an edit of links", err, board.ErrInvalid)
		_, err = f.board.Update(f.ctx, ada, a, board.Edit{Parent: &other})
		f.is("an edit of the parent", err, board.ErrInvalid)
	}},
	{"cancel keeps, unblocks or cancels the dependents", func(f *fixture) {
		x := f.agent("x")
		for _, how := range []board.Dependents{board.DependentsKeep, board.DependentsUnblock, board.DependentsCancel} {
			a := f.create("a")
			b := f.create("b", after(a))
			c := f.create("c", after(b))
			gone, err := f.board.Cancel(f.ctx, ada, a, "no more", how)
			f.ok(err)
			switch how {
			case board.DependentsKeep:
				f.equal("cancelled", ids(gone), a)
				f.equal("open blockers of b", f.get(b).Task.OpenBlockers, 1)
				x.nothing()
			case board.DependentsUnblock:
				f.equal("cancelled", ids(gone), a)
				x.done(x.take(b))
				x.done(x.take(c))
			case board.DependentsCancel:
				f.equal("cancelled", len(gone), 3)
				f.status(c, board.Cancelled)
			}
		}
		_, err := f.board.Cancel(f.ctx, ada, f.create("d"), "", "whatever")
		f.is("an unknown word for the dependents", err, board.ErrInvalid)
	}},
	{"cancelling a task in progress needs a reason", func(f *fixture) {
		a := f.create("a")
		x := f.agent("x")
		h := x.take(a)
		_, err := f.board.Cancel(f.ctx, ada, a, "", board.DependentsKeep)
		f.is("cancel without a reason", err, board.ErrInvalid)
		_, err = f.board.Cancel(f.ctx, ada, a, "no more", board.DependentsKeep)
		f.ok(err)
		_, err = x.report(h)
		lost := f.lost("done", err, true)
		f.equal("task", lost.Task.Status, board.Cancelled)
		x.nothing()
	}},
	{"links added while their tasks finish leave no wrong count", func(f *fixture) {
		for range 5 {
			a, b := f.create("a"), f.create("b", held)
			x := f.agent("x")
			h := x.take(a)
			var wg sync.WaitGroup
			wg.Go(func() { x.report(h) })
			wg.Go(func() { f.board.Update(f.ctx, ada, b, board.Edit{DependsOn: &[]board.ID{a}}) })
			wg.Go(func() {
				f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "c", Hold: true, DependsOn: []board.ID{a}}, "")
			})
			wg.Wait()
			if got := f.get(a).Task.Status; got != board.Done {
				f.Fatalf("a is %s, want done", got)
			}
			f.equal("open blockers of b", f.get(b).Task.OpenBlockers, 0)
		}
	}},
	{"two concurrent edits cannot form a cycle", func(f *fixture) {
		for range 5 {
			// a depends on b and c on d; the two edits have no task in common.
			b, d := f.create("b", held), f.create("d", held)
			a, c := f.create("a", held, after(b)), f.create("c", held, after(d))
			var wg sync.WaitGroup
			errs := make([]error, 2)
			wg.Go(func() { _, errs[0] = f.board.Update(f.ctx, ada, b, board.Edit{DependsOn: &[]board.ID{c}}) })
			wg.Go(func() { _, errs[1] = f.board.Update(f.ctx, ada, d, board.Edit{DependsOn: &[]board.ID{a}}) })
			wg.Wait()
			if (errs[0] == nil) == (errs[1] == nil) {
				f.Fatalf("two concurrent links that form a cycle: %v and %v, want one refused", errs[0], errs[1])
			}
		}
	}},
}}

// cycleIs fails the test unless err is a *CycleError with this path.
func (f *fixture) cycleIs(err error, want string) {
	f.Helper()
	c, ok := errors.AsType[*board.CycleError](err)
	if !ok || !errors.Is(err, board.ErrConflict) {
		f.Fatalf("error %v, want a *CycleError", err)
	}
	f.equal("path", strings.Join(c.Path, " "), want)
}

// cycle fails the test unless err is a *CycleError whose path ends where it begins.
func (f *fixture) cycle(what string, err error) {
	f.Helper()
	c, ok := errors.AsType[*board.CycleError](err)
	if !ok {
		f.Errorf("%s: error %v, want a *CycleError", what, err)
		return
	}
	if n := len(c.Path); n < 2 || c.Path[0] != c.Path[n-1] {
		f.Errorf("%s: path %v, want a cycle", what, c.Path)
	}
}
