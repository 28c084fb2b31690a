package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

var reviewTask = &definition{
	name:  "review_task",
	about: "Review a task in state review: accept it, or reject it with a note for the next attempt. skip gives a review back; retry reopens a failed task. You cannot review a task you worked on. Where only a person may decide, the person at your client is shown a form.",
	props: []prop{
		{name: "task", kind: text, required: true, about: "task id", aliases: taskNames},
		{name: "verdict", kind: text, required: true, enum: []string{"accept", "reject", "skip", "retry"}, about: "accept or reject a task in review, skip it, or retry a failed one", aliases: []string{"decision", "action", "result"}},
		{name: "note", kind: text, about: "what is wrong or to watch for; needed to reject without comments", aliases: []string{"reason", "comment", "message"}},
		{name: "comments", kind: objects, about: "on lines of its diff, for the next attempt", items: []prop{
			{name: "file", kind: text, required: true, about: "its path", aliases: []string{"path"}},
			{name: "line", kind: number, about: "in the new file"},
			{name: "text", kind: text, required: true, about: "the comment", aliases: []string{"comment", "note", "message"}},
		}},
		{name: "claim", kind: text, about: "the claim of the review, if get_next_task gave you one", aliases: []string{"handle"}},
		{name: "attempt", kind: number, about: "without claim: the attempt whose work you looked at"},
	},
	run: run(review),
}

type reviewInput struct {
	Task    string        `json:"task"`
	Verdict board.Verdict `json:"verdict"`
	Note    string        `json:"note"`
	Claim   string        `json:"claim"`
	Attempt int           `json:"attempt"`

	Comments []board.Comment `json:"comments"`
}

// review records the caller's verdict. Under every policy but review the caller does not
// decide: a person does.
func review(ctx context.Context, t *Tools, k *caller, in reviewInput) (*answer, error) {
	id, err := k.task(ctx, in.Task)
	if err != nil {
		return nil, err
	}
	e := action{what: "Not reviewed.", task: id}
	if isPlaceholder(in.Note) {
		return nil, k.refuse(e, placeholderError("note"))
	}
	verdict := board.Decision{Verdict: in.Verdict, Note: in.Note, Comments: in.Comments, Attempt: in.Attempt}
	if verdict.Claim, err = k.reviewHandle(e, id, in); err != nil {
		return nil, err
	}
	if err := t.onlyBoundReview(e, in.Verdict); err != nil {
		return nil, err
	}
	if verdict.Claim.IsZero() {
		verdict.Claim = t.claimBound()
	}
	if err := t.onlyBound(e, verdict.Claim); err != nil {
		return nil, err
	}
	if in.Verdict != board.Retry {
		d, err := t.b.Get(ctx, id, 100)
		if err != nil {
			return nil, k.refuse(e, err)
		}
		p, err := t.b.Project(ctx, id.Project)
		if err != nil {
			return nil, k.refuse(e, err)
		}
		if d.Task.Status == board.InReview && p.Policy != board.PolicyReview {
			return t.personReviews(ctx, k, d, p)
		}
		if err := lookedAt(verdict, d); err != nil {
			return nil, k.refuse(e, err)
		}
		if in.Verdict == board.Accept {
			if err := t.readWords(k, verdict.Claim, d); err != nil {
				return nil, k.refuse(e, err)
			}
		}
	}
	out, err := t.b.Review(ctx, k.Actor, id, verdict)
	if errors.Is(err, board.ErrConflict) && !verdict.Claim.IsZero() {
		return nil, k.lostReview(ctx, e, verdict.Claim, err)
	}
	if err != nil {
		return nil, k.refuse(e, err)
	}
	t.forgetReview(id)
	s := verdictText(in.Verdict, out)
	if worker := t.workerOf(verdict.Claim); worker != "" {
		s += " " + t.onward(worker)
	}
	return &answer{text: s, result: wireOutcomeOf(out)}, nil
}

// lookedAt refuses a verdict that may be about the work of an earlier attempt: one without a claim on the review that names no
// attempt, if the work was reported before.
func lookedAt(v board.Decision, d board.Dossier) error {
	if !v.Claim.IsZero() || v.Attempt != 0 || v.Verdict == board.Skip || d.Task.Status != board.InReview {
		return nil
	}
	now := d.Task.Attempt
	if !slices.ContainsFunc(d.Attempts, func(a board.Attempt) bool { return a.Attempt < now && a.Cause == board.CauseDone }) {
		return nil
	}
	return &refusal{
		what: "Not reviewed.", state: fmt.Sprintf("%v is still in review.", d.Task.ID), code: "attempt_needed", err: board.ErrConflict,
		why:  fmt.Sprintf("Its work is that of attempt %d, and an earlier attempt was in review before.", now),
		next: fmt.Sprintf("Next: look at it with %s, and %s with %s.", call("get_task", "task", d.Task.ID.String(), "detail", "diff"), repeat(), argument("attempt", now)),
	}
}

// verdictText says what a verdict has led to.
func verdictText(v board.Verdict, out board.Outcome) string {
	id := out.Task
	switch {
	case v == board.Accept && out.Status == board.Landing:
		return fmt.Sprintf("%v is accepted and now waits to be landed.", id)
	case v == board.Accept && len(out.Freed) > 0:
		return fmt.Sprintf("%v is done. This unblocked %s.", id, idList(out.Freed))
	case v == board.Accept:
		return fmt.Sprintf("%v is done.", id)
	case v == board.Skip:
		return fmt.Sprintf("%v is given back and stays in review; you are not offered it for 10 minutes.", id)
	case v == board.Retry:
		return fmt.Sprintf("%v is pending again with %d new attempts.", id, out.MaxFailures)
	case out.Status == board.Failed:
		return fmt.Sprintf("%v is rejected and has failed: %d of %d attempts failed.", id, out.Failures, out.MaxFailures)
	}
	return fmt.Sprintf("%v is rejected and pending again; the next worker will see your note (%d of %d attempts failed).", id, out.Failures, out.MaxFailures)
}
