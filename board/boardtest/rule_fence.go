package boardtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// holderCalls are the calls that only the holder of a claim may make, besides done.
var holderCalls = []struct {
	name string
	call func(f *fixture, a board.Actor, h board.Handle) error
	kept bool
}{
	{"progress", func(f *fixture, a board.Actor, h board.Handle) error {
		_, err := f.board.Progress(f.ctx, a, h, board.Note{Text: "late words"})
		return err
	}, true},
	{"fail", func(f *fixture, a board.Actor, h board.Handle) error {
		_, err := f.board.Fail(f.ctx, a, h, board.Failure{Reason: "late words"})
		return err
	}, true},
	{"ask", func(f *fixture, a board.Actor, h board.Handle) error {
		_, err := f.board.Ask(f.ctx, a, board.NewQuestion{Claim: h, Text: "late words"})
		return err
	}, true},
	{"create", func(f *fixture, a board.Actor, h board.Handle) error {
		_, _, err := f.board.CreateUnder(f.ctx, a, h, board.NewTask{Title: "late words"}, "")
		return err
	}, false},
}

var ruleFence = group{"one holder", []test{
	{"a holder's calls pass after the lease's end, and revive the claim", func(f *fixture) {
		for _, c := range holderCalls {
			id := f.create(c.name)
			x := f.agent("x " + c.name)
			h := x.take(id, wishing(id))
			f.expireLease(id)
			f.ok(c.call(f, x.actor, h))
			f.event(id, board.EventRevived)
			if d := f.get(id); d.Claim != nil && !d.Claim.LeaseUntil.After(d.Now) {
				f.Errorf("%s left the claim without a lease", c.name)
			}
			f.equal("failures after "+c.name, f.get(id).Task.Failures, map[bool]int{true: 1}[c.name == "fail"])
		}
	}},
	{"done passes after the lease's end", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		f.expireLease(id)
		out := x.done(h)
		f.equal("outcome", words(out.Status, out.Late), "done false")
		f.equal("events", f.kinds(id), "created claimed revived done")
	}},
	{"done passes after the sweep if the task was not granted again", func(f *fixture) {
		id := f.create("a")
		next := f.create("b", after(id))
		x := f.agent("x")
		h := x.take(id)
		f.expire(id)
		f.status(id, board.Pending)
		out := x.done(h)
		f.equal("outcome", words(out.Status, out.Late, ids(out.Freed)), words("done true", next))
		f.equal("events", f.kinds(id), "created claimed expired done")
		f.equal("late", f.last(id).Detail.Late, true)
		d := f.get(id)
		f.equal("attempt", words(d.Attempts[0].Cause, d.Task.Failures), "done 0")
	}},
	{"a task that was given back is free at once, without a failure, and its report is still accepted", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		f.ok(f.board.GiveBack(f.ctx, x.actor, h, ""))
		d := f.get(id)
		f.equal("task", words(d.Task.Status, d.Task.Failures, d.Attempts[0].Cause, d.Claim == nil), "pending 0 left true")
		f.lost("a note", holderCalls[0].call(f, x.actor, h), holderCalls[0].kept)
		later := x.actor
		later.Owner, later.Worker = "a later run", ""
		out, err := f.board.Done(f.ctx, later, h, board.Report{Summary: "done"})
		f.ok(err)
		f.equal("outcome", words(out.Status, out.Late, out.Failures), "done true 0")
		f.is("GiveBack again", f.board.GiveBack(f.ctx, x.actor, h, ""), board.ErrLeaseLost)
	}},
	{"a task that was given back and is in other hands takes no late report", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		h := x.take(id)
		other := y.actor
		other.Principal = "somebody else"
		f.is("GiveBack by another", f.board.GiveBack(f.ctx, other, h, ""), board.ErrDenied)
		f.ok(f.board.GiveBack(f.ctx, x.actor, h, ""))
		now := y.take(id)
		_, err := x.report(h, func(r *board.Report) { r.Summary = "late words" })
		f.lost("done", err, true)
		y.done(now)
	}},
	{"a worker that was stopped after its claim had ended makes no late report", func(f *fixture) {
		ends := map[string]func(x *agent, id board.ID, h board.Handle){
			"expired":    func(x *agent, id board.ID, h board.Handle) { f.expire(id) },
			"given back": func(x *agent, id board.ID, h board.Handle) { f.ok(f.board.GiveBack(f.ctx, x.actor, h, "")) },
		}
		for how, end := range ends {
			id := f.create(how)
			x := f.agent("x " + how)
			h := x.take(id, wishing(id))
			end(x, id, h)
			_, err := f.board.Stop(f.ctx, ada, x.worker())
			f.ok(err)
			_, err = x.report(h, func(r *board.Report) { r.Summary = "late words" })
			f.lost(how, err, true)
			f.status(id, board.Pending)
		}
	}},
	{"an attempt that expired, was reported late and rejected is one failure", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		id := f.create("a", atMost(1))
		x := f.agent("x")
		h := x.take(id)
		f.expire(id)
		f.status(id, board.Failed)
		f.equal("outcome", words(x.done(h).Status, f.get(id).Task.Failures), "review 0")
		_, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Reject, Note: "no"})
		f.ok(err)
		d := f.get(id)
		f.equal("task", words(d.Task.Status, d.Task.Failures), "failed 1")
	}},
	{"done passes after the sweep that used up the budget", func(f *fixture) {
		id := f.create("a", atMost(1))
		x := f.agent("x")
		h := x.take(id)
		f.expire(id)
		f.status(id, board.Failed)
		x.done(h)
		f.status(id, board.Done)
	}},
	{"after the sweep every other call takes the claim back, and its failure", func(f *fixture) {
		for _, c := range holderCalls {
			id := f.create(c.name, atMost(1))
			x := f.agent("x " + c.name)
			h := x.take(id, wishing(id))
			f.expire(id)
			f.status(id, board.Failed)
			f.ok(c.call(f, x.actor, h))
			e := f.event(id, board.EventRevived)
			f.equal("event of "+c.name, words(e.From, e.To, e.Detail.Attempt), "failed in_progress 1")
			d := f.get(id)
			f.equal("failures after "+c.name, d.Task.Failures, map[bool]int{true: 1}[c.name == "fail"])
			f.equal("attempts after "+c.name, len(d.Attempts), 1)
			if c.name != "fail" && (d.Claim == nil || d.Claim.Handle != h || d.Claim.Lease != board.DefaultLease || d.Claim.Left) {
				f.Errorf("%s: the claim is %+v, want %v with its lease", c.name, d.Claim, h)
			}
			_, err := f.board.Cancel(f.ctx, ada, id, "over", board.DependentsKeep)
			f.ok(err)
		}
	}},
	{"an expired claim is not taken back if its worker or its task has moved on", func(f *fixture) {
		for _, c := range []struct {
			name string
			then func(x *agent, id board.ID)
		}{
			{"holds another task", func(x *agent, id board.ID) { other := f.create("other"); x.take(other, wishing(other)) }},
			{"stopped", func(x *agent, id board.ID) {
				_, err := f.board.Stop(f.ctx, ada, x.worker())
				f.ok(err)
			}},
			{"a draft", func(x *agent, id board.ID) {
				_, err := f.board.Update(f.ctx, ada, id, board.Edit{Hold: new(true)})
				f.ok(err)
			}},
			{"cancelled", func(x *agent, id board.ID) {
				_, err := f.board.Cancel(f.ctx, ada, id, "", board.DependentsKeep)
				f.ok(err)
			}},
		} {
			id := f.create(c.name)
			x := f.agent("x " + c.name)
			h := x.take(id, wishing(id))
			f.expire(id)
			c.then(x, id)
			for _, call := range holderCalls {
				f.lost(c.name+": "+call.name, call.call(f, x.actor, h), call.kept)
			}
			f.equal("live claim: "+c.name, f.get(id).Claim == nil, true)
		}
	}},
	{"done is refused when somebody else has the task", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		old := x.take(id)
		f.expire(id)
		now := y.take(id)
		f.equal("attempts", words(old.Attempt, now.Attempt), "1 2")
		_, err := x.report(old, func(r *board.Report) { r.Summary = "late words" })
		lost := f.lost("done", err, true)
		if lost.Holder == nil || lost.Holder.Handle != now {
			f.Errorf("the holder is %v, want %v", lost.Holder, now)
		}
		f.keptNote(id, old, true)
		for _, c := range holderCalls {
			f.lost(c.name, c.call(f, x.actor, old), c.kept)
		}
		f.status(id, board.InProgress)
		y.done(now)
	}},
	{"done is refused when somebody else had the task", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		old := x.take(id)
		f.expire(id)
		y.take(id)
		f.expire(id)
		_, err := x.report(old)
		f.lost("done", err, true)
		f.status(id, board.Pending)
	}},
	{"done after the sweep takes the claim back if the spec has changed, and is refused once", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		f.expire(id)
		_, err := f.board.Update(f.ctx, ada, id, board.Edit{Description: new("other")})
		f.ok(err)
		_, err = x.report(h)
		if _, edited := errors.AsType[*board.EditedError](err); !edited {
			f.Fatalf("done: error %v, want an *EditedError", err)
		}
		f.status(id, board.InProgress)
		f.equal("outcome", x.done(h).Late, false)
		f.equal("events", f.kinds(id), "created claimed expired edited revived done")
	}},
	{"done passes after the sweep when only the priority has changed", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		f.expire(id)
		_, err := f.board.Update(f.ctx, ada, id, board.Edit{Priority: new(board.Urgent)})
		f.ok(err)
		x.done(h)
	}},
	{"done is refused if the claim did not end by expiry", func(f *fixture) {
		ends := map[string]func(x *agent, id board.ID, h board.Handle){
			"released": func(x *agent, id board.ID, h board.Handle) { f.undo(id) },
			"parked":   func(x *agent, id board.ID, h board.Handle) { x.park(x.ask(h).ID) },
			"stopped": func(x *agent, id board.ID, h board.Handle) {
				_, err := f.board.Stop(f.ctx, ada, board.WorkerID{Principal: "local", Name: x.name})
				f.ok(err)
			},
			"cancelled": func(x *agent, id board.ID, h board.Handle) {
				_, err := f.board.Cancel(f.ctx, ada, id, "enough", board.DependentsKeep)
				f.ok(err)
			},
		}
		for cause, end := range ends {
			id := f.create(cause)
			x := f.agent("x " + cause)
			h := x.take(id, wishing(id))
			end(x, id, h)
			before := f.get(id).Task.Status
			_, err := x.report(h)
			lost := f.lost("done after "+cause, err, true)
			if lost.Ended == nil || string(lost.Ended.Cause) != cause {
				f.Errorf("ended %+v, want %s", lost.Ended, cause)
			}
			f.status(id, before)
		}
	}},
	{"a handle with a wrong nonce or attempt is refused", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		nonce := h
		nonce.Nonce = strings.Repeat("z", 5)
		attempt := h
		attempt.Attempt++
		for _, wrong := range []board.Handle{nonce, attempt} {
			_, err := x.report(wrong)
			f.lost(fmt.Sprintf("done as %v", wrong), err, false)
			for _, c := range holderCalls {
				f.lost(c.name, c.call(f, x.actor, wrong), false)
			}
		}
		f.equal("events", f.kinds(id), "created claimed") // a claim that never was leaves no note
		f.status(id, board.InProgress)
		missing := h
		missing.Task.No = 99
		_, err := x.report(missing)
		f.is("done of no task", err, board.ErrNotFound)
	}},
	{"a handle is not a credential: another principal is refused", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		thief := board.Actor{Principal: "eve", Owner: "eve"}
		_, err := f.board.Done(f.ctx, thief, h, board.Report{Summary: "mine"})
		f.is("done", err, board.ErrDenied)
		for _, c := range holderCalls {
			f.is(c.name, c.call(f, thief, h), board.ErrDenied)
		}
		f.status(id, board.InProgress)
		f.equal("events", f.kinds(id), "created claimed")
	}},
	{"attempts count up and are never reset", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		for i := 1; i <= 3; i++ {
			h := x.take(id)
			f.equal("attempt", h.Attempt, i)
			x.fail(h, board.FailOther)
		}
		f.status(id, board.Failed)
		_, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Retry})
		f.ok(err)
		h := x.take(id)
		f.equal("attempt after a retry", h.Attempt, 4)
		f.equal("failures after a retry", f.get(id).Task.Failures, 0)
	}},
	{"a holder is told of an edit once", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		_, err := f.board.Update(f.ctx, ada, id, board.Edit{Description: new("other")})
		f.ok(err)
		f.equal("edited", x.note(h, "one").Edited, true)
		f.equal("edited again", x.note(h, "two").Edited, false)
		// It knows the new spec now, so it may report late.
		f.expire(id)
		x.done(h)
	}},
	{"a call that names the claim renews it under half of the lease", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		first := f.get(id).Claim.LeaseUntil
		x.note(h, "one")
		f.equal("lease after an early note", f.get(id).Claim.LeaseUntil.Equal(first), true)
		f.shortenLease(id)
		x.note(h, "two")
		if d := f.get(id); d.Claim.LeaseUntil.Sub(d.Now) < d.Claim.Lease*9/10 {
			f.Errorf("the lease has %v left after a late note, want %v", d.Claim.LeaseUntil.Sub(d.Now), d.Claim.Lease)
		}
	}},
}}

// shortenLease leaves a quarter of a claim's lease.
func (f *fixture) shortenLease(id board.ID) {
	f.Helper()
	f.write(func(tx board.Tx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		c, err := tx.LiveClaim(id)
		if err != nil {
			return err
		}
		c.LeaseUntil = now.Add(c.Lease / 4)
		return tx.UpdateClaim(c)
	})
}

// keptNote checks whether the text of a call with a lost claim was kept as a note.
func (f *fixture) keptNote(id board.ID, h board.Handle, want bool) {
	f.Helper()
	kept := false
	for _, e := range f.get(id).Events {
		if e.Kind == board.EventNote && e.Detail.Late && strings.HasSuffix(e.Detail.Text, "late words") && e.Detail.Attempt == h.Attempt {
			kept = true
		}
	}
	if kept != want {
		f.Errorf("%v has a note of the lost claim: %v, want %v", id, kept, want)
	}
}
