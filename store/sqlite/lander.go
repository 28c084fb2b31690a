package sqlite

import (
	"errors"

	"github.com/bossman-dev/bossman/board"
)

// landingSchema is the lowest schema number of programs that know about landing.
const landingSchema = 14

func (r *reader) Lander(slug, target string) (board.Lander, error) {
	const query = `SELECT nonce, principal, owner, holder, lease_until, note FROM landers WHERE project_id = ? AND target = ?`
	project, err := r.projectID(slug)
	if errors.Is(err, board.ErrNotFound) {
		return board.Lander{}, nil
	}
	if err != nil {
		return board.Lander{}, err
	}
	l := board.Lander{Lease: board.Lease{Project: slug, Target: target}}
	var until int64
	var note string
	err = r.get(query, []any{project, target}, &l.Nonce, &l.Principal, &l.Owner, &l.Holder, &until, &note)
	if errors.Is(err, board.ErrNotFound) {
		return board.Lander{}, nil
	}
	if err != nil {
		return board.Lander{}, err
	}
	l.Until = fromMicros(until)
	return l, fromJSON(note, &l.Note)
}

func (t *tx) PutLander(l board.Lander) error {
	const query = `INSERT INTO landers (project_id, target, nonce, principal, owner, holder, lease_until, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (project_id, target) DO UPDATE SET nonce = excluded.nonce, principal = excluded.principal, owner = excluded.owner,
		holder = excluded.holder, lease_until = excluded.lease_until, note = excluded.note`
	project, err := t.projectID(l.Project)
	if err != nil {
		return err
	}
	note, err := asJSON(l.Note)
	if err != nil {
		return err
	}
	_, err = t.exec(query, project, l.Target, l.Nonce, l.Principal, l.Owner, l.Holder, l.Until.UnixMicro(), note)
	return err
}

// ShareProject only reads, because there is one writer at a time.
func (t *tx) ShareProject(slug string) (board.Project, error) { return t.Project(slug) }

// PutLand also excludes programs that do not know about landing: they look in every transaction.
func (t *tx) PutLand(slug, target string) error {
	const (
		query   = `UPDATE projects SET land = ? WHERE id = ?`
		exclude = `UPDATE meta SET min_schema = ?1 WHERE min_schema < ?1`
	)
	project, err := t.projectID(slug)
	if err != nil {
		return err
	}
	if target != "" {
		if _, err := t.exec(exclude, landingSchema); err != nil {
			return err
		}
	}
	_, err = t.exec(query, target, project)
	return err
}

func (r *reader) Queued(slug string, limit int) ([]board.Queued, error) {
	const query = taskColumns + `, d.result, a.place` + taskTables + ` JOIN task_docs d ON d.task_id = t.id
		LEFT JOIN attempts a ON a.task_id = t.id AND a.attempt = t.attempt
		WHERE t.id IN (SELECT x.id FROM tasks x INDEXED BY tasks_state WHERE x.status = 'landing' AND x.id BETWEEN ? AND ?)
		ORDER BY t.priority, t.queued_at, t.id LIMIT ?`
	project, err := r.projectID(slug)
	if errors.Is(err, board.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	first, last := idRange(project)
	var list []board.Queued
	err = r.each(query, []any{first, last, limitOr(limit, pageSize)}, func(scan scan) error {
		var q board.Queued
		var result, place *string
		if q.Task, err = scanTask(scan, &result, &place); err != nil {
			return err
		}
		if result != nil {
			var res board.Result
			if err := fromJSON(*result, &res); err != nil {
				return err
			}
			q.Summary, q.Worker, q.Tip, q.Includes = res.Summary, res.Worker, res.Tip, res.Includes
		}
		if place != nil {
			if err := fromJSON(*place, &q.Where); err != nil {
				return err
			}
		}
		list = append(list, q)
		return nil
	})
	return list, err
}
