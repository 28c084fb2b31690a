package sqlite

import (
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/board"
)

func (r *reader) Intents(f board.IntentFilter) ([]board.Intent, error) {
	q := newQuery(`SELECT i.id, p.slug, i.target, i.old, i.new, i.state, i.holder, i.nonce, i.by, i.at, i.ended_at
		FROM intents i CROSS JOIN projects p ON p.id = i.project_id`)
	if f.Project != "" {
		ids, err := r.projectIDs([]string{f.Project})
		if err != nil {
			return nil, err
		}
		anyOf(q, `i.project_id = ?`, ids, func(id int64) []any { return []any{id} })
	}
	if f.Target != "" {
		q.and(`i.target = ?`, f.Target)
	}
	if !f.Task.IsZero() {
		task, err := r.pack(f.Task)
		if errors.Is(err, board.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		q.and(`i.id IN (SELECT x.intent_id FROM intent_items x WHERE x.task_id = ?)`, task)
	}
	if f.ID != 0 {
		q.and(`i.id = ?`, int64(f.ID))
	}
	if f.State == board.IntentOpen {
		q.and(`i.state = 'open'`) // literally, so that the partial index is used
	} else if f.State != "" {
		q.and(`i.state = ?`, f.State)
	}
	q.end(`ORDER BY i.id DESC LIMIT ?`, limitOr(f.Limit, pageSize))
	var list []board.Intent
	err := r.eachOf(q, func(scan scan) error {
		var i board.Intent
		var at int64
		var ended *int64
		err := scan(&i.ID, &i.Project, &i.Target, &i.Old, &i.New, &i.State, &i.Holder, &i.Nonce, &i.By, &at, &ended)
		i.At, i.EndedAt = fromMicros(at), fromNullTime(ended)
		list = append(list, i)
		return err
	})
	for n := range list {
		if err == nil {
			list[n].Items, err = r.items(list[n])
		}
	}
	return list, err
}

// items reads the items of an intent.
func (r *reader) items(i board.Intent) (list []board.Item, err error) {
	const query = `SELECT task_id, attempt, tip FROM intent_items WHERE intent_id = ? ORDER BY task_id`
	err = r.each(query, []any{int64(i.ID)}, func(scan scan) error {
		var item board.Item
		var id int64
		err := scan(&id, &item.Attempt, &item.Tip)
		item.Task = unpack(i.Project, id)
		list = append(list, item)
		return err
	})
	return list, err
}

func (t *tx) InsertIntent(i board.Intent) (board.IntentID, error) {
	const (
		query = `INSERT INTO intents (project_id, target, old, new, state, holder, nonce, by, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`
		item  = `INSERT INTO intent_items (intent_id, task_id, attempt, tip) VALUES (?, ?, ?, ?)`
	)
	project, err := t.projectID(i.Project)
	if err != nil {
		return 0, err
	}
	var id int64
	err = t.get(query, []any{project, i.Target, i.Old, i.New, i.State, i.Holder, i.Nonce, i.By, i.At.UnixMicro()}, &id)
	if isDuplicate(err) {
		return 0, fmt.Errorf("%w: the target %s has an open intent", board.ErrConflict, i.Target)
	}
	for _, it := range i.Items {
		if err != nil {
			break
		}
		var task int64
		if task, err = t.pack(it.Task); err == nil {
			_, err = t.exec(item, id, task, it.Attempt, it.Tip)
		}
	}
	return board.IntentID(id), err
}

func (t *tx) EndIntent(i board.Intent) error {
	const query = `UPDATE intents SET state = ?, ended_at = ? WHERE id = ? AND state = 'open'`
	n, err := t.exec(query, i.State, i.EndedAt.UnixMicro(), int64(i.ID))
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: intent %v is not open", board.ErrConflict, i.ID)
	}
	return err
}
