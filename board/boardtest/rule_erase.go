package boardtest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// secret is in every text of a task that confess makes.
const secret = "hunter2"

// confess makes a finished task with the secret wherever somebody can write.
func (f *fixture) confess() board.ID {
	f.Helper()
	plan := board.Plan{Project: project, Key: "once", Tasks: []board.PlanTask{{Key: "a", NewTask: board.NewTask{
		Title: "with " + secret, Description: secret, Acceptance: secret, Areas: []string{secret},
	}}}}
	made, err := f.board.CreatePlan(f.ctx, ada, plan)
	f.ok(err)
	id := made.Tasks[0].ID
	_, err = f.board.Update(f.ctx, ada, id, board.Edit{Title: new("still " + secret), Description: new("now " + secret)})
	f.ok(err)
	x := f.agent("x")
	h := x.take(id, func(w *board.Wish) { w.Where = board.Where{Host: "h", Dir: "/" + secret, Branch: secret} })
	x.note(h, "the password is "+secret)
	_, err = f.board.Fail(f.ctx, x.actor, h, board.Failure{Kind: board.FailOther, Reason: secret, DoNotRepeat: secret})
	f.ok(err)
	x = f.agent("y")
	h = x.take(id)
	q, err := f.board.Ask(f.ctx, x.actor, board.NewQuestion{Project: project, Claim: h, Text: "Is it " + secret + "?", Options: []string{secret, "no"}})
	f.ok(err)
	_, err = f.board.Answer(f.ctx, ada, q.ID, secret)
	f.ok(err)
	f.ok(f.board.Record(f.ctx, x.actor, board.Run{Claim: h, Agent: "claude", Session: secret}, board.LogPart{No: 1, Text: secret}))
	f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
	_, err = x.report(h, func(r *board.Report) {
		r.Summary, r.Artifacts = "used "+secret, []string{secret}
		r.Evidence = []board.Evidence{{Kind: board.EvidenceOther, Ref: secret, Detail: secret}}
		r.Diff = board.Diff{Files: []board.FileDiff{{Path: secret, Kind: "A", Patch: "+" + secret}}}
	})
	f.ok(err)
	f.ok(f.board.Comment(f.ctx, ada, id, []board.Comment{{File: secret, Text: secret}}))
	_, err = f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Reject})
	f.ok(err)
	x = f.agent("z")
	h = x.take(id)
	x.done(h)
	_, err = f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Accept, Note: secret})
	f.ok(err)
	f.project(board.Project{Slug: project})
	f.status(id, board.Done)
	return id
}

// told returns all that can be read of a task.
func (f *fixture) told(id board.ID) string {
	f.Helper()
	var out bytes.Buffer
	f.ok(f.board.Export(f.ctx, project, func(line []byte) error {
		out.Write(line)
		return nil
	}))
	d := f.get(id)
	fmt.Fprintf(&out, "%+v", d)
	for _, a := range d.Attempts {
		fmt.Fprintf(&out, "%+v", a)
	}
	for _, e := range d.Events {
		fmt.Fprintf(&out, "%+v", e)
	}
	fmt.Fprintf(&out, "%+v", d.Doc.Result)
	runs, err := f.board.Runs(f.ctx, id)
	f.ok(err)
	log, err := f.board.Log(f.ctx, id, len(d.Attempts), 0)
	f.ok(err)
	fmt.Fprintf(&out, "%+v %+v %+v", runs, log, f.diff(id, 0))
	found, err := f.board.List(f.ctx, board.TaskFilter{Projects: []string{project}, Query: secret})
	f.ok(err)
	fmt.Fprintf(&out, "%+v", found)
	again, err := f.board.CreatePlan(f.ctx, ada, board.Plan{Project: project, Key: "once", Tasks: []board.PlanTask{{Key: "a", NewTask: board.NewTask{
		Title: "with " + secret, Description: secret, Acceptance: secret, Areas: []string{secret},
	}}}})
	f.ok(err)
	f.equal("a repeated plan", again.Tasks[0].ID, id)
	fmt.Fprintf(&out, "%+v", again)
	return out.String()
}

var ruleErasures = group{"erasures", []test{
	{"nothing of what was written in a task is left, and who did what and when stays", func(f *fixture) {
		id := f.confess()
		before := f.get(id)
		if n := strings.Count(f.told(id), secret); n < 20 {
			f.Fatalf("the secret is in %d places, want more", n)
		}
		_, err := f.board.Erase(f.ctx, ada, id, "a password")
		f.ok(err)
		told := f.told(id)
		if i := strings.Index(told, secret); i >= 0 {
			f.Errorf("the secret is left: …%s…", told[max(0, i-200):min(len(told), i+50)])
		}
		now := f.get(id)
		f.equal("task", words(now.Task.Title, now.Task.Status, now.Task.CreatedBy, now.Doc.Result.Summary, now.Doc.Result.Worker == before.Doc.Result.Worker), "[erased] done ada [erased] true")
		f.equal("events", len(now.Events), len(before.Events)+1)
		for i, e := range before.Events {
			got := now.Events[i]
			f.equal("event", words(got.Seq, got.At.UTC(), got.Actor, got.Kind, got.From, got.To, got.Detail.Worker, got.Detail.By, got.Detail.Attempt),
				words(e.Seq, e.At.UTC(), e.Actor, e.Kind, e.From, e.To, e.Detail.Worker, e.Detail.By, e.Detail.Attempt))
			if got.Detail.Erased == nil || got.Detail.Erased.By != "ada" || got.Detail.Erased.Reason != "a password" || got.Detail.Erased.At.IsZero() {
				f.Errorf("event %d does not say who erased it: %+v", e.Seq, got.Detail.Erased)
			}
		}
		last := now.Events[len(now.Events)-1]
		f.equal("last event", words(last.Kind, last.Actor, last.Detail.Text, last.Detail.Fields, last.Detail.By), "erased ada a password [task] person")
		_, err = f.board.Erase(f.ctx, ada, id, "once more")
		f.ok(err)
	}},
	{"the feed has each erasure after it was done", func(f *fixture) {
		id, x := f.create("a"), f.agent("x")
		x.done(x.take(id))
		end, err := f.board.FeedEnd(f.ctx)
		f.ok(err)
		f.ok(f.board.Redact(f.ctx, ada, id, 3, "why"))
		_, err = f.board.Erase(f.ctx, ada, id, "why")
		f.ok(err)
		es := f.feed(nil, end, 10)
		f.equal("events", len(es), 2)
		for i, what := range []string{"event 3", "task"} {
			f.equal("event", words(es[i].Task, es[i].Kind, es[i].Detail.Fields), words(id, board.EventErased, []string{what}))
		}
		for _, e := range f.feed(nil, "", 10) {
			if e.Task == id && e.Kind != board.EventErased && e.Detail.Erased == nil {
				f.Errorf("the feed has the content of event %d", e.Seq)
			}
		}
	}},
	{"only a person, with a reason, erases a task that is over", func(f *fixture) {
		id := f.create("a")
		_, err := f.board.Erase(f.ctx, ada, id, "why")
		f.is("open", err, board.ErrConflict)
		x := f.agent("x")
		x.done(x.take(id))
		_, err = f.board.Erase(f.ctx, x.actor, id, "why")
		f.is("agent", err, board.ErrDenied)
		f.is("agent's redact", f.board.Redact(f.ctx, x.actor, id, 2, "why"), board.ErrDenied)
		_, err = f.board.Erase(f.ctx, ada, id, " ")
		f.is("no reason", err, board.ErrInvalid)
		_, err = f.board.Erase(f.ctx, ada, board.ID{Project: project, No: 99}, "why")
		f.is("no task", err, board.ErrNotFound)
		f.equal("events", f.kinds(id), "created claimed done")
	}},
	{"one event is redacted, with what repeats it", func(f *fixture) {
		id := f.confess()
		for _, e := range f.get(id).Events {
			if e.Kind == board.EventClaimed && e.Detail.Attempt == 2 {
				continue
			}
			f.ok(f.board.Redact(f.ctx, ada, id, e.Seq, "a password"))
		}
		d := f.get(id)
		shown := fmt.Sprintf("%+v %+v %+v %+v", d.Attempts, d.Questions, d.Events, d.Doc.Result)
		if i := strings.Index(shown, secret); i >= 0 {
			f.Errorf("the secret is left: …%s…", shown[max(0, i-200):min(len(shown), i+50)])
		}
		f.equal("title", d.Task.Title, "still "+secret) // which is changed with an edit
		kept := 0
		for _, e := range d.Events {
			if e.Kind != board.EventErased && e.Detail.Erased == nil {
				kept++
			}
		}
		f.equal("events that were not redacted", kept, 1)
	}},
	{"a redaction names an event that has content", func(f *fixture) {
		id := f.create("a")
		f.is("the title's", f.board.Redact(f.ctx, ada, id, 1, "why"), board.ErrConflict)
		f.is("none", f.board.Redact(f.ctx, ada, id, 9, "why"), board.ErrNotFound)
		f.is("none", f.board.Redact(f.ctx, ada, id, -1, "why"), board.ErrNotFound)
		x := f.agent("x")
		h := x.take(id)
		x.note(h, secret)
		f.ok(f.board.Redact(f.ctx, ada, id, 3, "why"))
		f.equal("note", f.event(id, board.EventNote).Detail.Text, board.Erased)
		f.is("the redaction", f.board.Redact(f.ctx, ada, id, 4, "why"), board.ErrConflict)
		x.done(h) // the claim goes on
	}},
	{"the store changes an event in no other way", func(f *fixture) {
		id := f.create("a")
		e := f.last(id)
		for name, change := range map[string]func(*board.Event){
			"without an erasure": func(e *board.Event) { e.Detail.Text = board.Erased },
			"with a text": func(e *board.Event) {
				e.Detail.Text, e.Detail.Erased = "b", &board.Erasure{By: "ada", At: e.At, Reason: "why"}
			},
			"without a name": func(e *board.Event) {
				e.Detail.Text, e.Detail.Erased = board.Erased, &board.Erasure{At: e.At, Reason: "why"}
			},
			"with a place": func(e *board.Event) {
				e.Detail = board.Detail{Where: board.Where{Dir: "d"}, Erased: &board.Erasure{By: "ada", At: e.At, Reason: "why"}}
			},
		} {
			changed := e
			change(&changed)
			if err := f.store.Write(f.ctx, func(tx board.Tx) error { return tx.EraseEvent(changed) }); err == nil {
				f.Errorf("EraseEvent %s = nil, want a refusal", name)
			}
		}
		f.equal("event", f.last(id).Detail.Text, "a")
	}},
}}
