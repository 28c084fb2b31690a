package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// PlanItems returns the tasks of those items of plans that the project has.
func (r *reader) PlanItems(slug string, items []string) (map[string]board.ID, error) {
	const query = `
SELECT i.item, i.task_id FROM plan_items i JOIN projects p ON p.id = i.project_id WHERE p.slug = $1 AND i.item = ANY($2)`
	if len(items) == 0 {
		return nil, nil
	}
	found := map[string]board.ID{}
	_, err := list(r, func(row pgx.CollectableRow) (struct{}, error) {
		var item string
		var key int64
		err := row.Scan(&item, &key)
		found[item] = board.ID{Project: slug, No: number(key)}
		return struct{}{}, err
	}, query, slug, items)
	return found, err
}

// Untold lists those items that are addresses, whose tasks are done, and which were not told.
func (r *reader) Untold(slug string, limit int) ([]board.Issue, error) {
	const query = `
SELECT i.item, i.task_id FROM projects p JOIN plan_items i ON i.project_id = p.id JOIN tasks t ON t.id = i.task_id
WHERE p.slug = $1 AND starts_with(i.item, 'https://') AND t.status = 'done'
	AND NOT EXISTS (SELECT 1 FROM plan_items s WHERE s.project_id = i.project_id AND s.item = 'told ' || i.item)
ORDER BY i.item LIMIT $2`
	return list(r, func(row pgx.CollectableRow) (i board.Issue, err error) {
		var key int64
		err = row.Scan(&i.URL, &key)
		i.Task = board.ID{Project: slug, No: number(key)}
		return i, err
	}, query, slug, limit)
}

// PutPlanItem records the task that was created for an item of a plan.
func (t *tx) PutPlanItem(item string, id board.ID) error {
	const query = `
INSERT INTO plan_items (project_id, item, task_id) VALUES ($1::bigint >> 40, $2, $1)
ON CONFLICT (project_id, item) DO UPDATE SET task_id = excluded.task_id`
	key, err := t.key(id)
	if err != nil {
		return err
	}
	t.later(query, key, item)
	return nil
}
