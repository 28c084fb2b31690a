package boardtest

import (
	"context"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var ruleDismissal = group{"dismissal", []test{
	{"releases what a principal's workers hold, and nothing else", func(f *fixture) {
		a, b, c := f.create("a"), f.create("b"), f.create("c")
		key := board.Actor{Principal: "key:1", Owner: "key:1"}
		x, laptop, other := &agent{f: f, actor: key}, &agent{f: f, actor: board.Actor{Principal: "key:1", Owner: "key:1/p-1"}}, f.agent("y")
		h := x.take(a)
		laptop.take(b)
		other.take(c)
		released, err := f.board.Dismiss(f.ctx, ada, "its key was revoked", "key:1", "key:2")
		f.ok(err)
		f.equal("released", ids(released), ids([]board.ID{a, b}))
		d := f.get(a)
		f.equal("attempt", words(d.Task.Status, d.Task.Failures, d.Attempts[0].Cause, d.Attempts[0].Reason), "pending 0 released its key was revoked")
		f.status(b, board.Pending)
		f.status(c, board.InProgress)
		_, err = x.report(h)
		f.lost("done", err, true)
		again, err := f.board.Dismiss(f.ctx, ada, "its key was revoked", "key:1")
		f.equal("again", words(len(again), err), "0 <nil>")
		none, err := f.board.Dismiss(f.ctx, ada, "")
		f.equal("nobody", words(len(none), err), "0 <nil>")
		f.status(c, board.InProgress)
	}},
	{"ends reservations", func(f *fixture) {
		id := f.create("a")
		x, y := &agent{f: f, actor: board.Actor{Principal: "key:1", Owner: "key:1/p-1"}}, f.agent("y")
		f.reserve(id, x)
		_, err := f.board.Dismiss(f.ctx, ada, "its key was revoked", "key:1")
		f.ok(err)
		y.take(id)
	}},
	{"leaves nothing to a call that waits with rights that have ended", func(f *fixture) {
		for _, key := range []string{"", "k"} {
			id := f.create("a")
			x := &agent{f: f, actor: board.Actor{Principal: "key:2", Owner: "key:2"}}
			x.take(id)
			f.running()
			ended := make(chan struct{})
			actor := board.Actor{Principal: "key:1", Owner: "key:1", Ended: ended}
			failed := make(chan error, 1)
			go func() {
				_, err := f.board.Next(f.ctx, actor, board.Wish{Projects: []string{project}, Wait: time.Minute, Key: key})
				failed <- err
			}()
			f.waiting(1)
			close(ended)
			_, err := f.board.Dismiss(f.ctx, ada, "its key was lowered", "key:2")
			f.ok(err)
			f.is("the call that waits", <-failed, board.ErrDenied)
			_, err = f.board.Next(f.ctx, actor, board.Wish{Projects: []string{project}, Key: key + "2"})
			f.is("a call that begins", err, board.ErrDenied)
			f.equal("attempts", len(f.get(id).Attempts), 1)
			f.agent("y").take(id)
		}
	}},
	{"takes back what a call is granted just after its rights ended", func(f *fixture) {
		for _, key := range []string{"", "k"} {
			id := f.create("a")
			ended := make(chan struct{})
			late := board.New(&lateStore{Store: f.store, granted: func() { close(ended) }}, nil)
			_, err := late.Next(f.ctx, board.Actor{Principal: "key:1", Owner: "key:1", Ended: ended}, board.Wish{Projects: []string{project}, Key: key})
			f.is("the call", err, board.ErrDenied)
			d := f.get(id)
			f.equal("the task", words(d.Task.Status, d.Task.Failures, d.Attempts[0].Cause), words(board.Pending, 0, board.CauseUndelivered))
			f.agent("y").take(id)
		}
	}},
}}

// A lateStore calls granted after the first grant.
type lateStore struct {
	board.Store
	granted func()
}

func (s *lateStore) Claim(ctx context.Context, w board.Want) ([]board.Claim, error) {
	claims, err := s.Store.Claim(ctx, w)
	if len(claims) > 0 {
		s.tell()
	}
	return claims, err
}

func (s *lateStore) Write(ctx context.Context, f func(board.Tx) error) error {
	granted := false
	err := s.Store.Write(ctx, func(tx board.Tx) error { return f(&lateTx{tx, &granted}) })
	if granted && err == nil {
		s.tell()
	}
	return err
}

func (s *lateStore) tell() {
	if s.granted != nil {
		s.granted()
	}
	s.granted = nil
}

// A lateTx notes a grant.
type lateTx struct {
	board.Tx
	granted *bool
}

func (t *lateTx) Claim(w board.Want) ([]board.Claim, error) {
	claims, err := t.Tx.Claim(w)
	*t.granted = *t.granted || len(claims) > 0
	return claims, err
}
