package boardtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var ruleQueue = group{"the landing queue", []test{
	{"lists by priority and then by age, with what a lander needs", func(f *fixture) {
		f.landing()
		a, b := f.queued(7), f.queued(8)
		c := f.queued(10, priority(board.High))
		line, err := f.board.Line(f.ctx, project)
		f.ok(err)
		list := line.Queue
		var got []board.ID
		for _, q := range list {
			got = append(got, q.Task.ID)
		}
		f.equal("order", fmt.Sprint(got), fmt.Sprint([]board.ID{c, a, b}))
		f.equal("what is needed", words(list[1].Task.Title, list[1].Task.Attempt, list[1].Summary, list[1].Tip.Commit, list[1].Worker != ""), words("task 7 1 It works.", object(7), true))
	}},
	{"a target has one lander", func(f *fixture) {
		f.landing()
		l := f.lander("l")
		other := board.Actor{Principal: "local", Owner: "p-m"}
		_, err := f.board.Lead(f.ctx, other, board.Lease{Project: project, Target: "main", Holder: "m"})
		f.is("another", err, board.ErrConflict)
		if want := `the lander of an agent, "l", lands on main`; !strings.Contains(err.Error(), want) {
			f.Errorf("another: %v, want %s", err, want)
		}
		again, err := f.board.Lead(f.ctx, l.actor, l.lease)
		f.ok(err)
		f.equal("renewed", words(again.Nonce, again.Left), words(l.lease.Nonce, board.LeaseTime))
		l.lease.Nonce = ""
		anew, err := f.board.Lead(f.ctx, l.actor, l.lease) // its first answer was lost
		f.ok(err)
		f.equal("another nonce", anew.Nonce != again.Nonce, true)
		_, err = f.board.Lead(f.ctx, l.actor, again)
		f.is("the first one", err, board.ErrLeaseLost)
		f.ok(f.board.StepDown(f.ctx, l.actor, again)) // is over already
		_, err = f.board.Lead(f.ctx, other, board.Lease{Project: project, Target: "main", Holder: "m"})
		f.is("still led", err, board.ErrConflict)
		f.ok(f.board.StepDown(f.ctx, l.actor, anew))
		f.lander("m")
	}},
	{"two commands of a person are two landers", func(f *fixture) {
		f.landing()
		_, err := f.board.Lead(f.ctx, ada, board.Lease{Project: project, Target: "main", Holder: "one"})
		f.ok(err)
		_, err = f.board.Lead(f.ctx, ada, board.Lease{Project: project, Target: "main", Holder: "two"})
		f.is("the second", err, board.ErrConflict)
	}},
	{"a lease that is over can be taken, or renewed if nobody has", func(f *fixture) {
		f.landing()
		l := f.lander("l")
		f.endLease()
		_, err := f.board.Lead(f.ctx, l.actor, l.lease)
		f.ok(err)
		id := f.queued(7)
		f.endLease()
		i, err := l.begin(9, f.item(id, 7)) // which renews it as well
		f.ok(err)
		_, err = f.board.Lead(f.ctx, ada, board.Lease{Project: project, Target: "main", Holder: "ada"})
		f.is("renewed", err, board.ErrConflict)
		f.ok(f.board.Dropped(f.ctx, l.actor, l.lease, i.ID))
		f.endLease()
		f.lander("m")
		_, err = f.board.Lead(f.ctx, l.actor, l.lease)
		f.is("taken", err, board.ErrLeaseLost)
	}},
	{"a process that has ended gives its lease back", func(f *fixture) {
		f.landing()
		l := f.lander("l")
		f.ok(f.board.Leave(f.ctx, l.actor.Owner))
		f.lander("m")
		_, err := f.board.Lead(f.ctx, l.actor, l.lease)
		f.is("the first one", err, board.ErrLeaseLost)
	}},
	{"nobody leads where the project does not land", func(f *fixture) {
		for _, target := range []string{"", "main"} {
			_, err := f.board.Lead(f.ctx, ada, board.Lease{Project: project, Target: target, Holder: "l"})
			f.is("lead "+target, err, board.ErrConflict)
		}
		f.landing()
		_, err := f.board.Lead(f.ctx, ada, board.Lease{Project: project, Target: "next", Holder: "l"})
		f.is("lead next", err, board.ErrConflict)
	}},
	{"another principal cannot use a lease", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		l := f.lander("l")
		l.actor.Principal = "eve"
		_, err := l.begin(9, f.item(id, 7))
		f.is("begin", err, board.ErrLeaseLost)
		_, err = f.board.Lead(f.ctx, l.actor, l.lease)
		f.is("renew", err, board.ErrLeaseLost)
	}},
	{"an intent takes only what is in the queue", func(f *fixture) {
		f.landing()
		id, other := f.queued(7), f.create("b")
		l := f.lander("l")
		item := f.item(id, 7)
		for name, items := range map[string][]board.Item{
			"another attempt": {{Task: id, Attempt: 2, Tip: object(7)}}, "another tip": {{Task: id, Attempt: 1, Tip: object(8)}},
			"a task that is not": {item, {Task: other, Attempt: 1, Tip: object(7)}},
		} {
			_, err := l.begin(9, items...)
			f.is(name, err, board.ErrConflict)
		}
		for name, items := range map[string][]board.Item{
			"none": {}, "twice": {item, item}, "short": {{Task: id, Attempt: 1, Tip: "7"}}, "another project": {{Task: board.ID{Project: "api", No: 1}, Attempt: 1, Tip: object(7)}},
		} {
			_, err := l.begin(9, items...)
			f.is(name, err, board.ErrInvalid)
		}
		list, err := f.board.Intents(f.ctx, board.IntentFilter{Project: project})
		f.ok(err)
		f.equal("intents", len(list), 0)
		_, err = f.board.BeginLand(f.ctx, l.actor, l.lease, "", object(9), []board.Item{item})
		f.ok(err)
	}},
	{"work that the target has already lands without a move", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		l := f.lander("l")
		i, err := f.board.BeginLand(f.ctx, l.actor, l.lease, object(9), object(9), []board.Item{f.item(id, 7)})
		f.ok(err)
		_, err = f.board.Landed(f.ctx, l.actor, l.lease, i.ID, nil)
		f.ok(err)
		f.status(id, board.Done)
	}},
	{"the lease of a lander ends with its key", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		l := f.lander("l")
		i, err := f.board.BeginLand(f.ctx, l.actor, l.lease, object(8), object(9), []board.Item{f.item(id, 7)})
		f.ok(err)
		_, err = f.board.Dismiss(f.ctx, ada, "its key was revoked", "local")
		f.ok(err)
		line, err := f.board.Line(f.ctx, project)
		f.ok(err)
		if line.Open == nil || line.Lander.Nonce == line.Open.Nonce || line.Lander.Until.After(line.Now) {
			f.Errorf("the lease is %+v, and the intent %+v", line.Lander, line.Open)
		}
		_, err = f.board.Landed(f.ctx, l.actor, l.lease, i.ID, nil)
		f.is("a landing after that", err, board.ErrLeaseLost)
	}},
	{"only pull requests are closed", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		l := f.lander("l")
		_, err := f.board.Return(f.ctx, l.actor, id, board.Return{Kind: board.ReturnClosed, Lease: l.lease, Attempt: 1, Text: "we decided to drop it"})
		f.is("without pull requests", err, board.ErrInvalid)
		f.status(id, board.Landing)
	}},
	{"people are told that nobody lands what waits", func(f *fixture) {
		f.landing()
		idle := func() (n int) {
			in, err := f.board.Inbox(f.ctx, project)
			f.ok(err)
			for _, w := range in.Landing {
				if w.Idle {
					f.equal("why", w.Why, "1 task waits to be landed on main, and nobody lands")
					n++
				}
			}
			return n
		}
		f.equal("an empty queue", idle(), 0)
		f.queued(7)
		f.equal("before the first lander", idle(), 1)
		l := f.lander("l")
		f.equal("while one lands", idle(), 0)
		f.ok(f.board.StepDown(f.ctx, l.actor, l.lease))
		f.equal("afterwards", idle(), 1)
	}},
	{"an attempt whose work came back says why", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		l := f.lander("l")
		_, err := f.board.Return(f.ctx, l.actor, id, board.Return{Kind: board.ReturnRed, Lease: l.lease, Attempt: 1, Target: object(1), Text: "it does not build"})
		f.ok(err)
		d, err := f.board.Get(f.ctx, id, 0)
		f.ok(err)
		f.equal("the attempt", words(d.Attempts[0].Cause, d.Attempts[0].CameBack(), d.Attempts[0].Reason), words(board.CauseDone, true, "red on landing: it does not build"))
	}},
	{"a target has one open intent, and the same one again", func(f *fixture) {
		f.landing()
		a, b := f.queued(7), f.queued(8)
		l := f.lander("l")
		first, err := l.begin(9, f.item(a, 7))
		f.ok(err)
		again, err := l.begin(9, f.item(a, 7))
		f.ok(err)
		f.equal("again", again.ID, first.ID)
		_, err = l.begin(9, f.item(b, 8))
		f.is("another", err, board.ErrConflict)
		f.ok(f.board.Dropped(f.ctx, l.actor, l.lease, first.ID))
		f.ok(f.board.Dropped(f.ctx, l.actor, l.lease, first.ID))
		f.status(a, board.Landing)
		_, err = f.board.Landed(f.ctx, l.actor, l.lease, first.ID, map[board.ID]string{a: "main"})
		f.is("landed as a branch", err, board.ErrInvalid)
		_, err = f.board.Landed(f.ctx, l.actor, l.lease, first.ID, nil)
		f.is("landed after it was dropped", err, board.ErrConflict)
		second, err := l.begin(10, f.item(b, 8), f.item(a, 7))
		f.ok(err)
		for range 2 {
			out, err := f.board.Landed(f.ctx, l.actor, l.lease, second.ID, map[board.ID]string{b: object(11)})
			f.ok(err)
			f.equal("landed", words(out[0].Task, out[0].Status, out[1].Task, out[1].Status), words(a, "done", b, "done"))
		}
		f.equal("own commit", words(f.get(b).Doc.Result.Landed, f.last(b).Detail.Commit), words(object(11), object(11)))
		f.equal("commit of the intent", words(f.get(a).Doc.Result.Landed, f.last(a).Detail.Commit), words(object(10), object(10)))
		f.is("dropped after it was landed", f.board.Dropped(f.ctx, l.actor, l.lease, second.ID), board.ErrConflict)
		list, err := f.board.Intents(f.ctx, board.IntentFilter{Project: project, Target: "main"})
		f.ok(err)
		f.equal("intents", words(len(list), list[0].ID == second.ID, list[0].State, list[0].Old, list[0].New, list[0].Items, list[0].Holder, list[0].EndedAt.IsZero(), list[1].State),
			words(2, true, "landed", object(1), object(10), []board.Item{f.item(a, 7), f.item(b, 8)}, "l", false, "dropped"))
		_, err = f.board.Landed(f.ctx, l.actor, l.lease, second.ID+1, nil)
		f.is("an intent that is not", err, board.ErrNotFound)
		only, err := f.board.Intents(f.ctx, board.IntentFilter{Project: project, Task: b})
		f.ok(err)
		f.equal("those of a task", len(only), 1)
	}},
	{"the next lander ends the intent of one that died", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		l := f.lander("l")
		i, err := l.begin(9, f.item(id, 7))
		f.ok(err)
		f.endLease()
		m := f.lander("m")
		_, err = f.board.Landed(f.ctx, l.actor, l.lease, i.ID, nil)
		f.is("landed by the dead", err, board.ErrLeaseLost)
		f.is("dropped by the dead", f.board.Dropped(f.ctx, l.actor, l.lease, i.ID), board.ErrLeaseLost)
		_, err = l.begin(10, f.item(id, 7))
		f.is("begun by the dead", err, board.ErrLeaseLost)
		open, err := f.board.Intents(f.ctx, board.IntentFilter{Project: project, State: board.IntentOpen})
		f.ok(err)
		f.equal("open", words(len(open), open[0].Holder, open[0].New), words(1, "l", object(9)))
		_, err = f.board.Landed(f.ctx, m.actor, m.lease, i.ID, nil)
		f.ok(err)
		f.status(id, board.Done)
	}},
	{"what an open intent names is not cancelled, returned or marked done", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		dep := f.queued(8)
		l := f.lander("l")
		i, err := l.begin(9, f.item(id, 7), f.item(dep, 8))
		f.ok(err)
		_, err = f.board.Cancel(f.ctx, ada, id, "", "")
		f.is("cancel", err, board.ErrConflict)
		_, err = f.board.Return(f.ctx, ada, id, board.Return{Kind: board.ReturnAsked})
		f.is("return", err, board.ErrConflict)
		_, err = f.board.MarkDone(f.ctx, ada, id, "", false)
		f.is("mark done", err, board.ErrConflict)
		f.ok(f.board.Dropped(f.ctx, l.actor, l.lease, i.ID))
		_, err = f.board.Cancel(f.ctx, ada, id, "", "")
		f.ok(err)
	}},
	{"a conflict hands the task out again, with both sides and without a failure", func(f *fixture) {
		f.landing()
		other, id := f.queued(7), f.queued(8)
		l := f.lander("l")
		l.land(9, f.item(other, 7))
		out, err := f.board.Return(f.ctx, l.actor, id, board.Return{
			Kind: board.ReturnConflict, Attempt: 1, Lease: l.lease, Files: []string{"a.go", "b \"c\""}, Text: "both changed", Other: other, Target: object(9),
		})
		f.ok(err)
		f.equal("outcome", words(out.Status, out.Failures), "pending 0")
		e := f.last(id)
		f.equal("event", words(e.Kind, e.From, e.To, e.Detail.Text), "returned landing pending both changed")
		f.equal("told", *e.Detail.Returned, board.Returned{
			Kind: board.ReturnConflict, Files: []string{"a.go", "b \"c\""}, Tip: object(8), Target: object(9), Other: other, Title: "task 7", Summary: "It works.", OtherTip: object(7),
		})
		f.again(id, 11)
		_, err = l.begin(12, board.Item{Task: id, Attempt: 1, Tip: object(8)})
		f.is("the work before", err, board.ErrConflict)
		l.land(12, f.item(id, 11))
	}},
	{"a red check counts a failure, within the budget", func(f *fixture) {
		f.landing()
		id := f.queued(7, atMost(2))
		l := f.lander("l")
		red := func(attempt int) board.Outcome {
			out, err := f.board.Return(f.ctx, l.actor, id, board.Return{Kind: board.ReturnRed, Attempt: attempt, Lease: l.lease})
			f.ok(err)
			return out
		}
		out := red(1)
		f.equal("first", words(out.Status, out.Failures, out.MaxFailures), "pending 1 2")
		f.equal("reason", f.last(id).Detail.Text != "", true)
		f.again(id, 8)
		out = red(2)
		f.equal("second", words(out.Status, out.Failures), "failed 2")
	}},
	{"at the third conflict a person is asked", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		l := f.lander("l")
		conflict := func(attempt int) board.Outcome {
			out, err := f.board.Return(f.ctx, l.actor, id, board.Return{Kind: board.ReturnConflict, Attempt: attempt, Lease: l.lease, Files: []string{"a.go"}})
			f.ok(err)
			return out
		}
		for attempt := 1; attempt < 3; attempt++ {
			f.equal("status", conflict(attempt).Status, board.Pending)
			f.again(id, 10+attempt)
		}
		out := conflict(3)
		f.equal("third", words(out.Status, out.Failures), "waiting 0")
		q, err := f.board.Question(f.ctx, out.Question)
		f.ok(err)
		f.equal("question", words(q.Blocking, q.HumanOnly, strings.Contains(q.Text, `"a.go"`)), "true true true")
		_, err = f.board.Answer(f.ctx, ada, q.ID, "merge main first")
		f.ok(err)
		f.status(id, board.Pending)
		f.endCooldown(id)
		f.sweep()
		f.again(id, 20)
		f.equal("fourth", conflict(4).Status, board.Pending)
	}},
	{"somebody may want it back", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		_, err := f.board.Return(f.ctx, ada, id, board.Return{Kind: board.ReturnAsked, Attempt: 2})
		f.is("another attempt", err, board.ErrConflict)
		out, err := f.board.Return(f.ctx, ada, id, board.Return{Kind: board.ReturnAsked, Text: "not yet"})
		f.ok(err)
		f.equal("outcome", words(out.Status, out.Failures), "pending 0")
		_, err = f.board.Return(f.ctx, ada, id, board.Return{Kind: board.ReturnAsked})
		f.is("again", err, board.ErrConflict)
	}},
	{"only the lander returns for a conflict or a red check", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		l := f.lander("l")
		f.endLease()
		f.lander("m")
		for _, k := range []board.ReturnKind{board.ReturnConflict, board.ReturnRed} {
			_, err := f.board.Return(f.ctx, l.actor, id, board.Return{Kind: k, Attempt: 1, Lease: l.lease})
			f.is(string(k)+" by the one before", err, board.ErrLeaseLost)
			_, err = f.board.Return(f.ctx, ada, id, board.Return{Kind: k, Attempt: 1})
			f.is(string(k)+" without a lease", err, board.ErrLeaseLost)
		}
		for name, r := range map[string]board.Return{
			"kind": {Kind: "other"}, "attempt": {Kind: board.ReturnRed}, "target": {Kind: board.ReturnAsked, Target: "main"},
			"other": {Kind: board.ReturnAsked, Other: board.ID{Project: "api", No: 1}},
		} {
			_, err := f.board.Return(f.ctx, ada, id, r)
			f.is(name, err, board.ErrInvalid)
		}
		f.status(id, board.Landing)
	}},
	{"a waiting lander is woken", func(f *fixture) {
		f.landing()
		changes := f.board.Changes()
		f.queued(7)
		select {
		case <-changes:
		case <-time.After(10 * time.Second):
			f.Fatal("Changes was not closed")
		}
	}},
	{"an export has what was to be landed, which an import puts into review", func(f *fixture) {
		f.landing()
		back := f.queued(8)
		l := f.lander("l")
		_, err := f.board.Return(f.ctx, l.actor, back, board.Return{Kind: board.ReturnConflict, Attempt: 1, Lease: l.lease, Files: []string{"a.go"}})
		f.ok(err)
		landed, id := f.queued(9), f.queued(7)
		l.land(11, f.item(landed, 9))
		f.project(board.Project{Slug: "copy"})
		got := f.transfer("copy")
		d := f.get(got.Tasks[id])
		f.equal("status", d.Task.Status, board.InReview)
		f.equal("tip", d.Doc.Result.Tip, board.Tip{Commit: object(7), Tree: object(1007), Base: object(1)})
		f.equal("landed with", f.event(got.Tasks[landed], board.EventLanded).Detail.Commit, object(11))
		f.equal("returned", *f.event(got.Tasks[back], board.EventReturned).Detail.Returned, board.Returned{Kind: board.ReturnConflict, Files: []string{"a.go"}, Tip: object(8)})
		p, err := f.board.Project(f.ctx, "copy")
		f.ok(err)
		f.equal("the copy lands nowhere", p.Land, "")
	}},
	{"erasing a task erases why it was returned", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		l := f.lander("l")
		_, err := f.board.Return(f.ctx, l.actor, id, board.Return{Kind: board.ReturnConflict, Attempt: 1, Lease: l.lease, Files: []string{"secret.go"}})
		f.ok(err)
		f.again(id, 8)
		l.land(9, f.item(id, 8))
		_, err = f.board.Erase(f.ctx, ada, id, "a secret")
		f.ok(err)
		f.equal("returned", f.event(id, board.EventReturned).Detail.Returned == nil, true)
	}},
	{"archiving a task forgets its intents", func(f *fixture) {
		f.landing()
		a, b := f.queued(7), f.queued(8)
		l := f.lander("l")
		l.land(9, f.item(a, 7))
		gone := false
		f.eventually("archived", func() bool { // a store may hold back the newest events for a moment
			f.write(func(tx board.Tx) error {
				now, err := tx.Now()
				if err != nil {
					return err
				}
				done, err := tx.LockFinished([]board.ID{a}, now.Add(time.Second))
				if gone = err == nil && len(done) == 1; !gone {
					return err
				}
				return tx.Archive(board.Archive{Project: project, Source: "s", Tasks: []int64{a.No}, Place: "p", SHA256: "x", By: "ada", At: now})
			})
			return gone
		})
		_, err := l.begin(10, f.item(b, 8))
		f.ok(err)
		list, err := f.board.Intents(f.ctx, board.IntentFilter{Project: project})
		f.ok(err)
		f.equal("intents", words(len(list), list[0].State), "1 open")
	}},
}}
