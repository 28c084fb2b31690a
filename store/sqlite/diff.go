package sqlite

import "github.com/bossman-dev/bossman/board"

func (r *reader) Diff(id board.ID, attempt int) (d board.AttemptDiff, err error) {
	const (
		one    = `SELECT attempt, body FROM diffs WHERE task_id = ? AND attempt = ?`
		newest = `SELECT attempt, body FROM diffs WHERE task_id = ? ORDER BY attempt DESC LIMIT 1`
	)
	packed, err := r.pack(id)
	if err != nil {
		return d, err
	}
	query, args := one, []any{packed, attempt}
	if attempt == 0 {
		query, args = newest, args[:1]
	}
	var body string
	if err := r.get(query, args, &d.Attempt, &body); err != nil {
		return d, err
	}
	return d, fromJSON(body, &d.Diff)
}

// diffs reads the diffs of some tasks, and hands each to f with its task's number.
func (r *reader) diffs(packed string, f func(no int64, d board.AttemptDiff)) error {
	const query = `SELECT task_id, attempt, body FROM diffs WHERE task_id IN (SELECT value FROM json_each(?)) ORDER BY task_id, attempt`
	return r.each(query, []any{packed}, func(scan scan) error {
		var id int64
		var d board.AttemptDiff
		var body string
		if err := scan(&id, &d.Attempt, &body); err != nil {
			return err
		}
		err := fromJSON(body, &d.Diff)
		f(id&board.MaxNo, d)
		return err
	})
}

func (t *tx) PutDiff(id board.ID, attempt int, d board.Diff) error {
	const query = `INSERT INTO diffs (task_id, attempt, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body`
	packed, err := t.pack(id)
	if err != nil {
		return err
	}
	body, err := asJSON(d)
	if err == nil {
		_, err = t.exec(query, packed, attempt, body)
	}
	return err
}
