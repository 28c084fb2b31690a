package boardtest

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A shelf is an ArchivePlace in memory.
type shelf struct {
	bytes.Buffer
	saves int
	// saving is called by Save; it may be nil.
	saving func() error
}

func (s *shelf) Save(context.Context) (board.Saved, error) {
	s.saves++
	if s.saving != nil {
		if err := s.saving(); err != nil {
			return board.Saved{}, err
		}
	}
	return board.Saved{Place: "shelf", SHA256: "5a"}, nil
}

// lines are the lines on the shelf.
func (s *shelf) lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line := range bytes.Lines(s.Bytes()) {
			if !yield(line, nil) {
				return
			}
		}
	}
}

// archive archives all finished tasks of the project, and must archive n.
func (f *fixture) archive(n int) *shelf {
	f.Helper()
	s := &shelf{}
	// A store may keep tasks for a moment whose events are not yet safe to show.
	f.eventually("tasks are archived", func() bool {
		got, err := f.board.Archive(f.ctx, ada, board.Archiving{Project: project}, s, nil)
		f.ok(err)
		if got == 0 {
			s.Reset() // what was not deleted is written again
		}
		n -= got
		return n <= 0
	})
	f.equal("tasks that should have stayed", -n, 0)
	return s
}

// gone fails the test unless a task was archived.
func (f *fixture) gone(id board.ID) {
	f.Helper()
	_, err := f.board.Get(f.ctx, id, 0)
	e, ok := errors.AsType[*board.ArchivedError](err)
	if !ok || e.Task != id || e.Place != "shelf" || time.Since(e.At).Abs() > time.Hour || !errors.Is(err, board.ErrNotFound) {
		f.Fatalf("get %v = %v, want that it was archived", id, err)
	}
}

// life is what must survive an archive and an import of it, in words.
func (f *fixture) life(id board.ID) string {
	f.Helper()
	d := f.get(id)
	t := d.Task
	out := []any{t.Title, t.Status, t.Priority, t.Areas, t.Parent, t.Attempt, t.CreatedAt.UTC(), t.EndedAt.UTC(), d.Doc.Description}
	if d.Doc.Result != nil {
		out = append(out, d.Doc.Result.Summary, d.Doc.Result.Branch)
	}
	for _, a := range d.Attempts {
		out = append(out, a.Handle, a.Worker.Name, a.Cause, a.Reason, a.Where.Branch, a.EndedAt.UTC())
	}
	for _, q := range d.Questions {
		out = append(out, q.Text, q.State, q.Answer)
	}
	for _, e := range d.Events {
		if e.Kind != board.EventImported {
			out = append(out, e.Kind, e.From, e.To, e.Detail.Text, e.When().UTC())
		}
	}
	return words(append(out, taskIDs(d.Blockers), taskIDs(d.Dependents), taskIDs(d.Children))...)
}

// story makes finished tasks with all that tasks can have, and one that is open.
func (f *fixture) story() (finished []board.ID, open board.ID) {
	f.Helper()
	a := f.create("a", func(n *board.NewTask) { n.Description, n.Areas = "what to do", []string{"web"} })
	b := f.create("b", after(a))
	parent := f.create("parent")
	child := f.create("child", within(parent))
	x := f.agent("x")
	h := x.take(a)
	x.note(h, "half")
	q, err := f.board.Ask(f.ctx, x.actor, board.NewQuestion{Project: project, Claim: h, Text: "Which colour?"})
	f.ok(err)
	_, err = f.board.Answer(f.ctx, ada, q.ID, "blue")
	f.ok(err)
	x.done(h)
	for _, id := range []board.ID{child, b} {
		x.done(x.take(id, wishing(id)))
	}
	f.status(parent, board.Done)
	off := f.create("off")
	_, err = f.board.Cancel(f.ctx, ada, off, "no", board.DependentsKeep)
	f.ok(err)
	return []board.ID{a, b, parent, child, off}, f.create("open")
}

var ruleArchives = group{"archives", []test{
	{"the records of tasks are what is read about each of them", func(f *fixture) {
		finished, open := f.story()
		none := board.ID{Project: project, No: 99}
		f.read(func(r board.Reader) error {
			ids := append([]board.ID{none, open}, finished...)
			got, err := r.Records(ids)
			f.ok(err)
			f.equal("records", len(got), len(ids)-1)
			for i, rec := range got {
				if i > 0 && got[i-1].Task.ID.No >= rec.Task.ID.No {
					f.Errorf("record of %v after that of %v", rec.Task.ID, got[i-1].Task.ID)
				}
				d, err := r.Dossier(rec.Task.ID, 1000)
				f.ok(err)
				want := board.Record{Task: d.Task, Doc: d.Doc, Attempts: d.Attempts, Questions: d.Questions, Events: d.Events}
				for _, t := range d.Blockers {
					want.Blockers = append(want.Blockers, t.ID)
				}
				for _, t := range d.Dependents {
					want.Dependents = append(want.Dependents, t.ID)
				}
				if r := rec.Doc.Result; r != nil && want.Doc.Result != nil {
					f.equal("result", words(*r), words(*want.Doc.Result))
					rec.Doc.Result, want.Doc.Result = nil, nil
				}
				f.equal("record", words(rec), words(want))
			}
			got, err = r.Records(nil)
			f.equal("without tasks", words(len(got), err), "0 <nil>")
			got, err = r.Records([]board.ID{{Project: "nothere", No: 1}})
			f.equal("of no project", words(len(got), err), "0 <nil>")
			return nil
		})
	}},
	{"finished tasks leave the board, and others stay", func(f *fixture) {
		finished, open := f.story()
		before, err := f.board.Counts(f.ctx)
		f.ok(err)
		f.equal("tasks before", before.Total(), 6)
		s := f.archive(5)
		for _, id := range finished {
			f.gone(id)
			f.equal("lines of "+id.String(), strings.Count(s.String(), `"type":"task","id":"`+id.String()+`"`), 1)
		}
		f.status(open, board.Pending)
		now, err := f.board.Counts(f.ctx)
		f.ok(err)
		f.equal("counts", words(now.Total(), now.Ready), "1 1")
		f.equal("the next number", f.create("next").No, open.No+1)
		f.archive(0)
	}},
	{"a task waits for what depends on it, its parent, its children and its age", func(f *fixture) {
		x := f.agent("x")
		blocker := f.create("blocker")
		f.create("dependent", after(blocker))
		x.done(x.take(blocker))
		parent := f.create("parent")
		child := f.create("child", within(parent))
		f.create("other child", within(parent), held)
		x.done(x.take(child, wishing(child)))
		n, err := f.board.Archive(f.ctx, ada, board.Archiving{Project: project}, &shelf{}, nil)
		f.equal("archived", words(n, err), "0 <nil>")
		lone := f.create("lone")
		x.done(x.take(lone, wishing(lone)))
		n, err = f.board.Archive(f.ctx, ada, board.Archiving{Project: project, Age: time.Hour}, &shelf{}, nil)
		f.equal("archived that is an hour old", words(n, err), "0 <nil>")
		s := &shelf{}
		n, err = f.board.Archive(f.ctx, ada, board.Archiving{Project: project, DryRun: true}, s, nil)
		f.equal("dry run", words(n, err, s.Len(), s.saves), "1 <nil> 0 0")
		f.status(lone, board.Done)
		f.archive(1)
		f.gone(lone)
	}},
	{"many tasks leave in batches, up to a number", func(f *fixture) {
		var off []board.ID
		for range 230 {
			off = append(off, f.create("t"))
		}
		for _, id := range off {
			_, err := f.board.Cancel(f.ctx, ada, id, "no", board.DependentsKeep)
			f.ok(err)
		}
		f.eventually("the feed shows all", func() bool { return len(f.feed(nil, "", 1000)) == 460 })
		s := &shelf{}
		n, err := f.board.Archive(f.ctx, ada, board.Archiving{Project: project, Max: 120}, s, nil)
		f.equal("archived", words(n, err, s.saves), "120 <nil> 2")
		n, err = f.board.Archive(f.ctx, ada, board.Archiving{Project: project, PerSave: 1000}, s, nil)
		f.equal("archived then", words(n, err, s.saves), "110 <nil> 3")
		f.equal("lines", strings.Count(s.String(), `"type":"task"`), 230)
	}},
	{"nothing leaves before it is saved", func(f *fixture) {
		finished, _ := f.story()
		broken := errors.New("the disk is full")
		_, err := f.board.Archive(f.ctx, ada, board.Archiving{Project: project}, &shelf{saving: func() error { return broken }}, nil)
		f.is("archive", err, broken)
		for _, id := range finished {
			f.get(id)
		}
	}},
	{"a task that changed after it was written stays", func(f *fixture) {
		x := f.agent("x")
		a, b := f.create("a"), f.create("b")
		h := x.take(a)
		x.done(h)
		x.done(x.take(b))
		f.eventually("the feed shows all", func() bool { return len(f.feed(nil, "", 100)) == 6 })
		s := &shelf{}
		s.saving = func() error {
			s.saving = nil
			return f.store.Write(f.ctx, func(tx board.Tx) error {
				ts, err := tx.Lock(a)
				if err != nil {
					return err
				}
				t := ts[0]
				t.Seq++
				if err := tx.UpdateTask(t, t.Seq-1); err != nil {
					return err
				}
				return tx.Append(board.Event{
					Task: a, Seq: t.Seq, Actor: "x", Kind: board.EventNote, From: board.Done, To: board.Done,
					Detail: board.Detail{Text: "late", Late: true, Attempt: h.Attempt, Nonce: h.Nonce},
				})
			})
		}
		n, err := f.board.Archive(f.ctx, ada, board.Archiving{Project: project, Max: 1}, s, nil)
		f.equal("archived first", words(n, err), "1 <nil>") // b, after a was left out
		f.gone(b)
		f.equal("a", f.kinds(a), "created claimed done note")
	}},
	{"an archive imported into its board gives the same tasks again", func(f *fixture) {
		x := f.agent("x")
		finished, _ := f.story()
		young := f.create("young", after(finished[0])) // its link to a task that leaves returns
		x.done(x.take(young, wishing(young)))
		lives := map[board.ID]string{}
		for _, id := range append(finished, young) {
			lives[id] = f.life(id)
		}
		s := f.archive(6)
		for range 2 {
			got, err := f.board.Import(f.ctx, ada, project, s.lines(), nil)
			f.ok(err)
			f.equal("import", words(got.Kept, len(got.Tasks)), "true 6")
			for id, want := range lives {
				f.equal(id.String(), f.life(id), want)
			}
		}
		f.equal("the next number", f.create("next").No, young.No+1)
		f.archive(6)
		f.gone(young)
	}},
	{"an archive imported elsewhere gives the same tasks", func(f *fixture) {
		finished, _ := f.story()
		var want []string
		for _, id := range finished {
			want = append(want, f.life(id))
		}
		s := f.archive(5)
		f.project(board.Project{Slug: "api"})
		got, err := f.board.Import(f.ctx, ada, "api", s.lines(), nil)
		f.ok(err)
		f.equal("import", words(got.Kept, got.Made), "true 5")
		for i, id := range finished {
			id.Project = "api"
			f.equal(id.String(), strings.ReplaceAll(f.life(id), "api-", "web-"), want[i])
		}
	}},
	{"a file cannot give a task a number that was not archived", func(f *fixture) {
		f.story()
		s := f.archive(5)
		forged := &shelf{}
		forged.WriteString(strings.ReplaceAll(s.String(), "web-1\"", "web-900\""))
		_, err := f.board.Import(f.ctx, ada, project, forged.lines(), nil)
		f.is("import", err, board.ErrConflict)
		_, err = f.board.Get(f.ctx, board.ID{Project: project, No: 900}, 0)
		f.is("get", err, board.ErrNotFound)
	}},
	{"a cursor before events that were archived is too old", func(f *fixture) {
		f.story()
		f.eventually("the feed is complete", func() bool {
			es := f.feed(nil, "", 1000)
			return es[len(es)-1].Task == board.ID{Project: project, No: 6}
		})
		es := f.feed(nil, "", 1000)
		f.archive(5)
		for _, slugs := range [][]string{nil, {project}} {
			_, err := f.board.Feed(f.ctx, slugs, es[0].Cursor, 10)
			f.is("feed", err, board.ErrCursorTooOld)
			got, err := f.board.Feed(f.ctx, slugs, es[len(es)-2].Cursor, 10)
			f.equal("after the last archived", words(seqs(got), err), "1 <nil>")
			got, err = f.board.Feed(f.ctx, slugs, "", 10)
			f.equal("from the beginning", words(seqs(got), err), "1 <nil>")
		}
		end, err := f.board.FeedEnd(f.ctx)
		f.ok(err)
		got, err := f.board.Feed(f.ctx, nil, end, 10)
		f.equal("from the end", words(len(got), err), "0 <nil>")
	}},
	{"a new task cannot depend on an archived one, and the error says why", func(f *fixture) {
		f.story()
		f.archive(5)
		_, _, err := f.board.Create(f.ctx, ada, board.NewTask{Project: project, Title: "t", DependsOn: []board.ID{{Project: project, No: 1}}}, "")
		if e, ok := errors.AsType[*board.ArchivedError](err); !ok || e.Task.No != 1 {
			f.Errorf("create = %v, want that web-1 was archived", err)
		}
	}},
	{"a plan whose first tasks were archived goes on", func(f *fixture) {
		plan := board.Plan{Project: project, Tasks: []board.PlanTask{{NewTask: board.NewTask{Title: "first"}, Key: "first", Item: "p#1"}}}
		made, err := f.board.CreatePlan(f.ctx, ada, plan)
		f.ok(err)
		x := f.agent("x")
		x.done(x.take(made.Tasks[0].ID))
		f.archive(1)
		plan.Tasks = append(plan.Tasks, board.PlanTask{NewTask: board.NewTask{Title: "second"}, Key: "second", Item: "p#2", After: []string{"first"}})
		again, err := f.board.CreatePlan(f.ctx, ada, plan)
		f.ok(err)
		f.equal("first", words(again.Tasks[0].ID, again.Tasks[0].Existed), words(made.Tasks[0].ID, true))
		f.equal("second", words(again.Tasks[1].Ready, again.Tasks[1].Existed), "true false")
	}},
}}
