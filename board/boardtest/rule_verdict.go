package boardtest

import (
	"strings"

	"github.com/bossman-dev/bossman/board"
)

var ruleVerdicts = group{"reviews and releases", []test{
	{"accept unblocks the dependents", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		id := f.create("a")
		next := f.create("b", after(id))
		x := f.agent("x")
		x.done(x.take(id))
		out, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Accept, Note: "fine"})
		f.ok(err)
		f.equal("outcome", words(out.Status, ids(out.Freed)), words("done", next))
		e := f.last(id)
		f.equal("event", words(e.Kind, e.Actor, e.From, e.To, e.Detail.Text), "accepted ada review done fine")
		x.take(next)
	}},
	{"a verdict holds for the attempt that was looked at", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		id := f.create("a")
		x := f.agent("x")
		x.done(x.take(id))
		_, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Reject, Note: "no", Attempt: 1})
		f.ok(err)
		x.done(x.take(id))
		_, err = f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Accept, Attempt: 1})
		f.is("a verdict on work that is gone", err, board.ErrConflict)
		_, err = f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Accept, Attempt: 2})
		f.ok(err)
	}},
	{"the next attempt gets the note of a rejection", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		h := x.take(id)
		x.done(h)
		_, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Reject, Note: "no tests"})
		f.ok(err)
		f.equal("event", f.event(id, board.EventRejected).Detail.Text, "no tests")
		y.take(id)
		again := x.done(h)
		f.equal("the old report again", words(again.Again, again.Status), "true review")
		f.status(id, board.InProgress)
	}},
	{"under the policy person only a person decides", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		x.done(x.take(id))
		for _, v := range []board.Verdict{board.Accept, board.Reject} {
			_, err := f.board.Review(f.ctx, y.actor, id, board.Decision{Verdict: v, Note: "note"})
			f.is(string(v)+" by an agent that never held it", err, board.ErrDenied)
		}
		_, err := f.board.Cancel(f.ctx, y.actor, id, "not needed", board.DependentsUnblock)
		f.is("a cancellation by an agent", err, board.ErrDenied)
		f.status(id, board.InReview)
		// A policy that was changed meanwhile gives nobody the decision.
		f.project(board.Project{Slug: project, Policy: board.PolicyEvidence})
		_, err = f.board.Review(f.ctx, y.actor, id, board.Decision{Verdict: board.Accept})
		f.is("an agent after the policy was changed", err, board.ErrDenied)
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		_, err = f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Accept})
		f.ok(err)
		f.status(id, board.Done)
	}},
	{"under the policy review a lead who held no attempt decides", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		id, other := f.create("a"), f.create("b")
		x, y := f.agent("x"), f.agent("y")
		f.equal("a report", x.done(x.take(id)).Status, board.InReview)
		_, err := f.board.Review(f.ctx, x.actor, id, board.Decision{Verdict: board.Accept})
		f.is("a review of one's own work", err, board.ErrDenied)
		_, err = f.board.Cancel(f.ctx, x.actor, id, "done anyway", board.DependentsUnblock)
		f.is("a cancellation of one's own work", err, board.ErrDenied)
		_, err = f.board.Review(f.ctx, y.actor, id, board.Decision{Verdict: board.Accept})
		f.ok(err)
		f.status(id, board.Done)
		x.done(x.take(other))
		_, err = f.board.Review(f.ctx, ada, other, board.Decision{Verdict: board.Reject, Note: "no"})
		f.ok(err)
		f.status(other, board.Pending)
	}},
	{"the text of a task in review cannot be changed, nor is it made a draft", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		id := f.create("a")
		x := f.agent("x")
		x.done(x.take(id))
		for name, e := range map[string]board.Edit{
			"title": {Title: new("b")}, "description": {Description: new("b")}, "acceptance": {Acceptance: new("b")}, "evidence": {Wants: &[]board.EvidenceKind{}}, "draft": {Hold: new(true)},
		} {
			_, err := f.board.Update(f.ctx, ada, id, e)
			f.is(name, err, board.ErrConflict)
		}
		_, err := f.board.Update(f.ctx, ada, id, board.Edit{Priority: new(board.High)})
		f.ok(err)
	}},
	{"a worker that held the task cannot review it or change its acceptance", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		x.fail(x.take(id), board.FailOther)
		h := y.take(id)
		for _, a := range []*agent{x, y} {
			_, err := f.board.Update(f.ctx, a.actor, id, board.Edit{Acceptance: new("whatever")})
			f.is("an edit by "+a.actor.Owner, err, board.ErrDenied)
			_, err = f.board.Update(f.ctx, a.actor, id, board.Edit{Wants: &[]board.EvidenceKind{board.EvidenceFile}})
			f.is("an edit of the evidence by "+a.actor.Owner, err, board.ErrDenied)
		}
		y.done(h)
		for _, a := range []*agent{x, y} {
			_, err := f.board.Review(f.ctx, a.actor, id, board.Decision{Verdict: board.Accept})
			f.is("a review by "+a.actor.Owner, err, board.ErrDenied)
			_, err = f.board.Update(f.ctx, a.actor, id, board.Edit{Priority: new(board.Low)})
			f.ok(err)
		}
	}},
	{"a process that goes on under the holder's name cannot review its work", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		id := f.create("a")
		x := f.agent("x")
		x.done(x.take(id))
		f.ok(f.board.Leave(f.ctx, "x"))
		y := f.agent("y")
		y.name = x.name
		y.nothing()
		y.actor.Worker = "" // the call of a tool does not say who its worker is
		_, err := f.board.Review(f.ctx, y.actor, id, board.Decision{Verdict: board.Accept})
		f.is("a review under the holder's name", err, board.ErrDenied)
	}},
	{"in an agent's shell nobody is somebody else to the work of the same principal", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		h := x.take(id)
		q, err := f.board.Ask(f.ctx, x.actor, board.NewQuestion{Claim: h, Text: "?", Default: "no"})
		f.ok(err)
		shell := y.actor
		shell.Shell = true
		_, err = f.board.Answer(f.ctx, shell, q.ID, "yes")
		f.is("an answer", err, board.ErrDenied)
		_, err = f.board.Update(f.ctx, shell, id, board.Edit{Acceptance: new("Anything.")})
		f.is("another acceptance", err, board.ErrDenied)
		x.done(h)
		_, err = f.board.Cancel(f.ctx, shell, id, "not needed", board.DependentsUnblock)
		f.is("a cancellation", err, board.ErrDenied)
		_, err = f.board.Review(f.ctx, shell, id, board.Decision{Verdict: board.Accept})
		f.is("a verdict", err, board.ErrDenied)
		other := shell
		other.Principal = "key:other"
		_, err = f.board.Review(f.ctx, other, id, board.Decision{Verdict: board.Reject, Note: "No."})
		f.ok(err)
	}},
	{"to a program's key nobody is somebody else to the work of that key", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		id := f.create("a")
		x, y, z := f.agent("x"), f.agent("y"), f.agent("z")
		for _, a := range []*agent{x, y, z} {
			a.actor.OneWorker = true
		}
		z.actor.Principal = "key:other"
		h := x.take(id)
		about, err := f.board.Ask(f.ctx, x.actor, board.NewQuestion{Claim: h, Text: "?", Default: "no"})
		f.ok(err)
		loose, err := f.board.Ask(f.ctx, x.actor, board.NewQuestion{Project: project, Text: "??"})
		f.ok(err)
		for _, q := range []board.QuestionID{about.ID, loose.ID} {
			_, err = f.board.Answer(f.ctx, y.actor, q, "yes")
			f.is("an answer", err, board.ErrDenied)
			_, err = f.board.Answer(f.ctx, z.actor, q, "yes")
			f.ok(err)
		}
		_, err = f.board.Update(f.ctx, y.actor, id, board.Edit{Acceptance: new("Anything.")})
		f.is("another acceptance", err, board.ErrDenied)
		x.done(h)
		y.nothing(reviewing)
		_, err = f.board.Review(f.ctx, y.actor, id, board.Decision{Verdict: board.Accept})
		f.is("a verdict", err, board.ErrDenied)
		_, err = f.board.Review(f.ctx, z.actor, id, board.Decision{Verdict: board.Accept, Claim: z.review(id)})
		f.ok(err)
	}},
	{"a verdict applies to one status", func(f *fixture) {
		id := f.create("a")
		for _, v := range []board.Verdict{board.Accept, board.Reject, board.Retry} {
			_, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: v, Note: "note"})
			f.is(string(v)+" of a pending task", err, board.ErrConflict)
		}
		_, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: "maybe", Note: "note"})
		f.is("an unknown verdict", err, board.ErrInvalid)
		_, err = f.board.Review(f.ctx, ada, board.ID{Project: project, No: 99}, board.Decision{Verdict: board.Accept})
		f.is("a review of nothing", err, board.ErrNotFound)
	}},
	{"release makes a task pending", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		h := x.take(id)
		got, err := f.board.Release(f.ctx, ada, id, "stuck")
		f.ok(err)
		f.equal("task", words(got.Status, got.Failures), "pending 0")
		f.equal("attempt", words(f.get(id).Attempts[0].Cause, f.get(id).Attempts[0].Reason), "released stuck")
		_, err = f.board.Release(f.ctx, ada, id, "")
		f.is("a release of what nobody holds", err, board.ErrConflict)
		y.take(id)
		_, err = x.report(h)
		f.lost("done", err, true)
	}},
	{"release ends a cool-down and a reservation", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		x.fail(x.take(id), board.FailEnvironment)
		f.undo(id)
		q := x.ask(x.take(id))
		x.park(q.ID)
		_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		f.undo(id)
		y.take(id)
	}},
	{"an edit records the fields it changed", func(f *fixture) {
		id := f.create("a")
		e := board.Edit{
			Title: new(" b "), Description: new("long"), Acceptance: new("when"), Priority: new(board.High),
			Skills: &[]string{"SQL", "go", "unknown"}, Areas: &[]string{"/web/*.css"}, Wants: &[]board.EvidenceKind{"tests"}, MaxFailures: new(5),
		}
		got, err := f.board.Update(f.ctx, ada, id, e)
		f.ok(err)
		f.equal("caller's own list", words(*e.Skills, *e.Areas), "[SQL go unknown] [/web/*.css]")
		f.equal("task", words(got.Title, got.Priority, got.Skills, got.Areas, got.Wants, got.MaxFailures, got.SpecVersion), "b high [go sql] [web] [tests] 5 2")
		f.equal("fields", strings.Join(f.last(id).Detail.Fields, " "), "title description acceptance priority max_failures skills areas evidence")
		got, err = f.board.Update(f.ctx, ada, id, board.Edit{Title: new("b"), Hold: new(false)})
		f.ok(err)
		f.equal("an edit that changes nothing", words(got.Seq, got.SpecVersion), "2 2")
		got, err = f.board.Update(f.ctx, ada, id, board.Edit{Priority: new(board.Low)})
		f.ok(err)
		f.equal("spec version after a new priority", got.SpecVersion, 2)
		for name, e := range map[string]board.Edit{
			"no title": {Title: new(" ")}, "two lines": {Title: new("a\nb")}, "a wrong priority": {Priority: new(board.Priority(9))},
			"no budget": {MaxFailures: new(0)},
		} {
			_, err := f.board.Update(f.ctx, ada, id, e)
			f.is(name, err, board.ErrInvalid)
		}
	}},
	{"an invalid task is refused", func(f *fixture) {
		for name, n := range map[string]board.NewTask{
			"nothing":          {},
			"no project":       {Project: "nothere", Title: "a"},
			"two lines":        {Project: project, Title: "a\nb"},
			"a wrong priority": {Project: project, Title: "a", Priority: 9},
			"wrong evidence":   {Project: project, Title: "a", Wants: []board.EvidenceKind{"rumour"}},
			"too many skills":  {Project: project, Title: "a", Skills: strings.Split("abcdefghi", "")},
			"no text":          {Project: project, Title: "\xff"},
			"a long lease":     {Project: project, Title: "a", Lease: 1 << 60},
		} {
			if n.Project == "" && name != "nothing" {
				n.Project = project
			}
			_, _, err := f.board.Create(f.ctx, ada, n, "")
			f.is(name, err, board.ErrInvalid)
		}
		f.project(board.Project{Slug: "old", Archived: true})
		_, _, err := f.board.Create(f.ctx, ada, board.NewTask{Project: "old", Title: "a"}, "")
		f.is("an archived project", err, board.ErrConflict)
		f.tasks(0)
	}},
}}

var ruleGrowth = group{"growth is bounded", []test{
	{"follow-ups of a report are on hold", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		out := x.done(x.take(id), func(r *board.Report) {
			r.FollowUps = []board.NewTask{{Title: "b", Priority: board.Urgent}, {Title: "c", Project: "elsewhere"}}
		})
		f.equal("follow-ups", len(out.FollowUps), 2)
		for _, id := range out.FollowUps {
			d := f.get(id)
			f.equal("follow-up", words(d.Task.Hold, d.Task.Status, d.Task.ID.Project), words(true, board.Pending, project))
		}
		x.nothing()
		_, err := f.board.Update(f.ctx, ada, out.FollowUps[0], board.Edit{Hold: new(false)})
		f.ok(err)
		x.take(out.FollowUps[0])
	}},
	{"a follow-up may depend on the reported task", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		out := x.done(x.take(id), func(r *board.Report) {
			r.FollowUps = []board.NewTask{{Title: "b", DependsOn: []board.ID{id}}}
		})
		f.equal("open blockers", f.get(out.FollowUps[0]).Task.OpenBlockers, 0)
	}},
	{"a follow-up of a task in review waits for the review", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		id := f.create("a")
		x := f.agent("x")
		out := x.done(x.take(id), func(r *board.Report) {
			r.FollowUps = []board.NewTask{{Title: "b", DependsOn: []board.ID{id}}}
		})
		f.equal("open blockers", f.get(out.FollowUps[0]).Task.OpenBlockers, 1)
		_, err := f.board.Review(f.ctx, ada, id, board.Decision{Verdict: board.Accept})
		f.ok(err)
		f.equal("open blockers", f.get(out.FollowUps[0]).Task.OpenBlockers, 0)
	}},
	{"a follow-up may have the same parent", func(f *fixture) {
		p := f.create("p")
		id := f.create("a", within(p))
		x := f.agent("x")
		out := x.done(x.take(id), func(r *board.Report) {
			r.FollowUps = []board.NewTask{{Title: "b", Parent: p}}
		})
		f.status(p, board.Pending)
		_, err := f.board.Update(f.ctx, ada, out.FollowUps[0], board.Edit{Hold: new(false)})
		f.ok(err)
		x.done(x.take(out.FollowUps[0]))
		x.done(x.take(p)) // an agent added to what a person had planned
		f.status(p, board.Done)
	}},
	{"a claim creates at most five tasks", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		for i := range 3 {
			got, _, err := f.board.CreateUnder(f.ctx, x.actor, h, board.NewTask{Title: words(i)}, words("k", i))
			f.ok(err)
			f.equal("held", words(got.Hold, got.CreatedBy), words(true, x.name))
			again, _, err := f.board.CreateUnder(f.ctx, x.actor, h, board.NewTask{Title: words(i)}, words("k", i))
			f.ok(err)
			f.equal("again", again.ID, got.ID)
		}
		three := func(r *board.Report) { r.FollowUps = []board.NewTask{{Title: "x"}, {Title: "y"}, {Title: "z"}} }
		_, err := x.report(h, three)
		f.is("three more", err, board.ErrConflict)
		f.status(id, board.InProgress)
		x.done(h, func(r *board.Report) { r.FollowUps = []board.NewTask{{Title: "x"}, {Title: "y"}} })
		f.tasks(6)
	}},
	{"a repeated report creates no more tasks", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		more := func(r *board.Report) { r.FollowUps = []board.NewTask{{Title: "b"}} }
		first, again := x.done(h, more), x.done(h, more)
		f.equal("follow-ups", ids(again.FollowUps), ids(first.FollowUps))
		f.tasks(2)
	}},
}}
