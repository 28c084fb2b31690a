package boardtest

import (
	"time"

	"github.com/bossman-dev/bossman/board"
)

var ruleBudget = group{"failures and what follows", []test{
	{"three failures of any cause end a task", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		x.fail(x.take(id), board.FailOther)
		x.take(id)
		f.expire(id)
		f.status(id, board.Pending)
		out := x.fail(x.take(id), board.FailOther)
		f.equal("outcome", words(out.Status, out.Failures, out.MaxFailures), "failed 3 3")
		x.nothing()
	}},
	{"a task has its own budget", func(f *fixture) {
		id := f.create("a", atMost(1))
		x := f.agent("x")
		x.take(id)
		f.expire(id)
		f.status(id, board.Failed)
		f.equal("events", f.kinds(id), "created claimed expired")
		e := f.last(id)
		f.equal("event", words(e.From, e.To, e.Detail.Cause, e.Detail.Attempt), "in_progress failed expired 1")
	}},
	{"wrong_spec fails the task at once", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		out := x.fail(x.take(id), board.FailWrongSpec)
		f.equal("outcome", words(out.Status, out.Failures), "failed 1")
		x.nothing()
	}},
	{"only a retry resets failures", func(f *fixture) {
		id := f.create("a", atMost(2))
		x := f.agent("x")
		x.fail(x.take(id), board.FailOther)
		_, err := f.board.Update(f.ctx, ada, id, board.Edit{Description: new("other"), Priority: new(board.High)})
		f.ok(err)
		f.equal("failures after an edit", f.get(id).Task.Failures, 1)
		_, err = f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Retry})
		f.is("a retry before it failed", err, board.ErrConflict)
		x.fail(x.take(id), board.FailOther)
		f.status(id, board.Failed)
		out, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Retry, Note: "try again"})
		f.ok(err)
		f.equal("outcome", words(out.Status, out.Failures), "pending 0")
		x.done(x.take(id))
	}},
	{"environment makes the task cool down, longer each time", func(f *fixture) {
		id := f.create("a", atMost(9))
		x := f.agent("x")
		for _, want := range []time.Duration{2, 4, 8, 16, 32, 60, 60} {
			out := x.fail(x.take(id), board.FailEnvironment)
			f.equal("status", out.Status, board.Pending)
			d := f.get(id)
			rest := d.Task.NotBefore.Sub(d.Now)
			if rest > want*time.Minute || rest < want*time.Minute-30*time.Second {
				f.Errorf("after %d failures it cools down for %v, want %v", d.Task.Failures, rest, want*time.Minute)
			}
			x.nothing()
			f.endCooldown(id)
			f.sweep()
			f.equal("last event", f.last(id).Kind, board.EventDue)
		}
	}},
	{"not_now counts no failure, and that worker is not offered the task again", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		h := x.take(id)
		out := x.fail(h, board.FailNotNow)
		f.equal("outcome", words(out.Status, out.Failures), "pending 0")
		f.equal("cause", f.get(id).Attempts[0].Cause, board.CauseNotNow)
		x.nothing()
		x.name = "" // under a new name, too
		x.nothing()
		y.take(id)
	}},
	{"too_hard is a failure, and the task goes to another worker", func(f *fixture) {
		id := f.create("a")
		x, other, y := f.agent("x"), f.agent("x"), f.agent("y")
		h := x.take(id)
		out := x.fail(h, board.FailTooHard)
		f.equal("outcome", words(out.Status, out.Failures), "pending 1")
		x.nothing()
		x.name = "" // under a new name, too
		x.nothing()
		b := f.create("b")
		other.take(b)
		other.done(f.get(b).Claim.Handle)
		y.take(id)
		f.undo(id)
		other.take(id) // another agent of that process, known under its own name
		f.undo(id)
		key := &agent{f: f, actor: board.Actor{Principal: "key", Owner: "key"}}
		key.fail(key.take(id), board.FailTooHard)
		key.nothing()
		key.name = "" // a key has many agents
		key.take(id)
	}},
	{"release, parking, cancel and stop count no failure", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		x.take(id)
		f.undo(id)
		h := x.take(id)
		q := x.ask(h)
		x.park(q.ID)
		_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		x.take(id)
		_, err = f.board.Stop(f.ctx, ada, board.WorkerID{Principal: "local", Name: x.name})
		f.ok(err)
		y.take(id)
		_, err = f.board.Cancel(f.ctx, ada, id, "enough", board.DependentsKeep)
		f.ok(err)
		f.equal("failures", f.get(id).Task.Failures, 0)
		causes := ""
		for _, a := range f.get(id).Attempts {
			causes += " " + string(a.Cause)
		}
		f.equal("causes", causes, " released parked stopped cancelled")
	}},
	{"a rejected review is a failure", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		id := f.create("a", atMost(2))
		x := f.agent("x")
		x.done(x.take(id))
		_, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Reject})
		f.is("a rejection without a note", err, board.ErrInvalid)
		out, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Reject, Note: "no tests"})
		f.ok(err)
		f.equal("outcome", words(out.Status, out.Failures), "pending 1")
		x.done(x.take(id))
		out, err = f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Reject, Note: "still none"})
		f.ok(err)
		f.equal("outcome", words(out.Status, out.Failures), "failed 2")
	}},
	{"blocked asks people a question", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		out := x.fail(x.take(id), board.FailBlocked)
		f.equal("outcome", words(out.Status, out.Failures, out.Question > 0), "waiting 0 true")
		q, err := f.board.Question(f.ctx, out.Question)
		f.ok(err)
		f.equal("question", words(q.Text, q.Blocking, q.State, q.Asker.Name), words("It does not work.", true, "open", x.name))
		x.nothing()
		_, err = f.board.Answer(f.ctx, ada, q.ID, "do this")
		f.ok(err)
		x.take(id)
	}},
	{"the sixth re-delivery without a sign of work ends the attempt", func(f *fixture) {
		id := f.create("a", atMost(1))
		x := f.agent("x")
		h := x.take(id)
		for range 5 {
			again := x.next()
			f.equal("re-delivery", words(again.Claim.Handle, again.Again), words(h, true))
		}
		x.nothing()
		d := f.get(id)
		f.equal("task", words(d.Task.Status, d.Task.Failures, d.Attempts[0].Cause), "failed 1 restarts")
	}},
	{"a note between re-deliveries starts their count again", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		for range 3 {
			for range 4 {
				x.take(id)
			}
			x.note(h, "still here")
		}
		f.equal("failures", f.get(id).Task.Failures, 0)
	}},
	{"a re-delivery renews the lease and revives the claim", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		f.expireLease(id)
		// A process that has just begun sweeps before it hands out, but not the asker's task.
		f.board = board.New(f.store, nil)
		f.equal("handle", x.take(id), h)
		if d := f.get(id); d.Claim.LeaseUntil.Sub(d.Now) < 9*time.Minute {
			f.Errorf("the lease has %v left, want 10 min", d.Claim.LeaseUntil.Sub(d.Now))
		}
		f.equal("events", f.kinds(id), "created claimed revived delivered")
	}},
}}
