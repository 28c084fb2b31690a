package boardtest

import (
	"fmt"

	"github.com/bossman-dev/bossman/board"
)

var (
	redCheck      = board.CheckRun{Command: "make test", Red: true, Reason: "exit status 1", Tail: "1 failed"}
	unjudgedCheck = board.CheckRun{Command: "make test", Reason: "it took longer than 15m"}
)

var ruleChecks = group{"checks", []test{
	{"a red check keeps the claim, the fifth one fails the attempt", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		h := x.take(id)
		for n := 1; n <= 4; n++ {
			out, err := f.board.Checked(f.ctx, x.actor, h, redCheck)
			f.ok(err)
			f.equal("outcome", words(out.Status, out.Count, out.Limit, out.Failures), fmt.Sprintf("in_progress %d 5 0", n))
		}
		out, err := f.board.Checked(f.ctx, x.actor, h, redCheck)
		f.ok(err)
		f.equal("the fifth", words(out.Status, out.Count, out.Failures, out.Worker), words("pending 5 1", x.name))
		d := f.get(id)
		f.equal("attempt", words(d.Attempts[0].Cause, d.Claim == nil), "failed true")
		_, err = x.report(h)
		f.lost("a report after the fifth", err, true)
		again := y.take(id)
		out, err = f.board.Checked(f.ctx, y.actor, again, redCheck)
		f.ok(err)
		f.equal("the next attempt", out.Count, 1)
	}},
	{"a check that cannot judge is nobody's failure: the third in a row asks people", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		for _, run := range []board.CheckRun{unjudgedCheck, unjudgedCheck, redCheck, unjudgedCheck, unjudgedCheck} {
			out, err := f.board.Checked(f.ctx, x.actor, h, run)
			f.ok(err)
			f.equal("status", out.Status, board.InProgress)
		}
		out, err := f.board.Checked(f.ctx, x.actor, h, unjudgedCheck)
		f.ok(err)
		f.equal("the third in a row", words(out.Status, out.Failures), "waiting 0")
		d := f.get(id)
		f.equal("questions", len(d.Questions), 1)
		q := d.Questions[0]
		f.equal("question", words(q.ID, q.HumanOnly, q.Blocking, len(q.Options)), words(out.Question, "true true 2"))
		f.equal("waived before an answer", waived(d), false)
		_, err = f.board.Answer(f.ctx, board.Actor{Principal: "lead", Owner: "lead"}, q.ID, board.CheckWaive)
		f.is("an agent's answer", err, board.ErrDenied)
		_, err = f.board.Answer(f.ctx, board.Actor{Principal: "ada", Owner: "ada", Person: true}, q.ID, board.CheckWaive)
		f.ok(err)
		d = f.get(id)
		f.equal("waived", words(waived(d), d.Task.Status), "true pending")
		y := f.agent("y")
		other := y.take(f.create("never waived"))
		_, err = f.board.Done(f.ctx, y.actor, other, board.Report{Summary: "s", Check: board.CheckWasWaived})
		f.is("a waiver that nobody gave", err, board.ErrConflict)
		_, err = f.board.Done(f.ctx, y.actor, other, board.Report{Summary: "s", Check: "a person said so"})
		f.is("other words", err, board.ErrInvalid)
		for _, chat := range []string{board.CheckChat, board.CheckChat + " 0a1b"} {
			_, err = f.board.Ask(f.ctx, y.actor, board.NewQuestion{Claim: other, ChatID: chat, HumanOnly: true, Text: "The check?", Options: []string{board.CheckWaive}})
			f.is("the board's own question", err, board.ErrInvalid)
		}
		f.ok(f.board.GiveBack(f.ctx, y.actor, other, ""))
		x.take(id)
		_, err = f.board.Release(f.ctx, ada, id, "")
		f.ok(err)
		d = f.get(id)
		f.equal("waived after a release", waived(d), true)
		_, err = f.board.Fail(f.ctx, x.actor, x.take(id), board.Failure{Kind: board.FailOther, Reason: "no"})
		f.ok(err)
		d = f.get(id)
		f.equal("waived for other work", waived(d), false)
	}},
	{"checks in a row that cannot judge are counted over attempts that are given back, and over no others", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		unjudged := func(want string) board.Handle {
			h := x.take(id)
			out, err := f.board.Checked(f.ctx, x.actor, h, unjudgedCheck)
			f.ok(err)
			f.equal("outcome", words(out.Status, out.Count, out.Failures), want)
			return h
		}
		_, err := f.board.Fail(f.ctx, x.actor, unjudged("in_progress 1 0"), board.Failure{Kind: board.FailOther, Reason: "no"})
		f.ok(err)
		f.ok(f.board.GiveBack(f.ctx, x.actor, unjudged("in_progress 1 1"), ""))
		f.ok(f.board.GiveBack(f.ctx, x.actor, unjudged("in_progress 2 1"), ""))
		unjudged("waiting 3 1")
		_, err = f.board.Answer(f.ctx, ada, f.get(id).Questions[0].ID, board.CheckAgain)
		f.ok(err)
		h := unjudged("in_progress 1 1")
		out, err := f.board.Checked(f.ctx, x.actor, h, redCheck)
		f.ok(err)
		f.ok(f.board.GiveBack(f.ctx, x.actor, h, ""))
		f.equal("red", out.Count, 1)
		h = unjudged("in_progress 1 1")
		out, err = f.board.Checked(f.ctx, x.actor, h, redCheck)
		f.ok(err)
		f.equal("red of another attempt", out.Count, 1)
	}},
	{"a check after the end of the claim is told as such, and changes nothing", func(f *fixture) {
		x := f.agent("x")
		left := x.take(f.create("a"))
		f.ok(f.board.GiveBack(f.ctx, x.actor, left, ""))
		for range 6 {
			out, err := f.board.Checked(f.ctx, x.actor, left, redCheck)
			f.ok(err)
			f.equal("left", words(out.Late, out.Status, out.Failures), "true pending 0")
		}
		x.done(left)

		expired := x.take(f.create("b"))
		f.expire(expired.Task)
		for range 6 {
			out, err := f.board.Checked(f.ctx, x.actor, expired, unjudgedCheck)
			f.ok(err)
			f.equal("expired", words(out.Late, out.Status, out.Failures, out.Question), "true pending 1 q-0")
		}
		x.done(expired)
	}},
	{"only the holder's checks count", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		h := x.take(id)
		_, err := f.board.Checked(f.ctx, board.Actor{Principal: "other", Owner: "other"}, h, redCheck)
		f.is("another principal", err, board.ErrDenied)
		x.done(h)
		_, err = f.board.Checked(f.ctx, x.actor, h, redCheck)
		f.lost("after the report", err, true)
		_ = y
		f.status(id, board.Done)
	}},
	{"evidence without a ref is refused, and the worker does not decide what was observed", func(f *fixture) {
		id := f.create("a", wanting(board.EvidenceTests, board.EvidenceCommit))
		x := f.agent("x")
		h := x.take(id)
		for _, ref := range []string{"", " \n"} {
			_, err := x.report(h, func(r *board.Report) {
				r.Evidence = []board.Evidence{{Kind: board.EvidenceTests, Ref: ref}, {Kind: board.EvidenceCommit, Ref: "abc"}}
			})
			f.is("an empty ref", err, board.ErrInvalid)
		}
		seen := []board.Evidence{{Kind: board.EvidenceTests, Ref: "make test", Detail: "exit 0"}, {Kind: board.EvidenceCommit, Ref: "abc"}}
		claimed := func(r *board.Report) {
			r.Evidence = []board.Evidence{{Kind: board.EvidenceCommit, Ref: "abc"}, {Kind: board.EvidenceOther, Ref: "word", Observed: true}}
		}
		x.done(h, claimed, func(r *board.Report) { r.Observed = seen })
		f.equal("evidence", fmt.Sprint(f.get(id).Doc.Result.Evidence), "[{commit abc  true} {other word  false} {tests make test exit 0 true}]")
		again := x.done(h, claimed) // what was observed is not part of the report
		f.equal("again", again.Again, true)
	}},
	{"a result says what became of the check, and whose word the observed evidence is", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		x.done(h, func(r *board.Report) { r.Check = board.CheckNotAccepted })
		r := f.get(h.Task).Doc.Result
		f.equal("nothing seen", words(r.Check, r.ObservedBy, r.ObservedOn), words("not run (not accepted)", "", ""))
		f.equal("again", x.done(h).Again, true) // nor is the check part of the report
		seen := func(r *board.Report) {
			r.Observed, r.Where = []board.Evidence{{Kind: board.EvidenceFile, Ref: "a"}}, board.Where{Host: "laptop", Dir: "/d"}
		}
		h = x.take(f.create("b"))
		x.done(h, seen)
		r = f.get(h.Task).Doc.Result
		f.equal("here", words(r.ObservedBy, r.ObservedOn), words("", "laptop"))
		y := f.agent("y")
		y.actor.Principal, y.actor.Name = "key:7", "ada"
		h = y.take(f.create("c"))
		y.done(h, seen)
		r = f.get(h.Task).Doc.Result
		f.equal("by a key", words(r.ObservedBy, r.ObservedOn), words("ada", "laptop"))
	}},
	{"a delivery from elsewhere does not move the work", func(f *fixture) {
		at := func(dir, head string) func(*board.Wish) {
			return func(w *board.Wish) { w.Where = board.Where{Host: "h", Dir: dir, Head: head, Client: head} }
		}
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id, at("/one", "1"))
		place := func(want ...any) {
			f.Helper()
			w := f.get(id).Claim.Where
			f.equal("place", words(w.Dir, w.Head), words(want...))
		}
		x.take(id, at("/one", "2"))
		place("/one", "2")
		x.take(id, at("/two", "3"))
		place("/one", "2")
		_, err := f.board.Progress(f.ctx, x.actor, h, board.Note{Text: "n", Where: board.Where{Client: "c"}})
		f.ok(err)
		place("/one", "2")
		f.equal("client", f.get(id).Claim.Where.Client, "c")
		_, err = f.board.Progress(f.ctx, x.actor, h, board.Note{Text: "n", Where: board.Where{Host: "h", Dir: "/two", Head: "4", Named: true}})
		f.ok(err)
		place("/two", "4")
	}},
}}

// waived reports whether a person has waived the check of a task.
func waived(d board.Dossier) bool {
	_, yes := d.CheckWaived()
	return yes
}
