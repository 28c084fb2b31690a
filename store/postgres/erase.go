package postgres

import (
	"fmt"

	"github.com/bossman-dev/bossman/board"
)

// EraseEvent replaces the detail of an event. A trigger refuses any other change.
func (t *tx) EraseEvent(e board.Event) error {
	const query = `UPDATE events SET detail = $4::text::json WHERE task_id = ` + taskID + ` AND seq = $3`
	detail, err := encode(e.Detail)
	if err != nil {
		return err
	}
	return t.write(notFound("event", fmt.Sprintf("%d of %v", e.Seq, e.Task)), query, e.Task.Project, no(e.Task), e.Seq, detail)
}

// EraseQuestion writes the texts of a question.
func (t *tx) EraseQuestion(q board.Question) error {
	const query = `UPDATE questions SET text = $2, options = $3, dflt = $4, answer = $5 WHERE id = $1`
	return t.write(notFound("question", q.ID), query, int64(q.ID), q.Text, orEmpty(q.Options), q.Default, q.Answer)
}

// EraseAnswers replaces a text in all stored answers.
func (t *tx) EraseAnswers(old, new string) error {
	const query = `UPDATE idempotency SET answer = replace(answer, $1, $2) WHERE strpos(answer, $1) > 0`
	_, err := t.exec(query, old, new)
	return err
}
