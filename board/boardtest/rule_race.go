package boardtest

import (
	"context"
	"errors"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// ruleRaces are races, made certain by stores that let something happen at that moment.
var ruleRaces = group{"races", []test{
	{"an answer that reached nobody frees the task twice, and one that was heard of all the same does not", func(f *fixture) {
		f.board = board.New(f.store, &board.Options{Unanswered: time.Nanosecond, Observer: f.observer()})
		f.running()
		x := f.agent("x")
		heard := x.next(wishing(f.create("heard")))
		x.note(heard.Claim.Handle, "begun")
		f.board.Unanswered(heard.Claim)
		id := f.create("lost")
		for range 2 {
			y := f.agent("y")
			f.board.Unanswered(y.next().Claim)
			f.eventually("the task is free", func() bool { return f.get(id).Claim == nil })
			f.undelivered(id)
		}
		third := f.agent("z").next()
		f.equal("third", third.Claim.Task, id)
		f.board.Unanswered(third.Claim)
		last := f.create("last")
		f.board.Unanswered(f.agent("u").next().Claim)
		f.eventually("another task is free", func() bool { return f.get(last).Claim == nil })
		f.board.Unanswered(f.agent("v").next().Claim) // everything before it was looked at
		f.eventually("it is free again", func() bool { return f.get(last).Claim == nil })
		for _, held := range []*board.Handout{heard, third} {
			if c := f.get(held.Claim.Task).Claim; c == nil || c.Handle != held.Claim.Handle {
				f.Errorf("%v is no longer held", held.Claim.Handle)
			}
		}
	}},
	{"a caller that goes between the grant and the answer", func(f *fixture) {
		id := f.create("a")
		ctx, cancel := context.WithCancel(f.ctx)
		b := board.New(afterClaim{f.store, cancel}, nil)
		h, err := b.Next(ctx, f.agent("x").actor, board.Wish{Projects: []string{project}})
		if h != nil || !errors.Is(err, context.Canceled) {
			f.Errorf("Next = %v, %v, want nothing and that the call was given up", h, err)
		}
		f.undelivered(id)
	}},
	{"a waiter that goes while a task is granted to it", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx)
		ended := make(chan struct{})
		f.board = board.New(afterClaim{f.store, func() {
			cancel()
			<-ended
		}}, &board.Options{Observer: f.observer()})
		f.running()
		go func() {
			defer close(ended)
			f.board.Next(ctx, f.agent("x").actor, board.Wish{Projects: []string{project}, Wait: 20 * time.Second})
		}()
		f.waiting(1)
		id := f.create("a")
		<-ended
		f.eventually("the task was granted", func() bool { return len(f.get(id).Attempts) > 0 })
		f.eventually("the task is free", func() bool { return f.get(id).Claim == nil })
		f.undelivered(id)
	}},
	{"a worker whose lost call gets it a task while it asks again", func(f *fixture) {
		x := f.agent("x")
		x.done(x.take(f.create("a")))
		id := f.create("b")
		h, err := board.New(claimedBefore{f.store}, nil).Next(f.ctx, x.actor, x.wish())
		if err != nil || h.Claim.Task != id || !h.Again {
			f.Fatalf("Next = %+v, %v, want again what the lost call was given", h, err)
		}
		x.done(h.Claim.Handle)
	}},
	{"a claim that is renewed while the sweep comes by", func(f *fixture) {
		id := f.create("a")
		f.agent("x").take(id)
		b := board.New(eager{f.store}, nil)
		f.project(board.Project{Slug: "nowhere"})
		_, err := b.Next(f.ctx, board.Actor{Principal: "s", Owner: "s"}, board.Wish{Projects: []string{"nowhere"}})
		if _, ok := errors.AsType[*board.Nothing](err); !ok {
			f.Errorf("Next = %v, want nothing", err)
		}
		f.equal("events", f.kinds(id), "created claimed")
	}},
	{"a transaction that is run twice", func(f *fixture) {
		b := board.New(twice{f.store}, nil)
		x := f.agent("x")
		first, _, err := b.Create(f.ctx, ada, board.NewTask{Project: project, Title: "a"}, "k")
		f.ok(err)
		plan, err := b.CreatePlan(f.ctx, ada, board.Plan{Project: project, Tasks: []board.PlanTask{
			{Key: "b", After: []string{first.ID.String()}, NewTask: board.NewTask{Title: "b"}},
		}})
		f.ok(err)
		h, err := b.Next(f.ctx, x.actor, board.Wish{Projects: []string{project}, Key: "n"})
		f.ok(err)
		claim := h.Claim.Handle
		_, err = b.Progress(f.ctx, x.actor, claim, board.Note{Text: "half"})
		f.ok(err)
		_, _, err = b.CreateUnder(f.ctx, x.actor, claim, board.NewTask{Title: "c"}, "c")
		f.ok(err)
		q, err := b.Ask(f.ctx, x.actor, board.NewQuestion{Claim: claim, Text: "?"})
		f.ok(err)
		_, err = b.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		out, err := b.Done(f.ctx, x.actor, claim, board.Report{Summary: "s", FollowUps: []board.NewTask{{Title: "d"}}})
		f.ok(err)
		f.equal("outcome", words(out.Status, out.Again, ids(out.Freed), len(out.FollowUps)), words("done", false, plan.Tasks[0].ID, 1))
		_, err = b.Cancel(f.ctx, ada, plan.Tasks[0].ID, "", board.DependentsCancel)
		f.ok(err)
		f.tasks(4)
		f.equal("events", f.kinds(first.ID), "created claimed note asked answered done")
		f.equal("made under the claim", f.get(first.ID).Attempts[0].Created, 2)
	}},
}}

func (f *fixture) undelivered(id board.ID) {
	f.Helper()
	d := f.get(id)
	f.equal("task", words(d.Task.Status, d.Task.Failures, d.Attempts[0].Cause), "pending 0 undelivered")
}

// afterClaim is a store that calls do after each grant.
type afterClaim struct {
	board.Store
	do func()
}

func (s afterClaim) Claim(ctx context.Context, w board.Want) ([]board.Claim, error) {
	claims, err := s.Store.Claim(ctx, w)
	if len(claims) > 0 {
		s.do()
	}
	return claims, err
}

// eager is a store that returns every live claim as expired.
type eager struct{ board.Store }

func (s eager) Read(ctx context.Context, f func(board.Reader) error) error {
	return s.Store.Read(ctx, func(r board.Reader) error { return f(eagerReader{r}) })
}

func (s eager) Write(ctx context.Context, f func(board.Tx) error) error {
	return s.Store.Write(ctx, func(tx board.Tx) error { return f(eagerTx{tx}) })
}

type eagerReader struct{ board.Reader }

func (eagerReader) Stale() (bool, error) { return true, nil }

type eagerTx struct{ board.Tx }

func (tx eagerTx) Expired(int) ([]board.Task, error) {
	live, err := tx.Claims(board.ClaimFilter{})
	if err != nil {
		return nil, err
	}
	ids := make([]board.ID, len(live))
	for i, c := range live {
		ids[i] = c.Task
	}
	return tx.Lock(ids...)
}

// twice is a store that runs every transaction two times and rolls back the first, as a
// store does that retries after a deadlock.
type twice struct{ board.Store }

var errUndo = errors.New("undo")

func (s twice) Read(ctx context.Context, f func(board.Reader) error) error {
	if err := s.Store.Read(ctx, f); err != nil {
		return err
	}
	return s.Store.Read(ctx, f)
}

func (s twice) Write(ctx context.Context, f func(board.Tx) error) error {
	err := s.Store.Write(ctx, func(tx board.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		return err
	}
	return s.Store.Write(ctx, f)
}

// claimedBefore is a store in which an earlier call, whose caller is gone, gets the task
// just before each call.
type claimedBefore struct{ board.Store }

func (s claimedBefore) Claim(ctx context.Context, w board.Want) ([]board.Claim, error) {
	if _, err := s.Store.Claim(ctx, w); err != nil {
		return nil, err
	}
	return s.Store.Claim(ctx, w)
}
