package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// Intents lists intents, newest first.
func (r *reader) Intents(f board.IntentFilter) ([]board.Intent, error) {
	const (
		head = `SELECT p.slug, i.id, i.target, i.old, i.new, i.state, i.holder, i.nonce, i.by, i.at, i.ended_at,
	ARRAY(SELECT x.task_id FROM intent_items x WHERE x.intent_id = i.id ORDER BY x.task_id),
	ARRAY(SELECT x.attempt FROM intent_items x WHERE x.intent_id = i.id ORDER BY x.task_id),
	ARRAY(SELECT x.tip FROM intent_items x WHERE x.intent_id = i.id ORDER BY x.task_id)
FROM intents i JOIN projects p ON p.id = i.project_id WHERE true`
		tail = ` ORDER BY i.id DESC LIMIT $1`

		project = ` AND i.project_id = (SELECT x.id FROM projects x WHERE x.slug = $%d)`
		target  = ` AND i.target = $%d`
		task    = ` AND i.id IN (SELECT y.intent_id FROM intent_items y WHERE y.task_id = (SELECT x.id::bigint << 40 | $%d::bigint FROM projects x WHERE x.slug = $%d))`
		id      = ` AND i.id = $%d`
		open    = ` AND i.state = 'open'`
		state   = ` AND i.state = $%d`
	)
	var query where
	args := []any{limitOf(f.Limit)}
	query.add(&args, head)
	if f.Project != "" {
		query.add(&args, project, f.Project)
	}
	if f.Target != "" {
		query.add(&args, target, f.Target)
	}
	if !f.Task.IsZero() {
		query.add(&args, task, no(f.Task), f.Task.Project)
	}
	if f.ID != 0 {
		query.add(&args, id, int64(f.ID))
	}
	switch f.State {
	case "":
	case board.IntentOpen:
		query.add(&args, open)
	default:
		query.add(&args, state, string(f.State))
	}
	query.add(&args, tail)
	return list(r, scanIntent, query.String(), args...)
}

func scanIntent(row pgx.CollectableRow) (i board.Intent, err error) {
	var tasks []int64
	var attempts []int
	var tips []string
	err = row.Scan(&i.Project, (*int64)(&i.ID), &i.Target, &i.Old, &i.New, (*string)(&i.State), &i.Holder, &i.Nonce, &i.By, &i.At, stamp(&i.EndedAt),
		&tasks, &attempts, &tips)
	if err == nil && (len(attempts) != len(tasks) || len(tips) != len(tasks)) {
		err = fmt.Errorf("postgres: the items of intent %v have changed meanwhile", i.ID)
	}
	if err != nil {
		return i, err
	}
	for n, key := range tasks {
		i.Items = append(i.Items, board.Item{Task: board.ID{Project: i.Project, No: number(key)}, Attempt: attempts[n], Tip: tips[n]})
	}
	return i, nil
}

// InsertIntent stores an intent that is open; ErrConflict if its target has one.
func (t *tx) InsertIntent(i board.Intent) (board.IntentID, error) {
	const (
		query = `INSERT INTO intents (project_id, target, old, new, state, holder, nonce, by, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT DO NOTHING RETURNING id`
		items = `INSERT INTO intent_items (intent_id, task_id, attempt, tip)
SELECT $1, $2::bigint << 40 | x.no, x.attempt, x.tip FROM unnest($3::bigint[], $4::int[], $5::text[]) AS x (no, attempt, tip)`
	)
	project, err := t.projectID(i.Project)
	if err != nil {
		return 0, err
	}
	id, err := one(&t.reader, pgx.RowTo[int64], query, project, i.Target, i.Old, i.New, string(i.State), i.Holder, i.Nonce, i.By, i.At)
	if errors.Is(err, board.ErrNotFound) {
		err = fmt.Errorf("%w: the target %s has an open intent", board.ErrConflict, i.Target)
	}
	if err != nil {
		return 0, err
	}
	var tasks []int64
	var attempts []int
	var tips []string
	for _, item := range i.Items {
		tasks, attempts, tips = append(tasks, no(item.Task)), append(attempts, item.Attempt), append(tips, item.Tip)
	}
	t.later(items, id, project, tasks, attempts, tips)
	return board.IntentID(id), nil
}

// EndIntent ends an intent that is open.
func (t *tx) EndIntent(i board.Intent) error {
	const query = mustBegin + `UPDATE intents SET state = $2, ended_at = $3 WHERE id = $1 AND state = 'open'` + mustEnd
	t.must(fmt.Errorf("%w: intent %v is not open", board.ErrConflict, i.ID), query, int64(i.ID), string(i.State), i.EndedAt)
	return nil
}
