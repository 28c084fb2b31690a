package boardtest

import (
	"strings"

	"github.com/bossman-dev/bossman/board"
)

var ruleByHand = group{"what people do by hand", []test{
	{"a person marks an open task done, whatever its state", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		x := f.agent("x")
		held := f.create("held", func(n *board.NewTask) { n.Hold = true })
		blocked := f.create("blocked", after(held))
		failed := f.create("failed", func(n *board.NewTask) { n.MaxFailures = 1 })
		x.fail(x.take(failed), board.FailOther)
		waiting := f.create("waiting")
		q := x.ask(x.take(waiting))
		x.park(q.ID)
		review := f.create("review")
		x.done(x.take(review))
		pending := f.create("pending", func(n *board.NewTask) { n.Wants = []board.EvidenceKind{"tests"} })
		for _, id := range []board.ID{pending, held, blocked, failed, waiting, review} {
			out, err := f.board.MarkDone(f.ctx, ada, id, "", true)
			f.ok(err)
			f.equal("status", words(id, out.Status), words(id, "done"))
			f.status(id, board.Done)
			e := f.event(id, board.EventClosed)
			f.equal("event", words(e.Actor, e.To, e.Detail.Cause), "ada done closed")
			_, err = f.board.MarkDone(f.ctx, ada, id, "", true)
			f.is("a second time", err, board.ErrConflict)
		}
		f.equal("result", f.get(pending).Doc.Result.Summary, "Marked done by ada.")
		f.equal("what was reported", f.get(review).Doc.Result.Worker, x.name)
		again, err := f.board.Question(f.ctx, q.ID)
		f.ok(err)
		f.equal("its question", again.State, board.QuestionWithdrawn)
	}},
	{"marking done unblocks the dependents and ends the claim", func(f *fixture) {
		id := f.create("a")
		next := f.create("b", after(id))
		x := f.agent("x")
		h := x.take(id)
		out, err := f.board.MarkDone(f.ctx, ada, id, "did it myself", false)
		f.ok(err)
		f.equal("freed", ids(out.Freed), words(next))
		d := f.get(id)
		f.equal("attempt", words(d.Attempts[0].Cause, d.Attempts[0].Reason), "closed did it myself")
		f.equal("result", d.Doc.Result.Summary, "did it myself")
		_, err = x.report(h)
		f.lost("done", err, true)
		f.equal("result after a late report", f.get(id).Doc.Result.Summary, "did it myself")
		x.take(next)
	}},
	{"only a person marks a task done, and a task in review only in a review", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		id := f.create("a")
		x := f.agent("x")
		_, err := f.board.MarkDone(f.ctx, x.actor, id, "", true)
		f.is("an agent", err, board.ErrDenied)
		x.done(x.take(id))
		_, err = f.board.MarkDone(f.ctx, ada, id, "", false)
		f.is("outside a review", err, board.ErrDenied)
		f.status(id, board.InReview)
		owner := x.actor // the person whose key the agent used
		owner.Person, owner.Worker = true, ""
		_, err = f.board.MarkDone(f.ctx, owner, id, "", true)
		f.ok(err)
		f.status(id, board.Done)
		_, err = f.board.MarkDone(f.ctx, ada, board.ID{Project: project, No: 99}, "", true)
		f.is("nothing", err, board.ErrNotFound)
	}},
	{"reopening a done task makes a new one that is handed the old result", func(f *fixture) {
		first := f.create("first")
		parent := f.create("parent")
		id := f.create("a", after(first), within(parent), func(n *board.NewTask) {
			n.Description, n.Acceptance, n.Priority, n.Areas = "long", "when", board.High, []string{"web"}
			n.Wants, n.MaxFailures = []board.EvidenceKind{"commit"}, 2
		})
		f.create("c", within(parent)) // keeps the parent open
		x := f.agent("x")
		x.done(x.take(first))
		x.done(x.take(id), func(r *board.Report) {
			r.Summary, r.Evidence, r.Where = "did half", []board.Evidence{{Kind: "commit", Ref: "abc123"}}, board.Where{Branch: "x/a"}
		})
		before := f.get(id)
		got, err := f.board.Reopen(f.ctx, ada, id, "the other half")
		f.ok(err)
		d := f.get(got.ID)
		f.equal("task", words(d.Task.Title, d.Doc.Description, d.Doc.Acceptance, d.Task.Priority, d.Task.Areas, d.Task.Wants, d.Task.MaxFailures, d.Task.Parent, d.Task.Status),
			words("Redo", id.String()+":", "a", "long", "when", "high", "[web]", "[commit]", 2, parent, "pending"))
		f.equal("blockers", words(len(d.Blockers), d.Blockers[0].ID), words(1, first))
		made := f.event(got.ID, board.EventCreated).Detail
		prior := made.Prior
		f.equal("why", made.Why, "the other half")
		for _, want := range []string{id.String() + " is done", "did half", "commit abc123", "branch x/a"} {
			f.equal("the hand-over has "+want, strings.Contains(prior, want), true)
		}
		now := f.get(id)
		f.equal("the old task", words(now.Task.Seq, now.Task.Status, now.Doc.Result.Summary), words(before.Task.Seq, board.Done, "did half"))
		x.done(x.take(got.ID), func(r *board.Report) { r.Evidence = []board.Evidence{{Kind: "commit", Ref: "def456"}} })
		twice, err := f.board.Reopen(f.ctx, ada, got.ID, "")
		f.ok(err)
		f.equal("a redo of a redo", twice.Title, words("Redo", got.ID.String()+":", "a"))
		f.equal("what they do again", words(d.Task.Redoes, twice.Redoes, f.get(twice.ID).Task.Redoes), words(id, got.ID, got.ID))
	}},
	{"only a person's word makes a task do another one again, and no title", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		x.done(x.take(id))
		own, _, err := f.board.Create(f.ctx, y.actor, board.NewTask{Project: project, Title: "Redo " + id.String() + ": a"}, "")
		f.ok(err)
		again, err := f.board.Reopen(f.ctx, y.actor, id, "")
		f.ok(err)
		f.equal("agents'", words("[", own.Redoes, f.get(own.ID).Task.Redoes, again.Redoes, again.Title, "]"), words("[", "", "", "", "Redo", id.String()+":", "a", "]"))
		got, err := f.board.Reopen(f.ctx, ada, id, "")
		f.ok(err)
		_, err = f.board.Update(f.ctx, ada, got.ID, board.Edit{Title: new("b")})
		f.ok(err)
		f.equal("a person's", words(f.get(got.ID).Task.Title, f.get(got.ID).Task.Redoes), words("b", id))
	}},
	{"reopening a done task after others makes one task, however often", func(f *fixture) {
		id, first, second := f.create("a"), f.create("first"), f.create("second")
		x := f.agent("x")
		x.done(x.take(id))
		own := f.create("Redo "+id.String()+": another thing", func(n *board.NewTask) { n.Hold = true }) // which is a task of its own
		got, err := f.board.Reopen(f.ctx, ada, id, "why", first)
		f.ok(err)
		f.equal("not the task with such a title", got.ID == own, false)
		f.equal("it is blocked", got.OpenBlockers, 1)
		_, err = f.board.Cancel(f.ctx, ada, first, "", board.DependentsKeep)
		f.ok(err)
		_, err = f.board.Update(f.ctx, ada, got.ID, board.Edit{Title: new("under another name")})
		f.ok(err)
		again, err := f.board.Reopen(f.ctx, ada, id, "why", second)
		f.ok(err)
		f.equal("again", again.ID, got.ID)
		d := f.get(got.ID)
		f.equal("blockers", words(len(d.Blockers), d.Blockers[0].ID, d.Task.OpenBlockers), words(1, second, 1))
		x.done(x.take(second))
		h := x.take(got.ID)
		_, err = f.board.Reopen(f.ctx, ada, id, "", second)
		f.ok(err)
		f.status(got.ID, board.InProgress)
		x.done(h)
		next, err := f.board.Reopen(f.ctx, ada, id, "", second)
		f.ok(err)
		f.equal("after it is done", next.ID == got.ID, false)
	}},
	{"a person takes a draft, also while its project is paused, and an agent does not", func(f *fixture) {
		id := f.create("a", func(n *board.NewTask) { n.Hold = true })
		f.ok(f.board.Pause(f.ctx, ada, project))
		wish := board.Wish{Task: id, Projects: []string{project}}
		_, err := f.board.Next(f.ctx, ada, wish)
		f.is("without saying so", err, board.ErrConflict)
		wish.Draft = true
		_, err = f.board.Next(f.ctx, f.agent("x").actor, wish)
		f.is("an agent", err, board.ErrDenied)
		h, err := f.board.Next(f.ctx, ada, wish)
		f.ok(err)
		f.equal("claim", words(h.Claim.Handle.Task, h.Task.Hold), words(id, false))
		f.equal("events", f.kinds(id), "created started claimed")
	}},
	{"reopening a cancelled task hands over why it was cancelled", func(f *fixture) {
		id := f.create(strings.Repeat("é", 99))
		_, err := f.board.Cancel(f.ctx, ada, id, "too early", board.DependentsKeep)
		f.ok(err)
		got, err := f.board.Reopen(f.ctx, ada, id, "")
		f.ok(err)
		f.equal("title is cut", words(len(got.Title) <= 200, strings.HasSuffix(got.Title, "é…")), "true true")
		f.equal("hand-over", f.event(got.ID, board.EventCreated).Detail.Prior, id.String()+" is cancelled. The reason: too early")
		f.status(id, board.Cancelled)
		f.agent("x").take(got.ID)
	}},
	{"reopening a failed task retries it", func(f *fixture) {
		id := f.create("a", func(n *board.NewTask) { n.MaxFailures = 1 })
		x := f.agent("x")
		_, err := f.board.Reopen(f.ctx, ada, id, "")
		f.is("a pending task", err, board.ErrConflict)
		x.fail(x.take(id), board.FailOther)
		_, err = f.board.Reopen(f.ctx, x.actor, id, "")
		f.is("its holder", err, board.ErrDenied)
		got, err := f.board.Reopen(f.ctx, ada, id, "try again")
		f.ok(err)
		f.equal("task", words(got.ID, got.Status, got.Failures), words(id, board.Pending, 0))
		f.equal("note", f.event(id, board.EventRetried).Detail.Text, "try again")
		f.tasks(1)
	}},
	{"tasks on hold are found, and who proposed them", func(f *fixture) {
		id := f.create("a")
		f.create("own", func(n *board.NewTask) { n.Hold = true })
		x := f.agent("x")
		out := x.done(x.take(id), func(r *board.Report) { r.FollowUps = []board.NewTask{{Title: "b"}} })
		held, err := f.board.List(f.ctx, board.TaskFilter{Projects: []string{project}, Hold: true})
		f.ok(err)
		f.equal("held", words(len(held), held[0].Title, held[1].ID), words(2, "own", out.FollowUps[0]))
		e := f.event(out.FollowUps[0], board.EventCreated)
		f.equal("proposed", words(e.Detail.Worker, e.Detail.Prior), words(x.name, "Proposed by the worker of", id.String()+"."))
		f.equal("a person's own", f.event(held[0].ID, board.EventCreated).Detail.Worker, "")
	}},
}}
