package sqlite

import (
	"errors"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// Tasks lists tasks by their row ids. A search covers the tasks that are not over, and of
// those that are the newest of each project.
func (r *reader) Tasks(f board.TaskFilter) ([]board.Task, error) {
	if f.Query == "" || onlyOpen(f) {
		return r.list(f, nil)
	}
	const (
		all = `SELECT id FROM projects ORDER BY id`
		// The oldest of those that a search covers.
		oldest = `SELECT id FROM tasks WHERE id BETWEEN ? AND ? AND status IN ('done', 'cancelled') ORDER BY id DESC LIMIT 1 OFFSET ?`
	)
	projects, err := r.projectIDs(f.Projects)
	if f.Projects == nil {
		err = r.each(all, nil, func(scan scan) error {
			var id int64
			err := scan(&id)
			projects = append(projects, id)
			return err
		})
	}
	slices.Sort(projects)
	limit := limitOr(f.Limit, pageSize)
	var found []board.Task
	for _, project := range projects {
		if err != nil || len(found) == limit {
			break
		}
		first, last := idRange(project)
		floor := first
		if err = r.get(oldest, []any{first, last, board.Searched - 1}, &floor); err != nil && err != board.ErrNotFound {
			break
		}
		open := f
		if open.Statuses = board.Open; f.Statuses != nil {
			open.Statuses = slices.DeleteFunc(slices.Clone(f.Statuses), board.Status.Terminal)
		}
		for _, part := range []struct {
			f        board.TaskFilter
			from, to int64
		}{{open, first, floor - 1}, {f, floor, last}} {
			part.f.Limit = limit - len(found)
			if part.f.Limit == 0 || part.from > part.to {
				continue
			}
			var more []board.Task
			if more, err = r.list(part.f, &[2]int64{part.from, part.to}); err != nil {
				break
			}
			found = append(found, more...)
		}
	}
	return found, err
}

// resting are tasks that cool down or are reserved.
const resting = `t.not_before IS NOT NULL AND t.status = 'pending' AND NOT t.hold AND t.open_blockers = 0 AND t.open_children = 0`

func (r *reader) Resting(projects []string, n int) ([]board.Task, error) {
	q := newQuery(taskColumns + taskTables)
	q.and(resting)
	if err := r.inProjects(q, `t.id BETWEEN ? AND ?`, projects); err != nil {
		return nil, err
	}
	q.end(`ORDER BY t.not_before, t.id LIMIT ?`, n)
	var list []board.Task
	err := r.eachOf(q, func(scan scan) error {
		t, err := scanTask(scan)
		list = append(list, t)
		return err
	})
	return list, err
}

// packed returns the row ids of tasks as a JSON array, without those of unknown projects.
func (r *reader) packed(ids []board.ID) (string, error) {
	list := []int64{}
	for _, id := range ids {
		packed, err := r.pack(id)
		if err == nil {
			list = append(list, packed)
		} else if !errors.Is(err, board.ErrNotFound) {
			return "", err
		}
	}
	return asJSON(list)
}

// onlyOpen reports whether a filter selects only tasks that are not over.
func onlyOpen(f board.TaskFilter) bool {
	return f.Ready || f.Hold || f.Resting || f.Stuck || f.Statuses != nil && !slices.ContainsFunc(f.Statuses, board.Status.Terminal)
}

// list lists tasks, in a range of row ids unless it is nil. It searches for a text in Go,
// because SQLite ignores case only in ASCII.
func (r *reader) list(f board.TaskFilter, ids *[2]int64) ([]board.Task, error) {
	const (
		docs  = ` CROSS JOIN task_docs d ON d.task_id = t.id`
		stuck = `t.status = 'pending' AND t.open_blockers > 0 AND EXISTS (SELECT 1 FROM links k CROSS JOIN tasks b ON b.id = k.blocker_id
			WHERE k.task_id = t.id AND b.status IN ('failed', 'cancelled'))`
	)
	columns, tables := taskColumns, taskTables
	if f.Query != "" {
		columns, tables = columns+`, d.description`, tables+docs
	}
	if onlyOpen(f) {
		tables = strings.Replace(tables, `tasks t`, `tasks t INDEXED BY tasks_open`, 1)
	}
	q := newQuery(columns + tables)
	if onlyOpen(f) {
		q.and(`t.status NOT IN ('done', 'cancelled')`)
	}
	if ids != nil {
		q.and(`t.id BETWEEN ? AND ?`, ids[0], ids[1])
	}
	if err := r.inProjects(q, `t.id BETWEEN ? AND ?`, f.Projects); err != nil {
		return nil, err
	}
	if f.Statuses != nil {
		anyOf(q, `t.status = ?`, f.Statuses, func(s board.Status) []any { return []any{s} })
	}
	if f.Resting {
		q.and(resting)
	}
	if f.Ready {
		q.and(`t.ready`)
	}
	if f.Hold {
		q.and(`t.hold AND t.status = 'pending'`)
	}
	if f.Stuck {
		q.and(stuck)
	}
	if f.Skill != "" {
		q.and(`EXISTS (SELECT 1 FROM json_each(l.skills) WHERE value = ?)`, f.Skill)
	}
	if f.IDs != nil {
		packed, err := r.packed(f.IDs)
		if err != nil {
			return nil, err
		}
		q.and(`t.id IN (SELECT value FROM json_each(?))`, packed)
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
