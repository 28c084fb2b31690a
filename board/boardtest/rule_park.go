package boardtest

import (
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var ruleParking = group{"parking", []test{
	{"an unanswered question parks the task, and the answer reserves it for the asker", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		h := x.take(id)
		q := x.ask(h)
		f.equal("blocking", q.Blocking, true)
		f.status(id, board.InProgress)
		x.park(q.ID)
		d := f.get(id)
		f.equal("parked", words(d.Task.Status, d.Claim == nil, d.Attempts[0].Cause, d.Task.Failures), "waiting true parked 0")
		x.nothing()
		_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		d = f.get(id)
		f.equal("answered", words(d.Task.Status, d.Task.ReservedFor.Name), words(board.Pending, x.name))
		if rest := d.Task.NotBefore.Sub(d.Now); rest > 10*time.Minute || rest < 9*time.Minute {
			f.Errorf("reserved for %v, want 10 min", rest)
		}
		other := f.create("other", priority(board.Urgent))
		y.take(other)
		f.agent("z").nothing()
		if again := x.take(id); again.Attempt != 2 {
			f.Errorf("attempt %d, want 2", again.Attempt)
		}
	}},
	{"a task whose asker died while it waited for the answer is parked, and no failure counts", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		q := x.ask(x.take(id))
		f.expire(id)
		d := f.get(id)
		f.equal("parked", words(d.Task.Status, d.Claim == nil, d.Attempts[0].Cause, d.Task.Failures), "waiting true parked 0")
		f.agent("y").nothing()
		_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		f.agent("y").take(id)
	}},
	{"an answer reserves nothing for an asker that has left or was stopped", func(f *fixture) {
		for name, leave := range map[string]func(x *agent) error{
			"left": func(x *agent) error { return f.board.Leave(f.ctx, x.actor.Owner) },
			"stopped": func(x *agent) error {
				_, err := f.board.Stop(f.ctx, ada, x.worker())
				return err
			},
		} {
			id := f.create(name)
			x, y := f.agent("x-"+name), f.agent("y-"+name)
			q := x.ask(x.take(id))
			x.park(q.ID)
			f.ok(leave(x))
			_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
			f.ok(err)
			f.equal(name+": reserved for", f.get(id).Task.ReservedFor.Name, "")
			f.stale(false)
			y.done(y.take(id))
		}
	}},
	{"an answer reserves nothing for an asker that runs commands in a directory", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		x.actor.Owner = board.DirPrefix + "x"
		q := x.ask(x.take(id))
		x.park(q.ID)
		_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		f.equal("reserved for", f.get(id).Task.ReservedFor.Name, "")
		y.done(y.take(id))
	}},
	{"a reservation ends when its worker leaves or is stopped", func(f *fixture) {
		for name, leave := range map[string]func(x *agent) error{
			"left": func(x *agent) error { return f.board.Leave(f.ctx, x.actor.Owner) },
			"stopped": func(x *agent) error {
				_, err := f.board.Stop(f.ctx, ada, x.worker())
				return err
			},
		} {
			id, x, y := f.create(name), f.agent("x-"+name), f.agent("y-"+name)
			f.reserve(id, x)
			f.stale(false)
			y.nothing()
			f.ok(leave(x))
			f.stale(true)
			y.done(y.take(id))
			f.stale(false)
		}
	}},
	{"the asker gets its task before more urgent ones", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		q := x.ask(x.take(id))
		x.park(q.ID)
		f.create("urgent", priority(board.Urgent))
		_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		x.take(id)
	}},
	{"after ten minutes any worker gets it", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		q := x.ask(x.take(id))
		x.park(q.ID)
		_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		f.endCooldown(id)
		y.take(id)
		x.nothing()
	}},
	{"nothing is parked if the question was answered", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		q := x.ask(h)
		_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		got, parked, err := f.board.Park(f.ctx, x.actor, q.ID)
		f.ok(err)
		f.equal("park", words(parked, got.Answer), "false red")
		f.status(id, board.InProgress)
		x.done(h)
	}},
	{"an answer concurrent with parking is not lost", func(f *fixture) {
		for range 8 {
			id := f.create("a")
			x := f.agent("x")
			h := x.take(id, wishing(id))
			q := x.ask(h)
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := f.board.Answer(f.ctx, ada, q.ID, "red"); err != nil {
					f.Errorf("Answer: %v", err)
				}
			})
			wg.Go(func() {
				if _, _, err := f.board.Park(f.ctx, x.actor, q.ID); err != nil {
					f.Errorf("Park: %v", err)
				}
			})
			wg.Wait()
			switch got := f.get(id).Task; got.Status {
			case board.InProgress: // the answer was first
				x.done(h)
			case board.Pending:
				f.equal("reserved for", got.ReservedFor.Name, x.name)
				x.done(x.take(id))
			default:
				f.Fatalf("the task is %s, want it in progress or reserved", got.Status)
			}
		}
	}},
	{"a non-blocking question parks nothing", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		q := x.ask(h, func(n *board.NewQuestion) { n.Blocking = new(false) })
		_, parked, err := f.board.Park(f.ctx, x.actor, q.ID)
		f.equal("park", words(parked, err), "false <nil>")
		f.status(id, board.InProgress)
	}},
	{"a task that waits for two answers needs both", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		q1, q2 := x.ask(h), x.ask(h)
		x.park(q1.ID)
		_, err := f.board.Answer(f.ctx, ada, q1.ID, "red")
		f.ok(err)
		f.status(id, board.Waiting)
		_, err = f.board.Answer(f.ctx, ada, q2.ID, "blue")
		f.ok(err)
		x.take(id)
	}},
	{"parking under a lost claim is refused", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		q := x.ask(x.take(id))
		f.undo(id) // a person took it away
		f.agent("y").take(id)
		_, parked, err := f.board.Park(f.ctx, x.actor, q.ID)
		f.lost("park", err, false)
		f.equal("parked", parked, false)
		f.status(id, board.InProgress)
	}},
	{"a default frees the parked task", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		q := x.ask(x.take(id), func(n *board.NewQuestion) { n.Default, n.Within, n.Blocking = "red", time.Hour, new(true) })
		x.park(q.ID)
		f.overdue(q.ID)
		x.take(id) // sweeps first
		f.equal("answered by", f.event(id, board.EventAnswered).Actor, board.AnsweredByDefault)
	}},
	{"a blocked task or one on hold is not handed out to the asker either", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		q := x.ask(x.take(id))
		x.park(q.ID)
		_, err := f.board.Update(f.ctx, ada, id, board.Edit{Hold: new(true)})
		f.ok(err)
		_, err = f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		x.nothing()
	}},
}}
