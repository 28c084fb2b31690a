package tools

import (
	"context"
	"fmt"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// Bind binds the server to the claim of a hand-out before its agent connects: the agent works
// under that claim and no other, gets no other task, and ends when it has reported, or given its
// verdict on a review. Whoever has the claim renews it. The agent's worktree was made for it; begins
// says from what it begins, or what a reviewer finds there. Bind returns the hand-out as the agent reads it.
func (t *Tools) Bind(ctx context.Context, c *access.Caller, h *board.Handout, begins string) string {
	t.remember(ctx, h)
	t.mu.Lock()
	t.bound, t.begins = h.Claim.Handle, begins
	t.mu.Unlock()
	return t.boundText(ctx, t.directCaller(access.WithCaller(ctx, c), nil, getNextTask.verb), h)
}

// boundText is the text of a hand-out for an agent whose worktree was prepared for it.
func (t *Tools) boundText(ctx context.Context, k *caller, h *board.Handout) string {
	if h.Claim.IsReview() {
		return reviewText(h, t.begins) + "\nRemarks on lines of the diff go with a rejection: " + commentCall(h.Claim.Handle) + "\nWhen you have given your verdict, end your turn."
	}
	w := where(h)
	tree := fmt.Sprintf("You are in a worktree of your own, %s, on branch %s. What is in it when you report or end is kept, committed or not, but for repositories inside it and files that git ignored when you began.",
		inline(w.Dir, 200), inline(w.Branch, 80))
	if t.begins != "" {
		tree += " " + t.begins
	}
	l := t.leftBy(ctx, k, h)
	l.tree = tree
	return handoutText(h, t.judging(ctx, h), l) + "\nWhen you have reported, end your turn."
}

// Settled notes that who runs the agent has asked a question, and acts on the answer: a report need not
// wait until the agent has read it.
func (t *Tools) Settled(q board.Question) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settled = append(t.settled, q.ID)
}

// isBound reports whether the server is bound to a claim.
func (t *Tools) isBound() bool { return t != nil && !t.claimBound().IsZero() }

func (t *Tools) claimBound() board.Handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bound
}

// onward says how a worker that has ended its task gets another one.
func (t *Tools) onward(worker string) string {
	if t.isBound() {
		return "End your turn."
	}
	return "For more work, call " + nextCall(worker) + "; otherwise end your turn."
}

// next is onward for a worker that has to do nothing else.
func (t *Tools) next(worker string) string {
	if t.isBound() {
		return "End your turn."
	}
	return "Next: " + nextCall(worker) + "."
}

// onlyBound refuses a claim other than the one that the server is bound to.
func (t *Tools) onlyBound(e action, h board.Handle) error {
	bound := t.claimBound()
	if bound.IsZero() || h == bound {
		return nil
	}
	return &refusal{
		what: e.what, state: fmt.Sprintf("You work under claim %v.", bound), code: "denied", err: board.ErrDenied,
		why: fmt.Sprintf("%v is not your claim.", h), next: "Next: " + repeat() + " with " + argument("claim", bound.String()) + ".",
	}
}

// onlyBoundReview refuses a verdict on a task other than the one that the server's agent reviews.
func (t *Tools) onlyBoundReview(e action, v board.Verdict) error {
	bound := t.claimBound()
	if bound.IsZero() || e.task == bound.Task && v != board.Retry {
		return nil
	}
	return &refusal{
		what: e.what, state: fmt.Sprintf("%v has not changed.", e.task), code: "denied", err: board.ErrDenied,
		why: fmt.Sprintf("You were started to review %v, and for nothing else.", bound.Task), next: "Next: " + reviewCall(bound, board.Accept) + ", or " + reviewCall(bound, board.Reject) + ".",
	}
}

// boundTask answers a bound agent that asks for a task: with its own once more, in case it has
// lost its context, and with none when that is over.
func (t *Tools) boundTask(ctx context.Context, k *caller) (*answer, error) {
	bound := t.claimBound()
	d, err := t.b.Get(ctx, bound.Task, boundEvents)
	if err != nil {
		return nil, k.refuse(action{what: "No task handed out."}, err)
	}
	held := d.Claim
	if bound.IsReview() {
		held = d.Review
	}
	if held == nil || held.Handle != bound {
		return nil, &refusal{
			what: "No task handed out.", state: fmt.Sprintf("%v is %s, and your claim on it has ended.", bound.Task, d.Task.State()), code: "denied", err: board.ErrDenied,
			why: "You were started for this task alone.", next: "End your turn.",
		}
	}
	h := &board.Handout{Claim: *held, Dossier: d, Again: true}
	claim := wireClaimOf(h.Claim)
	task := wireOf(h.Task, h.Doc)
	return &answer{
		text:   "No other task is handed out: you were started for " + visible.Line(bound.Task.String()) + " alone.\n" + t.boundText(ctx, k, h),
		result: wireHandout{Outcome: "again", Claim: &claim, Task: &task},
	}, nil
}

// boundEvents is how many events are read for a task that is shown again.
const boundEvents = 50
