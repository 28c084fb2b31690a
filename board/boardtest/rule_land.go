package boardtest

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/bossman-dev/bossman/board"
)

// object returns the full name of an object of git.
func object(n int) string { return fmt.Sprintf("%040x", n) }

// tipped returns a report whose work is commit n.
func tipped(n int) func(*board.Report) {
	return func(r *board.Report) {
		r.Tip = board.Tip{Commit: object(n), Tree: object(n + 1000), Base: object(1)}
	}
}

// landing makes the project land its work on main.
func (f *fixture) landing() {
	f.Helper()
	f.ok(f.board.SetLand(f.ctx, ada, project, "main"))
}

// A lander is a process that lands work.
type lander struct {
	f     *fixture
	actor board.Actor
	lease board.Lease
}

// lander returns a process that has the lease of main.
func (f *fixture) lander(name string) *lander {
	f.Helper()
	l := &lander{f: f, actor: board.Actor{Principal: "local", Owner: board.ProcessPrefix + name}}
	var err error
	l.lease, err = f.board.Lead(f.ctx, l.actor, board.Lease{Project: project, Target: "main", Holder: name})
	f.ok(err)
	return l
}

// item is the item of a task whose tip is commit n.
func (f *fixture) item(id board.ID, n int) board.Item {
	f.Helper()
	return board.Item{Task: id, Attempt: f.get(id).Task.Attempt, Tip: object(n)}
}

// begin announces a move of the target from commit 1 to commit to.
func (l *lander) begin(to int, items ...board.Item) (board.Intent, error) {
	return l.f.board.BeginLand(l.f.ctx, l.actor, l.lease, object(1), object(to), items)
}

// land lands items, which must succeed.
func (l *lander) land(to int, items ...board.Item) []board.Outcome {
	l.f.Helper()
	i, err := l.begin(to, items...)
	l.f.ok(err)
	out, err := l.f.board.Landed(l.f.ctx, l.actor, l.lease, i.ID, nil)
	l.f.ok(err)
	return out
}

// queued creates a task whose work is commit n and waits for its landing.
func (f *fixture) queued(n int, more ...func(*board.NewTask)) board.ID {
	f.Helper()
	id := f.create(fmt.Sprintf("task %d", n), more...)
	x := f.agent(fmt.Sprintf("worker of %v", id))
	x.done(x.take(id, wishing(id)), tipped(n))
	f.status(id, board.Landing)
	return id
}

// again does a task that was returned once more.
func (f *fixture) again(id board.ID, n int) {
	f.Helper()
	x := f.agent(fmt.Sprintf("worker %d of %v", n, id))
	x.done(x.take(id, wishing(id)), tipped(n))
	f.status(id, board.Landing)
}

// endLease lets the lease of the target end.
func (f *fixture) endLease() {
	f.Helper()
	f.write(func(tx board.Tx) error {
		l, err := tx.Lander(project, "main")
		if err != nil {
			return err
		}
		l.Until = l.Until.Add(-2 * board.LeaseTime)
		return tx.PutLander(l)
	})
}

// transfer exports the project and imports it into another one.
func (f *fixture) transfer(to string) board.Imported {
	f.Helper()
	var lines [][]byte
	f.ok(f.board.Export(f.ctx, project, func(line []byte) error {
		lines = append(lines, bytes.Clone(line))
		return nil
	}))
	got, err := f.board.Import(f.ctx, ada, to, func(yield func([]byte, error) bool) {
		for _, line := range lines {
			if !yield(line, nil) {
				return
			}
		}
	}, nil)
	f.ok(err)
	return got
}

var ruleLanding = group{"accepted work lands", []test{
	{"a report waits for its landing, and only then frees what depends on it", func(f *fixture) {
		f.landing()
		whole := f.create("whole", accepting("a"))
		id := f.create("a", within(whole))
		next := f.create("b", after(id))
		x, y := f.agent("x"), f.agent("y")
		h := x.take(id)
		out := x.done(h, tipped(7))
		f.equal("report", words(out.Status, ids(out.Freed)), words("landing", ""))
		e := f.last(id)
		f.equal("event", words(e.Kind, e.From, e.To, e.Detail.Text), "landing in_progress landing It works.")
		d := f.get(id)
		f.equal("claim", d.Claim == nil, true)
		f.equal("tip", d.Doc.Result.Tip, board.Tip{Commit: object(7), Tree: object(1007), Base: object(1)})
		f.equal("the whole", f.get(whole).Task.OpenChildren, 1)
		y.nothing()
		f.equal("the report again", words(x.done(h, tipped(8)).Again, f.get(id).Doc.Result.Tip.Commit), words(true, object(7)))
		l := f.lander("l")
		landed := l.land(9, f.item(id, 7))
		f.equal("landed", words(landed[0].Task, landed[0].Status, ids(landed[0].Freed)), words(id, "done", ids([]board.ID{next, whole})))
		e = f.last(id)
		f.equal("event", words(e.Kind, e.From, e.To, e.Detail.Commit), words("landed landing done", object(9)))
		f.equal("result", words(f.get(id).Doc.Result.Summary, f.get(id).Doc.Result.Landed), words("It works.", object(9)))
		x.take(next)
	}},
	{"what changed nothing, or of which no commit is known, is done at once", func(f *fixture) {
		f.landing()
		a, b := f.create("a"), f.create("b")
		x := f.agent("x")
		f.equal("without a tip", x.done(x.take(a)).Status, board.Done)
		f.equal("without changes", x.done(x.take(b), tipped(7), func(r *board.Report) { r.NoChanges = true }).Status, board.Done)
		f.equal("kept", f.get(b).Doc.Result.NoChanges, true)
	}},
	{"a project that does not land is done at once", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		f.equal("report", x.done(x.take(id), tipped(7)).Status, board.Done)
	}},
	{"a task that waits for its landing gets no more parts, and nothing else that would delay it", func(f *fixture) {
		f.landing()
		a, b := f.create("a"), f.create("b")
		x := f.agent("x")
		f.equal("report", x.done(x.take(a), tipped(7)).Status, board.Landing)
		_, _, err := f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "part", Parent: a, Priority: board.Normal}, "")
		f.is("a new part", err, board.ErrConflict)
		_, err = f.board.Update(f.ctx, ada, b, board.Edit{Parent: &a})
		f.is("a task that is made a part", err, board.ErrConflict)
		_, err = f.board.Update(f.ctx, ada, a, board.Edit{DependsOn: &[]board.ID{b}})
		f.is("another dependency", err, board.ErrConflict)
		_, err = f.board.Update(f.ctx, ada, a, board.Edit{Hold: new(true)})
		f.is("a draft", err, board.ErrConflict)
		_, err = f.board.Update(f.ctx, ada, a, board.Edit{Priority: new(board.Urgent)})
		f.ok(err)
		_, err = f.board.Return(f.ctx, ada, a, board.Return{Kind: board.ReturnAsked})
		f.ok(err)
		f.create("part", within(a))
	}},
	{"what a review accepts waits for its landing", func(f *fixture) {
		f.landing()
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		p, err := f.board.Project(f.ctx, project)
		f.ok(err)
		f.equal("the target is kept", p.Land, "main")
		a, b := f.create("a"), f.create("b")
		x, y := f.agent("x"), f.agent("y")
		f.equal("report", x.done(x.take(a), tipped(7)).Status, board.InReview)
		h, err := y.try(func(w *board.Wish) { w.Reviews = []string{project} })
		f.ok(err)
		f.equal("review", words(h.Claim.IsReview(), h.Task.ID), words(true, a))
		out, err := f.board.Review(f.ctx, y.actor, a, board.Decision{Verdict: board.Accept, Claim: h.Claim.Handle})
		f.ok(err)
		f.equal("accepted", out.Status, board.Landing)
		f.equal("event", words(f.last(a).Kind, f.last(a).To), "accepted landing")
		x.done(x.take(b))
		out, err = f.board.Review(f.ctx, ada, b, board.Decision{Verdict: board.Accept})
		f.ok(err)
		f.equal("accepted without a commit", out.Status, board.Done)
	}},
	{"a tip has the full names of objects", func(f *fixture) {
		f.landing()
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		for _, tip := range []board.Tip{
			{Commit: "7"},
			{Commit: object(7)},
			{Tree: object(7)},
			{Commit: object(7)[1:], Tree: object(7)[1:]},
			{Commit: object(7), Tree: object(8), Base: "main"},
			{Commit: strings.ToUpper(fmt.Sprintf("%040x", 0xabc)), Tree: object(8)},
			{Commit: object(7), Tree: strings.Repeat("a", 64)},
			{Commit: "--upload-pack=" + object(7)[14:], Tree: object(8)},
		} {
			_, err := x.report(h, func(r *board.Report) { r.Tip = tip })
			f.is(fmt.Sprint(tip), err, board.ErrInvalid)
		}
		long := board.Tip{Commit: strings.Repeat("a", 64), Tree: strings.Repeat("b", 64)}
		f.equal("SHA-256", x.done(h, func(r *board.Report) { r.Tip = long }).Status, board.Landing)
	}},
	{"a person may mark it done, and what was reported stays", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		next := f.create("b", after(id))
		out, err := f.board.MarkDone(f.ctx, ada, id, "merged by hand", false)
		f.ok(err)
		f.equal("done", words(out.Status, ids(out.Freed), f.get(id).Doc.Result.Summary), words("done", next, "It works."))
	}},
	{"its text cannot be changed meanwhile, its priority can", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		_, err := f.board.Update(f.ctx, ada, id, board.Edit{Title: new("b")})
		f.is("an edit", err, board.ErrConflict)
		if want := "bossman land return " + id.String(); !strings.Contains(err.Error(), want) {
			f.Errorf("an edit: %v, want it to name %s", err, want)
		}
		_, err = f.board.Update(f.ctx, ada, id, board.Edit{Priority: new(board.Urgent)})
		f.ok(err)
	}},
	{"cancelling takes it out of the queue", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		_, err := f.board.Cancel(f.ctx, ada, id, "not needed", "")
		f.ok(err)
		line, err := f.board.Line(f.ctx, project)
		f.ok(err)
		f.equal("queue", len(line.Queue), 0)
	}},
	{"it is neither handed out nor released nor swept", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		f.sweep()
		f.agent("y").nothing()
		_, err := f.board.Release(f.ctx, ada, id, "")
		f.is("a release", err, board.ErrConflict)
		f.status(id, board.Landing)
	}},
	{"a question without an answer stays open when it is landed", func(f *fixture) {
		f.landing()
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		q := x.ask(h, func(n *board.NewQuestion) { n.Default = "blue" })
		x.done(h, tipped(7))
		f.lander("l").land(9, f.item(id, 7))
		q, err := f.board.Question(f.ctx, q.ID)
		f.ok(err)
		f.equal("question", q.State, board.QuestionOpen)
	}},
	{"where it lands is not changed while tasks wait for it", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		for _, target := range []string{"", "next", "origin/main"} {
			f.is(target, f.board.SetLand(f.ctx, ada, project, target), board.ErrConflict)
		}
		f.ok(f.board.SetLand(f.ctx, ada, project, "main"))
		p, err := f.board.Project(f.ctx, project)
		f.ok(err)
		f.equal("target", p.Land, "main")
		_, err = f.board.Cancel(f.ctx, ada, id, "", "")
		f.ok(err)
		f.ok(f.board.SetLand(f.ctx, ada, project, ""))
		id = f.create("b")
		x := f.agent("x")
		f.equal("report", x.done(x.take(id), tipped(7)).Status, board.Done)
	}},
	{"work that is accepted while landing is switched off is landed or done", func(f *fixture) {
		x := f.agent("x")
		for range 20 {
			f.landing()
			id := f.create("a")
			h := x.take(id)
			var wg sync.WaitGroup
			var off error
			wg.Go(func() { off = f.board.SetLand(f.ctx, ada, project, "") })
			status := x.done(h, tipped(7)).Status
			wg.Wait()
			p, err := f.board.Project(f.ctx, project)
			f.ok(err)
			switch {
			case status == board.Landing && p.Land == "main":
				f.is("switched off", off, board.ErrConflict)
				_, err := f.board.Cancel(f.ctx, ada, id, "", "")
				f.ok(err)
			case status == board.Done && p.Land == "":
				f.ok(off)
			default:
				f.Fatalf("the task is %s, and the project lands on %q", status, p.Land)
			}
		}
	}},
	{"a target that cannot be one is refused", func(f *fixture) {
		f.is("set", f.board.SetLand(f.ctx, ada, project, "-d main"), board.ErrInvalid)
		f.is("of no project", f.board.SetLand(f.ctx, ada, "none", "main"), board.ErrNotFound)
	}},
	{"why names the place in the queue, who lands, and where the work is", func(f *fixture) {
		f.landing()
		a := f.queued(7)
		id := f.create("b")
		x := f.agent("x")
		x.done(x.take(id), tipped(8), func(r *board.Report) { r.Where = board.Where{Host: "anvil", Dir: "/src"} })
		why := func() string {
			_, reasons, err := f.board.Why(f.ctx, id)
			f.ok(err)
			var texts []string
			for _, r := range reasons {
				f.equal("code", r.Code, board.WhyLanding)
				texts = append(texts, r.Text)
			}
			return strings.Join(texts, "\n")
		}
		f.equal("nobody", why(), "Its work was accepted and waits to be landed on main: it is number 2 of 2 in the queue.\n"+
			"Nobody lands on main now.\nOnly the repository that has its work can land it, which is on \"anvil\".")
		l := f.lander("ada's laptop")
		l.land(9, f.item(a, 7))
		f.equal("a lander", why(), "Its work was accepted and waits to be landed on main: it is number 1 of 1 in the queue.\n"+
			"Work is being landed on main by the lander of an agent, \"ada's laptop\".\nOnly the repository that has its work can land it, which is on \"anvil\".")
		_, err := l.begin(9, f.item(id, 8))
		f.ok(err)
		f.equal("an intent", strings.Split(why(), "\n")[0], "It is being landed on main by the lander of an agent, \"ada's laptop\".")
	}},
}}
