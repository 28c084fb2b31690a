package boardtest

import (
	"pgregory.net/rapid"

	"github.com/bossman-dev/bossman/board"
)

func (w *walker) review() {
	t := pick(w, "task", w.tasks)
	v := pick(w, "verdict", []board.Verdict{board.Accept, board.Reject, board.Retry, board.Skip})
	by, may := ada, true
	var agent *agent
	if rapid.Bool().Draw(w.T, "by an agent") {
		a := pick(w, "agent", w.agents)
		agent = a
		by, may = a.actor, !w.held(t, a) && (v == board.Retry || w.policy == board.PolicyReview)
	}
	_, err := w.f.board.Review(w.ctx(), by, t.id, board.Decision{Verdict: v, Note: "v"})
	switch {
	case !may && (v == board.Retry && t.status == board.Failed || v != board.Retry && t.status == board.InReview):
		w.want("review", err, board.ErrDenied)
		return
	case v != board.Retry && t.status == board.InReview && (v == board.Skip && (agent == nil || t.reviewer != agent) || agent != nil && t.reviewer != nil && t.reviewer != agent):
		w.want("review of another", err, board.ErrConflict)
		return
	case v == board.Skip && t.status == board.InReview:
		t.declined[agent] = true
		t.endReview()
	case v == board.Retry && t.status == board.Failed:
		t.status, t.failures = board.Pending, 0
	case v == board.Accept && t.status == board.InReview && w.unfinished(t):
		w.want("accept before what comes first", err, board.ErrConflict)
		return
	case v == board.Accept && t.status == board.InReview:
		w.accepted(t, false)
	case v == board.Reject && t.status == board.InReview:
		t.endReview()
		w.fail(t)
	default:
		w.want("review", err, board.ErrConflict)
		return
	}
	w.want("review", err, nil)
}
