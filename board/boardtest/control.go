package boardtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// NoFence returns a store without a fence: it treats every handle of a task in progress as
// its newest grant. It is a negative control, which Check must report.
func NoFence(s board.Store) board.Store { return noFence{s} }

type noFence struct{ board.Store }

func (s noFence) Write(ctx context.Context, f func(board.Tx) error) error {
	return s.Store.Write(ctx, func(tx board.Tx) error { return f(&noFenceTx{Tx: tx}) })
}

type noFenceTx struct {
	board.Tx
	// locked are the tasks that the board got and modifies, real what is stored.
	locked [][]board.Task
	real   map[board.ID]board.Task
}

func (tx *noFenceTx) Lock(ids ...board.ID) ([]board.Task, error) {
	ts, err := tx.Tx.Lock(ids...)
	if tx.real == nil {
		tx.real = map[board.ID]board.Task{}
	}
	for _, t := range ts {
		tx.real[t.ID] = t
	}
	tx.locked = append(tx.locked, ts)
	return ts, err
}

// Attempt modifies the task that the board has locked as if n were its newest attempt.
func (tx *noFenceTx) Attempt(id board.ID, n int) (board.Attempt, error) {
	a, err := tx.Tx.Attempt(id, n)
	if err != nil {
		return a, err
	}
	for _, ts := range tx.locked {
		for i := range ts {
			if ts[i].ID == id && ts[i].Status == board.InProgress && tx.real[id].Attempt != n {
				ts[i].Attempt, ts[i].Nonce = n, a.Nonce
				a.Cause = ""
			}
		}
	}
	return a, nil
}

func (tx *noFenceTx) UpdateTask(t board.Task, seq int64) error {
	if real, ok := tx.real[t.ID]; ok && t.Attempt < real.Attempt {
		t.Attempt, t.Nonce = real.Attempt, real.Nonce
	}
	return tx.Tx.UpdateTask(t, seq)
}

// lostAfterGrant is a store that becomes unavailable once it has granted a task.
type lostAfterGrant struct {
	board.Store
	granted bool
}

func (s *lostAfterGrant) Claim(ctx context.Context, w board.Want) ([]board.Claim, error) {
	s.granted = true
	return s.Store.Claim(ctx, w)
}

func (s *lostAfterGrant) Write(ctx context.Context, f func(board.Tx) error) error {
	s.granted = true
	return s.Store.Write(ctx, f)
}

func (s *lostAfterGrant) Read(ctx context.Context, f func(board.Reader) error) error {
	if s.granted {
		return board.ErrUnavailable
	}
	return s.Store.Read(ctx, f)
}

// ClientClock returns a store that uses the client's clock, which is skew ahead of the
// database's. It is a negative control, which History.Early must report.
func ClientClock(s board.Store, skew time.Duration) board.Store { return clientClock{s, skew} }

type clientClock struct {
	board.Store
	skew time.Duration
}

func (s clientClock) Read(ctx context.Context, f func(board.Reader) error) error {
	return s.Store.Read(ctx, func(r board.Reader) error { return f(skewed{r, s.skew}) })
}

func (s clientClock) Write(ctx context.Context, f func(board.Tx) error) error {
	return s.Store.Write(ctx, func(tx board.Tx) error { return f(skewedTx{tx, s.skew}) })
}

type skewed struct {
	board.Reader
	skew time.Duration
}

func (r skewed) Now() (time.Time, error) { return later(r.Reader, r.skew) }

func (r skewed) Stale() (bool, error) {
	late, err := expiredClaims(r.Reader, r.skew)
	return len(late) > 0, err
}

type skewedTx struct {
	board.Tx
	skew time.Duration
}

func (tx skewedTx) Now() (time.Time, error) { return later(tx.Tx, tx.skew) }

func (tx skewedTx) Stale() (bool, error) {
	late, err := expiredClaims(tx.Tx, tx.skew)
	return len(late) > 0, err
}

func (tx skewedTx) BeginSweep(every time.Duration) (board.Sweep, error) {
	s, err := tx.Tx.BeginSweep(every)
	s.At = s.At.Add(tx.skew)
	return s, err
}

// Expired returns the tasks whose claims have expired by the client's clock.
func (tx skewedTx) Expired(limit int) ([]board.Task, error) {
	late, err := expiredClaims(tx.Tx, tx.skew)
	if err != nil || len(late) == 0 {
		return nil, err
	}
	return tx.Lock(late[:min(len(late), limit)]...)
}

func later(r board.Reader, skew time.Duration) (time.Time, error) {
	now, err := r.Now()
	return now.Add(skew), err
}

func expiredClaims(r board.Reader, skew time.Duration) ([]board.ID, error) {
	now, err := later(r, skew)
	if err != nil {
		return nil, err
	}
	live, err := r.Claims(board.ClaimFilter{})
	var late []board.ID
	for _, c := range live {
		if c.LeaseUntil.Before(now) {
			late = append(late, c.Task)
		}
	}
	return late, err
}

var controls = group{"controls: a broken store is reported", []test{
	{"a store without a fence, by Check", func(f *fixture) {
		f.unchecked = true
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		old := x.take(id)
		f.expire(id)
		y.take(id)
		broken := board.New(NoFence(f.store), nil)
		if _, err := broken.Done(f.ctx, x.actor, old, board.Report{Summary: "late"}); err != nil {
			f.Fatalf("done by the old holder on the broken store: %v, want it taken", err)
		}
		f.reported("I3", Check(f.ctx, f.store))
	}},
	{"a store without a fence, by its history", func(f *fixture) {
		f.unchecked = true
		id := f.create("a")
		h := NewHistory()
		b := board.New(NoFence(f.store), nil)
		x, y := f.agent("x"), f.agent("y")
		old := h.claim(f, b, x)
		f.expire(id)
		h.claim(f, b, y)
		h.done(f, b, x, old)
		if errs := h.Linearizable(); len(errs) == 0 {
			f.Error("Linearizable found nothing, want the report of the old holder")
		}
	}},
	{"a store with the client's clock, by its history", func(f *fixture) {
		f.unchecked = true
		id := f.create("a")
		h := NewHistory()
		ahead := board.New(ClientClock(f.store, time.Hour), nil)
		x, y := f.agent("x"), f.agent("y")
		h.claim(f, f.board, x)
		h.claim(f, ahead, y) // sweeps by its own clock
		f.equal("attempt", f.get(id).Task.Attempt, 2)
		if errs := h.Early(); len(errs) == 0 {
			f.Error("Early found nothing, want the claim taken an hour too soon")
		}
		f.reported("I1", Check(f.ctx, f.store)) // it ended in the future
	}},
	{"a sound store, by neither", func(f *fixture) {
		id := f.create("a")
		h := NewHistory()
		x, y := f.agent("x"), f.agent("y")
		old := h.claim(f, f.board, x)
		f.expire(id)
		h.Ended(old)
		handle := h.claim(f, f.board, y)
		h.done(f, f.board, x, old)
		h.done(f, f.board, y, handle)
		for _, err := range slices.Concat(h.Linearizable(), h.Early()) {
			f.Error(err)
		}
	}},
	{"many workers with short leases on a sound store, by neither", func(f *fixture) {
		f.crowd(NewHistory(), 4, 12)
	}},
	{"a lost event, by Check", func(f *fixture) {
		f.unchecked = true
		id := f.create("a")
		f.write(func(tx board.Tx) error {
			ts, err := tx.Lock(id)
			if err != nil {
				return err
			}
			ts[0].Seq++
			ts[0].Status = board.Failed
			return tx.UpdateTask(ts[0], ts[0].Seq-1)
		})
		errs := Check(f.ctx, f.store)
		f.reported("I7", errs)
		f.reported("I8", errs)
	}},
	{"a wrong count, by Check", func(f *fixture) {
		f.unchecked = true
		a, b := f.create("a"), f.create("b")
		f.write(func(tx board.Tx) error { return tx.Link(a, b) })
		f.reported("I12", Check(f.ctx, f.store))
	}},
	{"an intent with a task that is not to be landed, by Check", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		l := f.lander("l")
		for name, item := range map[string]board.Item{
			"another tip":      {Task: id, Attempt: 1, Tip: object(8)},
			"another attempt":  {Task: id, Attempt: 2, Tip: object(7)},
			"not in the queue": {Task: f.create("b"), Attempt: 1, Tip: object(7)},
		} {
			f.write(func(tx board.Tx) error {
				i := board.Intent{Project: project, Target: "main", Old: object(1), New: object(9), Items: []board.Item{item}, State: board.IntentOpen, Nonce: l.lease.Nonce}
				var err error
				i.ID, err = tx.InsertIntent(i)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				return nil
			})
			f.reported("L2", Check(f.ctx, f.store))
			open, err := f.board.Intents(f.ctx, board.IntentFilter{State: board.IntentOpen})
			f.ok(err)
			f.ok(f.board.Dropped(f.ctx, l.actor, l.lease, open[0].ID))
		}
	}},
	{"work that was landed without an intent, by Check", func(f *fixture) {
		f.unchecked = true
		f.landing()
		id := f.queued(7)
		f.write(func(tx board.Tx) error {
			ts, err := tx.Lock(id)
			if err != nil {
				return err
			}
			t := ts[0]
			t.Seq++
			t.Status = board.Done
			if err := tx.UpdateTask(t, t.Seq-1); err != nil {
				return err
			}
			return tx.Append(board.Event{
				Task: id, Seq: t.Seq, Actor: "x", Kind: board.EventLanded, From: board.Landing, To: board.Done,
				Detail: board.Detail{Attempt: 1, Nonce: t.Nonce, Commit: object(9)},
			})
		})
		f.reported("L2", Check(f.ctx, f.store))
	}},
	{"two open intents of a target, by Check", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		_, err := f.lander("l").begin(9, f.item(id, 7))
		f.ok(err)
		f.reported("L4", Check(f.ctx, twoIntents{f.store}))
	}},
}}

// twoIntents is a store that has each intent twice.
type twoIntents struct{ board.Store }

func (s twoIntents) Read(ctx context.Context, f func(board.Reader) error) error {
	return s.Store.Read(ctx, func(r board.Reader) error { return f(twoIntentsReader{r}) })
}

type twoIntentsReader struct{ board.Reader }

func (r twoIntentsReader) Intents(f board.IntentFilter) ([]board.Intent, error) {
	list, err := r.Reader.Intents(f)
	return append(list, list...), err
}

// crowd lets workers work on tasks until all have ended. Some are slower than their lease,
// and some fail. It checks the history of their calls.
func (f *fixture) crowd(h *History, workers, tasks int) {
	const lease = 20 * time.Millisecond
	var all []board.ID
	for i := range tasks {
		all = append(all, f.create(words("task", i), atMost(100), func(n *board.NewTask) { n.Lease = lease }))
	}
	f.running()
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			a := f.agent(words("process", i))
			draw := rand.New(rand.NewPCG(uint64(i), 1))
			for {
				out, err := h.Claim(func() (*board.Handout, error) {
					return f.board.Next(f.ctx, a.actor, board.Wish{Projects: []string{project}, Wait: 50 * time.Millisecond})
				})
				if none, ok := errors.AsType[*board.Nothing](err); ok {
					if none.Counts.Status[board.Done]+none.Counts.Status[board.Failed] == tasks {
						return
					}
					continue
				}
				if err != nil {
					f.Errorf("Next: %v", err)
					return
				}
				claim := out.Claim.Handle
				if draw.IntN(3) == 0 {
					time.Sleep(2 * lease) // longer than the lease
				}
				if draw.IntN(4) == 0 {
					_, err = h.Fail(claim, func() (board.Outcome, error) {
						return f.board.Fail(f.ctx, a.actor, claim, board.Failure{Reason: "r"})
					})
				} else {
					_, err = h.Done(claim, func() (board.Outcome, error) {
						return f.board.Done(f.ctx, a.actor, claim, board.Report{Summary: "s"})
					})
				}
				if err != nil && !errors.Is(err, board.ErrLeaseLost) {
					f.Errorf("report under %v: %v", claim, err)
				}
			}
		})
	}
	wg.Wait()
	for _, id := range all {
		f.read(func(r board.Reader) error {
			events, err := r.Events(id, 0, 0)
			h.Logged(events)
			return err
		})
	}
	for _, err := range slices.Concat(h.Linearizable(), h.Early()) {
		f.Error(err)
	}
}

// reported fails the test unless errs contain a violation of an invariant.
func (f *fixture) reported(invariant string, errs []error) {
	f.Helper()
	for _, err := range errs {
		if len(err.Error()) > len(invariant) && err.Error()[:len(invariant)+1] == invariant+":" {
			return
		}
	}
	f.Errorf("Check = %v, want a violation of %s", errors.Join(errs...), invariant)
}
