package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

var getAnswer = &definition{
	name:  "get_answer",
	about: "Check whether your question has been answered.",
	props: []prop{
		{name: "question", kind: text, required: true, about: "question id, such as q-18", aliases: []string{"id", "question_id"}},
		{name: "wait_seconds", kind: number, about: "how long to wait for the answer", max: maxWait},
	},
	run: run(readAnswer),
}

func readAnswer(ctx context.Context, t *Tools, k *caller, in struct {
	Question string `json:"question"`
	Wait     int    `json:"wait_seconds"`
},
) (*answer, error) {
	q, err := k.question(ctx, in.Question)
	if err != nil {
		return nil, err
	}
	if in.Wait > 0 {
		wait := time.Duration(in.Wait) * time.Second
		resume := k.wait(wait)
		q, err = t.b.Await(ctx, q.ID, wait)
		resume()
		if err != nil {
			return nil, k.refuse(action{what: "Not read."}, err)
		}
	}
	switch q.State {
	case board.QuestionAnswered:
		return t.answerOf(ctx, k, q)
	case board.QuestionWithdrawn:
		return &answer{text: fmt.Sprintf("%v was withdrawn: its task has ended.", q.ID), result: wireQuestionOf(q)}, nil
	}
	s := fmt.Sprintf("%v is still open; do not poll.", q.ID)
	switch {
	case q.Default != "" && !q.HumanOnly:
		s += fmt.Sprintf(" Continue as if the answer were %s.", inline(q.Default, 200))
	case q.Blocking && !q.Claim.IsZero():
		s += fmt.Sprintf(" The answer will come with %v when it is handed out again. Next: %s.", q.Claim.Task, k.nextOf(q))
	default:
		s += " Continue with work that does not depend on it, or end your turn."
	}
	return &answer{text: s, result: wireQuestionOf(q)}, nil
}

// answerOf returns the answer of an answered question. It does not hand out the task that
// was parked for it.
func (t *Tools) answerOf(ctx context.Context, k *caller, q board.Question) (*answer, error) {
	t.unseen(q.Claim, []board.Question{q})
	s := fmt.Sprintf("%v %s:\n%s", q.ID, answeredBy(q), block(q.Answer))
	if !q.Claim.IsZero() {
		d, reasons, err := t.b.Why(ctx, q.Claim.Task)
		if err != nil {
			return nil, k.refuse(action{what: "Not read.", claim: q.Claim}, err)
		}
		if t.o.Once && d.Claim != nil && d.Claim.Handle == q.Claim && d.Claim.Owner == k.Owner {
			t.note(ctx, k.Actor, q.Claim, "has read the answer to "+q.ID.String())
		}
		reserved, obstacle := d.Task.Status == board.Pending && d.Task.ReservedFor == q.Asker && q.Owner == k.Owner, board.Obstacle(reasons)
		switch {
		case d.Claim != nil && d.Claim.Handle == q.Claim:
			s += fmt.Sprintf("\nYou still hold %v; continue with it.", q.Claim.Task)
		case reserved && obstacle != nil:
			s += fmt.Sprintf("\n%v was parked, and is not handed out yet: %s Do not wait for it. For other work: %s.",
				q.Claim.Task, visible.Line(obstacle.Text), k.nextOf(q))
		case reserved:
			s += fmt.Sprintf("\n%v was parked and is reserved for you for up to 10 minutes. Next: %s.", q.Claim.Task, k.nextOf(q))
		default:
			s += fmt.Sprintf("\nThe claim it was asked under has ended; %v is %s. Next: %s.", q.Claim.Task, d.Task.Status, k.nextOf(q))
		}
	}
	return &answer{text: s, result: wireQuestionOf(q)}, nil
}

// nextOf formats the call for the next task, under the name of the worker that asked a
// question if that worker is the caller's own: the asker may be dead, or somebody else.
func (k *caller) nextOf(q board.Question) string {
	if q.Owner == "" || q.Owner != k.Owner {
		return call("get_next_task")
	}
	return nextCall(q.Asker.Name)
}

// question returns a question in one of the caller's projects.
func (k *caller) question(ctx context.Context, named string) (board.Question, error) {
	e := action{what: "Not found."}
	if k.isLead("") {
		e.next = "Next: " + call("list_questions") + "."
	} else {
		e.next = "Next: " + repeat() + " with the id that " + mention("ask_question") + " gave you."
	}
	id, err := board.ParseQuestionID(strings.TrimSpace(named))
	if err != nil {
		return board.Question{}, k.refuse(e, err)
	}
	e.subject = "question " + id.String()
	q, err := k.t.b.Question(ctx, id)
	if err == nil && !k.may(q.Project) {
		err = board.ErrNotFound
	}
	if err != nil {
		return q, k.refuse(e, err)
	}
	return q, nil
}
