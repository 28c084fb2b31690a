package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

const projectColumns = `slug, name, policy, accept, lease, skills, paused_by, keep, archived`

func scanProject(row pgx.CollectableRow) (p board.Project, err error) {
	var accept string
	err = row.Scan(&p.Slug, &p.Name, (*string)(&p.Policy), &accept, &p.Lease, &p.Skills, &p.PausedBy, &p.Keep, &p.Archived)
	p.Policy = board.StoredPolicy(p.Policy, accept)
	trim(&p.Skills)
	return p, err
}

// Project reads a project.
func (r *reader) Project(slug string) (board.Project, error) {
	const query = `SELECT ` + projectColumns + ` FROM projects WHERE slug = $1`
	p, err := one(r, scanProject, query, slug)
	return p, named(err, "project", slug)
}

// Projects lists those of the named projects that exist, or all.
func (r *reader) Projects(slugs ...string) ([]board.Project, error) {
	const (
		some = `SELECT ` + projectColumns + ` FROM projects WHERE slug = ANY($1) ORDER BY slug`
		all  = `SELECT ` + projectColumns + ` FROM projects ORDER BY slug`
	)
	if len(slugs) == 0 {
		return list(r, scanProject, all)
	}
	return list(r, scanProject, some, slugs)
}

// PutProject creates or replaces a project.
func (t *tx) PutProject(p board.Project) error {
	const query = `
WITH p AS (
	INSERT INTO projects (` + projectColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
	ON CONFLICT (slug) DO UPDATE SET name = excluded.name, policy = excluded.policy, accept = excluded.accept, lease = excluded.lease,
		skills = excluded.skills, paused_by = excluded.paused_by, keep = excluded.keep, archived = excluded.archived
	RETURNING id)
INSERT INTO project_counters (project_id) SELECT id FROM p ON CONFLICT DO NOTHING`
	policy, accept := p.Policy.Stored()
	_, err := t.exec(query, p.Slug, p.Name, string(policy), accept, p.Lease, orEmpty(p.Skills), p.PausedBy, p.Keep, p.Archived)
	return err
}

// LockProject takes the project's advisory lock.
func (t *tx) LockProject(slug string) error {
	const query = `SELECT pg_advisory_xact_lock(x'626f7373'::int, id) FROM projects WHERE slug = $1`
	return t.write(notFound("project", slug), query, slug)
}

// Numbers advances the project's counter. That locks the counter until the transaction
// ends, so it should be called late.
func (t *tx) Numbers(slug string, n int) (int64, error) {
	const query = `
UPDATE project_counters SET next_no = next_no + $2::int
WHERE project_id = (SELECT id FROM projects WHERE slug = $1) RETURNING next_no - $2::int`
	if n < 1 {
		return 0, fmt.Errorf("%w: %d numbers", board.ErrInvalid, n)
	}
	first, err := one(&t.reader, pgx.RowTo[int64], query, slug, n)
	return first, named(err, "project", slug)
}
