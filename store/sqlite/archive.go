package sqlite

import (
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// finished is a condition of board.Finished; its parameter is the time before which tasks
// must have ended.
const finished = ` t.status IN ('done', 'cancelled') AND t.ended_at < ?1
	AND NOT EXISTS (SELECT 1 FROM links k JOIN tasks d ON d.id = k.task_id WHERE k.blocker_id = t.id AND d.status NOT IN ('done', 'cancelled'))
	AND NOT EXISTS (SELECT 1 FROM tasks d WHERE d.id = t.parent_id AND d.status NOT IN ('done', 'cancelled'))
	AND NOT EXISTS (SELECT 1 FROM tasks d WHERE d.parent_id = t.id AND NOT (d.status IN ('done', 'cancelled') AND coalesce(d.ended_at < ?1, FALSE)))
	AND NOT EXISTS (SELECT 1 FROM questions q WHERE q.task_id = t.id AND q.state = 'open')
	AND NOT EXISTS (SELECT 1 FROM claims c WHERE c.task_id = t.id)
	AND NOT EXISTS (SELECT 1 FROM reviews v WHERE v.task_id = t.id)`

func (r *reader) Finished(f board.Finished) ([]board.Task, error) {
	const query = taskColumns + taskTables + ` WHERE t.id BETWEEN ?2 AND ?3 AND (t.ended_at, t.id) > (?4, ?5) AND` + finished + `
		ORDER BY t.ended_at, t.id LIMIT ?6`
	project, err := r.projectID(f.Project)
	if err != nil {
		return nil, err
	}
	first, last := idRange(project)
	var ended, id int64
	if !f.After.ID.IsZero() {
		ended, id = f.After.EndedAt.UnixMicro(), first|f.After.ID.No
	}
	return r.tasks(query, f.Before.UnixMicro(), first, last, ended, id, limitOr(f.Limit, pageSize))
}

func (r *reader) Archives(f board.ArchiveFilter) ([]board.Archive, error) {
	const (
		columns = `SELECT a.tasks, a.source, a.place, a.sha256, a.by, a.at FROM archives a WHERE a.project_id = ?1`
		all     = columns + ` ORDER BY a.id LIMIT ?2`
		of      = columns + ` AND a.last >= ?3 AND a.first <= ?3 AND EXISTS (SELECT 1 FROM json_each(a.tasks) j WHERE j.value = ?3) ORDER BY a.id LIMIT ?2`
	)
	projects, err := r.projectIDs([]string{f.Project})
	if err != nil || len(projects) == 0 {
		return nil, err
	}
	query, args := all, []any{projects[0], limitOr(f.Limit, pageSize)}
	if !f.Task.IsZero() {
		id, err := r.pack(f.Task)
		if err != nil {
			return nil, err
		}
		query, args = of, append(args, id)
	}
	var list []board.Archive
	err = r.each(query, args, func(scan scan) error {
		a := board.Archive{Project: f.Project}
		var tasks string
		var at int64
		if err := scan(&tasks, &a.Source, &a.Place, &a.SHA256, &a.By, &at); err != nil {
			return err
		}
		a.At = fromMicros(at)
		if err := fromJSON(tasks, &a.Tasks); err != nil {
			return err
		}
		for i, id := range a.Tasks {
			a.Tasks[i] = id & board.MaxNo
		}
		list = append(list, a)
		return nil
	})
	return list, err
}

// feedFrom returns the rowid after which a feed begins.
func (r *reader) feedFrom(c board.Cursor) (int64, error) {
	const query = `SELECT feed_floor FROM meta`
	place, err := cursor(c)
	if err != nil {
		return 0, err
	}
	var floor int64
	if err := r.get(query, nil, &floor); err != nil {
		return 0, err
	}
	if place < floor && c != "" {
		return 0, fmt.Errorf("%w: later events were archived", board.ErrCursorTooOld)
	}
	return max(place, floor), nil
}

// LockFinished only reads, because there is one writer at a time.
func (t *tx) LockFinished(ids []board.ID, before time.Time) ([]board.Task, error) {
	const query = taskColumns + taskTables + ` WHERE t.id IN (SELECT value FROM json_each(?2)) AND` + finished
	const alone = `SELECT NOT EXISTS (SELECT 1 FROM tasks WHERE parent_id = ?1 AND id NOT IN (SELECT value FROM json_each(?2)))`
	if len(ids) == 0 {
		return nil, nil
	}
	packed, err := t.packAll(ids)
	if err != nil {
		return nil, err
	}
	list, err := t.tasks(query, before.UnixMicro(), packed)
	// A parent whose child stays stays, and so does its own parent.
	for n := -1; err == nil && n != len(list); {
		n = len(list)
		var among []board.ID
		for _, task := range list {
			among = append(among, task.ID)
		}
		if packed, err = t.packAll(among); err != nil {
			return nil, err
		}
		kept := list[:0]
		for _, task := range list {
			id, err := t.pack(task.ID)
			if err != nil {
				return nil, err
			}
			var ok bool
			if err := t.get(alone, []any{id, packed}, &ok); err != nil {
				return nil, err
			}
			if ok {
				kept = append(kept, task)
			}
		}
		list = kept
	}
	return list, err
}

// packAll returns row ids as a JSON list.
func (r *reader) packAll(ids []board.ID) (string, error) {
	packed := make([]int64, len(ids))
	for i, id := range ids {
		var err error
		if packed[i], err = r.pack(id); err != nil {
			return "", err
		}
	}
	return asJSON(packed)
}

func (t *tx) Archive(a board.Archive) error {
	const record = `INSERT INTO archives (project_id, first, last, tasks, source, place, sha256, by, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	const floor = `UPDATE meta SET feed_floor = max(feed_floor, (SELECT coalesce(max(id), 0) FROM events WHERE task_id IN (SELECT value FROM json_each(?))))`
	const counts = `INSERT INTO task_counts (project_id, status, n) SELECT id >> 40, status, -count(*) FROM tasks
		WHERE id IN (SELECT value FROM json_each(?)) GROUP BY 1, 2 ON CONFLICT (project_id, status) DO UPDATE SET n = n + excluded.n`
	project, err := t.projectID(a.Project)
	if err != nil {
		return err
	}
	var ids []board.ID
	for _, no := range a.Tasks {
		ids = append(ids, board.ID{Project: a.Project, No: no})
	}
	packed, err := t.packAll(ids)
	if err != nil {
		return err
	}
	first, _ := idRange(project)
	if _, err := t.exec(record, project, first|a.Tasks[0], first|a.Tasks[len(a.Tasks)-1], packed, a.Source, a.Place, a.SHA256, a.By, a.At.UnixMicro()); err != nil {
		return err
	}
	if _, err := t.exec(floor, packed); err != nil {
		return err
	}
	if err := t.count(1); err != nil { // what the events would have added
		return err
	}
	if _, err := t.exec(counts, packed); err != nil {
		return err
	}
	for _, query := range []string{
		`DELETE FROM intents WHERE id IN (SELECT x.intent_id FROM intent_items x WHERE x.task_id IN (SELECT value FROM json_each(?1)))
			AND NOT EXISTS (SELECT 1 FROM intent_items x WHERE x.intent_id = intents.id AND x.task_id NOT IN (SELECT value FROM json_each(?1)))`,
		`DELETE FROM intent_items WHERE task_id IN (SELECT value FROM json_each(?))`,
		`DELETE FROM tasks WHERE id IN (SELECT value FROM json_each(?))`, // first: its events cannot be deleted before
		`DELETE FROM task_docs WHERE task_id IN (SELECT value FROM json_each(?))`,
		`DELETE FROM links WHERE task_id IN (SELECT value FROM json_each(?1)) OR blocker_id IN (SELECT value FROM json_each(?1))`,
		`DELETE FROM attempts WHERE task_id IN (SELECT value FROM json_each(?))`,
		`DELETE FROM questions WHERE task_id IN (SELECT value FROM json_each(?))`,
		`DELETE FROM declines WHERE task_id IN (SELECT value FROM json_each(?))`,
		`DELETE FROM events WHERE task_id IN (SELECT value FROM json_each(?))`,
	} {
		if _, err := t.exec(query, packed); err != nil {
			return err
		}
	}
	return nil
}
