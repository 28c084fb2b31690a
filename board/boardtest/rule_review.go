package boardtest

import (
	"context"
	"errors"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// reviewing lets a wish also ask for reviews.
func reviewing(w *board.Wish) { w.Reviews = []string{project} }

// onlyReviews lets it ask for nothing else.
func onlyReviews(w *board.Wish) { w.OnlyReviews = true }

// review asks for work, and must get the review of that task.
func (a *agent) review(id board.ID, more ...func(*board.Wish)) board.Handle {
	a.f.Helper()
	h := a.next(append(more, reviewing)...)
	if h.Task.ID != id || !h.Claim.IsReview() {
		a.f.Fatalf("%s: got %v, want the review of %v", a.actor.Owner, h.Claim.Handle, id)
	}
	return h.Claim.Handle
}

func decision(v board.Verdict) board.Decision { return board.Decision{Verdict: v, Note: "note"} }

// inReview creates a task in a project with the policy review and reports it as done by x.
func (f *fixture) inReview(x *agent, more ...func(*board.NewTask)) board.ID {
	f.Helper()
	f.project(board.Project{Slug: project, Policy: board.PolicyReview})
	id := f.create("a", more...)
	x.done(x.take(id))
	return id
}

var ruleReviews = group{"reviews are work", []test{
	{"what was done with commands in a shell may be any agent's of the principal", func(f *fixture) {
		x, y := f.agent(board.DirPrefix+"shell"), f.agent("y")
		id := f.inReview(x)
		y.nothing(func(w *board.Wish) { w.Reviews = []string{project} })
		_, err := f.board.Review(f.ctx, y.actor, id, board.Decision{Verdict: board.Accept})
		f.is("y's verdict", err, board.ErrDenied)
		other := y
		other.actor.Principal = "other"
		_, err = f.board.Review(f.ctx, other.actor, id, board.Decision{Verdict: board.Accept})
		f.ok(err)
	}},
	{"a review is handed out, and is not a grant", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := f.inReview(x)
		next := f.create("b", after(id))
		before := f.get(id)
		h := y.review(id)
		d := f.get(id)
		f.equal("task", words(d.Task.Status, d.Task.Attempt, d.Task.Nonce, d.Task.Failures, len(d.Attempts), d.Claim == nil),
			words(before.Task.Status, before.Task.Attempt, before.Task.Nonce, before.Task.Failures, len(before.Attempts), true))
		f.equal("review", words(d.Review.Handle, d.Review.Worker.Name), words(h, y.name))
		parsed, err := board.ParseHandle(h.String())
		f.ok(err)
		f.equal("handle", parsed, h)
		e := f.last(id)
		f.equal("event", words(e.Kind, e.Actor, e.From, e.To), words("reviewing", y.name, "review review"))
		out, err := f.board.Review(f.ctx, y.actor, id, board.Decision{Verdict: board.Accept, Claim: h})
		f.ok(err)
		f.equal("outcome", words(out.Status, ids(out.Freed)), words("done", next))
		e = f.last(id)
		f.equal("event", words(e.Kind, e.Actor, e.Detail.By), words("accepted", y.name, "agent"))
		y.take(next)
	}},
	{"a review is not handed out to one who held the task, or does not ask for reviews", func(f *fixture) {
		x, y, z := f.agent("x"), f.agent("y"), f.agent("z")
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		id := f.create("a")
		y.fail(y.take(id), board.FailOther)
		x.done(x.take(id))
		x.nothing(reviewing)
		y.nothing(reviewing)
		z.nothing()
		again := &agent{f: f, actor: x.actor, name: x.name} // another process of the same worker
		again.actor.Owner = "x2"
		f.ok(f.board.Leave(f.ctx, "x"))
		again.nothing(reviewing)
		_, err := again.try(reviewing, wishing(id))
		f.is("the wish of its worker", err, board.ErrConflict)
		f.equal("review", z.review(id, wishing(id)).Task, id)
	}},
	{"whoever acted under a claim has worked on the task", func(f *fixture) {
		x, z := f.agent("x"), f.agent("z")
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		id := f.create("a")
		h := x.take(id)
		noted, reported, asked := f.agent("noted"), f.agent("reported"), f.agent("asked")
		_, err := f.board.Progress(f.ctx, noted.actor, h, board.Note{Text: "n"})
		f.ok(err)
		q, err := f.board.Ask(f.ctx, asked.actor, board.NewQuestion{Claim: h, Text: "?", Blocking: new(false)})
		f.ok(err)
		_, err = f.board.Answer(f.ctx, noted.actor, q.ID, "yes")
		f.is("an answer of one that noted", err, board.ErrDenied)
		_, err = reported.report(h)
		f.ok(err)
		for _, a := range []*agent{noted, reported, asked} {
			a.nothing(reviewing)
			_, err := a.try(reviewing, wishing(id))
			f.is("the wish of "+a.actor.Owner, err, board.ErrConflict)
			_, err = f.board.Review(f.ctx, a.actor, id, decision(board.Accept))
			f.is("the verdict of "+a.actor.Owner, err, board.ErrDenied)
		}
		z.review(id)
	}},
	{"a review has one reviewer, who holds nothing else", func(f *fixture) {
		x, y, z := f.agent("x"), f.agent("y"), f.agent("z")
		id := f.inReview(x)
		h := y.review(id)
		f.create("b", func(n *board.NewTask) { n.Priority = board.Urgent })
		again := y.next(reviewing)
		f.equal("again", words(again.Again, again.Claim.Handle), words(true, h))
		_, err := f.board.Review(f.ctx, z.actor, id, decision(board.Accept))
		f.is("a verdict of another agent", err, board.ErrConflict)
		work := z.next(reviewing)
		f.equal("work", work.Claim.IsReview(), false)
		z.done(work.Claim.Handle)
	}},
	{"no report is accepted under the claim of a review", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := f.inReview(x)
		h := y.review(id)
		_, err := y.report(h)
		f.is("done", err, board.ErrInvalid)
		_, err = f.board.Fail(f.ctx, y.actor, h, board.Failure{Kind: board.FailOther, Reason: "r"})
		f.is("failed", err, board.ErrInvalid)
		_, err = f.board.Progress(f.ctx, y.actor, h, board.Note{Text: "n"})
		f.is("a note", err, board.ErrInvalid)
		_, err = f.board.Ask(f.ctx, y.actor, board.NewQuestion{Claim: h, Text: "?"})
		f.is("a question", err, board.ErrInvalid)
		f.status(id, board.InReview)
	}},
	{"reviews come before new work of the same priority", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := f.inReview(x)
		f.create("new")
		y.review(id)
	}},
	{"more urgent work comes before reviews", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := f.inReview(x)
		low := f.create("low")
		urgent := f.create("urgent", func(n *board.NewTask) { n.Priority = board.Urgent })
		h := y.take(urgent, reviewing)
		_, err := f.board.Fail(f.ctx, y.actor, h, board.Failure{Kind: board.FailNotNow, Reason: "r"})
		f.ok(err)
		// What is more urgent is ready again, but y does not want it; what is not comes after.
		y.take(low, reviewing)
		z := f.agent("z")
		z.take(urgent, reviewing)
		f.agent("v").review(id)
	}},
	{"what a worker has declined does not keep it from a review", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := f.inReview(x)
		urgent := f.create("urgent", func(n *board.NewTask) { n.Priority = board.Urgent })
		_, err := f.board.Fail(f.ctx, y.actor, y.take(urgent, reviewing), board.Failure{Kind: board.FailNotNow, Reason: "r"})
		f.ok(err)
		y.review(id)
	}},
	{"a review needs the skills of its task, and a project that hands out", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		f.project(board.Project{Slug: project, Policy: board.PolicyReview, Skills: []string{"go", "sql"}})
		id := f.create("a", func(n *board.NewTask) { n.Skills = []string{"sql"} })
		x.done(x.take(id))
		y.nothing(reviewing, able("go"))
		for _, p := range []board.Project{
			{Slug: project, Policy: board.PolicyReview, PausedBy: "ada", Skills: []string{"go", "sql"}},
			{Slug: project, Policy: board.PolicyReview, Archived: true, Skills: []string{"go", "sql"}},
			{Slug: project, Policy: board.PolicyPerson, Skills: []string{"go", "sql"}},
		} {
			f.project(p)
			y.nothing(reviewing)
		}
		f.project(board.Project{Slug: project, Policy: board.PolicyReview, Skills: []string{"go", "sql"}})
		y.review(id, able("go", "sql"))
	}},
	{"a review expires without a failure", func(f *fixture) {
		x, y, z := f.agent("x"), f.agent("y"), f.agent("z")
		id := f.inReview(x)
		old := y.review(id)
		f.expireReview(id)
		f.sweep()
		d := f.get(id)
		f.equal("task", words(d.Task.Status, d.Task.Failures, d.Task.Attempt, d.Review == nil), "review 0 1 true")
		e := f.last(id)
		f.equal("event", words(e.Kind, e.Detail.Worker, e.Detail.Cause), words("review_ended", y.name, "expired"))
		h := z.review(id)
		_, err := f.board.Review(f.ctx, y.actor, id, board.Decision{Verdict: board.Accept, Claim: old})
		f.is("a late verdict", err, board.ErrConflict)
		_, err = f.board.Review(f.ctx, z.actor, id, board.Decision{Verdict: board.Reject, Note: "no", Claim: h})
		f.ok(err)
		f.equal("failures", f.get(id).Task.Failures, 1)
	}},
	{"a late verdict is not applied to other work", func(f *fixture) {
		x, y, z := f.agent("x"), f.agent("y"), f.agent("z")
		id := f.inReview(x)
		old := y.review(id)
		f.expireReview(id)
		f.sweep()
		_, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Reject, Note: "no"})
		f.ok(err)
		z.done(z.take(id))
		_, err = f.board.Review(f.ctx, y.actor, id, board.Decision{Verdict: board.Accept, Claim: old})
		f.is("a verdict on the work before", err, board.ErrConflict)
		f.status(id, board.InReview)
	}},
	{"a person decides at any time", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		for name, decide := range map[string]func(id board.ID) error{
			"accept": func(id board.ID) error {
				_, err := f.board.Review(f.ctx, ada, id, decision(board.Accept))
				return err
			},
			"reject": func(id board.ID) error {
				_, err := f.board.Review(f.ctx, ada, id, decision(board.Reject))
				if err == nil {
					_, err = f.board.Cancel(f.ctx, ada, id, "c", board.DependentsKeep)
				}
				return err
			},
			"cancel": func(id board.ID) error {
				_, err := f.board.Cancel(f.ctx, ada, id, "c", board.DependentsKeep)
				return err
			},
			"done by hand": func(id board.ID) error {
				_, err := f.board.MarkDone(f.ctx, ada, id, "", true)
				return err
			},
		} {
			id := f.inReview(x)
			h := y.review(id)
			f.ok(decide(id))
			f.equal(name, f.get(id).Review == nil, true)
			_, err := f.board.Review(f.ctx, y.actor, id, board.Decision{Verdict: board.Accept, Claim: h})
			f.is("the reviewer after "+name, err, board.ErrConflict)
			y.nothing(reviewing)
		}
	}},
	{"a review is given back, released and taken from a worker that is stopped", func(f *fixture) {
		x, y, z := f.agent("x"), f.agent("y"), f.agent("z")
		id := f.inReview(x)
		_, err := f.board.Review(f.ctx, y.actor, id, decision(board.Skip))
		f.is("a skip of what nobody reviews", err, board.ErrConflict)
		y.review(id)
		_, err = f.board.Review(f.ctx, y.actor, id, decision(board.Skip))
		f.ok(err)
		y.nothing(reviewing)
		z.review(id)
		_, err = f.board.Release(f.ctx, ada, id, "enough")
		f.ok(err)
		f.equal("event", words(f.last(id).Kind, f.last(id).Detail.Cause, f.last(id).Detail.Text), "review_ended released enough")
		_, err = f.board.Release(f.ctx, ada, id, "")
		f.is("a release of what nobody reviews", err, board.ErrConflict)
		z.review(id)
		task, err := f.board.Stop(f.ctx, ada, board.WorkerID{Principal: "local", Name: z.name})
		f.ok(err)
		f.equal("stopped", task, id)
		f.equal("task", words(f.get(id).Task.Status, f.get(id).Task.Failures, f.get(id).Review == nil), "review 0 true")
	}},
	{"presence keeps a review, and leaving shortens its lease", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := f.inReview(x)
		h := y.review(id)
		held, err := f.board.Claims(f.ctx, board.ClaimFilter{Owner: "y"})
		f.ok(err)
		f.equal("claims", words(len(held), held[0].Handle), words(1, h))
		f.expireReview(id)
		_, err = f.board.Renew(f.ctx, "y", false)
		f.ok(err)
		f.sweep()
		f.equal("lease", f.get(id).Review.LeaseUntil.Sub(f.get(id).Now) > 5*time.Minute, true)
		f.ok(f.board.Leave(f.ctx, "y"))
		f.equal("lease", f.get(id).Review.LeaseUntil.Sub(f.get(id).Now) <= 2*time.Minute, true)
		back := &agent{f: f, actor: y.actor, name: y.name}
		back.actor.Owner = "y2"
		f.equal("review", words(back.review(id), f.get(id).Review.Owner), words(h, "y2"))
	}},
	{"a worker that is restarted too often loses the review", func(f *fixture) {
		x, y, z := f.agent("x"), f.agent("y"), f.agent("z")
		id := f.inReview(x)
		y.review(id)
		for range 5 {
			y.review(id)
		}
		y.nothing(reviewing)
		f.equal("task", words(f.get(id).Task.Status, f.get(id).Task.Failures), "review 0")
		z.review(id)
	}},
	{"a key is answered with the same review", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := f.inReview(x)
		first, err := f.board.Next(f.ctx, y.actor, y.wish(reviewing, keyed("k")))
		f.ok(err)
		again, err := f.board.Next(f.ctx, y.actor, y.wish(reviewing, keyed("k")))
		f.ok(err)
		f.equal("again", words(again.Claim.Handle, again.Again, again.Claim.IsReview()), words(first.Claim.Handle, true, true))
		_, err = f.board.Review(f.ctx, ada, id, decision(board.Accept))
		f.ok(err)
		_, err = f.board.Next(f.ctx, y.actor, y.wish(reviewing, keyed("k")))
		f.is("after the verdict", err, board.ErrConflict)
	}},
	{"a worker that wishes for reviews alone is given no task", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := f.inReview(x)
		urgent := f.create("b", func(n *board.NewTask) { n.Priority = board.Urgent })
		h := y.review(id, onlyReviews)
		y.review(id, onlyReviews)
		_, err := f.board.Review(f.ctx, y.actor, id, board.Decision{Verdict: board.Accept, Claim: h})
		f.ok(err)
		y.nothing(reviewing, onlyReviews)
		_, err = f.board.Next(f.ctx, y.actor, y.wish(reviewing, onlyReviews, keyed("k")))
		var none *board.Nothing
		f.equal("with a key", errors.As(err, &none), true)
		_, err = y.try(reviewing, onlyReviews, wishing(urgent))
		f.is("a task", err, board.ErrInvalid)
		_, err = y.try(onlyReviews)
		f.is("no project", err, board.ErrInvalid)
		y.take(urgent)
	}},
	{"a worker that waits for reviews alone is passed over by tasks", func(f *fixture) {
		x, y, z := f.agent("x"), f.agent("y"), f.agent("z")
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		ctx, stop := context.WithCancel(f.ctx)
		ran := make(chan error, 1)
		go func() { ran <- f.board.Run(ctx) }()
		wait := func(a *agent, w board.Wish) <-chan board.Handle {
			got := make(chan board.Handle, 1)
			go func() {
				w.Wait = 20 * time.Second
				out, err := f.board.Next(f.ctx, a.actor, w)
				if err != nil {
					f.Errorf("next: %v", err)
					got <- board.Handle{}
					return
				}
				got <- out.Claim.Handle
			}()
			return got
		}
		review, task := wait(y, y.wish(reviewing, onlyReviews)), wait(z, z.wish())
		id := f.create("a")
		h := <-task
		f.equal("task", words(h.Task, h.IsReview()), words(id, false))
		z.done(h)
		r := <-review
		f.equal("review", words(r.Task, r.IsReview()), words(id, true))
		x.nothing(reviewing)
		stop()
		if err := <-ran; !errors.Is(err, context.Canceled) {
			f.Errorf("run: %v", err)
		}
	}},
	{"a program gives a review back, and may get it again", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := f.inReview(x)
		h := y.review(id)
		other := board.Actor{Principal: "other", Owner: "z"}
		f.is("by another", f.board.GiveBack(f.ctx, other, h, ""), board.ErrDenied)
		f.ok(f.board.GiveBack(f.ctx, y.actor, h, ""))
		f.equal("review", f.get(id).Review == nil, true)
		f.is("again", f.board.GiveBack(f.ctx, y.actor, h, ""), board.ErrConflict)
		y.review(id)
	}},
	{"a waiting lead gets a review as soon as there is one", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		id := f.create("a")
		h := x.take(id)
		ctx, stop := context.WithCancel(f.ctx)
		ran := make(chan error, 1)
		go func() { ran <- f.board.Run(ctx) }()
		got := make(chan board.Handle, 1)
		go func() {
			out, err := f.board.Next(f.ctx, y.actor, board.Wish{Projects: []string{project}, Reviews: []string{project}, Wait: 20 * time.Second})
			if err != nil {
				f.Errorf("next: %v", err)
				got <- board.Handle{}
				return
			}
			got <- out.Claim.Handle
		}()
		x.done(h)
		if r := <-got; !r.IsReview() || r.Task != id {
			f.Errorf("got %v, want the review of %v", r, id)
		}
		stop()
		if err := <-ran; !errors.Is(err, context.Canceled) {
			f.Errorf("run: %v", err)
		}
	}},
}}

// expireReview lets the lease of a review expire, without a sweep.
func (f *fixture) expireReview(id board.ID) {
	f.Helper()
	f.write(func(tx board.Tx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		list, err := tx.Reviews(board.ClaimFilter{Task: id})
		if err != nil || len(list) != 1 {
			f.Fatalf("reviews of %v: %v, %v, want one", id, list, err)
		}
		list[0].LeaseUntil = now.Add(-time.Second)
		return tx.UpdateReview(list[0])
	})
}
