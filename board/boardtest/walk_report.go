package boardtest

import (
	"errors"

	"github.com/bossman-dev/bossman/board"
)

// again checks a repeated report under the same claim.
func (w *walker) again(g *modelGrant, what string, out board.Outcome, err error) bool {
	switch g.report {
	case "":
		return false
	case what:
		if err != nil || !out.Again {
			w.Fatalf("%s again = %+v, %v, want the first answer", what, out, err)
		}
	default:
		w.want(what+" after "+g.report, err, board.ErrConflict)
	}
	return true
}

func (w *walker) done() {
	g := pick(w, "grant", w.grants)
	out, err := w.f.board.Done(w.ctx(), g.agent.actor, g.handle, board.Report{Summary: "s", Tip: board.Tip{Commit: object(w.step + 2), Tree: object(1)}})
	if w.again(g, "done", out, err) {
		return
	}
	if g.task.claim != g && !g.late() && !w.revive(g) {
		w.want("done", err, board.ErrLeaseLost)
		return
	}
	if w.edited(g, err) {
		return
	}
	if w.unfinished(g.task) {
		w.want("done before what comes first", err, board.ErrConflict)
		return
	}
	w.want("done", err, nil)
	if g.task.claim != g {
		g.task.failures = max(0, g.task.failures-1) // that of its expiry
	}
	g.task.tip = w.step + 2
	w.reported(g)
}

// edited checks the error of a report whose worker has not seen the newest spec, and
// reports whether that is so.
func (w *walker) edited(g *modelGrant, err error) bool {
	if g.spec == g.task.spec {
		return false
	}
	if _, ok := errors.AsType[*board.EditedError](err); !ok {
		w.Fatalf("report by version %d of %d: %v, want an *EditedError", g.spec, g.task.spec, err)
	}
	g.spec = g.task.spec
	g.alive()
	return true
}

func (w *walker) failure() {
	g := pick(w, "grant", w.grants)
	k := pick(w, "kind", board.FailureKinds)
	out, err := w.f.board.Fail(w.ctx(), g.agent.actor, g.handle, board.Failure{Kind: k, Reason: "r"})
	if w.again(g, string(k), out, err) {
		return
	}
	t := g.task
	if t.claim != g && !w.revive(g) {
		w.want("fail", err, board.ErrLeaseLost)
		return
	}
	if k == board.FailWrongSpec && w.edited(g, err) {
		return
	}
	w.want("fail", err, nil)
	w.end(t, board.CauseFailed)
	g.report = string(k)
	switch k {
	case board.FailNotNow:
		t.status = board.Pending
		t.declined[g.agent] = true
	case board.FailBlocked:
		t.status = board.Waiting
		w.asked = append(w.asked, &modelQuestion{id: out.Question, grant: g, open: true})
	case board.FailWrongSpec:
		t.failures++
		t.status = board.Failed
	case board.FailTooHard:
		w.fail(t)
		t.declined[g.agent] = true
	default:
		w.fail(t)
		t.cooling = k == board.FailEnvironment && t.status == board.Pending
	}
}
