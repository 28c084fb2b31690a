package boardtest

import (
	"errors"

	"pgregory.net/rapid"

	"github.com/bossman-dev/bossman/board"
)

// call makes a call under a grant, of a step or not, and perhaps ends it. A step is taken once for its task.
func (w *walker) call() {
	g := pick(w, "grant", w.grants)
	n := newCall(g.handle)
	if rapid.Bool().Draw(w.T, "step") {
		n.Step = "s"
	}
	got, err := w.f.board.Admit(w.ctx(), g.agent.actor, n)
	w.want("touch", w.f.board.Touch(w.ctx(), []board.Touched{{Claim: g.handle, Principal: g.agent.actor.Principal}}), nil)
	if g.task.claim != g { // no call takes back a claim that has ended
		w.want("call under a claim that has ended", err, board.ErrLeaseLost)
		return
	}
	if e, ok := errors.AsType[*board.StepError](err); ok && n.Step != "" && e.State == board.StepUnknown && g.task.step == board.CallUnknown {
		g.alive()
		return
	}
	w.want("call", err, nil)
	g.alive()
	if n.Step != "" && g.task.step == board.CallOK {
		if got.Recorded == nil {
			w.Fatalf("a step of %v is taken twice", g.task.id)
		}
		return
	}
	if got.Recorded != nil || got.ID == 0 {
		w.Fatalf("Admit = %+v", got)
	}
	outcome := pick(w, "outcome", []board.CallOutcome{board.CallOK, board.CallToolError, board.CallUnknown})
	w.want("the end of a call", w.f.board.EndCalls(w.ctx(), []board.EndedCall{{ID: got.ID, Principal: g.agent.actor.Principal, Outcome: outcome}}), nil)
	if n.Step != "" && outcome != board.CallToolError { // an error frees it
		g.task.step = outcome
	}
}
