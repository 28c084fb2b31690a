package sqlite

import (
	"fmt"

	"github.com/bossman-dev/bossman/board"
)

// EraseEvent replaces the detail of an event. A trigger refuses any other change.
func (t *tx) EraseEvent(e board.Event) error {
	const query = `UPDATE events SET detail = ? WHERE task_id = ? AND seq = ?`
	id, err := t.pack(e.Task)
	if err != nil {
		return err
	}
	detail, err := asJSON(e.Detail)
	if err != nil {
		return err
	}
	n, err := t.exec(query, detail, id, e.Seq)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: event %d of task %v", board.ErrNotFound, e.Seq, e.Task)
	}
	return err
}

func (t *tx) EraseQuestion(q board.Question) error {
	const query = `UPDATE questions SET text = ?, options = ?, dflt = ?, answer = ? WHERE id = ?`
	options, err := listJSON(q.Options)
	if err != nil {
		return err
	}
	return changed(t.exec(query, q.Text, options, q.Default, q.Answer, int64(q.ID)))
}

func (t *tx) EraseAnswers(old, new string) error {
	const query = `UPDATE idempotency SET answer = replace(answer, ?1, ?2) WHERE instr(answer, ?1) > 0`
	_, err := t.exec(query, old, new)
	return err
}
