package boardtest

import (
	"errors"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// specEdits change each part of a spec.
var specEdits = map[string]board.Edit{
	"title": {Title: new("b")}, "description": {Description: new("b")}, "acceptance": {Acceptance: new("b")},
	"evidence": {Wants: &[]board.EvidenceKind{}}, "more evidence": {Wants: &[]board.EvidenceKind{board.EvidenceTests, board.EvidenceFile}},
	"max_failures": {MaxFailures: new(100)},
}

// create lets an agent create a task.
func (a *agent) create(title string) board.ID {
	a.f.Helper()
	t, _, err := a.f.board.Create(a.f.ctx, a.actor, board.NewTask{Project: project, Title: title, Priority: board.Normal, Wants: []board.EvidenceKind{board.EvidenceTests}}, "")
	if err != nil {
		a.f.Fatalf("%s: create: %v", a.actor.Owner, err)
	}
	return t.ID
}

var rulePeople = group{"what people decide", []test{
	{"an agent does not change the spec of a person's task", func(f *fixture) {
		id := f.create("a", accepting("It is blue."), wanting(board.EvidenceTests))
		x := f.agent("x")
		shell := x.actor
		shell.Shell = true
		for name, e := range specEdits {
			for _, a := range []board.Actor{x.actor, shell} {
				_, err := f.board.Update(f.ctx, a, id, e)
				f.is(name, err, board.ErrDenied)
			}
		}
		f.equal("events", f.kinds(id), "created")
		got, err := f.board.Update(f.ctx, x.actor, id, board.Edit{Title: new("a"), Priority: new(board.High), Areas: &[]string{"web"}, Hold: new(true)})
		f.ok(err)
		f.equal("other fields", words(got.Priority, got.Areas, got.Hold, got.SpecVersion), "high [web] true 1")
		_, err = f.board.Update(f.ctx, ada, id, board.Edit{Title: new("b")})
		f.ok(err)
	}},
	{"an agent changes a task of agents until a person edits it", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := x.create("a")
		for _, a := range []*agent{x, y} {
			_, err := f.board.Update(f.ctx, a.actor, id, board.Edit{Description: new("by " + a.actor.Owner)})
			f.ok(err)
		}
		_, err := f.board.Update(f.ctx, ada, id, board.Edit{Priority: new(board.High)}) // which is no text of hers
		f.ok(err)
		_, err = f.board.Update(f.ctx, x.actor, id, board.Edit{Title: new("c")})
		f.ok(err)
		_, err = f.board.Update(f.ctx, ada, id, board.Edit{Description: new("ada's")})
		f.ok(err)
		for name, e := range specEdits {
			_, err := f.board.Update(f.ctx, x.actor, id, e)
			f.is(name, err, board.ErrDenied)
		}
		f.equal("description", f.get(id).Doc.Description, "ada's")
	}},
	{"an agent does not change the spec of what it held", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := y.create("a")
		h := x.take(id)
		deny := func(when string) {
			for name, e := range specEdits {
				_, err := f.board.Update(f.ctx, x.actor, id, e)
				f.is(name+" "+when, err, board.ErrDenied)
			}
		}
		deny("while it holds it")
		x.fail(h, board.FailOther)
		deny("after it held it")
		_, err := f.board.Update(f.ctx, y.actor, id, board.Edit{Description: new("better")})
		f.ok(err)
	}},
	{"an edit keeps what it replaces", func(f *fixture) {
		id := f.create("a", accepting("It is blue."), wanting(board.EvidenceTests))
		_, err := f.board.Update(f.ctx, ada, id, board.Edit{Description: new("one"), Priority: new(board.High)})
		f.ok(err)
		_, err = f.board.Update(f.ctx, ada, id, board.Edit{Title: new("b"), Description: new("two"), Acceptance: new(""), Wants: &[]board.EvidenceKind{}, MaxFailures: new(7)})
		f.ok(err)
		was := f.last(id).Detail.Was
		f.equal("was", words(was.Title, was.Description, was.Acceptance, was.Wants, was.MaxFailures), "a one It is blue. [tests] 3")
		_, err = f.board.Update(f.ctx, ada, id, board.Edit{Priority: new(board.Low)})
		f.ok(err)
		f.equal("an edit of something else", f.last(id).Detail.Was == nil, true)
	}},
	{"an agent does not cancel a person's task", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		own := x.create("b")
		next := f.create("c", after(own))
		_, err := f.board.Cancel(f.ctx, x.actor, id, "no", board.DependentsKeep)
		f.is("a person's task", err, board.ErrDenied)
		x.take(id)
		_, err = f.board.Cancel(f.ctx, x.actor, id, "no", board.DependentsKeep)
		f.is("a person's task that it holds", err, board.ErrDenied)
		_, err = f.board.Cancel(f.ctx, x.actor, own, "no", board.DependentsCancel)
		f.is("its own task with a person's dependent", err, board.ErrDenied)
		f.status(own, board.Pending)
		_, err = f.board.Cancel(f.ctx, x.actor, own, "no", board.DependentsKeep)
		f.ok(err)
		f.status(next, board.Pending)
		_, err = f.board.Cancel(f.ctx, ada, id, "no", board.DependentsKeep)
		f.ok(err)
	}},
	{"a question for people has no default, also not by the clock", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		_, err := f.board.Ask(f.ctx, x.actor, board.NewQuestion{Claim: h, Text: "?", HumanOnly: true, Default: "yes"})
		f.is("a default", err, board.ErrInvalid)
		q := x.ask(h, func(n *board.NewQuestion) { n.HumanOnly, n.Within = true, time.Hour })
		f.equal("blocking", q.Blocking, true)
		f.write(func(tx board.Tx) error { // as an older program stores it
			q.Default = "yes"
			return tx.UpdateQuestion(q)
		})
		f.overdue(q.ID)
		f.sweep()
		q, err = f.board.Question(f.ctx, q.ID)
		f.ok(err)
		f.equal("after its deadline", words(q.State, q.Answer, q.Default == ""), "open  true")
		_, err = f.board.Answer(f.ctx, ada, q.ID, "no")
		f.ok(err)
	}},
	{"a question of an upstream for people lapses", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := x.create("a")
		h := x.take(id)
		upstream := board.NewQuestion{Claim: h, Text: "Drop it?", HumanOnly: true, Blocking: new(false), ChatID: board.UpstreamChat + "db", Default: board.UpstreamCancel, Within: time.Minute}
		q, err := f.board.Ask(f.ctx, x.actor, upstream)
		f.ok(err)
		_, err = f.board.Answer(f.ctx, y.actor, q.ID, "yes")
		f.is("an agent's answer", err, board.ErrDenied)
		upstream.Default = "yes"
		_, err = f.board.Ask(f.ctx, x.actor, upstream)
		f.is("another default", err, board.ErrInvalid)
		f.overdue(q.ID)
		f.sweep()
		q, err = f.board.Question(f.ctx, q.ID)
		f.ok(err)
		f.equal("after its deadline", words(q.State, q.Answer, q.ByDefault()), "answered cancel true")
		upstream.Default = board.UpstreamCancel
		q, err = f.board.Ask(f.ctx, x.actor, upstream)
		f.ok(err)
		x.done(h, func(r *board.Report) { r.Evidence = []board.Evidence{{Kind: board.EvidenceTests, Ref: "make test"}} }) // it does not wait for that one
		_, err = f.board.Answer(f.ctx, ada, q.ID, "no")
		f.ok(err)
	}},
	{"done waits for the answers of people", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := x.create("a")
		h := x.take(id)
		q := x.ask(h, func(n *board.NewQuestion) { n.HumanOnly, n.Blocking = true, new(false) })
		tests := func(r *board.Report) { r.Evidence = []board.Evidence{{Kind: board.EvidenceTests, Ref: "make test"}} }
		_, err := x.report(h, tests)
		open, ok := errors.AsType[*board.UnansweredError](err)
		if !ok || !errors.Is(err, board.ErrConflict) {
			f.Fatalf("done: %v, want an *UnansweredError", err)
		}
		f.equal("unanswered", words(open.Task, open.Questions), words(id, []board.QuestionID{q.ID}))
		_, err = f.board.Cancel(f.ctx, y.actor, id, "no", board.DependentsKeep)
		f.is("an agent's cancellation", err, board.ErrConflict)
		f.status(id, board.InProgress)
		// It waits for that answer as well as for its own.
		out := x.fail(h, board.FailBlocked)
		_, err = f.board.Answer(f.ctx, ada, out.Question, "wait")
		f.ok(err)
		f.status(id, board.Waiting)
		_, err = f.board.Answer(f.ctx, ada, q.ID, "no")
		f.ok(err)
		x.done(x.take(id), tests)
	}},
	{"only a person answers what a failure asks people alone", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		id := x.create("a")
		out, err := f.board.Fail(f.ctx, x.actor, x.take(id), board.Failure{Kind: board.FailBlocked, Reason: "go on?", HumanOnly: true})
		f.ok(err)
		_, err = f.board.Answer(f.ctx, y.actor, out.Question, "yes")
		f.is("an agent's answer", err, board.ErrDenied)
		f.status(id, board.Waiting)
		_, err = f.board.Answer(f.ctx, ada, out.Question, "yes")
		f.ok(err)
		f.status(id, board.Pending)
	}},
	{"a person's own act closes the questions for people", func(f *fixture) {
		id, other := f.create("a"), f.create("b")
		x, y := f.agent("x"), f.agent("y")
		people := func(n *board.NewQuestion) { n.HumanOnly = true }
		p, q := x.ask(x.take(id), people), y.ask(y.take(other), people)
		_, err := f.board.MarkDone(f.ctx, ada, id, "", false)
		f.ok(err)
		_, err = f.board.Cancel(f.ctx, ada, other, "no", board.DependentsKeep)
		f.ok(err)
		for _, id := range []board.QuestionID{p.ID, q.ID} {
			got, err := f.board.Question(f.ctx, id)
			f.ok(err)
			f.equal("state", got.State, board.QuestionWithdrawn)
		}
	}},
	{"parts that are done are no evidence for the whole", func(f *fixture) {
		id := f.create("a", wanting(board.EvidenceTests))
		x := f.agent("x")
		part := x.create("b")
		_, err := f.board.Update(f.ctx, x.actor, part, board.Edit{Parent: &id})
		f.ok(err)
		tests := func(r *board.Report) { r.Evidence = []board.Evidence{{Kind: board.EvidenceTests, Ref: "make test"}} }
		x.done(x.take(part), tests)
		f.status(id, board.Pending)
		h := x.take(id)
		_, err = x.report(h)
		f.is("a report without evidence", err, board.ErrConflict)
	}},
	{"an agent ends only its own pause", func(f *fixture) {
		f.create("a")
		x := f.agent("x")
		x.actor.Name = "ada"
		key := board.Actor{Principal: "ada", Owner: "ada", Name: "ada"} // an agent with her key
		f.ok(f.board.Pause(f.ctx, ada, project))
		for _, a := range []board.Actor{x.actor, key} {
			f.ok(f.board.Pause(f.ctx, a, project)) // takes nothing over
			f.is("an agent resumes", f.board.Resume(f.ctx, a, project), board.ErrDenied)
		}
		f.equal("paused by", x.nothing().PausedBy, "ada")
		f.ok(f.board.Resume(f.ctx, ada, project))
		f.ok(f.board.Pause(f.ctx, key, project))
		f.ok(f.board.Resume(f.ctx, key, project))
		f.ok(f.board.Resume(f.ctx, key, project))
		x.next()
	}},
	{"giving back a task counts once its check was red", func(f *fixture) {
		id := f.create("a", atMost(2))
		x, y := f.agent("x"), f.agent("y")
		h := x.take(id)
		_, err := f.board.Checked(f.ctx, x.actor, h, redCheck)
		f.ok(err)
		out := x.fail(h, board.FailNotNow)
		f.equal("after a red check", words(out.Status, out.Red, out.Failures, f.get(id).Attempts[0].Cause), "pending 1 1 failed")
		f.equal("its reason", words(f.get(id).Attempts[0].Reason, "/", f.event(id, board.EventFailed).Detail.Text),
			"given back after the check was red: It does not work. / given back after the check was red: It does not work.")
		x.nothing()
		h = y.take(id)
		out = y.fail(h, board.FailNotNow)
		f.equal("without", words(out.Status, out.Red, out.Failures), "pending 0 1")
		z := f.agent("z")
		h = z.take(id)
		_, err = f.board.Checked(f.ctx, z.actor, h, redCheck)
		f.ok(err)
		f.equal("the last", z.fail(h, board.FailNotNow).Status, board.Failed)
	}},
	{"one run of a check counts once", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		for _, c := range []struct {
			run   board.CheckRun
			id    string
			count int
		}{{redCheck, "1", 1}, {redCheck, "1", 1}, {redCheck, "2", 2}, {redCheck, "1", 2}, {redCheck, "", 3}, {redCheck, "", 4}, {unjudgedCheck, "3", 1}, {unjudgedCheck, "3", 1}, {unjudgedCheck, "4", 2}} {
			c.run.Run = c.id
			out, err := f.board.Checked(f.ctx, x.actor, h, c.run)
			f.ok(err)
			f.equal("run "+c.id, words(out.Status, out.Count), words(board.InProgress, c.count))
		}
	}},
}}
