package sqlite

import (
	"errors"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// Tasks searches for a text in Go, because SQLite ignores case only in ASCII.
func (r *reader) Tasks(f board.TaskFilter) ([]board.Task, error) {
	const docs = ` CROSS JOIN task_docs d ON d.task_id = t.id`
	text := taskColumns + taskTables
	if f.Query != "" {
		text = taskColumns + `, d.description` + taskTables + docs
	}
	q := newQuery(text)
	if err := r.inProjects(q, `t.id BETWEEN ? AND ?`, f.Projects); err != nil {
		return nil, err
	}
	if len(f.Statuses) > 0 {
		anyOf(q, `t.status = ?`, f.Statuses, func(s board.Status) []any { return []any{s} })
	}
	if f.Resting {
		q.and(`t.not_before IS NOT NULL AND t.status = 'pending'`)
	}
	if f.Ready {
		q.and(`t.ready`)
	}
	if f.Hold {
		q.and(`t.hold`)
	}
	if f.Skill != "" {
		q.and(`EXISTS (SELECT 1 FROM json_each(l.skills) WHERE value = ?)`, f.Skill)
	}
	if f.Worker != "" {
		q.and(`EXISTS (SELECT 1 FROM claims c WHERE c.task_id = t.id AND c.worker = ?)`, f.Worker)
	}
	for _, field := range []struct {
		condition string
		id        board.ID
	}{{`t.parent_id = ?`, f.Parent}, {`t.id > ?`, f.After}} {
		if field.id.IsZero() {
			continue
		}
		packed, err := r.pack(field.id)
		if errors.Is(err, board.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		q.and(field.condition, packed)
	}
	q.end(`ORDER BY t.id`)
	limit := limitOr(f.Limit, pageSize)
	if f.Query == "" {
		q.end(`LIMIT ?`, limit)
	}
	var list []board.Task
	needle := strings.ToLower(f.Query)
	err := r.eachOf(q, func(scan scan) error {
		var description string
		var more []any
		if f.Query != "" {
			more = []any{&description}
		}
		t, err := scanTask(scan, more...)
		if err != nil {
			return err
		}
		if strings.Contains(strings.ToLower(t.Title), needle) || strings.Contains(strings.ToLower(description), needle) {
			list = append(list, t)
		}
		if len(list) == limit {
			return errStop
		}
		return nil
	})
	return list, err
}

// Counts reads only the indexes tasks_state and tasks_reserved.
func (r *reader) Counts(projects []string) (board.Counts, error) {
	c := board.Counts{Status: map[board.Status]int{}}
	q := newQuery(`SELECT t.status, t.ready, t.hold, t.open_blockers + t.open_children, count(*) FROM tasks t INDEXED BY tasks_state`)
	if err := r.inProjects(q, `+t.id BETWEEN ? AND ?`, projects); err != nil {
		return c, err
	}
	q.end(`GROUP BY t.status, t.ready, t.hold, t.open_blockers, t.open_children`)
	err := r.eachOf(q, func(scan scan) error {
		var status board.Status
		var ready, hold bool
		var open, n int
		if err := scan(&status, &ready, &hold, &open, &n); err != nil {
			return err
		}
		c.Status[status] += n
		switch {
		case status != board.Pending:
		case ready:
			c.Ready += n
		case hold:
			c.Held += n
		case open > 0:
			c.Blocked += n
		default:
			c.Later += n
		}
		return nil
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
