package boardtest

import (
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
}}
