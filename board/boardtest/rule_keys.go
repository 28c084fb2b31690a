package boardtest

import (
	"fmt"
	"sync"

	"github.com/bossman-dev/bossman/board"
)

var ruleKeys = group{"idempotency", []test{
	{"create_task with a key makes one task", func(f *fixture) {
		n := board.NewTask{Project: project, Title: "a", Description: "long", Skills: []string{"go"}, Areas: []string{"web/*"}}
		first, _, err := f.board.Create(f.ctx, ada, n, "k")
		f.ok(err)
		again, d, err := f.board.Create(f.ctx, ada, n, "k")
		f.ok(err)
		f.equal("again", words(again.ID, d.Description), words(first.ID, "long"))
		n.Title = "b"
		_, _, err = f.board.Create(f.ctx, ada, n, "k")
		f.is("same key, other body", err, board.ErrConflict)
		bob := ada
		bob.Principal = "bob"
		other, _, err := f.board.Create(f.ctx, bob, n, "k")
		f.ok(err)
		if other.ID == first.ID {
			f.Error("another principal's key gave the same task")
		}
		f.tasks(2)
	}},
	{"create_plan with a key makes one plan", func(f *fixture) {
		p := board.Plan{Project: project, Key: "k", Tasks: []board.PlanTask{
			{Key: "a", NewTask: board.NewTask{Title: "a"}},
			{Key: "b", After: []string{"a"}, NewTask: board.NewTask{Title: "b"}},
		}}
		first, err := f.board.CreatePlan(f.ctx, ada, p)
		f.ok(err)
		again, err := f.board.CreatePlan(f.ctx, ada, p)
		f.ok(err)
		f.equal("again", fmt.Sprintf("%+v", again), fmt.Sprintf("%+v", first))
		p.Tasks[1].Title = "c"
		_, err = f.board.CreatePlan(f.ctx, ada, p)
		f.is("same key, other body", err, board.ErrConflict)
		f.tasks(2)
	}},
	{"a key is for one kind of call", func(f *fixture) {
		_, _, err := f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "a"}, "k")
		f.ok(err)
		_, err = f.board.Ask(f.ctx, ada, board.NewQuestion{Project: project, Text: "?", Key: "k"})
		f.is("the key in another call", err, board.ErrConflict)
	}},
	{"a failed call leaves its key free", func(f *fixture) {
		n := board.NewTask{Project: project, Title: "a", DependsOn: []board.ID{{Project: project, No: 99}}}
		_, _, err := f.board.Create(f.ctx, ada, n, "k")
		f.is("a task after no task", err, board.ErrNotFound)
		n.DependsOn = nil
		_, _, err = f.board.Create(f.ctx, ada, n, "k")
		f.ok(err)
	}},
	{"get_next_task with a key gives one claim", func(f *fixture) {
		a := f.create("a")
		f.create("b")
		x := f.agent("x")
		first := x.next(keyed("k"))
		f.equal("task", first.Task.ID, a)
		x.name = "" // the reply was lost
		again := x.next(keyed("k"))
		f.equal("again", again.Claim.Handle, first.Claim.Handle)
		f.equal("Again", again.Again, true)
		x.name = ""
		_, err := x.try(keyed("k"), able("go"))
		f.is("same key, other body", err, board.ErrConflict)
	}},
	{"a key whose claim ended says so, and gives no other claim", func(f *fixture) {
		a := f.create("a")
		f.create("b")
		x := f.agent("x")
		h := x.take(a, keyed("k"))
		x.name = ""
		x.done(h)
		_, err := x.try(keyed("k"))
		f.lost("the key of a done claim", err, false)
		c := f.create("c", priority(board.Urgent))
		x.take(c, keyed("k2"))
		x.name = ""
		f.expire(c)
		_, err = x.try(keyed("k2"))
		f.lost("the key of an expired claim", err, false)
		f.status(c, board.Pending)
	}},
	{"a key that found nothing is not used up", func(f *fixture) {
		x := f.agent("x")
		x.nothing(keyed("k"))
		id := f.create("a")
		x.take(id, keyed("k"))
	}},
	{"a call with a key finds the held, the wished and the reserved task", func(f *fixture) {
		f.create("a")
		b := f.create("b")
		x := f.agent("x")
		h := x.take(b, keyed("k1"), wishing(b))
		f.equal("what it holds", x.take(b, keyed("k2")), h)
		q := x.ask(h)
		x.park(q.ID)
		_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		x.take(b, keyed("k3"))
	}},
	{"re-deliveries by keys are counted like others", func(f *fixture) {
		id := f.create("a", atMost(1))
		x := f.agent("x")
		x.take(id, keyed("k"))
		for i := range 5 {
			x.take(id, keyed(words("k", i)))
		}
		x.nothing(keyed("last"))
		f.status(id, board.Failed)
	}},
	{"a key sweeps first when there is nothing", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		x.take(id)
		f.expireLease(id)
		y.take(id, keyed("k"))
	}},
	{"ask_question with a key asks once", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		key := func(n *board.NewQuestion) { n.Key = "k" }
		first := x.ask(h, key)
		_, err := f.board.Answer(f.ctx, ada, first.ID, "red")
		f.ok(err)
		again := x.ask(h, key)
		f.equal("again", words(again.ID, again.Answer), words(first.ID, "red"))
		_, err = f.board.Ask(f.ctx, x.actor, board.NewQuestion{Claim: h, Text: "other?", Key: "k"})
		f.is("same key, other body", err, board.ErrConflict)
	}},
	{"a question under a lost claim is refused again when it is repeated", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		f.expire(id)
		f.agent("y").take(id)
		n := board.NewQuestion{Claim: h, Text: "late words", Key: "k"}
		_, err := f.board.Ask(f.ctx, x.actor, n)
		f.lost("ask", err, true)
		_, err = f.board.Ask(f.ctx, x.actor, n)
		f.lost("ask again", err, true)
		f.equal("events", f.kinds(id), "created claimed expired claimed note")
	}},
	{"many calls with one key have one effect", func(f *fixture) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[board.ID]bool{}
		for range 8 {
			wg.Go(func() {
				t, _, err := f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "a"}, "k")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					f.Errorf("Create: %v", err)
				}
				seen[t.ID] = true
			})
		}
		wg.Wait()
		f.equal("tasks in the answers", len(seen), 1)
		f.tasks(1)
	}},
	{"invalid UTF-8 is refused, and the store still works", func(f *fixture) {
		bad := "\xff\x00"
		_, _, err := f.board.Create(f.ctx, ada, board.NewTask{Project: bad, Title: "a"}, "k")
		f.is("a project", err, board.ErrInvalid)
		_, err = f.board.CreatePlan(f.ctx, ada, board.Plan{Project: project, Key: "k", Tasks: []board.PlanTask{{Key: bad, NewTask: board.NewTask{Title: "a"}}}})
		f.is("a key of a plan", err, board.ErrInvalid)
		_, _, err = f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "a"}, bad)
		f.is("an idempotency key", err, board.ErrInvalid)
		_, _, err = f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "a", Skills: []string{"g\x00"}}, "k")
		f.is("a skill", err, board.ErrInvalid)
		_, err = f.board.Ask(f.ctx, ada, board.NewQuestion{Project: bad, Text: "?", Key: "k"})
		if err == nil {
			f.Error("Ask in no project = nil, want an error")
		}
		f.tasks(0)
	}},
}}

// tasks fails the test unless the project has n.
func (f *fixture) tasks(n int) {
	f.Helper()
	all, err := f.board.List(f.ctx, board.TaskFilter{Projects: []string{project}})
	f.ok(err)
	f.equal("tasks", len(all), n)
}
