package boardtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var ruleWorkers = group{"workers", []test{
	{"a worker without a name gets one", func(f *fixture) {
		f.create("a")
		f.create("b")
		x, y := f.agent("x"), f.agent("x")
		x.next()
		y.next()
		if x.name == "" || x.name == y.name {
			f.Errorf("names %q and %q, want two", x.name, y.name)
		}
	}},
	{"an unknown name is refused", func(f *fixture) {
		x := f.agent("x")
		x.name = "otter-1"
		_, err := x.try()
		f.is("an invented name", err, board.ErrInvalid)
	}},
	{"a name belongs to a live process", func(f *fixture) {
		id := f.create("a")
		x, thief := f.agent("x"), f.agent("thief")
		h := x.take(id)
		thief.name = x.name
		_, err := thief.try()
		if _, ok := errors.AsType[*board.HeldError](err); !ok {
			f.Fatalf("another process: %v, want a *HeldError", err)
		}
		x.done(h)
		_, err = thief.try()
		f.is("another process, just after the task", err, board.ErrDenied)
	}},
	{"EndWaits ends all waits", func(f *fixture) {
		q, err := f.board.Ask(f.ctx, ada, board.NewQuestion{Project: project, Text: "?"})
		f.ok(err)
		f.running()
		var wg sync.WaitGroup
		for _, key := range []string{"", "k"} {
			wg.Go(func() {
				_, err := f.board.Next(f.ctx, f.agent("x"+key).actor, board.Wish{Projects: []string{project}, Wait: time.Minute, Key: key})
				if _, ok := errors.AsType[*board.Nothing](err); !ok {
					f.Errorf("Next with the key %q = %v, want nothing", key, err)
				}
			})
		}
		wg.Go(func() {
			if q, err := f.board.Await(f.ctx, q.ID, time.Minute); err != nil || q.State != board.QuestionOpen {
				f.Errorf("Await = %+v, %v, want the open question", q, err)
			}
		})
		f.waiting(2) // Await answers the same if it has yet to begin
		begun := time.Now()
		f.board.EndWaits()
		f.board.EndWaits()
		wg.Wait()
		if took := time.Since(begun); took > 20*time.Second {
			f.Errorf("they waited for %v after that", took)
		}
	}},
	{"a stopped worker loses its task and gets no more", func(f *fixture) {
		a := f.create("a")
		x := f.agent("x")
		h := x.take(a)
		id, err := f.board.Stop(f.ctx, ada, x.worker())
		f.ok(err)
		f.equal("task", id, a)
		f.status(a, board.Pending)
		_, err = x.try()
		if _, ok := errors.AsType[*board.StoppedError](err); !ok {
			f.Fatalf("next: %v, want a *StoppedError", err)
		}
		_, err = x.report(h)
		lost := f.lost("done", err, true)
		f.equal("cause", lost.Ended.Cause, board.CauseStopped)
		_, err = f.board.Stop(f.ctx, ada, board.WorkerID{Principal: "local", Name: "nobody"})
		f.is("stop of nobody", err, board.ErrNotFound)
	}},
	{"a stopped worker's connection gets no more work, whatever name it takes", func(f *fixture) {
		a, b, c := f.create("a"), f.create("b"), f.create("c")
		x, beside, idle, y := f.agent("x"), f.agent("x"), f.agent("x"), f.agent("y")
		x.take(a)
		held := beside.take(b)
		idle.done(idle.take(c))
		_, err := f.board.Stop(f.ctx, ada, x.worker())
		f.ok(err)
		stopped := func(what string, err error) {
			f.Helper()
			if e, ok := errors.AsType[*board.StoppedError](err); !ok || e.Worker.StoppedBy != "ada" {
				f.Errorf("%s: %v, want a *StoppedError by ada", what, err)
			}
		}
		_, err = f.agent("x").try()
		stopped("a new name", err)
		_, err = f.agent("x").try(wishing(a))
		stopped("a new name that wishes for a task", err)
		_, err = f.agent("x").try(keyed("k"))
		stopped("a new name with a key", err)
		_, err = idle.try()
		stopped("another name of the connection", err)
		// Others on the connection may finish what they hold.
		f.equal("what it holds", beside.take(b), held)
		beside.done(held)
		_, err = beside.try()
		stopped("after that", err)
		workers, _, err := f.board.Workers(f.ctx, 100*365*24*time.Hour)
		f.ok(err)
		f.equal("workers", len(workers), 3)
		y.take(a)

		// A key is not a connection: its other agents go on.
		f.create("d")
		f.create("e")
		key := &agent{f: f, actor: board.Actor{Principal: "key", Owner: "key"}}
		key.next()
		_, err = f.board.Stop(f.ctx, ada, board.WorkerID{Principal: "key", Name: key.name})
		f.ok(err)
		key.name = ""
		key.next()
	}},
	{"a new name that waits when its connection is stopped gets nothing", func(f *fixture) {
		x := f.agent("x")
		x.done(x.take(f.create("a")))
		f.running()
		waited := make(chan error, 1)
		x2 := f.agent("x")
		go func() {
			_, err := x2.try(func(w *board.Wish) { w.Wait = 300 * time.Millisecond })
			waited <- err
		}()
		f.waiting(1)
		_, err := f.board.Stop(f.ctx, ada, x.worker())
		f.ok(err)
		b := f.create("b")
		if err := <-waited; !errors.Is(err, board.ErrDenied) {
			f.Errorf("it got %v, want a *StoppedError", err)
		}
		f.status(b, board.Pending)
	}},
	{"a worker that is stopped while it waits gets nothing", func(f *fixture) {
		a := f.create("a")
		x := f.agent("x")
		x.done(x.take(a))
		f.running()
		waited := make(chan error, 1)
		ctx, cancel := context.WithCancel(f.ctx)
		defer cancel()
		go func() {
			_, err := f.board.Next(ctx, x.actor, x.wish(func(w *board.Wish) { w.Wait = 10 * time.Second }))
			waited <- err
		}()
		f.waiting(1)
		_, err := f.board.Stop(f.ctx, ada, x.worker())
		f.ok(err)
		b := f.create("b")
		y := f.agent("y")
		y.take(b)
		y.actor.Worker = y.name
		f.undo(b)
		cancel()
		<-waited
		f.status(b, board.Pending)
		_, err = x.try()
		f.is("next", err, board.ErrDenied)
	}},
	{"pause stops the hand-out and nothing else", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		x, y := f.agent("x"), f.agent("y")
		h := x.take(a)
		f.ok(f.board.Pause(f.ctx, ada, project))
		none := y.nothing()
		f.equal("paused by", none.PausedBy, "ada")
		_, err := y.try(wishing(b))
		f.is("a wish", err, board.ErrConflict)
		f.equal("what it holds", x.take(a), h)
		x.done(h)
		f.ok(f.board.Resume(f.ctx, ada, project))
		y.take(b)
	}},
	{"Nothing says that a project is archived, if there is no other", func(f *fixture) {
		f.project(board.Project{Slug: "other", Policy: board.PolicyEvidence})
		f.create("a")
		p, err := f.board.Project(f.ctx, project)
		f.ok(err)
		p.Archived = true
		f.ok(f.board.SetProject(f.ctx, p))
		none := f.agent("x").nothing()
		f.equal("archived", words(none.Archived, none.Counts.Ready), project+" 1")
		none = f.agent("y").nothing(func(w *board.Wish) { w.Projects = []string{project, "other"} })
		f.equal("with another project", none.Archived, "")
	}},
	{"a wish is granted if it can be", func(f *fixture) {
		f.create("a")
		b := f.create("b", needing("gpu"))
		x := f.agent("x")
		_, err := x.try(wishing(b), able("go"))
		f.is("a wish without the skill", err, board.ErrConflict)
		x.take(b, wishing(b), able("gpu"))
		_, err = f.agent("y").try(wishing(b))
		f.is("a wish for what another has", err, board.ErrConflict)
		_, err = f.agent("y").try(wishing(board.ID{Project: project, No: 99}))
		f.is("a wish for nothing", err, board.ErrNotFound)
		_, err = f.agent("y").try(wishing(board.ID{Project: "other", No: 1}))
		f.is("a wish elsewhere", err, board.ErrNotFound)
		c := f.create("c")
		y := f.agent("y")
		y.take(c, wishing(c))
		f.expireLease(c)
		f.agent("z").take(c, wishing(c)) // its holder is gone
	}},
	{"Nothing explains why there is no task", func(f *fixture) {
		f.create("a", needing("gpu"))
		x := f.agent("x")
		none := x.nothing(able("go"))
		f.equal("unskilled", words(none.Unskilled, none.ReadyUnskilled, none.Counts.Ready), "[gpu] 1 1")
		id := f.create("b")
		q := x.ask(x.take(id, able("go")))
		x.park(q.ID)
		y := f.agent("y")
		f.eventually("the open question is shown", func() bool { return len(y.nothing(able("go")).Open) == 1 })
	}},
	{"a grant that cannot be read is ErrUnknown, not ErrUnavailable", func(f *fixture) {
		for _, key := range []string{"", "k"} {
			id := f.create("a")
			x := f.agent("x")
			b := board.New(&lostAfterGrant{Store: f.store}, nil)
			_, err := b.Next(f.ctx, x.actor, x.wish(keyed(key)))
			f.is("Next", err, board.ErrUnknown)
			if errors.Is(err, board.ErrUnavailable) {
				f.Errorf("Next with the key %q = %v, which says that nothing happened", key, err)
			}
			f.equal("attempt", f.get(id).Task.Attempt, 1)
			_, err = f.board.Cancel(f.ctx, ada, id, "over", board.DependentsKeep) // so that no sweep is due
			f.ok(err)
		}
	}},
	{"workers are listed", func(f *fixture) {
		f.create("a")
		x := f.agent("x")
		x.next()
		ws, now, err := f.board.Workers(f.ctx, time.Hour)
		f.ok(err)
		if len(ws) != 1 || ws[0].Name != x.name || ws[0].Owner != "x" || now.Sub(ws[0].LastSeen) > time.Minute {
			f.Errorf("Workers = %+v at %v, want %s", ws, now, x.name)
		}
	}},
}}

// worker returns the agent's WorkerID.
func (a *agent) worker() board.WorkerID {
	return board.WorkerID{Principal: a.actor.Principal, Name: a.name}
}
