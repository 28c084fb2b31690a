package sqlite

import (
	"errors"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

func (r *reader) Outlines(ids []board.ID) (map[board.ID]board.Outline, error) {
	const (
		created = eventColumns + ` WHERE e.task_id = ? AND e.seq <= 2 AND e.kind = 'created' ORDER BY e.seq LIMIT 1`
		query   = `SELECT a.ended_at, coalesce(a.reason, ''), coalesce(d.result ->> '$.Summary', ''), coalesce(v.worker, '')
			FROM task_docs d LEFT JOIN attempts a ON a.task_id = d.task_id AND a.attempt = (SELECT max(attempt) FROM attempts WHERE task_id = d.task_id)
			LEFT JOIN reviews v ON v.task_id = d.task_id WHERE d.task_id = ?`
		dead = `SELECT b.id, b.status FROM links k CROSS JOIN tasks b ON b.id = k.blocker_id
			WHERE k.task_id = ? AND b.status IN ('failed', 'cancelled') ORDER BY b.id LIMIT 1`
	)
	outlines := make(map[board.ID]board.Outline, len(ids))
	for _, id := range ids {
		packed, err := r.pack(id)
		if errors.Is(err, board.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var o board.Outline
		var ended *int64
		err = r.get(query, []any{packed}, &ended, &o.Reason, &o.Summary, &o.Reviewer)
		if errors.Is(err, board.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		o.EndedAt = fromNullTime(ended)
		var blocker int64
		switch err := r.get(dead, []any{packed}, &blocker, &o.DeadBlockerStatus); {
		case err == nil:
			o.DeadBlocker = unpack(id.Project, blocker)
		case !errors.Is(err, board.ErrNotFound):
			return nil, err
		}
		first, err := r.events(created, packed)
		if err != nil {
			return nil, err
		}
		if len(first) > 0 {
			o.Created = first[0]
		}
		outlines[id] = o
	}
	return outlines, nil
}

func (r *reader) Earlier(ids []board.QuestionID, n int) (map[board.QuestionID][]board.Question, error) {
	const query = questionColumns + ` JOIN questions o ON o.id = ? WHERE q.chat_id = o.chat_id AND q.chat_id <> '' AND q.id < o.id
		AND q.principal = o.principal AND q.project_id = o.project_id ORDER BY q.id DESC LIMIT ?`
	earlier := map[board.QuestionID][]board.Question{}
	for _, id := range ids {
		qs, err := r.questions(query, int64(id), n)
		if err != nil {
			return nil, err
		}
		slices.Reverse(qs)
		earlier[id] = qs
	}
	return earlier, nil
}
