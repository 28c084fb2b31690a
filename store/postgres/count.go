package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

// The tasks of the projects c that are in each state that task_counts does not know. Each
// reads an index; %s is the end of the query for a project or a lane.
var stateTasks = []struct{ state, from string }{
	{"READY", `chosen c JOIN lanes l ON l.project_id = c.id CROSS JOIN LATERAL (SELECT FROM tasks t WHERE t.lane_id = l.id AND t.ready%s) t`},
	{"HELD", `chosen c CROSS JOIN LATERAL (SELECT FROM tasks t WHERE t.hold AND t.status = 'pending'
		AND t.id >= c.id::bigint << 40 AND t.id < (c.id + 1)::bigint << 40%s) t`},
	{"LATER", `chosen c CROSS JOIN LATERAL (SELECT FROM tasks t WHERE (t.id >> 40)::int = c.id` + isResting + `%s) t`},
	{"RESERVED", `chosen c CROSS JOIN LATERAL (SELECT FROM (SELECT t.* FROM tasks t WHERE t.reserved_worker IS NOT NULL AND t.status = 'pending' OFFSET 0) t
		WHERE (t.id >> 40)::int = c.id AND t.not_before IS NOT NULL AND NOT t.hold AND t.open_blockers = 0 AND t.open_children = 0%s) t`},
}

// newEvents is a condition on states_counted s: something happened since.
const newEvents = `EXISTS (SELECT FROM events e WHERE (e.epoch, e.xid) >= (s.epoch, pg_snapshot_xmin(s.at))
	AND (e.epoch > s.epoch OR NOT pg_visible_in_snapshot(e.xid, s.at)))`

// countsQuery counts statuses and states. Of a state with more than a thousand tasks it takes
// the number from state_counts, unless nobody has brought that up to date lately.
var countsQuery = sync.OnceValue(func() string {
	const (
		statuses = `
WITH chosen AS MATERIALIZED (SELECT id FROM projects WHERE $1::text[] IS NULL OR slug = ANY($1)),` + uncounted + `,
kept AS MATERIALIZED (SELECT state, sum(n)::bigint AS n FROM state_counts WHERE project_id IN (SELECT id FROM chosen)
	AND (SELECT s.counted_at > statement_timestamp() - interval '1 minute' OR NOT ` + newEvents + ` FROM states_counted s) GROUP BY state)
SELECT status, sum(n)::bigint FROM (
	SELECT project_id, status, n FROM task_counts UNION ALL SELECT * FROM uncounted) c
WHERE project_id IN (SELECT id FROM chosen) GROUP BY status`
		state = `
UNION ALL SELECT '%[1]s', CASE WHEN f.n <= 1000 THEN f.n
	ELSE coalesce((SELECT k.n FROM kept k WHERE k.state = '%[1]s'), (SELECT count(*) FROM %[3]s)) END
FROM (SELECT count(*) AS n FROM (SELECT FROM %[2]s LIMIT 1001) few OFFSET 0) f`
	)
	query := statuses
	for _, s := range stateTasks {
		query += fmt.Sprintf(state, s.state, fmt.Sprintf(s.from, ` LIMIT 1001`), fmt.Sprintf(s.from, ``))
	}
	return query
})

// Counts counts the tasks of the projects (nil: all). What it reads does not depend on how
// many there are.
func (r *reader) Counts(projects []string) (board.Counts, error) {
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
	}, countsQuery(), projects)
	c.Blocked = max(0, c.Status[board.Pending]-c.Ready-c.Held-c.Later)
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

// CountStates brings state_counts up to date, unless another replica has just done so or
// nothing happened. Run calls it regularly.
func (s *Store) CountStates(ctx context.Context) error {
	const (
		lock = `SELECT s.counted_at < clock_timestamp() - $1::interval AND ` + newEvents + ` FROM states_counted s FOR UPDATE SKIP LOCKED`
		head = `
WITH chosen AS MATERIALIZED (SELECT id FROM projects), sums AS MATERIALIZED (`
		state = `SELECT c.id AS project_id, '%s' AS state, count(*) AS n FROM %s GROUP BY c.id`
		tail  = `),
over AS (UPDATE state_counts k SET n = 0 WHERE n <> 0 AND NOT EXISTS (SELECT FROM sums s WHERE (s.project_id, s.state) = (k.project_id, k.state))),
kept AS (
	INSERT INTO state_counts AS k (project_id, state, n) SELECT project_id, state, n FROM sums
	ON CONFLICT (project_id, state) DO UPDATE SET n = excluded.n WHERE k.n <> excluded.n)
UPDATE states_counted SET epoch = feed_epoch, at = pg_current_snapshot(), counted_at = clock_timestamp() FROM meta`
	)
	var parts []string
	for _, st := range stateTasks {
		parts = append(parts, fmt.Sprintf(state, st.state, fmt.Sprintf(st.from, ``)))
	}
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	err = pgx.BeginFunc(ctx, conn, func(t pgx.Tx) error {
		var due bool
		err := t.QueryRow(ctx, lock, countEvery/2).Scan(&due)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && !due {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `SET LOCAL synchronous_commit = off`); err != nil {
			return err
		}
		_, err = t.Exec(ctx, head+strings.Join(parts, "\nUNION ALL ")+tail)
		return err
	})
	return translate(err)
}

// countAlways keeps task_counts and state_counts up to date until ctx ends. It rests twenty
// times as long as the states took.
func (s *Store) countAlways(ctx context.Context) {
	failing := false
	var took time.Duration
	var last time.Time
	for sleep(ctx, countEvery) == nil {
		err := s.Count(ctx)
		if begin := time.Now(); err == nil && begin.Sub(last) > 20*took {
			err = s.CountStates(ctx)
			took, last = time.Since(begin), begin
		}
		if err != nil && !failing && ctx.Err() == nil {
			s.log.Warn("tasks could not be counted", "err", err)
		}
		failing = err != nil
	}
}
