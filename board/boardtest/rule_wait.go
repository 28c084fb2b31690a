package boardtest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var ruleWaiting = group{"waiting for work", []test{
	{"waiters get new tasks", func(f *fixture) {
		f.running()
		const n = 4
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[board.ID]bool{}
		for i := range n {
			wg.Go(func() {
				h, err := f.board.Next(f.ctx, board.Actor{Principal: "local", Owner: words("x", i)}, board.Wish{Projects: []string{project}, Wait: 20 * time.Second})
				if err != nil {
					f.Errorf("Next: %v", err)
					return
				}
				mu.Lock()
				got[h.Task.ID] = true
				mu.Unlock()
			})
		}
		f.waiting(n)
		for range n {
			f.create("t")
		}
		wg.Wait()
		f.equal("tasks handed out", len(got), n)
	}},
	{"a waiter gets a task after an expired lease or the end of a pause", func(f *fixture) {
		a := f.create("a")
		x := f.agent("x")
		x.take(a)
		f.running()
		wait := func() <-chan board.ID {
			out := make(chan board.ID, 1)
			go func() {
				defer close(out)
				h, err := f.board.Next(f.ctx, board.Actor{Principal: "local", Owner: "y"}, board.Wish{Projects: []string{project}, Wait: 20 * time.Second})
				if err != nil {
					f.Errorf("Next: %v", err)
					return
				}
				out <- h.Task.ID
			}()
			f.waiting(1)
			return out
		}
		got := wait()
		f.expireLease(a)
		f.equal("after the lease", <-got, a)
		f.ok(f.board.Pause(f.ctx, ada, project))
		b := f.create("b")
		got = wait()
		f.ok(f.board.Resume(f.ctx, ada, project))
		f.equal("after the pause", <-got, b)
	}},
	{"a waiter with a key gets a task, and the same claim again", func(f *fixture) {
		f.running()
		x := f.agent("x")
		wish := x.wish(keyed("k"), func(w *board.Wish) { w.Wait = 20 * time.Second })
		got := make(chan *board.Handout, 1)
		go func() {
			h, err := f.board.Next(f.ctx, x.actor, wish)
			if err != nil {
				f.Errorf("Next: %v", err)
			}
			got <- h
		}()
		f.waiting(1)
		id := f.create("a")
		h := <-got
		if h == nil || h.Task.ID != id {
			f.Fatalf("got %v, want %v", h, id)
		}
		again, err := f.board.Next(f.ctx, x.actor, wish)
		f.ok(err)
		f.equal("again", again.Claim.Handle, h.Claim.Handle)
	}},
	{"few of many waiters look for new work", func(f *fixture) {
		counted := &countedStore{Store: f.store}
		f.board = board.New(counted, &board.Options{Observer: f.observer()})
		f.running()
		const n = 80
		ctx, cancel := context.WithCancel(f.ctx)
		got := make(chan board.ID, n)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		for i := range n {
			wish := board.Wish{Projects: []string{project}, Wait: time.Minute}
			if i%2 == 0 {
				wish.Key = words("k", i)
			}
			wg.Go(func() {
				h, err := f.board.Next(ctx, board.Actor{Principal: words("p", i), Owner: words("p", i)}, wish)
				if err == nil {
					got <- h.Task.ID
				}
			})
		}
		f.waiting(n)
		for _, title := range []string{"a", "b"} {
			before := counted.looks.Load()
			id := f.create(title)
			f.equal("handed out", <-got, id)
			if looks := counted.looks.Load() - before; looks > n/4 {
				f.Errorf("%d of %d looked for one new task", looks, n)
			}
		}
	}},
	{"a waiter that declined a task does not block those behind it", func(f *fixture) {
		f.running()
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		_, err := f.board.Fail(f.ctx, x.actor, h, board.Failure{Kind: board.FailNotNow, Reason: "no"})
		f.ok(err)
		f.ok(f.board.Pause(f.ctx, ada, project))
		got := make(chan string, 2)
		wait := func(name, worker string, a board.Actor) {
			go func() {
				_, err := f.board.Next(f.ctx, a, board.Wish{Worker: worker, Projects: []string{project}, Wait: 20 * time.Second, Key: name})
				if err == nil {
					got <- name
				}
			}()
			f.waiting(1)
		}
		wait("who declined it", x.name, x.actor)
		wait("another", "", board.Actor{Principal: "y", Owner: "y"})
		f.ok(f.board.Resume(f.ctx, ada, project))
		f.equal("handed out to", <-got, "another")
	}},
	{"new work closes Changes, also for those who wait later", func(f *fixture) {
		changes := f.board.Changes()
		f.create("a")
		board.WaitFor(f.ctx, changes, time.Hour)
	}},
	{"a waiter whose time is over gets Nothing", func(f *fixture) {
		f.running()
		_, err := f.board.Next(f.ctx, f.agent("x").actor, board.Wish{Projects: []string{project}, Wait: 5 * time.Millisecond})
		if _, ok := errors.AsType[*board.Nothing](err); !ok {
			f.Errorf("Next = %v, want *Nothing", err)
		}
	}},
	{"an asker that waits gets its task after the answer", func(f *fixture) {
		f.running()
		id := f.create("a")
		x := f.agent("x")
		q := x.ask(x.take(id))
		x.park(q.ID)
		got := make(chan *board.Handout, 1)
		go func() {
			h, _ := f.board.Next(f.ctx, x.actor, x.wish(func(w *board.Wish) { w.Wait = 300 * time.Millisecond }))
			got <- h
		}()
		f.waiting(1)
		_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		if h := <-got; h == nil || h.Task.ID != id {
			f.Errorf("the asker got %v, want %v", h, id)
		}
	}},
	{"a task granted to a caller that is gone is released without a failure", func(f *fixture) {
		f.running()
		ctx, cancel := context.WithCancel(f.ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f.board.Next(ctx, f.agent("x").actor, board.Wish{Projects: []string{project}, Wait: 20 * time.Second})
		}()
		f.waiting(1)
		cancel()
		id := f.create("a")
		<-ended
		f.eventually("the task is free", func() bool { return f.get(id).Claim == nil })
		d := f.get(id)
		f.equal("failures", d.Task.Failures, 0)
		for _, a := range d.Attempts {
			f.equal("cause", a.Cause, board.CauseUndelivered)
		}
	}},
	{"callers that go while tasks arrive leave no task claimed", func(f *fixture) {
		f.running()
		var wg sync.WaitGroup
		for i := range 10 {
			ctx, cancel := context.WithCancel(f.ctx)
			wg.Go(func() {
				h, err := f.board.Next(ctx, board.Actor{Principal: "local", Owner: words("x", i)}, board.Wish{Projects: []string{project}, Wait: 20 * time.Second})
				if err == nil {
					f.board.Done(f.ctx, board.Actor{Principal: "local", Owner: words("x", i)}, h.Claim.Handle, board.Report{Summary: "s"})
				}
			})
			wg.Go(func() { cancel() })
			wg.Go(func() {
				f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "t"}, "")
			})
		}
		wg.Wait()
		f.eventually("nobody holds anything", func() bool {
			cs, err := f.board.Claims(f.ctx, board.ClaimFilter{})
			return err == nil && len(cs) == 0
		})
		all, err := f.board.List(f.ctx, board.TaskFilter{Projects: []string{project}})
		f.ok(err)
		for _, t := range all {
			f.equal("failures", t.Failures, 0)
		}
	}},
	{"nothing is an answer even if the board cannot be counted", func(f *fixture) {
		slow := &slowStore{Store: f.store}
		f.board = board.New(slow, nil)
		var wg sync.WaitGroup
		for range 24 {
			wg.Go(func() {
				_, err := f.board.Next(f.ctx, board.Actor{Principal: "idle", Owner: "idle"}, board.Wish{Projects: []string{project}})
				n, ok := errors.AsType[*board.Nothing](err)
				if !ok || !n.Unexplained {
					f.Errorf("Next = %v, want nothing, unexplained", err)
				}
			})
		}
		wg.Wait()
		f.equal("counts at once", slow.most.Load(), int64(1))
		id := f.create("a")
		f.agent("x").take(id)
	}},
}}

// A slowStore does not end counting, and knows how many calls count at once.
type slowStore struct {
	board.Store
	counting, most atomic.Int64
}

func (s *slowStore) Read(ctx context.Context, f func(board.Reader) error) error {
	return s.Store.Read(ctx, func(r board.Reader) error { return f(slowReader{r, ctx, s}) })
}

type slowReader struct {
	board.Reader
	ctx   context.Context
	store *slowStore
}

func (r slowReader) Counts([]string) (board.Counts, error) {
	n := r.store.counting.Add(1)
	defer r.store.counting.Add(-1)
	for most := r.store.most.Load(); n > most && !r.store.most.CompareAndSwap(most, n); most = r.store.most.Load() {
	}
	<-r.ctx.Done()
	return board.Counts{}, r.ctx.Err()
}

// A countedStore counts the transactions that look for work.
type countedStore struct {
	board.Store
	looks atomic.Int64
}

func (s *countedStore) Claim(ctx context.Context, w board.Want) ([]board.Claim, error) {
	s.looks.Add(1)
	return s.Store.Claim(ctx, w)
}

func (s *countedStore) Write(ctx context.Context, f func(board.Tx) error) error {
	s.looks.Add(1)
	return s.Store.Write(ctx, f)
}
