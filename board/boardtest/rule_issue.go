package boardtest

import (
	"strings"

	"github.com/bossman-dev/bossman/board"
)

const issueURL = "https://github.com/acme/web/issues/12"

// issuePlan is a plan with one issue.
func issuePlan(url, author string) board.Plan {
	return board.Plan{Project: project, Tasks: []board.PlanTask{{Key: "12", Item: url, Author: author, NewTask: board.NewTask{Title: "It crashes"}}}}
}

// issue makes a task of an issue, and starts it.
func (f *fixture) issue() board.ID {
	f.Helper()
	made, err := f.board.CreatePlan(f.ctx, ada, issuePlan(issueURL, "bob"))
	f.ok(err)
	id := made.Tasks[0].ID
	f.equal("a draft", f.get(id).Task.Hold, true)
	_, err = f.board.Update(f.ctx, ada, id, board.Edit{Hold: new(false)})
	f.ok(err)
	return id
}

var ruleIssues = group{"issues", []test{
	{"become drafts in the name of their author, once", func(f *fixture) {
		id := f.issue()
		e := f.event(id, board.EventCreated)
		f.equal("author", words(e.Actor, "by:", e.Detail.By), "import by ada of "+issueURL+": bob by: ")
		f.equal("creator", f.get(id).Task.CreatedBy, e.Actor)
		again, err := f.board.CreatePlan(f.ctx, ada, issuePlan(issueURL, "bob"))
		f.ok(err)
		f.equal("again", words(again.Tasks[0].ID, again.Tasks[0].Existed), words(id, true))
	}},
	{"are started by people only", func(f *fixture) {
		made, err := f.board.CreatePlan(f.ctx, ada, issuePlan(issueURL, "bob"))
		f.ok(err)
		id := made.Tasks[0].ID
		agent := board.Actor{Principal: "ada", Owner: "p-lead", Name: "lead"}
		_, err = f.board.Update(f.ctx, agent, id, board.Edit{Hold: new(false)})
		f.is("an agent", err, board.ErrDenied)
		_, err = f.board.Update(f.ctx, agent, id, board.Edit{Hold: new(false), Priority: new(board.High)})
		f.is("with another edit", err, board.ErrDenied)
		_, err = f.board.Update(f.ctx, agent, id, board.Edit{Priority: new(board.High), Hold: new(true)})
		f.ok(err)
		f.equal("still a draft", words(f.get(id).Task.Hold, f.get(id).Task.Priority), words(true, board.High))
		_, err = f.board.Update(f.ctx, ada, id, board.Edit{Hold: new(false)})
		f.ok(err)
		own := f.create("own", held)
		_, err = f.board.Update(f.ctx, agent, own, board.Edit{Hold: new(false)})
		f.ok(err)
	}},
	{"need an author, and an address with https", func(f *fixture) {
		for name, p := range map[string]board.Plan{
			"no author": issuePlan(issueURL, ""), "no address": issuePlan("", "bob"), "no https": issuePlan("http://github.com/acme/web/issues/1", "bob"),
			"no host": issuePlan("https:///12", "bob"), "long": issuePlan("https://github.com/"+strings.Repeat("a", 180), "bob"),
			"told": issuePlan("told "+issueURL, ""), "long author": issuePlan(issueURL, strings.Repeat("b", 201)),
		} {
			_, err := f.board.CreatePlan(f.ctx, ada, p)
			f.is(name, err, board.ErrInvalid)
		}
	}},
	{"are told once, when the work has landed", func(f *fixture) {
		f.landing()
		id := f.issue()
		f.queued(7) // is of no issue
		i := board.Issue{URL: issueURL, Task: id, Commit: object(9)}
		f.is("before", f.board.Told(f.ctx, ada, i), board.ErrConflict)
		f.again(id, 8)
		list, err := f.board.Untold(f.ctx, project)
		f.ok(err)
		f.equal("in the queue", len(list), 0)
		l := f.lander("l")
		intent, err := l.begin(9, f.item(id, 8))
		f.ok(err)
		_, err = f.board.Landed(f.ctx, l.actor, l.lease, intent.ID, nil)
		f.ok(err)
		list, err = f.board.Untold(f.ctx, project)
		f.ok(err)
		f.equal("landed", words(list), words([]board.Issue{i}))
		other := i
		other.URL += "3"
		f.is("another issue", f.board.Told(f.ctx, l.actor, other), board.ErrInvalid)
		f.ok(f.board.Told(f.ctx, l.actor, i))
		f.equal("history", words(f.event(id, board.EventTold).Detail.Text, f.event(id, board.EventTold).Detail.Commit), words(issueURL, object(9)))
		kinds := f.kinds(id)
		f.ok(f.board.Told(f.ctx, l.actor, i))
		f.equal("twice", f.kinds(id), kinds)
		list, err = f.board.Untold(f.ctx, project)
		f.ok(err)
		f.equal("told", len(list), 0)
	}},
	{"are told of a task that is done without landing", func(f *fixture) {
		id := f.issue()
		_, err := f.board.MarkDone(f.ctx, ada, id, "by hand", false)
		f.ok(err)
		list, err := f.board.Untold(f.ctx, project)
		f.ok(err)
		f.equal("done", words(list), words([]board.Issue{{URL: issueURL, Task: id}}))
	}},
}}
