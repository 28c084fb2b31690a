package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/boardtest"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// A cutting is a board whose connections to the database are cut, and the same board
// without that.
type cutting struct {
	t           *testing.T
	cutter      *pgtest.Cutter
	through     board.Store
	cut, direct *board.Board
	trials      int
}

// A trial is one operation, in the middle of which the connection is cut.
type trial struct {
	*cutting
	name  string // of the trial, unique
	actor board.Actor
	claim board.Handle // for operations of a holder
}

// An operation prepares a trial, and returns the call and what to check after it.
type operation struct {
	name   string
	weight int
	do     func(x *trial) (call func() error, check func(err error))
}

// Connections to the database are cut before, inside and after each statement, COMMIT and
// answer of the board's operations. Nothing that was acknowledged is lost, nothing that was
// refused has happened, nobody holds a claim without knowing it, and no failure is counted.
//
// BOSSMAN_CUTS is the number of cuts.
func TestCut(t *testing.T) {
	cuts, err := strconv.Atoi(os.Getenv("BOSSMAN_CUTS"))
	if err != nil {
		cuts = 40
	}
	c := pgtest.Shared(t)
	db := c.Database(t)
	x := &cutting{t: t, cutter: c.Cutter(t)}
	x.through, err = postgres.Open(t.Context(), x.cutter.DSN(pgtest.App, db), &postgres.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.through.Close()
	beside := c.OpenIn(t, db, nil)
	x.cut, x.direct = board.New(x.through, nil), board.New(beside, nil)
	if err := x.direct.SetProject(t.Context(), board.Project{Slug: "web", Policy: board.PolicyTrust}); err != nil {
		t.Fatal(err)
	}

	var turns []operation
	for _, o := range operations {
		for range o.weight {
			turns = append(turns, o)
		}
	}
	points := map[string][]point{}
	done := map[string]int{}
	for n, turn := 0, 0; n < cuts && !t.Failed(); turn++ {
		o := turns[turn%len(turns)]
		if len(points[o.name]) == 0 {
			points[o.name] = x.pointsOf(o)
		}
		p := points[o.name][0]
		points[o.name] = points[o.name][1:]
		if x.run(o, &p) > p.piece {
			n++
			done[o.name]++
		}
		if turn > 2*cuts { // the points were found in a run without a cut, which may differ
			t.Fatalf("%d cuts in %d turns", n, turn)
		}
	}
	t.Logf("%d cuts: %v", cuts, done)
	for _, err := range boardtest.Check(t.Context(), beside) {
		t.Error(err)
	}
	claims, err := x.direct.Claims(t.Context(), board.ClaimFilter{})
	if err != nil || len(claims) > 0 {
		t.Errorf("claims that nobody knows = %v, %v", claims, err)
	}
}

// A point is where a connection is cut: at which piece of the traffic, and how much of that
// still arrives, in halves.
type point struct{ piece, halves int }

func (p point) String() string {
	return fmt.Sprintf("%s piece %d", [...]string{"before", "inside", "after"}[p.halves], p.piece)
}

// pointsOf returns all points of an operation in random order.
func (x *cutting) pointsOf(o operation) []point {
	var ps []point
	for i := range x.run(o, nil) {
		for halves := range 3 {
			ps = append(ps, point{i, halves})
		}
	}
	rand.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
	return ps
}

// run does an operation, with a cut unless p is nil, and returns the number of pieces.
func (x *cutting) run(o operation, p *point) (pieces int) {
	x.trials++
	name := fmt.Sprintf("%s-%d", o.name, x.trials)
	at := "uncut"
	if p != nil {
		at = p.String()
	}
	x.t.Run(fmt.Sprintf("%s/%s", name, at), func(t *testing.T) {
		sub := *x
		sub.t = t
		one := &trial{cutting: &sub, name: name, actor: board.Actor{Principal: name, Owner: "owner of " + name}}
		// The last trial may have left a connection that was cut.
		if err := settled(func() error { _, err := x.cut.Projects(t.Context()); return err }); err != nil {
			t.Fatal(err)
		}
		call, check := o.do(one)
		x.cutter.Judge(func(piece pgtest.Piece) int {
			pieces++
			if p == nil || pieces != p.piece+1 {
				return pgtest.Whole
			}
			return len(piece.Bytes) * p.halves / 2
		})
		err := call()
		x.cutter.Judge(nil)
		if err != nil && !errors.Is(err, board.ErrUnknown) && !errors.Is(err, board.ErrUnavailable) {
			t.Errorf("it ended with %v", err)
		}
		if err != nil && p == nil {
			t.Errorf("without a cut it ended with %v", err)
		}
		check(err)
	})
	return pieces
}

// refusedForCertain reports whether an error says that nothing has happened.
func refusedForCertain(err error) bool { return err != nil && !errors.Is(err, board.ErrUnknown) }

// settled calls until the answer is not that the database is away: the connection of an
// operation may have been cut after its last answer.
func settled(call func() error) (err error) {
	for range 3 {
		if err = call(); !errors.Is(err, board.ErrUnavailable) {
			break
		}
	}
	return err
}

// again repeats a call that may be repeated, until it succeeds.
func (x *trial) again(err error, call func() error) {
	x.t.Helper()
	if err == nil {
		return
	}
	if again := settled(call); again != nil {
		x.t.Errorf("repeated after %v, it ended with %v", err, again)
	}
}

// task creates a task of the trial.
func (x *trial) task() board.Task {
	x.t.Helper()
	task, _, err := x.direct.Create(x.t.Context(), x.actor, board.NewTask{Project: "web", Title: x.name}, "")
	if err != nil {
		x.t.Fatal(err)
	}
	return task
}

// hold creates a task and claims it.
func (x *trial) hold() {
	x.t.Helper()
	task := x.task()
	h, err := x.direct.Next(x.t.Context(), x.actor, board.Wish{Projects: []string{"web"}, Task: task.ID})
	if err != nil {
		x.t.Fatal(err)
	}
	x.claim = h.Claim.Handle
}

// finish ends the claim of a trial, after checking that it holds and has no failure.
func (x *trial) finish(h board.Handle) {
	x.t.Helper()
	if _, err := x.direct.Done(x.t.Context(), x.actor, h, board.Report{Summary: "done"}); err != nil {
		x.t.Errorf("Done(%v) = %v", h, err)
	}
	x.unfailed(h.Task)
}

// unfailed checks that no failure of a task was counted.
func (x *trial) unfailed(id board.ID) {
	x.t.Helper()
	d, err := x.direct.Get(x.t.Context(), id, 0)
	if err != nil || d.Task.Failures != 0 {
		x.t.Errorf("%v has %d failures (%v), want 0", id, d.Task.Failures, err)
	}
}

// named counts the tasks whose title is the trial's name, and cancels them unless they have
// ended: nobody else's hand-out is to get them.
func (x *trial) named() (n int) {
	x.t.Helper()
	tasks, err := x.direct.List(x.t.Context(), board.TaskFilter{Projects: []string{"web"}, Query: x.name})
	if err != nil {
		x.t.Fatal(err)
	}
	for _, task := range tasks {
		if task.Title != x.name {
			continue
		}
		n++
		if task.Status.Terminal() {
			continue
		}
		if _, err := x.direct.Cancel(x.t.Context(), x.actor, task.ID, "the trial is over", board.DependentsCancel); err != nil {
			x.t.Fatal(err)
		}
	}
	return n
}

// events counts the events of the trial's task of a kind.
func (x *trial) events(id board.ID, kind board.Kind) (n int) {
	x.t.Helper()
	events, err := x.direct.Events(x.t.Context(), id, 0, 100)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// between checks how often something that can be done once has happened, given the error of
// the call that did it.
func (x *trial) between(what string, n int, err error) {
	x.t.Helper()
	switch {
	case err == nil && n != 1:
		x.t.Errorf("it was acknowledged, and there are %d %s, want 1", n, what)
	case refusedForCertain(err) && n != 0:
		x.t.Errorf("it was refused with %v, and there are %d %s, want 0", err, n, what)
	case n > 1:
		x.t.Errorf("there are %d %s, want at most 1", n, what)
	}
}

var operations = []operation{
	{"next", 6, func(x *trial) (func() error, func(error)) {
		id := x.task().ID
		var got *board.Handout
		next := func(w board.Wish) (err error) {
			w.Projects = []string{"web"}
			got, err = x.cut.Next(x.t.Context(), x.actor, w)
			return err
		}
		return func() error { return next(board.Wish{}) }, func(err error) {
			if unknown, ok := errors.AsType[*board.UnknownError](err); ok {
				err = settled(func() error { return next(board.Wish{Worker: unknown.Worker}) })
				if errors.Is(err, board.ErrInvalid) { // there is no such worker: it got nothing
					err = board.ErrUnavailable
				}
			}
			claims, failed := x.direct.Claims(context.Background(), board.ClaimFilter{Principal: x.actor.Principal})
			if failed != nil {
				x.t.Fatal(failed)
			}
			if err == nil && (len(claims) != 1 || claims[0].Handle != got.Claim.Handle) {
				x.t.Errorf("the agent was told of %v, and the claims are %v", got.Claim.Handle, claims)
			}
			if err != nil && len(claims) > 0 {
				x.t.Errorf("the agent was told %v, and holds %v", err, claims)
			}
			if errors.Is(err, board.ErrUnknown) {
				x.t.Errorf("the agent asked again with its name, and was told %v", err)
			}
			if err != nil {
				if failed := settled(func() error { return next(board.Wish{}) }); failed != nil {
					x.t.Fatalf("after %v, Next = %v", err, failed)
				}
			}
			if got.Task.ID != id {
				x.t.Errorf("the agent got %v, want %v", got.Task.ID, id)
			}
			x.finish(got.Claim.Handle)
		}
	}},
	{"wait", 2, func(x *trial) (func() error, func(error)) {
		const agents = 3
		var ended sync.WaitGroup
		waiting := make(chan struct{}, agents)
		b := board.New(x.through, &board.Options{Observer: board.Observer{Waiting: func() { waiting <- struct{}{} }}})
		ctx, cancel := context.WithCancel(x.t.Context())
		ended.Go(func() { _ = b.Run(ctx) })
		var got [agents]*board.Handout
		var errs [agents]error
		var agent sync.WaitGroup
		for i := range agents {
			agent.Go(func() {
				got[i], errs[i] = b.Next(x.t.Context(), x.actor, board.Wish{Projects: []string{"web"}, Wait: 20 * time.Second})
			})
		}
		for range agents {
			select {
			case <-waiting:
			case <-time.After(20 * time.Second):
				x.t.Fatal("the agents do not wait")
			}
		}
		call := func() error {
			for range agents {
				x.task()
			}
			agent.Wait()
			return nil
		}
		return call, func(error) {
			cancel()
			ended.Wait()
			told := map[board.Handle]bool{}
			for i, err := range errs {
				if unknown, ok := errors.AsType[*board.UnknownError](err); ok {
					err = settled(func() (err error) {
						got[i], err = x.cut.Next(x.t.Context(), x.actor, board.Wish{Projects: []string{"web"}, Worker: unknown.Worker})
						return err
					})
				}
				if err == nil {
					told[got[i].Claim.Handle] = true
				} else if !errors.Is(err, board.ErrUnavailable) && !errors.Is(err, board.ErrInvalid) {
					x.t.Errorf("an agent that waited was told %v", err)
				}
			}
			claims, err := x.direct.Claims(x.t.Context(), board.ClaimFilter{Principal: x.actor.Principal})
			if err != nil {
				x.t.Fatal(err)
			}
			for _, claim := range claims {
				if !told[claim.Handle] {
					x.t.Errorf("nobody was told of %v", claim.Handle)
				}
				x.finish(claim.Handle)
			}
			if len(claims) != len(told) {
				x.t.Errorf("agents were told of %d claims, and there are %d", len(told), len(claims))
			}
			x.named()
		}
	}},
	{"create", 4, func(x *trial) (func() error, func(error)) {
		create := func() error {
			_, _, err := x.cut.Create(x.t.Context(), x.actor, board.NewTask{Project: "web", Title: x.name}, x.name)
			return err
		}
		return create, func(err error) {
			if refusedForCertain(err) && x.named() != 0 {
				x.t.Errorf("it was refused with %v, and is there", err)
			}
			x.again(err, create)
			x.between("tasks", x.named(), nil)
		}
	}},
	{"plan", 1, func(x *trial) (func() error, func(error)) {
		create := func() error {
			_, err := x.cut.CreatePlan(x.t.Context(), x.actor, board.Plan{Project: "web", Key: x.name, Tasks: []board.PlanTask{
				{Key: "a", NewTask: board.NewTask{Title: x.name, Hold: true}},
				{Key: "b", After: []string{"a"}, NewTask: board.NewTask{Title: "second", Hold: true}},
			}})
			return err
		}
		return create, func(err error) {
			x.again(err, create)
			x.between("tasks", x.named(), nil)
		}
	}},
	{"note", 1, func(x *trial) (func() error, func(error)) {
		x.hold()
		return func() error {
				_, err := x.cut.Progress(x.t.Context(), x.actor, x.claim, board.Note{Text: "half"})
				return err
			}, func(err error) {
				x.between("notes", x.events(x.claim.Task, board.EventNote), err)
				x.finish(x.claim)
			}
	}},
	{"done", 2, func(x *trial) (func() error, func(error)) {
		x.hold()
		report := func() error {
			_, err := x.cut.Done(x.t.Context(), x.actor, x.claim, board.Report{Summary: "done"})
			return err
		}
		return report, func(err error) {
			x.between("reports", x.events(x.claim.Task, board.EventDone), err)
			x.again(err, report)
			x.between("reports", x.events(x.claim.Task, board.EventDone), nil)
			x.finish(x.claim) // which repeats it once more
		}
	}},
	{"ask", 1, func(x *trial) (func() error, func(error)) {
		x.hold()
		ask := func() error {
			blocking := false
			_, err := x.cut.Ask(x.t.Context(), x.actor, board.NewQuestion{Claim: x.claim, Text: x.name, Blocking: &blocking, Key: x.name})
			return err
		}
		return ask, func(err error) {
			x.again(err, ask)
			qs, failed := x.direct.Questions(x.t.Context(), board.QuestionFilter{Task: x.claim.Task})
			if failed != nil {
				x.t.Fatal(failed)
			}
			x.between("questions", len(qs), nil)
			x.finish(x.claim)
		}
	}},
	{"renew", 1, func(x *trial) (func() error, func(error)) {
		x.hold()
		return func() error {
			_, err := x.cut.Renew(x.t.Context(), x.actor.Owner, true)
			return err
		}, func(error) { x.finish(x.claim) }
	}},
	{"release", 1, func(x *trial) (func() error, func(error)) {
		x.hold()
		release := func() error {
			_, err := x.cut.Release(x.t.Context(), board.Actor{Principal: "lead"}, x.claim.Task, "later")
			return err
		}
		return release, func(err error) {
			x.between("releases", x.events(x.claim.Task, board.EventReleased), err)
			x.unfailed(x.claim.Task)
			x.named()
		}
	}},
}
