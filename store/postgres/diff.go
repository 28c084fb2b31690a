package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// diffColumns are columns of diffs.
const diffColumns = `task_id, attempt, body`

// scanDiff returns a function that scans diffColumns, and the number of the task into no.
func scanDiff(no *int64) pgx.RowToFunc[board.AttemptDiff] {
	return func(row pgx.CollectableRow) (d board.AttemptDiff, err error) {
		err = row.Scan(numberInto{no}, &d.Attempt, jsonInto{&d.Diff})
		return d, err
	}
}

// Diff reads the diff of an attempt, or the newest one.
func (r *reader) Diff(id board.ID, attempt int) (board.AttemptDiff, error) {
	const query = `SELECT ` + diffColumns + ` FROM diffs WHERE task_id = ` + taskID + ` AND ($3 = 0 OR attempt = $3) ORDER BY attempt DESC LIMIT 1`
	var task int64
	d, err := one(r, scanDiff(&task), query, id.Project, no(id), attempt)
	return d, named(err, "a diff of", id)
}

// PutDiff creates or replaces the diff of an attempt.
func (t *tx) PutDiff(id board.ID, attempt int, d board.Diff) error {
	const query = `INSERT INTO diffs (task_id, attempt, body) VALUES ($1, $2, $3) ON CONFLICT (task_id, attempt) DO UPDATE SET body = excluded.body`
	key, err := t.key(id)
	if err != nil {
		return err
	}
	body, err := encode(d)
	if err != nil {
		return err
	}
	t.later(query, key, attempt, body)
	return nil
}
