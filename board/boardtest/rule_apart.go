package boardtest

import (
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

var ruleApart = group{"apart", []test{
	{"who shares a directory is told a branch, and the next one gets the same", func(f *fixture) {
		here := board.Where{Host: "h", Dir: "/src/web", Branch: "main", Head: "abc"}
		get := func(x *agent, id board.ID, apart bool) *board.Handout {
			return x.next(func(w *board.Wish) { w.Task, w.Where, w.Apart = id, here, apart })
		}
		ordered := func(what string, h *board.Handout, want string) {
			d, err := f.board.Get(f.ctx, h.Task.ID, 1)
			f.ok(err)
			if got := d.Attempts[len(d.Attempts)-1].Where.Ordered; got != want || h.Claim.Where.Ordered != want {
				f.Errorf("%s is told branch %q, and %q is noted, want %q", what, h.Claim.Where.Ordered, got, want)
			}
		}
		one, two, three := f.create("one"), f.create("two"), f.create("three")
		a, b := f.agent("x"), f.agent("x")
		ordered("the first", get(a, one, true), "")
		h := get(b, two, true)
		ordered("the second", h, two.String())
		again := get(b, board.ID{}, true)
		ordered("the second, again", again, two.String())
		if again := get(a, board.ID{}, true); len(again.Neighbours) != 0 {
			f.Errorf("the first has the neighbours %+v, want none: the second works elsewhere", again.Neighbours)
		}
		_, err := f.board.Progress(f.ctx, b.actor, h.Claim.Handle, board.Note{Text: "x", Where: here})
		f.ok(err)
		ordered("the second, after a note", get(b, board.ID{}, true), two.String())
		b.fail(h.Claim.Handle, board.FailOther)
		c := f.agent("x")
		h = get(c, two, true)
		ordered("the next one", h, two.String())
		if w := h.Attempts[0].Where; !w.Worked || h.Attempts[1].Where.Worked {
			f.Errorf("attempts %+v: work was seen in the first only", h.Attempts)
		}
		ordered("who is told nothing", get(f.agent("x"), three, false), "")
	}},
	{"a branch of another principal's attempt is not told", func(f *fixture) {
		here := board.Where{Host: "h", Dir: "/src/web", Branch: "main", Head: "abc"}
		one, two := f.create("one"), f.create("two")
		for _, name := range []string{"local", "eve"} { // who has the attempt before
			x := f.agent("x")
			x.actor.Principal = name
			h := x.next(func(w *board.Wish) { w.Task = two }).Claim.Handle
			f.ok(f.board.Locate(f.ctx, x.actor, h, board.Where{Host: "h", Dir: "/x", Branch: "of-" + name, Named: true, Worked: true}))
			x.fail(h, board.FailOther)
		}
		f.agent("x").take(one, func(w *board.Wish) { w.Where = here })
		h := f.agent("y").next(func(w *board.Wish) { w.Task, w.Where, w.Apart = two, here, true })
		if got := h.Claim.Where.Ordered; got != "of-local" {
			f.Errorf("the worker is told branch %q, want that of its principal's attempt", got)
		}
	}},
	{"of another principal it is not told that it works in the same directory", func(f *fixture) {
		here := board.Where{Host: "h", Dir: "/src/web", Branch: "main", Head: "abc"}
		areas := func(n *board.NewTask) { n.Areas = []string{"tools"} }
		one, two := f.create("one", areas), f.create("two", areas)
		for _, by := range []struct{ principal, dir string }{{"eve", ""}, {"local", here.Dir}} {
			x, y := f.agent("x"), f.agent("y")
			x.actor.Principal = by.principal
			taken := x.take(one, func(w *board.Wish) { w.Where = here })
			h := y.next(func(w *board.Wish) { w.Task, w.Where, w.Apart = two, here, true })
			if len(h.Neighbours) != 1 || h.Neighbours[0].Dir != by.dir || len(h.Neighbours[0].Areas) != 1 || (h.Claim.Where.Ordered != "") != (by.dir != "") {
				f.Errorf("beside a claim of %s: neighbours %+v, branch %q; want one, in the directory %q", by.principal, h.Neighbours, h.Claim.Where.Ordered, by.dir)
			}
			y.fail(h.Claim.Handle, board.FailOther)
			x.fail(taken, board.FailOther)
		}
	}},
	{"the place of the work is kept as soon as it is known", func(f *fixture) {
		id := f.create("one")
		x := f.agent("x")
		h := x.take(id, func(w *board.Wish) {
			w.Where = board.Where{Host: "h", Dir: "/src/web", Branch: "main", Head: "abc"}
		})
		there := board.Where{Host: "h", Dir: "/src/wt", Branch: "fix", Head: "def", Named: true}
		f.ok(f.board.Locate(f.ctx, x.actor, h, there))
		f.ok(f.board.Locate(f.ctx, x.actor, h, board.Where{Ordered: "other"}))
		x.fail(h, board.FailOther)
		want := there
		want.Ordered, want.Worked = "other", true
		if got := f.get(id).Attempts[0].Where; got != want {
			f.Errorf("the attempt's place is %+v, want %+v", got, want)
		}
		f.lost("the place of a claim that has ended", f.board.Locate(f.ctx, x.actor, h, there), false)
		again := f.agent("x").take(id)
		f.is("the place of another worker's claim", f.board.Locate(f.ctx, board.Actor{Principal: "eve", Owner: "eve"}, again, there), board.ErrDenied)
	}},
	{"the place of a parked attempt is noted until the task is handed out again", func(f *fixture) {
		id := f.create("one")
		x := f.agent("x")
		h := x.take(id, func(w *board.Wish) {
			w.Where = board.Where{Host: "h", Dir: "/src/web", Branch: "fix", Head: "abc", Uncommitted: 1}
		})
		q := x.ask(h)
		x.park(q.ID)
		there := board.Where{Host: "h", Dir: "/src/web", Branch: "fix", Head: "def", Named: true, Worked: true}
		f.is("the place of another worker's attempt", f.board.Locate(f.ctx, board.Actor{Principal: "eve", Owner: "eve"}, h, there), board.ErrDenied)
		f.ok(f.board.Locate(f.ctx, x.actor, h, there))
		_, err := f.board.Answer(f.ctx, ada, q.ID, "blue")
		f.ok(err)
		f.ok(f.board.Locate(f.ctx, x.actor, h, there))
		x.take(id)
		f.lost("the place of an attempt that another one follows", f.board.Locate(f.ctx, x.actor, h, board.Where{Host: "h", Dir: "/x"}), false)
		if got := f.get(id).Attempts; got[0].Where != there || got[0].Cause != board.CauseParked {
			f.Errorf("the attempt is %+v, want it parked at %+v", got[0], there)
		}
	}},
	{"a place is bounded and has no NUL", func(f *fixture) {
		x := f.agent("x")
		id := f.create("one")
		for _, w := range []board.Where{
			{Branch: "a\x00b"}, {Branch: strings.Repeat("b", 500)}, {Dir: strings.Repeat("d", 1<<20)}, {Host: "\xff"}, {Client: "\x00"}, {Ordered: "\x00"},
		} {
			_, err := f.board.Next(f.ctx, x.actor, board.Wish{Projects: []string{project}, Where: w})
			f.is("Next", err, board.ErrInvalid)
		}
		h := x.take(id)
		bad := board.Where{Branch: "a\x00b"}
		_, err := f.board.Progress(f.ctx, x.actor, h, board.Note{Text: "x", Where: bad})
		f.is("Progress", err, board.ErrInvalid)
		f.is("Locate", f.board.Locate(f.ctx, x.actor, h, bad), board.ErrInvalid)
		_, err = f.board.Fail(f.ctx, x.actor, h, board.Failure{Reason: "x", Where: bad})
		f.is("Fail", err, board.ErrInvalid)
		_, err = f.board.Done(f.ctx, x.actor, h, board.Report{Summary: "x", Where: bad})
		f.is("Done", err, board.ErrInvalid)
		loud := x.actor
		loud.Worker = strings.Repeat("w", 1<<20)
		_, err = f.board.Progress(f.ctx, loud, h, board.Note{Text: "x"})
		f.is("a worker's name", err, board.ErrInvalid)
	}},
	{"old notes are handed on", func(f *fixture) {
		id := f.create("one")
		x := f.agent("x")
		h := x.take(id)
		x.note(h, "the parser is done")
		for range 30 {
			x.fail(h, board.FailNotNow)
			x = f.agent("x")
			h = x.take(id, wishing(id))
		}
		got := x.next()
		var notes []string
		for i, e := range got.Events {
			if i > 0 && e.Seq <= got.Events[i-1].Seq {
				f.Errorf("event %d comes after event %d", e.Seq, got.Events[i-1].Seq)
			}
			if e.Kind == board.EventNote {
				notes = append(notes, e.Detail.Text)
			}
		}
		if fmt.Sprint(notes) != "[the parser is done]" {
			f.Errorf("notes %q, want the one of the first attempt", notes)
		}
	}},
}}
