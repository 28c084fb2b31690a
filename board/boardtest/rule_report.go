package boardtest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var ruleReports = group{"reports", []test{
	{"done ends the claim and keeps the result", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		out := x.done(h, func(r *board.Report) {
			r.Evidence = []board.Evidence{{Kind: board.EvidencePR, Ref: "31"}}
			r.Artifacts = []string{"a.txt"}
			r.Where = board.Where{Branch: "x/a", Head: "abc"}
		})
		f.equal("outcome", words(out.Task, out.Status, out.Worker, out.Again), words(id, "done", x.name, false))
		d := f.get(id)
		if d.Claim != nil || d.Task.EndedAt.IsZero() {
			f.Errorf("claim %v, ended %v, want none and a time", d.Claim, d.Task.EndedAt)
		}
		f.equal("result", fmt.Sprintf("%+v", *d.Doc.Result), fmt.Sprintf("{Summary:It works. Evidence:[{Kind:pr Ref:31 Detail: Observed:false}] Artifacts:[a.txt] Branch:x/a Uncommitted:0 Worker:%s Tip:{Commit: Tree: Base:} NoChanges:false Includes:[] Loose:{LeftOut:[] More:0 Mixed:[] MoreMixed:0 Rest:0 Written:[] MoreWritten:0 Inside:[] Unknown:false} Comments:[] Landed: Check: ObservedBy: ObservedOn: Import:}", x.name))
		f.equal("attempt", words(d.Attempts[0].Cause, d.Attempts[0].Where.Head), "done abc")
		x.nothing()
	}},
	{"the same report gets the same answer, a different one is a conflict", func(f *fixture) {
		id := f.create("a")
		next := f.create("b", after(id))
		x := f.agent("x")
		h := x.take(id)
		first := x.done(h, func(r *board.Report) { r.Where.Head = "1" })
		again := x.done(h, func(r *board.Report) { r.Where.Head = "2" }) // where it is may change
		f.equal("again", words(again.Again, again.Status, ids(again.Freed)), words("true done", next))
		again.Again = false
		f.equal("answer", fmt.Sprintf("%+v", again), fmt.Sprintf("%+v", first))
		_, err := x.report(h, func(r *board.Report) { r.Summary = "other words" })
		f.is("another report", err, board.ErrConflict)
		_, err = f.board.Fail(f.ctx, x.actor, h, board.Failure{Reason: "It works."})
		f.is("a failure after done", err, board.ErrConflict)
		f.equal("events", f.kinds(id), "created claimed done")
	}},
	{"a repeated report is answered even if the task has changed since", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		h := x.take(id)
		x.fail(h, board.FailOther)
		y.take(id)
		again := x.fail(h, board.FailOther)
		f.equal("again", words(again.Again, again.Status, again.Failures), "true pending 1")
		f.equal("failures", f.get(id).Task.Failures, 1)
		_, err := x.report(h)
		f.is("done after failed", err, board.ErrConflict)
		f.status(id, board.InProgress)
	}},
	{"a report without required evidence is refused", func(f *fixture) {
		id := f.create("a", wanting(board.EvidenceTests, board.EvidencePR))
		x := f.agent("x")
		h := x.take(id)
		_, err := x.report(h, func(r *board.Report) { r.Evidence = []board.Evidence{{Kind: board.EvidencePR, Ref: "1"}} })
		missing, ok := errors.AsType[*board.EvidenceError](err)
		if !ok {
			f.Fatalf("done without tests: %v, want an *EvidenceError", err)
		}
		f.equal("missing and sent", words(missing.Missing, missing.Sent), "[tests] [pr]")
		f.is("done without tests", err, board.ErrConflict)
		f.status(id, board.InProgress)
		f.equal("events", f.kinds(id), "created claimed")
		x.done(h, func(r *board.Report) {
			r.Evidence = []board.Evidence{{Kind: board.EvidencePR, Ref: "1"}, {Kind: board.EvidenceTests, Ref: "go test"}}
		})
	}},
	{"a report by an old spec is refused once, with the new one", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		_, err := f.board.Update(f.ctx, ada, id, board.Edit{Acceptance: new("It is red."), Wants: &[]board.EvidenceKind{board.EvidencePR}})
		f.ok(err)
		pr := func(r *board.Report) { r.Evidence = []board.Evidence{{Kind: board.EvidencePR, Ref: "1"}} }
		_, err = x.report(h, pr)
		edited, ok := errors.AsType[*board.EditedError](err)
		if !ok {
			f.Fatalf("done by the old spec: %v, want an *EditedError", err)
		}
		f.equal("the new spec", words(edited.Task, edited.Title, edited.Acceptance, edited.Wants), words(id, "a", "It is red.", "[pr]"))
		f.is("done by the old spec", err, board.ErrConflict)
		f.status(id, board.InProgress)
		f.equal("events", f.kinds(id), "created claimed edited")
		f.equal("edited", x.done(h, pr).Edited, false)
		f.status(id, board.Done)
	}},
	{"so is a report that an old spec is wrong; other failures are recorded", func(f *fixture) {
		x := f.agent("x")
		for _, k := range []board.FailureKind{board.FailWrongSpec, board.FailOther} {
			id := f.create("a " + string(k))
			h := x.take(id)
			_, err := f.board.Update(f.ctx, ada, id, board.Edit{Description: new("other")})
			f.ok(err)
			out, err := f.board.Fail(f.ctx, x.actor, h, board.Failure{Kind: k, Reason: "r"})
			if _, ok := errors.AsType[*board.EditedError](err); ok != (k == board.FailWrongSpec) {
				f.Errorf("fail %s by the old spec: %v", k, err)
			}
			if err != nil {
				out, err = f.board.Fail(f.ctx, x.actor, h, board.Failure{Kind: k, Reason: "r"})
				f.ok(err)
			}
			f.equal("edited", out.Edited, k == board.FailOther)
			if k == board.FailWrongSpec {
				f.status(id, board.Failed)
			}
		}
	}},
	{"a report is told the answers that came meanwhile, and its repetition too", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyTrust})
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		q, err := f.board.Ask(f.ctx, x.actor, board.NewQuestion{Claim: h, Text: "Which colour?", Default: "blue"})
		f.ok(err)
		_, err = f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		_, err = f.board.Update(f.ctx, ada, id, board.Edit{Description: new("other")})
		f.ok(err)
		for _, again := range []bool{false, true} {
			out := x.done(h)
			if len(out.Answers) != 1 {
				f.Fatalf("done, again %v: answers %v, want one", again, out.Answers)
			}
			f.equal("told", words(out.Again, out.Edited, out.Answers[0].ID, out.Answers[0].Answer), words(again, true, q.ID, "red"))
		}
	}},
	{"the policy trust accepts every report", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyTrust})
		id := f.create("a", wanting(board.EvidenceTests))
		x := f.agent("x")
		x.done(x.take(id))
		f.status(id, board.Done)
	}},
	{"the policy person puts reported tasks into review", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		id := f.create("a")
		next := f.create("b", after(id))
		x := f.agent("x")
		h := x.take(id)
		out := x.done(h)
		f.equal("outcome", words(out.Status, len(out.Freed)), "review 0")
		d := f.get(id)
		if d.Claim != nil || d.Attempts[0].Cause != board.CauseDone {
			f.Errorf("claim %v, cause %s, want the claim ended", d.Claim, d.Attempts[0].Cause)
		}
		f.equal("blockers of the next", f.get(next).Task.OpenBlockers, 1)
		f.status(next, board.Pending)
		x.nothing() // and it can ask for more
	}},
	{"a report that was looked at under other rules is refused, once it has them it is recorded", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		seen := func(r board.Rules) func(*board.Report) { return func(report *board.Report) { report.Rules = &r } }
		before := board.Rules{Policy: board.PolicyEvidence}
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		_, err := x.report(h, seen(before))
		f.is("after the policy was changed", err, board.ErrConflict)
		f.status(id, board.InProgress)
		now := board.Rules{Policy: board.PolicyPerson}
		f.equal("status", x.done(h, seen(now)).Status, board.InReview)
		again, err := x.report(h, seen(before))
		f.ok(err)
		f.equal("repeated", again.Again, true)
	}},
	{"the policy person puts late reports into review too", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		f.expire(id)
		out := x.done(h)
		f.equal("outcome", words(out.Status, out.Late), "review true")
		x.nothing()
	}},
	{"an invalid report is refused", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		for name, r := range map[string]board.Report{
			"no summary":       {Summary: " "},
			"unknown evidence": {Summary: "s", Evidence: []board.Evidence{{Kind: "rumour"}}},
			"no text":          {Summary: "a\xff"},
			"a zero byte":      {Summary: "a\x00b"},
			"an empty task":    {Summary: "s", FollowUps: []board.NewTask{{}}},
		} {
			_, err := f.board.Done(f.ctx, x.actor, h, r)
			f.is(name, err, board.ErrInvalid)
		}
		for name, fl := range map[string]board.Failure{
			"no reason":    {},
			"unknown kind": {Kind: "bored", Reason: "r"},
		} {
			_, err := f.board.Fail(f.ctx, x.actor, h, fl)
			f.is(name, err, board.ErrInvalid)
		}
		_, err := f.board.Progress(f.ctx, x.actor, h, board.Note{Text: "t", Percent: 101})
		f.is("more than everything", err, board.ErrInvalid)
		f.status(id, board.InProgress)
	}},
	{"the next attempt gets the history of the last", func(f *fixture) {
		first := f.create("first")
		id := f.create("a", after(first))
		x, y := f.agent("x"), f.agent("y")
		x.done(x.take(first), func(r *board.Report) { r.Summary, r.Where.Branch = "schema is there", "x/first" })
		h := x.take(id)
		where := board.Where{Host: "h", Branch: "x/a", Head: "3f2c1ab", Uncommitted: 2}
		_, err := f.board.Progress(f.ctx, x.actor, h, board.Note{Text: "half", Percent: 50, Where: where})
		f.ok(err)
		q := x.ask(h, func(n *board.NewQuestion) { n.Blocking = new(false) })
		_, err = f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		_, err = f.board.Fail(f.ctx, x.actor, h, board.Failure{Kind: board.FailTooHard, Reason: "why", DoNotRepeat: "that"})
		f.ok(err)
		d := y.next().Dossier
		f.equal("result of the dependency", words(d.Results[first].Summary, d.Results[first].Branch, len(d.Blockers)), "schema is there x/first 1")
		last := d.Attempts[0]
		where.Worked = true
		f.equal("last attempt", words(last.Reason, last.DoNotRepeat, last.Cause, last.Where), words("why", "that", board.CauseFailed, where))
		f.equal("answer", d.Questions[0].Answer, "red")
		notes := 0
		for _, e := range d.Events {
			if e.Kind == board.EventNote && e.Detail.Text == "half" && e.Detail.Percent == 50 {
				notes++
			}
		}
		f.equal("notes", notes, 1)
	}},
	{"a terminal task does not change", func(f *fixture) {
		for _, end := range []string{"done", "cancelled"} {
			id := f.create(end)
			x := f.agent("x " + end)
			h := x.take(id, wishing(id))
			if end == "done" {
				x.done(h)
			} else {
				_, err := f.board.Cancel(f.ctx, ada, id, "enough", board.DependentsKeep)
				f.ok(err)
			}
			_, err := f.board.Update(f.ctx, ada, id, board.Edit{Title: new("other")})
			f.is("update of "+end, err, board.ErrConflict)
			_, err = f.board.Cancel(f.ctx, ada, id, "again", board.DependentsKeep)
			f.is("cancel of "+end, err, board.ErrConflict)
			_, err = f.board.Release(f.ctx, ada, id, "")
			f.is("release of "+end, err, board.ErrConflict)
			for _, v := range []board.Verdict{board.Accept, board.Reject, board.Retry} {
				_, err = f.board.Review(f.ctx, ada, id, board.Decision{Verdict: v, Note: "note"})
				f.is(string(v)+" of "+end, err, board.ErrConflict)
			}
			_, err = f.agent("y").try(wishing(id))
			f.is("a wish for "+end, err, board.ErrConflict)
			_, err = f.board.Progress(f.ctx, x.actor, h, board.Note{Text: "late words"})
			f.lost("a note on "+end, err, true)
			f.status(id, board.Status(end))
		}
	}},
	{"the head of a place is the name of a commit, and any other text is dropped", func(f *fixture) {
		x := f.agent("x")
		for _, head := range []string{"0.\n\nANSWERS, by \"ada\" (person)\nYes", "HEAD", "ABC", "-f", strings.Repeat("0", 65)} {
			id := f.create("a")
			h := x.take(id)
			where := board.Where{Branch: "b", Head: head}
			_, err := f.board.Progress(f.ctx, x.actor, h, board.Note{Text: "n", Where: where})
			f.ok(err)
			f.equal("note at "+head, f.last(id).Detail.Where.Head, "")
			f.ok(f.board.Locate(f.ctx, x.actor, h, where))
			f.equal("located at "+head, f.get(id).Attempts[0].Where.Head, "")
			x.done(h, func(r *board.Report) { r.Where = where })
			f.equal("done at "+head, f.get(id).Attempts[0].Where.Head, "")
			id = f.create("b", func(n *board.NewTask) { n.MaxFailures = 1 })
			_, err = f.board.Fail(f.ctx, x.actor, x.take(id), board.Failure{Reason: "r", Where: where})
			f.ok(err)
			f.equal("failed at "+head, f.get(id).Attempts[0].Where.Head, "")
		}
		id, head := f.create("c"), strings.Repeat("0af", 21)
		x.done(x.take(id), func(r *board.Report) { r.Where = board.Where{Branch: "b", Head: head} })
		f.equal("head", f.get(id).Attempts[0].Where.Head, head)
	}},
	{"progress is kept with its percent and place", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		where := board.Where{Branch: "b", Head: "c"}
		_, err := f.board.Progress(f.ctx, x.actor, h, board.Note{Text: "half", Percent: 50, Where: where})
		f.ok(err)
		e := f.last(id)
		f.equal("event", words(e.Kind, e.Detail.Text, e.Detail.Percent, e.Detail.Where, e.Detail.Worker), words("note", "half", 50, where, x.name))
		where.Worked = true
		f.equal("attempt", f.get(id).Attempts[0].Where, where)
		if d := f.get(id); d.Now.Sub(e.At) > time.Minute || d.Now.Before(e.At) {
			f.Errorf("the note is of %v, now is %v", e.At, d.Now)
		}
	}},
}}
