package boardtest

import (
	"errors"

	"github.com/bossman-dev/bossman/board"
)

// An agent is a worker of a test, in a process of its own.
type agent struct {
	f     *fixture
	actor board.Actor
	// name is the worker's, once it has one.
	name string
}

// agent returns a new agent of a process.
func (f *fixture) agent(process string) *agent {
	return &agent{f: f, actor: board.Actor{Principal: "local", Owner: process}}
}

// wish returns the agent's request for a task, modified by more.
func (a *agent) wish(more ...func(*board.Wish)) board.Wish {
	w := board.Wish{Worker: a.name, Projects: []string{project}}
	for _, m := range more {
		m(&w)
	}
	return w
}

func able(skills ...string) func(*board.Wish) { return func(w *board.Wish) { w.Skills = skills } }

func wishing(id board.ID) func(*board.Wish) { return func(w *board.Wish) { w.Task = id } }

func keyed(key string) func(*board.Wish) { return func(w *board.Wish) { w.Key = key } }

// try asks for a task.
func (a *agent) try(more ...func(*board.Wish)) (*board.Handout, error) {
	h, err := a.f.board.Next(a.f.ctx, a.actor, a.wish(more...))
	if h != nil {
		a.name = h.Claim.Worker.Name
		a.actor.Worker = a.name
	}
	return h, err
}

// next asks for a task, and must get one.
func (a *agent) next(more ...func(*board.Wish)) *board.Handout {
	a.f.Helper()
	h, err := a.try(more...)
	if err != nil {
		a.f.Fatalf("%s: next: %v", a.actor.Owner, err)
	}
	return h
}

// take asks for a task, and must get that one.
func (a *agent) take(id board.ID, more ...func(*board.Wish)) board.Handle {
	a.f.Helper()
	h := a.next(more...)
	if h.Task.ID != id || h.Claim.Task != id {
		a.f.Fatalf("%s: got %v, want %v", a.actor.Owner, h.Task.ID, id)
	}
	return h.Claim.Handle
}

// nothing asks for a task, and must get none.
func (a *agent) nothing(more ...func(*board.Wish)) *board.Nothing {
	a.f.Helper()
	h, err := a.try(more...)
	none, ok := errors.AsType[*board.Nothing](err)
	if !ok {
		if h != nil {
			a.f.Fatalf("%s: got %v, want nothing", a.actor.Owner, h.Claim.Handle)
		}
		a.f.Fatalf("%s: next: %v, want nothing", a.actor.Owner, err)
	}
	return none
}

// done reports done, and the report must be accepted.
func (a *agent) done(h board.Handle, more ...func(*board.Report)) board.Outcome {
	a.f.Helper()
	out, err := a.report(h, more...)
	if err != nil {
		a.f.Fatalf("%s: done %v: %v", a.actor.Owner, h, err)
	}
	return out
}

func (a *agent) report(h board.Handle, more ...func(*board.Report)) (board.Outcome, error) {
	r := board.Report{Summary: "It works."}
	for _, m := range more {
		m(&r)
	}
	return a.f.board.Done(a.f.ctx, a.actor, h, r)
}

// fail reports a failure, and the report must be accepted.
func (a *agent) fail(h board.Handle, k board.FailureKind) board.Outcome {
	a.f.Helper()
	out, err := a.f.board.Fail(a.f.ctx, a.actor, h, board.Failure{Kind: k, Reason: "It does not work."})
	if err != nil {
		a.f.Fatalf("%s: fail %v: %v", a.actor.Owner, h, err)
	}
	return out
}

// note records progress, and must succeed.
func (a *agent) note(h board.Handle, text string) board.Notice {
	a.f.Helper()
	n, err := a.f.board.Progress(a.f.ctx, a.actor, h, board.Note{Text: text})
	if err != nil {
		a.f.Fatalf("%s: note %v: %v", a.actor.Owner, h, err)
	}
	return n
}

// ask asks a question, and must succeed.
func (a *agent) ask(h board.Handle, more ...func(*board.NewQuestion)) board.Question {
	a.f.Helper()
	n := board.NewQuestion{Claim: h, Text: "Which colour?"}
	for _, m := range more {
		m(&n)
	}
	q, err := a.f.board.Ask(a.f.ctx, a.actor, n)
	if err != nil {
		a.f.Fatalf("%s: ask under %v: %v", a.actor.Owner, h, err)
	}
	return q
}

// park ends the wait for an answer, and must park the task.
func (a *agent) park(q board.QuestionID) {
	a.f.Helper()
	_, parked, err := a.f.board.Park(a.f.ctx, a.actor, q)
	if err != nil || !parked {
		a.f.Fatalf("%s: park %v = %v, %v, want it parked", a.actor.Owner, q, parked, err)
	}
}

// lost fails the test unless err is a *LostError whose Kept is kept.
func (f *fixture) lost(what string, err error, kept bool) *board.LostError {
	f.Helper()
	lost, ok := errors.AsType[*board.LostError](err)
	if !ok || !errors.Is(err, board.ErrLeaseLost) {
		f.Fatalf("%s: error %v, want a *LostError", what, err)
	}
	if lost.Kept != kept {
		f.Errorf("%s: kept as a note = %v, want %v", what, lost.Kept, kept)
	}
	return lost
}
