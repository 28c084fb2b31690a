package postgres

import (
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

const projectColumns = `slug, name, policy, accept, lease, skills, paused_by, keep, land, archived`

func scanProject(row pgx.CollectableRow) (p board.Project, err error) {
	var accept string
	if err = row.Scan(projectInto(&p, &accept)...); err == nil {
		p = storedProject(p, accept)
	}
	return p, err
}

// projectInto is where projectColumns are scanned to; then storedProject makes a project of it.
func projectInto(p *board.Project, accept *string) []any {
	return []any{&p.Slug, &p.Name, (*string)(&p.Policy), accept, &p.Lease, &p.Skills, &p.PausedBy, &p.Keep, &p.Land, &p.Archived}
}

func storedProject(p board.Project, accept string) board.Project {
	p.Policy = board.StoredPolicy(p.Policy, accept)
	trim(&p.Skills)
	return p
}

// Project reads a project.
func (r *reader) Project(slug string) (board.Project, error) {
	const query = `SELECT ` + projectColumns + ` FROM projects WHERE slug = $1`
	p, err := one(r, scanProject, query, slug)
	return p, named(err, "project", slug)
}

// Project reads a project.
func (t *tx) Project(slug string) (board.Project, error) {
	if p, ok := t.known.settings[slug]; ok {
		p.Skills = slices.Clone(p.Skills)
		return p, nil
	}
	return t.reader.Project(slug)
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

// PutProject creates or replaces a project, except for where it lands.
func (t *tx) PutProject(p board.Project) error {
	const query = `
WITH p AS (
	INSERT INTO projects (slug, name, policy, accept, lease, skills, paused_by, keep, archived) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
	ON CONFLICT (slug) DO UPDATE SET name = excluded.name, policy = excluded.policy, accept = excluded.accept, lease = excluded.lease,
		skills = excluded.skills, paused_by = excluded.paused_by, keep = excluded.keep, archived = excluded.archived
	RETURNING id)
INSERT INTO project_counters (project_id) SELECT id FROM p ON CONFLICT DO NOTHING`
	delete(t.known.settings, p.Slug)
	policy, accept := p.Policy.Stored()
	_, err := t.exec(query, p.Slug, p.Name, string(policy), accept, p.Lease, orEmpty(p.Skills), p.PausedBy, p.Keep, p.Archived)
	return err
}

// LockProject takes the project's advisory lock.
func (t *tx) LockProject(slug string) error {
	const query = `SELECT pg_advisory_xact_lock(x'626f7373'::int, id) FROM projects WHERE slug = $1`
	return t.write(notFound("project", slug), query, slug)
}

// numbersQuery advances the counter of project $1 by $2.
const numbersQuery = `
UPDATE project_counters SET next_no = next_no + $2::int
WHERE project_id = (SELECT id FROM projects WHERE slug = $1) RETURNING next_no - $2::int`

// numbers are n numbers for new tasks of a project, the first of them or zero.
type numbers struct {
	slug  string
	n     int
	first int64
}

// Numbers advances the project's counter. That locks the counter until the transaction
// ends, so it should be called late.
func (t *tx) Numbers(slug string, n int) (int64, error) {
	if n < 1 {
		return 0, fmt.Errorf("%w: %d numbers", board.ErrInvalid, n)
	}
	if a := t.known.numbers; a != nil && a.slug == slug && a.n == n && a.first > 0 {
		t.known.numbers = nil
		return a.first, nil
	}
	first, err := one(&t.reader, pgx.RowTo[int64], numbersQuery, slug, n)
	return first, named(err, "project", slug)
}
