package postgres

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// landingSchema is the lowest schema number of programs that know about landing.
const landingSchema = 27

// Lander reads who lands on a target.
func (r *reader) Lander(slug, target string) (board.Lander, error) {
	const query = `SELECT l.nonce, l.principal, l.owner, l.holder, l.lease_until, l.note
FROM projects p JOIN landers l ON l.project_id = p.id AND l.target = $2 WHERE p.slug = $1`
	l, err := one(r, func(row pgx.CollectableRow) (board.Lander, error) {
		l := board.Lander{Lease: board.Lease{Project: slug, Target: target}}
		err := row.Scan(&l.Nonce, &l.Principal, &l.Owner, &l.Holder, &l.Until, &l.Note)
		return l, err
	}, query, slug, target)
	if errors.Is(err, board.ErrNotFound) {
		return board.Lander{}, nil
	}
	return l, err
}

// PutLander creates or replaces who lands on a target.
func (t *tx) PutLander(l board.Lander) error {
	const query = `
INSERT INTO landers (project_id, target, nonce, principal, owner, holder, lease_until, note) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (project_id, target) DO UPDATE SET nonce = excluded.nonce, principal = excluded.principal, owner = excluded.owner,
	holder = excluded.holder, lease_until = excluded.lease_until, note = excluded.note`
	project, err := t.projectID(l.Project)
	if err != nil {
		return err
	}
	t.later(query, project, l.Target, l.Nonce, l.Principal, l.Owner, l.Holder, l.Until, l.Note)
	return nil
}

// ShareProject reads a project under a lock with which PutLand waits.
func (t *tx) ShareProject(slug string) (board.Project, error) {
	const query = `SELECT ` + projectColumns + ` FROM projects WHERE slug = $1 FOR SHARE`
	delete(t.known.settings, slug)
	t.known.now = time.Time{}
	p, err := one(&t.reader, scanProject, query, slug)
	return p, named(err, "project", slug)
}

// PutLand sets where the work of a project is landed.
func (t *tx) PutLand(slug, target string) error {
	const (
		query = `UPDATE projects SET land = $2 WHERE slug = $1`
		// A role sees what its own sessions are called.
		others = `SELECT DISTINCT a.application_name FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.usename = current_user AND a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
	AND coalesce(substring(a.application_name FROM '(?:^| )bossman/([0-9]{1,6})$')::int, 0) < $1 ORDER BY 1`
	)
	delete(t.known.settings, slug)
	if target != "" {
		var older []string
		anew, err := one(&t.reader, pgx.RowTo[bool], `SELECT require_landing()`)
		if err == nil && anew {
			older, err = list(&t.reader, pgx.RowTo[string], others, landingSchema)
		}
		if err != nil {
			return err
		}
		if len(older) > 0 {
			return fmt.Errorf("%w: programs are connected to the database that do not know about landing: replace them by this version first, and end other sessions of their role; "+
				"PostgreSQL calls them %q", board.ErrConflict, older)
		}
	}
	return t.write(notFound("project", slug), query, slug, target)
}

// Queued lists the first tasks of a landing queue.
func (r *reader) Queued(slug string, limit int) ([]board.Queued, error) {
	const query = `SELECT ` + taskColumns + `, d.result::text, coalesce(a.place::text, '{}')
FROM projects p JOIN tasks t ON t.status = 'landing' AND t.id >= p.id::bigint << 40 AND t.id < (p.id + 1)::bigint << 40
JOIN task_docs d ON d.task_id = t.id LEFT JOIN attempts a ON a.task_id = t.id AND a.attempt = t.attempt
WHERE p.slug = $1 ORDER BY t.priority, t.queued_at, t.id LIMIT $2`
	return list(r, func(row pgx.CollectableRow) (q board.Queued, err error) {
		var result *board.Result
		q.Task, _, err = scanTaskAnd(row, resultInto{&result}, jsonInto{&q.Where})
		if result != nil {
			q.Summary, q.Worker, q.Tip, q.Includes = result.Summary, result.Worker, result.Tip, result.Includes
		}
		return q, err
	}, query, slug, limitOf(limit))
}
