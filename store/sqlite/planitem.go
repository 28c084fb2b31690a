package sqlite

import (
	"errors"

	"github.com/bossman-dev/bossman/board"
)

func (r *reader) PlanItems(slug string, items []string) (map[string]board.ID, error) {
	const query = `SELECT item, task_id FROM plan_items WHERE project_id = ? AND item IN (SELECT value FROM json_each(?))`
	if len(items) == 0 {
		return nil, nil
	}
	project, err := r.projectID(slug)
	if errors.Is(err, board.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := listJSON(items)
	if err != nil {
		return nil, err
	}
	found := map[string]board.ID{}
	err = r.each(query, []any{project, list}, func(scan scan) error {
		var item string
		var id int64
		err := scan(&item, &id)
		found[item] = unpack(slug, id)
		return err
	})
	return found, err
}

func (r *reader) Untold(slug string, limit int) (list []board.Issue, err error) {
	const query = `
SELECT i.item, i.task_id FROM plan_items i JOIN tasks t ON t.id = i.task_id
WHERE i.project_id = ? AND i.item >= 'https://' AND i.item < 'https:/0' AND t.status = 'done'
	AND NOT EXISTS (SELECT 1 FROM plan_items s WHERE s.project_id = i.project_id AND s.item = 'told ' || i.item)
ORDER BY i.item LIMIT ?`
	project, err := r.projectID(slug)
	if errors.Is(err, board.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = r.each(query, []any{project, limit}, func(scan scan) error {
		var i board.Issue
		var id int64
		err := scan(&i.URL, &id)
		i.Task = unpack(slug, id)
		list = append(list, i)
		return err
	})
	return list, err
}

func (t *tx) PutPlanItem(item string, id board.ID) error {
	const query = `INSERT INTO plan_items (project_id, item, task_id) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET task_id = excluded.task_id`
	project, err := t.projectID(id.Project)
	if err != nil {
		return err
	}
	packed, err := t.pack(id)
	if err != nil {
		return err
	}
	_, err = t.exec(query, project, item, packed)
	return err
}
