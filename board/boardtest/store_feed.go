package boardtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var storeFeed = group{"events", []test{
	{"every field of an event comes back", func(f *fixture) {
		id := f.create("one")
		want := board.Event{
			Task: id, Seq: 2, Actor: "ada ☃", Kind: board.EventNote, From: board.Pending, To: board.Pending,
			Detail: board.Detail{
				Attempt: 3, Nonce: "k7f2q", Worker: "w", Text: "t", Cause: board.CauseExpired, Percent: 40, Question: 7,
				Where: board.Where{Host: "h", Dir: "d", Branch: "b", Head: "x", Uncommitted: 3}, Fields: []string{"a", "b"},
				Late: true, SpecNow: 2, LeaseSecs: 60,
			},
		}
		f.write(func(tx board.Tx) error {
			ts, err := tx.Lock(id)
			if err != nil {
				return err
			}
			ts[0].Seq = 2
			if err := tx.UpdateTask(ts[0], 1); err != nil {
				return err
			}
			return tx.Append(want)
		})
		got := f.last(id)
		if got.At.IsZero() {
			f.Error("the store set no time")
		}
		got.At, got.Cursor = time.Time{}, ""
		f.equal("event", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
		f.unchecked = true // a late note of an attempt that never was
	}},
	{"after FeedEnd come later events only", func(f *fixture) {
		f.create("before")
		f.eventually("the feed shows the first", func() bool { return len(f.feed(nil, "", 10)) == 1 })
		var end board.Cursor
		f.read(func(r board.Reader) (err error) {
			end, err = r.FeedEnd()
			return err
		})
		after := f.create("after")
		var es []board.Event
		f.eventually("the feed shows the second", func() bool {
			es = f.feed(nil, end, 10)
			return len(es) > 0
		})
		if len(es) != 1 || es[0].Task != after || es[0].Kind != board.EventCreated {
			f.Errorf("Feed after FeedEnd = %v, want the creation of %v", es, after)
		}
	}},
	{"a task's events are listed after a number, up to a limit", func(f *fixture) {
		id := f.create("one")
		x := f.agent("x")
		h := x.take(id)
		for i := range 5 {
			x.note(h, words(i))
		}
		for _, tc := range []struct {
			after int64
			limit int
			want  string
		}{{0, 3, "1 2 3"}, {3, 3, "4 5 6"}, {6, 3, "7"}, {7, 3, ""}} {
			es, err := f.board.Events(f.ctx, id, tc.after, tc.limit)
			f.ok(err)
			f.equal(fmt.Sprintf("Events after %d", tc.after), seqs(es), tc.want)
		}
		d, err := f.board.Get(f.ctx, id, 2)
		f.ok(err)
		f.equal("last two of the dossier", seqs(d.Events), "6 7")
	}},
	{"a Seq of a task is used once", func(f *fixture) {
		id := f.create("one")
		err := f.store.Write(f.ctx, func(tx board.Tx) error {
			return tx.Append(board.Event{Task: id, Seq: 1, Kind: board.EventNote})
		})
		if err == nil {
			f.Error("Append of a second event 1 = nil, want an error")
		}
		f.equal("events", f.kinds(id), "created")
	}},
	{"the feed of a project has only its events", func(f *fixture) {
		f.project(board.Project{Slug: "api"})
		f.create("a")
		b := f.create("b", func(n *board.NewTask) { n.Project = "api" })
		f.eventually("the feed shows both", func() bool { return len(f.feed(nil, "", 100)) == 2 })
		es := f.feed([]string{"api"}, "", 100)
		if len(es) != 1 || es[0].Task != b || es[0].Cursor == "" {
			f.Errorf("Feed(api) = %+v, want the event of %v with its cursor", es, b)
		}
		f.equal("Feed(nothere)", len(f.feed([]string{"nothere"}, "", 100)), 0)
		f.equal("Feed of no projects", len(f.feed([]string{}, "", 100)), 0)
	}},
	{"pages of the feed follow one another", func(f *fixture) {
		for range 7 {
			f.create("t")
		}
		f.eventually("the feed is complete", func() bool { return len(f.feed(nil, "", 100)) == 7 })
		all := f.feed(nil, "", 100)
		var got []board.Event
		for cursor := board.Cursor(""); ; {
			page := f.feed(nil, cursor, 2)
			if len(page) == 0 {
				break
			}
			if len(page) > 2 {
				f.Fatalf("a page of at most 2 has %d", len(page))
			}
			got = append(got, page...)
			cursor = page[len(page)-1].Cursor
		}
		if !slices.EqualFunc(got, all, func(a, b board.Event) bool { return a.Task == b.Task && a.Seq == b.Seq }) {
			f.Errorf("pages show %d events, want the same %d in the same order", len(got), len(all))
		}
	}},
	{"an invalid cursor is refused", func(f *fixture) {
		for _, c := range []board.Cursor{"x", "1.", "-1", "'; --"} {
			err := f.store.Read(f.ctx, func(r board.Reader) error {
				_, err := r.Feed(nil, c, 10)
				return err
			})
			f.is(fmt.Sprintf("Feed after %q", c), err, board.ErrInvalid)
		}
	}},
	{"the feed skips nothing during concurrent writes", func(f *fixture) {
		const writers, each = 6, 15
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range each {
					if _, _, err := f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "t"}, ""); err != nil {
						f.Errorf("Create: %v", err)
					}
				}
			})
		}
		seen := map[board.ID]int{}
		cursor := board.Cursor("")
		look := func() {
			for _, e := range f.feed(nil, cursor, 10) {
				seen[e.Task]++
				cursor = e.Cursor
			}
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			look()
		}
		f.eventually("the reader has seen all", func() bool {
			look()
			return len(seen) >= writers*each
		})
		for id, n := range seen {
			if n != 1 {
				f.Errorf("the event of %v was read %d times", id, n)
			}
		}
	}},
	{"the feed does not skip the events of a long transaction", func(f *fixture) {
		// The first transaction appends its event early and commits late.
		begun, finish := make(chan struct{}), make(chan struct{})
		a := f.create("a")
		var once sync.Once
		var wg sync.WaitGroup
		wg.Go(func() {
			err := f.store.Write(f.ctx, func(tx board.Tx) error {
				ts, err := tx.Lock(a)
				if err != nil {
					return err
				}
				ts[0].Seq++
				if err := tx.UpdateTask(ts[0], ts[0].Seq-1); err != nil {
					return err
				}
				if err := tx.Append(board.Event{Task: a, Seq: ts[0].Seq, Kind: board.EventEdited, From: board.Pending, To: board.Pending}); err != nil {
					return err
				}
				once.Do(func() { close(begun) })
				<-finish
				return nil
			})
			if err != nil {
				f.Errorf("Write: %v", err)
			}
		})
		<-begun
		created := make(chan struct{})
		wg.Go(func() { // on SQLite this waits for the first
			defer close(created)
			if _, _, err := f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "b"}, ""); err != nil {
				f.Errorf("Create: %v", err)
			}
		})
		select {
		case <-created:
		case <-time.After(50 * time.Millisecond):
		}
		cursor := board.Cursor("")
		var got []board.Event
		look := func() {
			for _, e := range f.feed(nil, cursor, 10) {
				got, cursor = append(got, e), e.Cursor
			}
		}
		look()
		close(finish)
		wg.Wait()
		f.eventually("three events were read", func() bool {
			look()
			return len(got) >= 3
		})
		f.equal("events read", len(got), 3)
	}},
	{"events and their tasks commit together", func(f *fixture) {
		id := f.create("a")
		mine := errors.New("mine")
		err := f.store.Write(f.ctx, func(tx board.Tx) error {
			if err := tx.Append(board.Event{Task: id, Seq: 2, Kind: board.EventNote}); err != nil {
				return err
			}
			return mine
		})
		f.is("Write", err, mine)
		f.equal("events", f.kinds(id), "created")
	}},
}}

func (f *fixture) feed(projects []string, after board.Cursor, limit int) []board.Event {
	f.Helper()
	es, err := f.board.Feed(f.ctx, projects, after, limit)
	f.ok(err)
	return es
}

func seqs(es []board.Event) string {
	text := ""
	for i, e := range es {
		if i > 0 {
			text += " "
		}
		text += words(e.Seq)
	}
	return text
}
