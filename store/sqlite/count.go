package sqlite

import (
	"github.com/bossman-dev/bossman/board"
)

// countAfter is how many events are counted at once. Until then readers add them.
const countAfter = 1000

// uncounted are the changes of status that task_counts does not have yet. An import tells the
// history of a task, but the task came with its first event.
const uncounted = `
SELECT e.task_id >> 40 AS project_id, e.to_status AS status, 1 AS n FROM events e WHERE ` + changes + ` AND e.to_status <> ''
UNION ALL SELECT e.task_id >> 40, e.from_status, -1 FROM events e WHERE ` + changes + ` AND e.from_status <> ''`

const changes = `e.id > (SELECT counted FROM meta) AND e.from_status <> e.to_status AND e.detail NOT LIKE '%"By":"` + string(board.ByImport) + `"%'`

// Counts reads only the pending tasks, in the indexes tasks_state and tasks_reserved; all
// others come from task_counts and the newest events.
func (r *reader) Counts(projects []string) (board.Counts, error) {
	c := board.Counts{Status: map[board.Status]int{}}
	q := newQuery(`SELECT c.status, sum(c.n) FROM (SELECT project_id, status, n FROM task_counts UNION ALL ` + uncounted + `) c`)
	if projects != nil {
		ids, err := r.projectIDs(projects)
		if err != nil {
			return c, err
		}
		anyOf(q, `c.project_id = ?`, ids, func(id int64) []any { return []any{id} })
	}
	q.end(`GROUP BY c.status`)
	err := r.eachOf(q, func(scan scan) error {
		var status board.Status
		var n int
		err := scan(&status, &n)
		if n != 0 {
			c.Status[status] = n
		}
		return err
	})
	if err != nil || c.Status[board.Pending] == 0 {
		return c, err
	}
	q = newQuery(`SELECT t.ready, t.hold, t.open_blockers + t.open_children, count(*) FROM tasks t INDEXED BY tasks_state`)
	q.and(`t.status = 'pending'`)
	if err := r.inProjects(q, `+t.id BETWEEN ? AND ?`, projects); err != nil {
		return c, err
	}
	q.end(`GROUP BY t.ready, t.hold, t.open_blockers, t.open_children`)
	err = r.eachOf(q, func(scan scan) error {
		var ready, hold bool
		var open, n int
		err := scan(&ready, &hold, &open, &n)
		switch {
		case ready:
			c.Ready += n
		case hold:
			c.Held += n
		case open > 0:
			c.Blocked += n
		default:
			c.Later += n
		}
		return err
	})
	if err != nil || c.Later == 0 {
		return c, err
	}
	q = newQuery(`SELECT count(*) FROM tasks t INDEXED BY tasks_reserved`)
	q.and(`t.reserved_name IS NOT NULL AND t.status = 'pending' AND NOT t.hold AND t.open_blockers = 0 AND t.open_children = 0`)
	if err := r.inProjects(q, `+t.id BETWEEN ? AND ?`, projects); err != nil {
		return c, err
	}
	return c, r.eachOf(q, func(scan scan) error { return scan(&c.Reserved) })
}

// count brings task_counts up to date if there are at least that many new events.
func (t *tx) count(events int) error {
	const (
		due = `SELECT coalesce(max(id), 0) - (SELECT counted FROM meta) >= ? FROM events`
		add = `INSERT INTO task_counts (project_id, status, n) SELECT project_id, status, sum(n) FROM (` + uncounted + `) WHERE true GROUP BY 1, 2
		ON CONFLICT (project_id, status) DO UPDATE SET n = n + excluded.n`
		upTo = `UPDATE meta SET counted = (SELECT max(id) FROM events)`
	)
	var now bool
	if err := t.get(due, []any{events}, &now); err != nil || !now {
		return err
	}
	if _, err := t.exec(add); err != nil {
		return err
	}
	_, err := t.exec(upTo)
	return err
}
