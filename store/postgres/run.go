package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// runColumns are columns of projects p and runs r.
const runColumns = `p.slug, r.task_id, r.attempt, r.nonce, r.agent, r.model, r.session, r.tokens_in, r.tokens_out, r.tokens_cached, r.cost, r.at`

// scanRun scans runColumns, and the log.
func scanRun(row pgx.CollectableRow) (r board.Run, err error) {
	var cost *int64
	err = row.Scan(
		&r.Claim.Task.Project,
		numberInto{&r.Claim.Task.No},
		&r.Claim.Attempt, &r.Claim.Nonce, &r.Agent, &r.Model, &r.Session, &r.Tokens.In, &r.Tokens.Out, &r.Tokens.Cached, &cost, &r.At, &r.Log,
	)
	if cost != nil {
		r.Cost, r.Priced = *cost, true
	}
	return r, err
}

// Runs lists the runs of a task.
func (r *reader) Runs(id board.ID) ([]board.Run, error) {
	const query = `SELECT ` + runColumns + `, '' FROM runs r JOIN projects p ON p.slug = $1 WHERE r.task_id = ` + taskID + ` ORDER BY r.attempt`
	return list(r, scanRun, query, id.Project, no(id))
}

// Spent sums the costs of a day.
func (r *reader) Spent(slug string, day time.Time) (board.Spending, error) {
	const query = `
SELECT least(sum(r.cost) OVER (), 9e18)::bigint, r.cost, r.task_id, r.attempt
FROM projects p JOIN runs r ON r.day = ($2::timestamptz AT TIME ZONE 'UTC')::date
	AND r.task_id >= p.id::bigint << 40 AND r.task_id < (p.id + 1)::bigint << 40
JOIN attempts a ON a.task_id = r.task_id AND a.attempt = r.attempt
WHERE p.slug = $1 AND r.cost IS NOT NULL AND NOT starts_with(a.principal, $3)
ORDER BY r.cost DESC LIMIT 1`
	rows, err := list(r, func(row pgx.CollectableRow) (s board.Spending, err error) {
		s.Task.Project = slug
		err = row.Scan(&s.Cost, &s.Most, numberInto{&s.Task.No}, &s.Attempt)
		return s, err
	}, query, slug, day, board.ImportBy)
	if err != nil || len(rows) == 0 {
		return board.Spending{}, err
	}
	return rows[0], nil
}

// Log lists the parts of a log.
func (r *reader) Log(id board.ID, attempt int, after int64) ([]board.LogPart, error) {
	const query = `SELECT no, text FROM run_logs WHERE task_id = ` + taskID + ` AND attempt = $3 AND no > $4 ORDER BY no`
	return list(r, pgx.RowToStructByPos[board.LogPart], query, id.Project, no(id), attempt, after)
}

// PutRun creates or replaces the run of an attempt.
func (t *tx) PutRun(r board.Run) error {
	const query = `
INSERT INTO runs (task_id, attempt, nonce, agent, model, session, tokens_in, tokens_out, tokens_cached, cost, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (task_id, attempt) DO UPDATE SET nonce = excluded.nonce,
	agent = excluded.agent, model = excluded.model, session = excluded.session, tokens_in = excluded.tokens_in,
	tokens_out = excluded.tokens_out, tokens_cached = excluded.tokens_cached, cost = excluded.cost, at = excluded.at`
	key, err := t.key(r.Claim.Task)
	if err != nil {
		return err
	}
	var cost *int64
	if r.Priced {
		cost = &r.Cost
	}
	t.later(query, key, r.Claim.Attempt, r.Claim.Nonce, r.Agent, r.Model, r.Session, r.Tokens.In, r.Tokens.Out, r.Tokens.Cached, cost, r.At)
	return nil
}

// PutLog adds a part to the log of an attempt, and deletes the oldest ones.
func (t *tx) PutLog(id board.ID, attempt int, p board.LogPart) error {
	const add = `INSERT INTO run_logs (task_id, attempt, no, size, text) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`
	const trim = `
DELETE FROM run_logs WHERE task_id = $1 AND attempt = $2 AND no <= (SELECT max(no) FROM
	(SELECT no, sum(size) OVER (ORDER BY no DESC) AS newer FROM run_logs WHERE task_id = $1 AND attempt = $2) l WHERE newer > $3)`
	key, err := t.key(id)
	if err != nil {
		return err
	}
	t.later(add, key, attempt, p.No, p.Size(), p.Text)
	t.later(trim, key, attempt, board.MaxLog)
	return nil
}

// EraseRuns deletes the logs, the sessions and the diffs of a task's attempts.
func (t *tx) EraseRuns(id board.ID) error {
	key, err := t.key(id)
	if err != nil {
		return err
	}
	t.later(`DELETE FROM run_logs WHERE task_id = $1`, key)
	t.later(`DELETE FROM diffs WHERE task_id = $1`, key)
	t.later(`UPDATE runs SET session = '' WHERE task_id = $1`, key)
	return nil
}
