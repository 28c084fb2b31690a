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
