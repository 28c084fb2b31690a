package boardtest

import (
	"errors"
	"sync"

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
	{"a person's task is handed out last if an agent decided what its parts are", func(f *fixture) {
		p := f.create("p")
		x := f.agent("x")
		part, _, err := f.board.Create(f.ctx, x.actor, board.NewTask{Project: project, Title: "look at it", Parent: p, Priority: board.Normal}, "")
		f.ok(err)
		out := x.done(x.take(part.ID))
		f.equal("freed", ids(out.Freed), p)
		f.status(p, board.Pending)
		x.done(x.take(p))
		f.status(p, board.Done)
	}},
	{"a task that an agent wrote is done with its last part", func(f *fixture) {
		x := f.agent("x")
		p, _, err := f.board.Create(f.ctx, x.actor, board.NewTask{Project: project, Title: "p", Priority: board.Normal}, "")
		f.ok(err)
		a := f.create("a", within(p.ID))
		x.done(x.take(a))
		f.status(p.ID, board.Done)
	}},
	{"an agent does not make a person's task a part of another", func(f *fixture) {
		p, a := f.create("p"), f.create("a")
		_, err := f.board.Update(f.ctx, f.agent("x").actor, a, board.Edit{Parent: &p})
		f.is("parent by an agent", err, board.ErrDenied)
		_, err = f.board.Update(f.ctx, ada, a, board.Edit{Parent: &p})
		f.ok(err)
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
		x.done(x.take(p))

		p = f.create("p2")
		a = f.create("a2", within(p))
		_, err = f.board.Cancel(f.ctx, ada, a, "", board.DependentsKeep)
		f.ok(err)
		x.take(p)
	}},
	{"a task that was worked on is handed out again when its parts are done", func(f *fixture) {
		x := f.agent("x")
		p, _, err := f.board.Create(f.ctx, x.actor, board.NewTask{Project: project, Title: "p", Priority: board.Normal}, "")
		f.ok(err)
		x.fail(x.take(p.ID), board.FailOther)
		part, _, err := f.board.Create(f.ctx, x.actor, board.NewTask{Project: project, Title: "part", Parent: p.ID, Priority: board.Normal}, "")
		f.ok(err)
		out := x.done(x.take(part.ID))
		f.equal("freed", ids(out.Freed), p.ID)
		f.status(p.ID, board.Pending)
		x.take(p.ID)
	}},
	{"a task is not done while its parts or what it depends on are open", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		x, y := f.agent("x"), f.agent("y")
		p := f.create("p")
		h := x.take(p)
		part := f.create("part", within(p))
		first := f.create("first")
		_, err := f.board.Update(f.ctx, ada, p, board.Edit{DependsOn: &[]board.ID{first}})
		f.ok(err)
		want := words(part.String()+" is open: it is a part of", p.String()+".", first, "is not done:", p, "depends on it.")
		n, err := f.board.Progress(f.ctx, x.actor, h, board.Note{Text: "n"})
		f.ok(err)
		f.equal("news", n.Unfinished.Why(), want)
		_, err = x.report(h)
		unfinished, ok := errors.AsType[*board.UnfinishedError](err)
		if !ok {
			f.Fatalf("done: %v, want an *UnfinishedError", err)
		}
		f.equal("why", unfinished.Why(), want)
		accept := func(id board.ID) error {
			_, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Accept})
			return err
		}
		y.done(y.take(first))
		f.ok(accept(first))
		y.done(y.take(part))
		f.ok(accept(part))
		x.done(h)
		other := f.create("other")
		_, _, err = f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "late", Parent: p}, "")
		f.is("a part of a task in review", err, board.ErrConflict)
		_, err = f.board.Update(f.ctx, ada, other, board.Edit{Parent: &p})
		f.is("a task moved into one in review", err, board.ErrConflict)
		_, err = f.board.Update(f.ctx, ada, p, board.Edit{DependsOn: &[]board.ID{first, other}})
		f.is("what a task in review depends on", err, board.ErrConflict)
		f.ok(accept(p))
		q := f.create("q")
		late := f.create("late", within(q))
		out, err := f.board.MarkDone(f.ctx, ada, q, "", true)
		f.ok(err)
		f.equal("done by hand", words(out.Status, out.Unfinished.Why()), words("done", late, "is open: it is a part of", q.String()+"."))
	}},
	{"a failed child blocks its parent", func(f *fixture) {
		p := f.create("p")
		a := f.create("a", within(p), atMost(1))
		x := f.agent("x")
		x.fail(x.take(a), board.FailOther)
		x.nothing()
		_, err := f.board.Review(f.ctx, ada, a, board.Decision{Verdict: board.Retry})
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
		_, err := f.board.Review(f.ctx, ada, a, board.Decision{Verdict: board.Accept})
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
		p := f.create("p")
		q := f.create("q", held)
		a, b := f.create("a", within(p)), f.create("b", within(q))
		x := f.agent("x")
		h := x.take(a)
		_, err := f.board.Update(f.ctx, ada, p, board.Edit{DependsOn: &[]board.ID{first}})
		f.ok(err)
		x.done(h)
		x.done(x.take(b))
		f.status(p, board.Pending)
		f.status(q, board.Pending)
		x.done(x.take(first))
		f.status(p, board.Done)
		_, err = f.board.Update(f.ctx, ada, q, board.Edit{Hold: new(false)})
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
	{"children wait for everything that their parent depends on", func(f *fixture) {
		first := f.create("first")
		p := f.create("p", after(first))
		a := f.create("a", within(p))
		inner := f.create("inner", within(a))
		x := f.agent("x")
		h := x.take(first)
		x2 := f.agent("x2")
		x2.nothing()
		_, reasons, err := f.board.Why(f.ctx, a)
		f.ok(err)
		f.equal("why", words(reasons[0].Code, reasons[0].Text), words("blocked It is a part of", p.String()+",", "which depends on", first, `("first"), which is in progress.`))
		out := x.done(h)
		f.equal("freed", ids(out.Freed), inner)
		x.done(x.take(inner))
		f.status(p, board.Done)
	}},
	{"children of a plan wait for what their parent comes after, in a dry run too", func(f *fixture) {
		old := f.create("old", priority(board.Urgent))
		p := board.Plan{Project: project, DryRun: true, Tasks: []board.PlanTask{
			{Key: "schema", NewTask: board.NewTask{Title: "schema"}},
			{Key: "api", After: []string{"schema", old.String()}, NewTask: board.NewTask{Title: "api"}},
			{Key: "in", Within: "api", NewTask: board.NewTask{Title: "in"}},
			{Key: "deep", Within: "in", NewTask: board.NewTask{Title: "deep"}},
		}}
		for _, dry := range []bool{true, false} {
			p.DryRun = dry
			out, err := f.board.CreatePlan(f.ctx, ada, p)
			f.ok(err)
			ready := ""
			for _, t := range out.Tasks {
				if t.Ready {
					ready += t.Key
				}
			}
			f.equal("ready, longest", words(ready, out.Longest), "schema 2")
			if !dry {
				deep := out.Tasks[3].ID
				f.equal("blockers of deep", f.get(deep).Task.OpenBlockers, 2)
				x := f.agent("x")
				x.done(x.take(old))
				x.done(x.take(out.Tasks[0].ID))
				x.done(x.take(deep))
				f.status(out.Tasks[1].ID, board.Done)
			}
		}
		blocker := f.create("blocker")
		parent := f.create("parent", after(blocker))
		more := board.Plan{Project: project, DryRun: true, Tasks: []board.PlanTask{{Key: "k", Within: parent.String(), NewTask: board.NewTask{Title: "k"}}}}
		out, err := f.board.CreatePlan(f.ctx, ada, more)
		f.ok(err)
		f.equal("ready under an existing parent", out.Tasks[0].Ready, false)
	}},
	{"a dependency that is added to a parent later holds up its children, and one that goes frees them", func(f *fixture) {
		first, second := f.create("first"), f.create("second")
		p := f.create("p")
		a := f.create("a", within(p))
		own := f.create("own", within(p), after(first))
		inner := f.create("inner", within(a))
		deps := func(of board.ID, on ...board.ID) {
			f.Helper()
			_, err := f.board.Update(f.ctx, ada, of, board.Edit{DependsOn: &on})
			f.ok(err)
		}
		open := func(want string) {
			f.Helper()
			f.equal("open blockers", words(f.get(a).Task.OpenBlockers, f.get(inner).Task.OpenBlockers, f.get(own).Task.OpenBlockers), want)
		}
		deps(p, first, second)
		open("2 2 2")
		deps(a) // an edit of its own links leaves what it inherits
		open("2 2 2")
		deps(p)
		open("0 0 1") // its own link stays
		deps(p, first)
		open("1 1 1")
		deps(own) // it still inherits the same
		open("1 1 1")
		// Another parent, other links.
		_, err := f.board.Update(f.ctx, ada, a, board.Edit{Parent: new(board.ID)})
		f.ok(err)
		open("0 0 1")
		_, err = f.board.Update(f.ctx, ada, a, board.Edit{Parent: &p})
		f.ok(err)
		open("1 1 1")
		x := f.agent("x")
		x.done(x.take(first))
		open("0 0 0")
	}},
	{"a parent that depends on its own parts does not block them", func(f *fixture) {
		p := f.create("p")
		a, b := f.create("a", within(p)), f.create("b", within(p))
		_, err := f.board.Update(f.ctx, ada, p, board.Edit{DependsOn: &[]board.ID{a}})
		f.ok(err)
		f.equal("open blockers", words(f.get(a).Task.OpenBlockers, f.get(b).Task.OpenBlockers), "0 0")
		out, err := f.board.CreatePlan(f.ctx, ada, board.Plan{Project: project, Tasks: []board.PlanTask{
			{Key: "p", After: []string{"a", "b"}, NewTask: board.NewTask{Title: "p"}},
			{Key: "a", Within: "p", NewTask: board.NewTask{Title: "a"}},
			{Key: "b", Within: "p", NewTask: board.NewTask{Title: "b"}},
		}})
		f.ok(err)
		f.equal("ready in a plan", words(out.Tasks[0].Ready, out.Tasks[1].Ready, out.Tasks[2].Ready), "false true true")
	}},
	{"a task that a child is needed for cannot come before its parent", func(f *fixture) {
		p := f.create("p")
		child := f.create("child", within(p))
		needs := f.create("needs", after(child))
		_, err := f.board.Update(f.ctx, ada, p, board.Edit{DependsOn: &[]board.ID{needs}})
		f.cycle("p after needs", err)
		f.equal("nothing changed", f.get(child).Task.OpenBlockers, 0)
		_, err = f.board.CreatePlan(f.ctx, ada, board.Plan{Project: project, Tasks: []board.PlanTask{
			{Key: "p", After: []string{"needs"}, NewTask: board.NewTask{Title: "p"}},
			{Key: "child", Within: "p", NewTask: board.NewTask{Title: "child"}},
			{Key: "needs", After: []string{"child"}, NewTask: board.NewTask{Title: "needs"}},
		}})
		f.cycle("the same in a plan", err)
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
	{"a plan that was read from a file before adds only what is new", func(f *fixture) {
		item := func(key string, after ...string) board.PlanTask {
			return board.PlanTask{Key: key, Item: "plan:" + key, After: after, NewTask: board.NewTask{Title: key}}
		}
		read := func(dry bool, tasks ...board.PlanTask) string {
			f.Helper()
			out, err := f.board.CreatePlan(f.ctx, ada, board.Plan{Project: project, DryRun: dry, Tasks: tasks})
			f.ok(err)
			var all []any
			for _, t := range out.Tasks {
				all = append(all, t.Key, t.ID.No, t.Existed, t.Ready)
			}
			return words(all...)
		}
		f.equal("first", read(false, item("a"), item("b", "a")), "a 1 false true b 2 false false")
		f.equal("again", read(false, item("a"), item("b", "a")), "a 1 true true b 2 true false")
		x := f.agent("x")
		x.done(x.take(f.get(board.ID{Project: project, No: 1}).Task.ID))
		part := item("part")
		part.Within = "b"
		f.equal("dry", read(true, item("c", "b"), item("a"), part, item("b", "a")), "c 0 false false a 1 true false part 0 false true b 2 true true")
		f.equal("edited", read(false, item("c", "b"), item("a"), part, item("b", "a")), "c 3 false false a 1 true false part 4 false true b 2 true true")
		f.equal("c depends on b", f.get(board.ID{Project: project, No: 3}).Blockers[0].ID.No, 2)
		f.tasks(4)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				_, err := f.board.CreatePlan(f.ctx, ada, board.Plan{Project: project, Tasks: []board.PlanTask{item("x"), item("y", "x")}})
				if err != nil {
					f.Error(err)
				}
			})
		}
		wg.Wait()
		f.tasks(6)
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
