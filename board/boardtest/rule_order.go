package boardtest

import (
	"fmt"

	"github.com/bossman-dev/bossman/board"
)

var ruleOrder = group{"hand-out order", bothWays([]test{
	{"the held task comes before the wished one", func(f *fixture) {
		held, wished := f.create("held"), f.create("wished")
		x := f.agent("x")
		h := x.take(held, f.key())
		f.equal("handle", x.take(held, f.key(), wishing(wished)), h)
	}},
	{"the wished task comes before the reserved one, and both before the queue", func(f *fixture) {
		reserved, wished := f.create("reserved", priority(board.Low)), f.create("wished", priority(board.Low))
		first := f.create("first", priority(board.Urgent))
		x := f.agent("x")
		f.reserve(reserved, x)
		x.done(x.take(wished, f.key(), wishing(wished)))
		x.done(x.take(reserved, f.key()))
		x.take(first, f.key())
	}},
	{"a wished task that cannot be had is a conflict, whatever else there is", func(f *fixture) {
		reserved, wished := f.create("reserved"), f.create("wished", held)
		f.create("first")
		x := f.agent("x")
		f.reserve(reserved, x)
		_, err := x.try(f.key(), wishing(wished))
		f.is("a held task", err, board.ErrConflict)
	}},
	{"a reserved task that cannot be had gives way to the queue", func(f *fixture) {
		reserved, first := f.create("reserved"), f.create("first")
		x := f.agent("x")
		f.reserve(reserved, x)
		_, err := f.board.Update(f.ctx, ada, reserved, board.Edit{Hold: new(true)})
		f.ok(err)
		x.take(first, f.key())
	}},
	{"a reserved task is not for a worker that may not work in its project", func(f *fixture) {
		reserved := f.create("reserved")
		x := f.agent("x")
		f.reserve(reserved, x)
		f.project(board.Project{Slug: "other"})
		x.nothing(f.key(), func(w *board.Wish) { w.Projects = []string{"other"} })
	}},
})}

// bothWays runs each test without idempotency keys and with them: the order of the
// hand-out is the same.
func bothWays(tests []test) []test {
	var both []test
	for _, t := range tests {
		both = append(both, t, test{t.name + ", with keys", func(f *fixture) {
			f.keys = new(int)
			t.run(f)
		}})
	}
	return both
}

// key gives each call an idempotency key of its own, in tests with keys.
func (f *fixture) key() func(*board.Wish) {
	return func(w *board.Wish) {
		if f.keys != nil {
			*f.keys++
			w.Key = fmt.Sprint("key ", *f.keys)
		}
	}
}

// reserve makes a task reserved for a worker: it takes the task, asks a question, is
// parked and gets an answer.
func (f *fixture) reserve(id board.ID, x *agent) {
	f.Helper()
	q := x.ask(x.take(id, wishing(id)))
	x.park(q.ID)
	_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
	f.ok(err)
	f.equal("reserved for", f.get(id).Task.ReservedFor.Name, x.name)
}
