package postgres

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bossman-dev/bossman/board"
)

// notTooOld is a condition that fails with a division by zero if events after the cursor $1,
// $2, $3 were deleted.
const notTooOld = ` (SELECT 1 / (($1::int, $2::text::xid8, $3::bigint) >= (floor_epoch, floor_xid, floor_id))::int FROM meta) = 1`

// feedFloor returns the cursor at which the feed begins.
func (r *reader) feedFloor() (board.Cursor, error) {
	const query = `SELECT floor_epoch || '.' || floor_xid::text || '.' || floor_id FROM meta`
	floor, err := one(r, pgx.RowTo[string], query)
	return board.Cursor(floor), err
}

// tooOld translates the error of notTooOld.
func tooOld(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "22012" {
		return fmt.Errorf("%w: later events were archived", board.ErrCursorTooOld)
	}
	return err
}

// finished is a condition of board.Finished. Its parameter $1 is the time before which tasks
// must have ended.
const finished = ` t.status IN ('done', 'cancelled') AND t.ended_at < $1
	AND NOT EXISTS (SELECT FROM links k JOIN tasks d ON d.id = k.task_id WHERE k.blocker_id = t.id AND d.status NOT IN ('done', 'cancelled'))
	AND NOT EXISTS (SELECT FROM tasks d WHERE d.id = t.parent_id AND d.status NOT IN ('done', 'cancelled'))
	AND NOT EXISTS (SELECT FROM tasks d WHERE d.parent_id = t.id AND NOT (d.status IN ('done', 'cancelled') AND coalesce(d.ended_at < $1, false)))
	AND NOT EXISTS (SELECT FROM questions q WHERE q.task_id = t.id AND q.state = 'open')
	AND NOT EXISTS (SELECT FROM claims c WHERE c.task_id = t.id)
	AND NOT EXISTS (SELECT FROM reviews v WHERE v.task_id = t.id)`

// Finished lists tasks that may leave the board.
func (r *reader) Finished(f board.Finished) ([]board.Task, error) {
	const query = `SELECT ` + taskColumns + ` FROM projects p JOIN tasks t ON t.id >= p.id::bigint << 40 AND t.id < (p.id + 1)::bigint << 40
WHERE p.slug = $2 AND (t.ended_at, t.id) > ($3, p.id::bigint << 40 | $4::bigint) AND` + finished + `
ORDER BY t.ended_at, t.id LIMIT $5`
	after := time.Unix(0, 0)
	if !f.After.ID.IsZero() {
		after = f.After.EndedAt
	}
	return list(r, scanTask, query, f.Before, f.Project, after, no(f.After.ID), limitOf(f.Limit))
}

// Archives lists archives.
func (r *reader) Archives(f board.ArchiveFilter) ([]board.Archive, error) {
	const (
		columns = `SELECT p.slug, a.tasks, a.source, a.place, a.sha256, a.by, a.at FROM projects p JOIN archives a ON a.project_id = p.id WHERE p.slug = $1`
		all     = columns + ` ORDER BY a.id LIMIT $2`
		of      = columns + ` AND a.last >= p.id::bigint << 40 | $3::bigint AND a.first <= p.id::bigint << 40 | $3::bigint
	AND p.id::bigint << 40 | $3::bigint = ANY(a.tasks) ORDER BY a.id LIMIT $2`
	)
	query, args := all, []any{f.Project, limitOf(f.Limit)}
	if !f.Task.IsZero() {
		query, args = of, append(args, no(f.Task))
	}
	return list(r, func(row pgx.CollectableRow) (a board.Archive, err error) {
		err = row.Scan(&a.Project, &a.Tasks, &a.Source, &a.Place, &a.SHA256, &a.By, &a.At)
		for i, id := range a.Tasks {
			a.Tasks[i] = number(id)
		}
		return a, err
	}, query, args...)
}

// LockFinished first locks and then looks: a statement that waited for nothing may still not
// see what was committed before it got the locks. It leaves tasks whose events the feed cannot show
// yet, because the feed begins after what is deleted.
func (t *tx) LockFinished(ids []board.ID, before time.Time) ([]board.Task, error) {
	const (
		lock = `SELECT t.id FROM projects p JOIN tasks t ON t.id = ANY(ARRAY(SELECT p.id::bigint << 40 | n FROM unnest($2::bigint[]) n))
WHERE p.slug = $1 ORDER BY t.id FOR UPDATE OF t SKIP LOCKED`
		query = `SELECT ` + taskColumns + `,` + finished + `
	AND NOT EXISTS (SELECT FROM tasks d WHERE d.parent_id = t.id AND d.id <> ALL($2::bigint[]))
	AND NOT EXISTS (SELECT FROM events e WHERE e.task_id = t.id
		AND (e.epoch, e.xid) >= (SELECT feed_epoch, pg_snapshot_xmin(pg_current_snapshot()) FROM meta))
FROM tasks t JOIN projects p ON p.id = t.id >> 40 WHERE t.id = ANY($2::bigint[]) ORDER BY t.id`
	)
	if len(ids) == 0 {
		return nil, nil
	}
	nos := make([]int64, len(ids))
	for i, id := range ids {
		nos[i] = no(id)
	}
	keys, err := list(&t.reader, pgx.RowTo[int64], lock, ids[0].Project, nos)
	if err != nil {
		return nil, err
	}
	stays := map[board.ID]bool{}
	tasks, err := list(&t.reader, func(row pgx.CollectableRow) (board.Task, error) {
		var goes bool
		task, _, err := scanTaskAnd(row, &goes)
		stays[task.ID] = !goes
		return task, err
	}, query, before, keys)
	if err != nil {
		return nil, err
	}
	// A parent whose child stays stays, and so does its own parent.
	for again := true; again; {
		again = false
		for _, task := range tasks {
			if _, here := stays[task.Parent]; here && stays[task.ID] && !stays[task.Parent] {
				stays[task.Parent], again = true, true
			}
		}
	}
	return slices.DeleteFunc(tasks, func(task board.Task) bool { return stays[task.ID] }), nil
}

// Archive records an archive and deletes its tasks. The counts of tasks lose them, and get
// what their events would have added: see count.go. That row of counted is written so that a
// count which began before fails.
func (t *tx) Archive(a board.Archive) error {
	const (
		record = `INSERT INTO archives (project_id, first, last, tasks, source, place, sha256, by, at)
SELECT p.id, p.id::bigint << 40 | $2, p.id::bigint << 40 | $3, ARRAY(SELECT p.id::bigint << 40 | n FROM unnest($4::bigint[]) n), $5, $6, $7, $8, $9
FROM projects p WHERE p.slug = $1 RETURNING tasks`
		hold  = `UPDATE counted SET epoch = epoch`
		count = `
WITH` + changes + ` AND e.task_id = ANY($1::bigint[])),` + differences + `,
sums AS (SELECT project_id, status, sum(n) AS n FROM (
	SELECT project_id, status, n FROM uncounted
	UNION ALL SELECT (id >> 40)::int, status, -1 FROM tasks WHERE id = ANY($1::bigint[])) c GROUP BY 1, 2)
INSERT INTO task_counts AS c (project_id, status, n) SELECT project_id, status, n FROM sums WHERE n <> 0
ON CONFLICT (project_id, status) DO UPDATE SET n = c.n + excluded.n`
		floor = `UPDATE meta m SET floor_epoch = e.epoch, floor_xid = e.xid, floor_id = e.id
FROM (SELECT epoch, xid, id FROM events WHERE task_id = ANY($1::bigint[]) ORDER BY epoch DESC, xid DESC, id DESC LIMIT 1) e
WHERE (m.floor_epoch, m.floor_xid, m.floor_id) < (e.epoch, e.xid, e.id)`
	)
	first, last := a.Tasks[0], a.Tasks[len(a.Tasks)-1]
	keys, err := one(&t.reader, pgx.RowTo[[]int64], record, a.Project, first, last, a.Tasks, a.Source, a.Place, a.SHA256, a.By, a.At)
	if err != nil {
		return named(err, "project", a.Project)
	}
	var b batch
	b.Queue(hold)
	for _, query := range []string{
		count, floor,
		`DELETE FROM intents i WHERE i.id IN (SELECT x.intent_id FROM intent_items x WHERE x.task_id = ANY($1::bigint[]))
	AND NOT EXISTS (SELECT FROM intent_items x WHERE x.intent_id = i.id AND x.task_id <> ALL($1::bigint[]))`,
		`DELETE FROM intent_items WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM tasks WHERE id = ANY($1::bigint[])`, // first: its events cannot be deleted before
		`DELETE FROM events WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM attempts WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM runs WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM run_logs WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM diffs WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM gateway_calls WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM gateway_reads WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM gateway_artifacts WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM questions WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM links WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM links WHERE blocker_id = ANY($1::bigint[])`,
		`DELETE FROM declines WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM task_docs WHERE task_id = ANY($1::bigint[])`,
		`DELETE FROM search WHERE task_id = ANY($1::bigint[])`,
	} {
		b.Queue(query, keys)
	}
	return t.send(&b)
}
