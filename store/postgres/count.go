package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// countEvery is how often the counts of tasks are brought up to date. Until then readers
// add what happened since.
const countEvery = 2 * time.Second

// uncounted is a list of the WITH clause: the changes of status that task_counts does not
// have yet. An import tells the history of a task, but the task came with its first event.
// In the text of a JSON object quotation marks of its values are escaped.
const (
	uncounted = changes + `),` + differences
	changes   = `
changes AS (
	SELECT e.project_id, e.from_status, e.to_status FROM events e
	WHERE (e.epoch, e.xid) >= (SELECT epoch, pg_snapshot_xmin(at) FROM counted)
		AND (e.epoch > (SELECT epoch FROM counted) OR NOT pg_visible_in_snapshot(e.xid, (SELECT at FROM counted)))
		AND e.from_status <> e.to_status AND e.detail::text NOT LIKE '%"By":"` + string(board.ByImport) + `"%'`
	differences = `
uncounted AS (
	SELECT project_id, to_status AS status, 1 AS n FROM changes WHERE to_status <> ''
	UNION ALL
	SELECT project_id, from_status, -1 FROM changes WHERE from_status <> '')`
)

// Counts counts the tasks of the projects (nil: all). It reads the tasks that are ready,
// drafts, or rest; all others come from task_counts and the newest events.
func (r *reader) Counts(projects []string) (board.Counts, error) {
	const query = `
WITH chosen AS MATERIALIZED (SELECT id FROM projects WHERE $1::text[] IS NULL OR slug = ANY($1)),` + uncounted + `,
rest AS MATERIALIZED (
	SELECT reserved_worker IS NOT NULL AS reserved FROM tasks
	WHERE not_before IS NOT NULL AND status = 'pending' AND NOT hold AND open_blockers = 0 AND open_children = 0
		AND (id >> 40)::int IN (SELECT id FROM chosen))
SELECT status, sum(n)::bigint FROM (
	SELECT project_id, status, n FROM task_counts UNION ALL SELECT * FROM uncounted) c
WHERE project_id IN (SELECT id FROM chosen) GROUP BY status
UNION ALL SELECT 'READY', sum(t.n)::bigint FROM chosen c JOIN lanes l ON l.project_id = c.id
	CROSS JOIN LATERAL (SELECT count(*) AS n FROM tasks t WHERE t.lane_id = l.id AND t.ready) t HAVING sum(t.n) > 0
UNION ALL SELECT 'HELD', count(*) FROM chosen c JOIN tasks t
	ON t.hold AND t.status = 'pending' AND t.id >= c.id::bigint << 40 AND t.id < (c.id + 1)::bigint << 40
UNION ALL SELECT 'LATER', count(*) FROM rest
UNION ALL SELECT 'RESERVED', count(*) FROM rest WHERE reserved`
	c := board.Counts{Status: map[board.Status]int{}}
	_, err := list(r, func(row pgx.CollectableRow) (struct{}, error) {
		var what string
		var n int
		err := row.Scan(&what, &n)
		switch what {
		case "READY":
			c.Ready = n
		case "HELD":
			c.Held = n
		case "LATER":
			c.Later = n
		case "RESERVED":
			c.Reserved = n
		default:
			if n != 0 {
				c.Status[board.Status(what)] = n
			}
		}
		return struct{}{}, err
	}, query, projects)
	c.Blocked = c.Status[board.Pending] - c.Ready - c.Held - c.Later
	return c, err
}

// Count brings task_counts up to date. Run calls it regularly. What another replica has just
// counted makes it fail without an effect, which is no error.
func (s *Store) Count(ctx context.Context) error {
	const query = `
WITH` + uncounted + `,
sums AS (SELECT project_id, status, sum(n) AS n FROM uncounted GROUP BY 1, 2),
kept AS (
	INSERT INTO task_counts AS c (project_id, status, n) SELECT project_id, status, n FROM sums WHERE n <> 0
	ON CONFLICT (project_id, status) DO UPDATE SET n = c.n + excluded.n)
UPDATE counted SET epoch = feed_epoch, at = pg_current_snapshot() FROM meta
WHERE EXISTS (SELECT FROM changes)`
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	// Of two that count from the same snapshot, the second fails.
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, `SET LOCAL synchronous_commit = off`); err != nil { // it can be counted again
			return err
		}
		_, err := t.Exec(ctx, query)
		return err
	})
	if aborted(err) {
		return nil
	}
	return translate(err)
}

// countAlways keeps task_counts up to date until ctx ends.
func (s *Store) countAlways(ctx context.Context) {
	failing := false
	for sleep(ctx, countEvery) == nil {
		err := s.Count(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			s.log.Warn("tasks could not be counted", "err", err)
		}
		failing = err != nil
	}
}
