package boardtest

import (
	"github.com/bossman-dev/bossman/board"
)

var ruleParents = group{"parents and children", []test{
	{"a parent is not handed out while children are open, and done with the last", func(f *fixture) {
		p := f.create("p")
		next := f.create("next", after(p))
		a, b := f.create("a", within(p)), f.create("b", within(p))
		x := f.agent("x")
		x.done(x.take(a))
		f.status(p, board.Pending)
		out := x.done(x.take(b))
		f.status(p, board.Done)
		f.equal("freed", ids(out.Freed), next)
		if d := f.get(p); d.Doc.Result == nil || d.Task.DoneChildren != 2 || d.Task.OpenChildren != 0 {
			f.Errorf("parent %+v with result %v", d.Task, d.Doc.Result)
		}
	}},
	{"a parent with acceptance is handed out last", func(f *fixture) {
		p := f.create("p", accepting("all fits together"))
		a := f.create("a", within(p))
		x := f.agent("x")
		out := x.done(x.take(a))
		f.equal("freed", ids(out.Freed), p)
		x.done(x.take(p))
		f.status(p, board.Done)
	}},
	{"a grandparent is done with its last grandchild", func(f *fixture) {
		top := f.create("top")
		mid := f.create("mid", within(top))
		a := f.create("a", within(mid))
		x := f.agent("x")
		x.done(x.take(a))
		f.status(mid, board.Done)
		f.status(top, board.Done)
	}},
	{"a cancelled child does not block its parent, but does not make it done either", func(f *fixture) {
		p := f.create("p")
		a, b := f.create("a", within(p)), f.create("b", within(p))
		x := f.agent("x")
		_, err := f.board.Cancel(f.ctx, ada, a, "", board.DependentsKeep)
		f.ok(err)
		x.done(x.take(b))
		f.status(p, board.Done)

		p = f.create("p2")
		a = f.create("a2", within(p))
		_, err = f.board.Cancel(f.ctx, ada, a, "", board.DependentsKeep)
		f.ok(err)
		x.take(p)
	}},
	{"a failed child blocks its parent", func(f *fixture) {
		p := f.create("p")
		a := f.create("a", within(p), atMost(1))
		x := f.agent("x")
		x.fail(x.take(a), board.FailOther)
		x.nothing()
		_, err := f.board.Review(f.ctx, ada, a, board.Retry, "")
		f.ok(err)
		x.done(x.take(a))
		f.status(p, board.Done)
	}},
	{"a child in review counts as done when it is accepted", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		p := f.create("p")
		a := f.create("a", within(p))
		x := f.agent("x")
		x.done(x.take(a))
		f.equal("open children", f.get(p).Task.OpenChildren, 1)
		_, err := f.board.Review(f.ctx, ada, a, board.Accept, "")
		f.ok(err)
		f.status(p, board.Done)
	}},
	{"a parent does not block its children", func(f *fixture) {
		p := f.create("p", held)
		a := f.create("a", within(p))
		f.agent("x").take(a)
	}},
	{"a child moves to another parent", func(f *fixture) {
		p, q := f.create("p"), f.create("q")
		a, b := f.create("a", within(p)), f.create("b", within(p))
		_, err := f.board.Update(f.ctx, ada, a, board.Edit{Parent: &q})
		f.ok(err)
		f.equal("open children", words(f.get(p).Task.OpenChildren, f.get(q).Task.OpenChildren), "1 1")
		x := f.agent("x")
		x.done(x.take(a))
		f.status(q, board.Done)
		f.status(p, board.Pending)
		x.done(x.take(b))
		f.status(p, board.Done)
	}},
	{"a child leaves its parent", func(f *fixture) {
		p := f.create("p")
		a := f.create("a", within(p))
		_, err := f.board.Update(f.ctx, ada, a, board.Edit{Parent: new(board.ID)})
		f.ok(err)
		f.equal("open children", f.get(p).Task.OpenChildren, 0)
		x := f.agent("x")
		x.done(x.take(p))
		x.done(x.take(a))
	}},
	{"an ended parent gets no more children", func(f *fixture) {
		p := f.create("p")
		x := f.agent("x")
		x.done(x.take(p))
		_, _, err := f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "a", Parent: p}, "")
		f.is("create", err, board.ErrConflict)
	}},
	{"a parent whose children are done is done when nothing else blocks it", func(f *fixture) {
		first := f.create("first", priority(board.Low))
		p := f.create("p", after(first))
		q := f.create("q", held)
		a, b := f.create("a", within(p)), f.create("b", within(q))
		x := f.agent("x")
		x.done(x.take(a))
		x.done(x.take(b))
		f.status(p, board.Pending)
		f.status(q, board.Pending)
		x.done(x.take(first))
		f.status(p, board.Done)
		_, err := f.board.Update(f.ctx, ada, q, board.Edit{Hold: new(false)})
		f.ok(err)
		f.status(q, board.Done)
	}},
	{"a plan creates parents and children", func(f *fixture) {
		out, err := f.board.CreatePlan(f.ctx, ada, board.Plan{Project: project, Goal: "a shop", Tasks: []board.PlanTask{
			{Key: "shop", NewTask: board.NewTask{Title: "shop"}},
			{Key: "db", Within: "shop", NewTask: board.NewTask{Title: "db"}},
			{Key: "api", Within: "shop", After: []string{"db"}, NewTask: board.NewTask{Title: "api"}},
		}})
		f.ok(err)
		shop, db, api := out.Tasks[0], out.Tasks[1], out.Tasks[2]
		f.equal("ready", words(shop.Ready, db.Ready, api.Ready, out.Longest), "false true false 2")
		x := f.agent("x")
		x.done(x.take(db.ID))
		x.done(x.take(api.ID))
		f.status(shop.ID, board.Done)
	}},
	{"a dry run of a plan creates nothing and answers the same", func(f *fixture) {
		old := f.create("old")
		p := board.Plan{Project: project, DryRun: true, Tasks: []board.PlanTask{
			{Key: "a", NewTask: board.NewTask{Title: "a"}},
			{Key: "b", After: []string{"a", old.String()}, NewTask: board.NewTask{Title: "b"}},
			{Key: "c", Within: "a", NewTask: board.NewTask{Title: "c"}},
		}}
		dry, err := f.board.CreatePlan(f.ctx, ada, p)
		f.ok(err)
		f.tasks(1)
		p.DryRun = false
		wet, err := f.board.CreatePlan(f.ctx, ada, p)
		f.ok(err)
		for i := range wet.Tasks {
			f.equal("ready "+wet.Tasks[i].Key, dry.Tasks[i].Ready, wet.Tasks[i].Ready)
		}
		p.Tasks[0].After = []string{"web-999"}
		p.DryRun = true
		_, err = f.board.CreatePlan(f.ctx, ada, p)
		f.is("a dry run after no task", err, board.ErrNotFound)
	}},
	{"a plan on hold is started task by task", func(f *fixture) {
		out, err := f.board.CreatePlan(f.ctx, ada, board.Plan{Project: project, Hold: true, Tasks: []board.PlanTask{
			{Key: "a", NewTask: board.NewTask{Title: "a"}}, {Key: "b", NewTask: board.NewTask{Title: "b"}},
		}})
		f.ok(err)
		x := f.agent("x")
		x.nothing()
		_, err = f.board.Update(f.ctx, ada, out.Tasks[1].ID, board.Edit{Hold: new(false)})
		f.ok(err)
		f.equal("events", f.kinds(out.Tasks[1].ID), "created started")
		x.take(out.Tasks[1].ID)
	}},
}}
