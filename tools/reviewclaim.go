package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// reviewText hands out a review: what was asked for, what was reported, and where it is. tree says what
// is in the worktree that was made for the reviewer, if one was.
func reviewText(h *board.Handout, tree string) string {
	t := &h.Task
	yours := "is yours to review"
	if h.Again {
		yours = "is still yours to review"
	}
	head := fmt.Sprintf("%v %s. Claim %v, worker %s. Another worker reported it as done; decide whether it is. Do not change its work.%s",
		t.ID, yours, h.Claim.Handle, inline(h.Claim.Worker.Name, 80), quotedNote)
	sections := append(specSections(h.Dossier, 2*maxHandout),
		section{title: "REPORTED", body: resultText(h.Doc.Result, 2000)},
		section{title: "CHANGES", body: changesText(h)},
		section{title: "COMMENTS", body: commentsText(t.ID, h.Doc.Result, false)},
		section{title: "WHERE", body: workPlace(h.Dossier)},
		section{title: "WORKTREE", body: tree},
		section{title: "REJECTED BEFORE", body: rejectionsText(h.Events)},
		section{title: "ANSWERS", body: answersText(h)},
		section{title: "END WITH", body: reviewCall(h.Claim.Handle, board.Accept) + "\nor " + reviewCall(h.Claim.Handle, board.Reject) +
			"\nIf you cannot judge it: " + reviewCall(h.Claim.Handle, board.Skip) + "."},
	)
	sections[2].body = cutWithPointer(sections[2].body, 1000, t.ID)
	fit(sections, roomFor(sections)-len(head), t.ID)
	return head + join(sections)
}

// reviewCall formats the call that ends a review.
func reviewCall(h board.Handle, v board.Verdict) string {
	args := []any{"task", h.Task.String(), "claim", h.String(), "verdict", string(v)}
	if v == board.Reject {
		args = append(args, "note", "…")
	}
	return call("review_task", args...)
}

// commentCall formats the call that rejects work with a comment on a line.
func commentCall(h board.Handle) string {
	return call("review_task", "task", h.Task.String(), "claim", h.String(), "verdict", string(board.Reject), "comments", []board.Comment{{File: "…", Line: 1, Text: "…"}})
}

// workPlace says where the work of the last attempt is.
func workPlace(d board.Dossier) string {
	if len(d.Attempts) == 0 {
		return ""
	}
	return location(d.Attempts[len(d.Attempts)-1].Where)
}

// rejectionsText lists the notes of the last rejections.
func rejectionsText(events []board.Event) string {
	var lines []string
	for _, e := range events {
		if e.Kind == board.EventRejected {
			lines = append(lines, "by "+eventAuthor(e)+": "+decided(e.Task, e.Detail.Text))
		}
	}
	return strings.Join(lines[max(0, len(lines)-3):], "\n")
}

// reviewClaim refuses the claim of a review where that of a task is needed.
func reviewClaim(e action, h board.Handle) error {
	return &refusal{
		what: e.what, state: fmt.Sprintf("%v has not changed.", h.Task), code: "review", err: board.ErrInvalid,
		why: fmt.Sprintf("%v is a review, not a task to work on: it takes no reports, notes or questions, and ends with your verdict.", h),
		next: fmt.Sprintf("Next: %s, or %s. To ask people something, call ask_question without a claim. If you cannot judge it: %s.",
			reviewCall(h, board.Accept), reviewCall(h, board.Reject), reviewCall(h, board.Skip)),
	}
}

// reviewHandle parses the claim of a review_task call: the claim argument, or a claim in
// place of the task. It is zero if there is none, and that of a task counts as none.
func (k *caller) reviewHandle(e action, id board.ID, in reviewInput) (board.Handle, error) {
	if in.Claim == "" {
		in.Claim = in.Task
	}
	h, err := board.ParseHandle(in.Claim)
	switch {
	case err != nil && in.Claim == in.Task, err == nil && !h.IsReview():
		return board.Handle{}, nil
	case err != nil:
		return board.Handle{}, k.refuse(e, err)
	case h.Task != id:
		return board.Handle{}, k.refuse(e, fmt.Errorf("%w: %v is not the review of %v", board.ErrInvalid, h, id))
	}
	return h, nil
}

// lostReview refuses a verdict under a claim that has ended, and says what has happened.
func (k *caller) lostReview(ctx context.Context, e action, h board.Handle, err error) error {
	r, ok := asRefusal(k.refuse(e, err))
	if !ok {
		return err
	}
	worker := k.t.workerOf(h)
	k.t.forgetReview(h.Task)
	if d, err := k.t.b.Get(ctx, h.Task, 20); err == nil {
		r.state = reviewOutcome(d)
	}
	r.why = fmt.Sprintf("Your review %v has ended.", h)
	r.next = k.t.next(worker)
	return r
}

// reviewOver says how the review that a worker was given here has ended without its verdict,
// if it has. now is what the worker holds now.
func (t *Tools) reviewOver(ctx context.Context, worker string, now board.Handle) string {
	t.mu.Lock()
	h, ok := t.reviews[worker]
	if ok && h != now {
		delete(t.reviews, worker)
	}
	t.mu.Unlock()
	if !ok || h == now {
		return ""
	}
	d, err := t.b.Get(ctx, h.Task, 20)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("Your review of %v has ended without your verdict. %s", h.Task, reviewOutcome(d))
}

// forgetReview forgets the review of a task, because its worker knows how it ended.
func (t *Tools) forgetReview(id board.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for worker, h := range t.reviews {
		if h.Task == id {
			delete(t.reviews, worker)
		}
	}
}

// reviewOutcome says how the last review of a task ended.
func reviewOutcome(d board.Dossier) string {
	for i := len(d.Events) - 1; i >= 0; i-- {
		e := d.Events[i]
		who := capital(eventAuthor(e))
		switch e.Kind {
		case board.EventAccepted, board.EventRejected, board.EventCancelled:
			return fmt.Sprintf("%s %s %v; it is %s now.", who, e.Kind, d.Task.ID, d.Task.Status)
		case board.EventClosed:
			return fmt.Sprintf("%s marked %v done.", who, d.Task.ID)
		case board.EventReviewEnded:
			if e.Detail.Cause == board.CauseExpired {
				return fmt.Sprintf("The lease of the review of %v expired; it is %s now.", d.Task.ID, d.Task.Status)
			}
			return fmt.Sprintf("%s took the review of %v back; it is %s now.", who, d.Task.ID, d.Task.Status)
		}
	}
	return fmt.Sprintf("%v is %s.", d.Task.ID, d.Task.Status)
}
