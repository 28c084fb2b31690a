package boardtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var ruleWhy = group{"why a task is not handed out", []test{
	{"ready", func(f *fixture) {
		id := f.create("a", needing("gpu"))
		f.why(id, board.WhyReady, board.WhySkills)
	}},
	{"blocked", func(f *fixture) {
		id := f.create("b", after(f.create("a")))
		f.why(id, board.WhyBlocked)
	}},
	{"parts", func(f *fixture) {
		id := f.create("p")
		part := f.create("a", within(id))
		if text := f.why(id, board.WhyParts); !strings.Contains(text, part.String()) {
			f.Errorf("%q does not name %v", text, part)
		}
	}},
	{"held and paused", func(f *fixture) {
		id := f.create("a", held)
		f.ok(f.board.Pause(f.ctx, ada, project))
		f.why(id, board.WhyDraft, board.WhyPaused)
	}},
	{"archived", func(f *fixture) {
		id := f.create("a")
		f.project(board.Project{Slug: project, Archived: true})
		f.why(id, board.WhyArchived)
	}},
	{"lease", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		x.take(id)
		if text := f.why(id, board.WhyLease); !strings.Contains(text, x.name) {
			f.Errorf("%q does not name %s", text, x.name)
		}
		f.expireLease(id)
		f.why(id, board.WhyLease)
	}},
	{"budget and wrong_spec", func(f *fixture) {
		a, b := f.create("a", atMost(1)), f.create("b")
		x := f.agent("x")
		x.fail(x.take(a), board.FailOther)
		x.fail(x.take(b), board.FailWrongSpec)
		f.why(a, board.WhyBudget)
		if text := f.why(b, board.WhyWrongSpec); !strings.Contains(text, "It does not work.") {
			f.Errorf("%q does not give the reason", text)
		}
	}},
	{"nothing: whose the tasks are, and when the next is ready", func(f *fixture) {
		taken, left, cooling, kept, declined := f.create("taken"), f.create("left"), f.create("cooling"), f.create("kept"), f.create("declined")
		x, gone, asker, y := f.agent("x"), f.agent("gone"), f.agent("asker"), f.agent("y")
		x.take(taken)
		gone.take(left)
		f.ok(f.board.Leave(f.ctx, "gone"))
		y.fail(y.take(cooling), board.FailEnvironment)
		f.reserve(kept, asker)
		y.fail(y.take(declined), board.FailTooHard)
		minutes := func(d time.Duration) int { return int((d + 30*time.Second) / time.Minute) }
		for _, name := range []string{y.name, ""} { // a new name on the same connection, too
			y.name = name
			n := y.nothing()
			var coming []string
			for _, c := range n.Coming {
				coming = append(coming, words(c.Task, minutes(c.In), c.Reserved, c.Declined))
			}
			slices.Sort(coming) // the last two come at nearly the same time
			f.equal("coming", strings.Join(coming, "; "), words(cooling, 2, false, false)+"; "+words(kept, 10, true, false)+"; "+words(declined, 10, false, true))
			f.equal("taken", len(n.Taken), 2)
			f.equal("free first", words(n.Taken[0].Task, minutes(n.Taken[0].Free)), words(left, 2))
			f.equal("then", words(n.Taken[1].Task, n.Taken[1].Free, n.Taken[1].Silent), words(taken, "0s", "0s"))
		}
	}},
	{"cool_down and reserved", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		x := f.agent("x")
		x.fail(x.take(a), board.FailEnvironment)
		q := x.ask(x.take(b))
		x.park(q.ID)
		f.why(b, board.WhyQuestion)
		_, reasons, err := f.board.Why(f.ctx, b)
		f.ok(err)
		f.equal("the question that it waits for", reasons[0].Question, q.ID)
		_, err = f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		f.why(a, board.WhyCooling)
		f.why(b, board.WhyReserved)
	}},
	{"policy", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		id := f.create("a")
		x := f.agent("x")
		x.done(x.take(id))
		f.why(id, board.WhyPolicy)
	}},
	{"ended", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		x.done(x.take(id))
		f.why(id, board.WhyEnded)
	}},
	{"unknown task", func(f *fixture) {
		_, _, err := f.board.Why(f.ctx, board.ID{Project: project, No: 99})
		f.is("Why", err, board.ErrNotFound)
	}},
}}

// why fails the test unless these are the reasons, and returns their texts.
func (f *fixture) why(id board.ID, want ...board.ReasonCode) string {
	f.Helper()
	_, reasons, err := f.board.Why(f.ctx, id)
	f.ok(err)
	var got []board.ReasonCode
	text := ""
	for _, r := range reasons {
		got = append(got, r.Code)
		text += r.Text + "\n"
	}
	f.equal("reasons", got, want)
	return text
}

var ruleMaintenance = group{"maintenance", []test{
	{"Run sweeps", func(f *fixture) {
		id := f.create("a", func(n *board.NewTask) { n.Lease = 20 * time.Millisecond })
		x := f.agent("x")
		x.take(id)
		f.running()
		f.eventually("the claim is swept", func() bool { return f.get(id).Task.Status == board.Pending })
		f.equal("failures", f.get(id).Task.Failures, 1)
	}},
	{"Run ends with its context", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx)
		ended := make(chan error, 1)
		go func() { ended <- f.board.Run(ctx) }()
		cancel()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			f.Fatal("Run goes on 10 s after its context ended")
		}
	}},
	{"the home project exists before the first write", func(f *fixture) {
		b := board.New(f.store, &board.Options{Home: &board.Project{Slug: "home"}})
		x := board.Actor{Principal: "local", Owner: "x"}
		_, err := b.Next(f.ctx, x, board.Wish{Projects: []string{"home"}, Skills: []string{"go"}})
		if _, ok := err.(*board.Nothing); !ok {
			f.Errorf("Next = %v, want *Nothing", err)
		}
		_, err = f.board.Project(f.ctx, "home")
		f.is("the project in the store", err, board.ErrNotFound)
		t, _, err := b.Create(f.ctx, x, board.NewTask{Project: "home", Title: "a"}, "")
		f.ok(err)
		p, err := f.board.Project(f.ctx, "home")
		f.ok(err)
		f.equal("project", words(p.Slug, p.Policy), "home evidence")
		h, err := b.Next(f.ctx, x, board.Wish{Projects: []string{"home"}})
		f.ok(err)
		f.equal("task", h.Task.ID, t.ID)
	}},
	{"two boards share a store", func(f *fixture) {
		f.running()
		other := board.New(f.store, nil)
		got := make(chan error, 1)
		go func() {
			_, err := f.board.Next(f.ctx, f.agent("x").actor, board.Wish{Projects: []string{project}, Wait: 20 * time.Second})
			got <- err
		}()
		f.waiting(1)
		_, _, err := other.Create(f.ctx, ada, board.NewTask{Project: project, Title: "a"}, "")
		f.ok(err)
		f.ok(<-got)
	}},
	{"a summary has the counts, claims and questions", func(f *fixture) {
		id := f.create("a")
		f.create("b")
		x := f.agent("x")
		x.ask(x.take(id))
		s, err := f.board.Summary(f.ctx, project)
		f.ok(err)
		f.equal("summary", words(len(s.Claims), len(s.Open), s.Counts.Ready, s.Counts.Status[board.InProgress]), "1 1 1 1")
	}},
	{"an invalid project is refused", func(f *fixture) {
		for _, p := range []board.Project{{Slug: "Web"}, {Slug: "1a"}, {Slug: ""}, {Slug: "a", Policy: "hope"}, {Slug: "a", Lease: -1}} {
			f.is(fmt.Sprintf("SetProject(%+v)", p), f.board.SetProject(f.ctx, p), board.ErrInvalid)
		}
	}},
}}
