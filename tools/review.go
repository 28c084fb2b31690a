package tools

import (
	"context"
	"fmt"

	"github.com/bossman-dev/bossman/board"
)

var reviewTask = &definition{
	name:  "review_task",
	about: "Review a task in state review: accept it, or reject it with a note for the next attempt. retry reopens a failed task. You cannot review a task you worked on.",
	props: []prop{
		{name: "task", kind: text, required: true, about: "task id", aliases: taskNames},
		{name: "verdict", kind: text, required: true, enum: []string{"accept", "reject", "retry"}, about: "accept or reject a task in review, or retry a failed one", aliases: []string{"decision", "action", "result"}},
		{name: "note", kind: text, about: "what is wrong or to watch for; required to reject", aliases: []string{"reason", "comment", "message"}},
	},
	run: run(review),
}

func review(ctx context.Context, t *Tools, k *caller, in struct {
	Task    string        `json:"task"`
	Verdict board.Verdict `json:"verdict"`
	Note    string        `json:"note"`
},
) (*answer, error) {
	id, err := k.task(ctx, in.Task)
	if err != nil {
		return nil, err
	}
	out, err := t.b.Review(ctx, k.Actor, id, in.Verdict, in.Note)
	if err != nil {
		return nil, k.refuse(action{what: "Not reviewed.", task: id}, err)
	}
	var s string
	switch {
	case in.Verdict == board.Accept:
		s = fmt.Sprintf("%v is done.", id)
		if len(out.Freed) > 0 {
			s += " This unblocked " + idList(out.Freed) + "."
		}
	case in.Verdict == board.Retry:
		s = fmt.Sprintf("%v is pending again with %d new attempts.", id, out.MaxFailures)
	case out.Status == board.Failed:
		s = fmt.Sprintf("%v is rejected and has failed: %d of %d attempts failed.", id, out.Failures, out.MaxFailures)
	default:
		s = fmt.Sprintf("%v is rejected and pending again; the next worker will see your note (%d of %d attempts failed).", id, out.Failures, out.MaxFailures)
	}
	return &answer{text: s, result: wireOutcomeOf(out)}, nil
}
