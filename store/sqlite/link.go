package sqlite

import "github.com/bossman-dev/bossman/board"

func (t *tx) Links(id board.ID) (blockers, dependents []board.ID, err error) {
	const blocking = `SELECT blocker_id FROM links WHERE task_id = ? ORDER BY blocker_id`
	const depending = `SELECT task_id FROM links WHERE blocker_id = ? ORDER BY task_id`
	packed, err := t.pack(id)
	if err != nil {
		return nil, nil, err
	}
	if blockers, err = t.ids(id.Project, blocking, packed); err != nil {
		return nil, nil, err
	}
	dependents, err = t.ids(id.Project, depending, packed)
	return blockers, dependents, err
}

// ids runs a constant query for tasks of one project.
func (r *reader) ids(slug, query string, args ...any) ([]board.ID, error) {
	var list []board.ID
	err := r.each(query, args, func(scan scan) error {
		var id int64
		err := scan(&id)
		list = append(list, unpack(slug, id))
		return err
	})
	return list, err
}

func (t *tx) Link(task, blocker board.ID) error {
	const query = `INSERT INTO links (task_id, blocker_id) VALUES (?, ?) ON CONFLICT DO UPDATE SET inherited = 0`
	return t.link(query, task, blocker)
}

func (t *tx) Inherit(task, blocker board.ID) error {
	const query = `INSERT INTO links (task_id, blocker_id, inherited) VALUES (?, ?, 1) ON CONFLICT DO NOTHING`
	return t.link(query, task, blocker)
}

func (t *tx) Inherited(id board.ID) ([]board.ID, error) {
	const query = `SELECT blocker_id FROM links WHERE task_id = ? AND inherited ORDER BY blocker_id`
	packed, err := t.pack(id)
	if err != nil {
		return nil, err
	}
	return t.ids(id.Project, query, packed)
}

func (t *tx) Unlink(task, blocker board.ID) error {
	const query = `DELETE FROM links WHERE task_id = ? AND blocker_id = ?`
	return t.link(query, task, blocker)
}

func (t *tx) link(query string, task, blocker board.ID) error {
	a, err := t.pack(task)
	if err != nil {
		return err
	}
	b, err := t.pack(blocker)
	if err != nil {
		return err
	}
	_, err = t.exec(query, a, b)
	return err
}
