package sqlite

import (
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

const projectColumns = `SELECT slug, name, policy, accept, lease, skills, paused_by, keep, land, archived FROM projects`

func scanProject(scan scan) (p board.Project, err error) {
	var lease, keep int64
	var accept, skills string
	if err := scan(&p.Slug, &p.Name, &p.Policy, &accept, &lease, &skills, &p.PausedBy, &keep, &p.Land, &p.Archived); err != nil {
		return p, err
	}
	p.Policy = board.StoredPolicy(p.Policy, accept)
	p.Lease, p.Keep = toDuration(lease), toDuration(keep)
	p.Skills, err = listFromJSON[string](skills)
	return p, err
}

func (r *reader) Project(slug string) (board.Project, error) {
	const query = projectColumns + ` WHERE slug = ?`
	var p board.Project
	found := false
	err := r.each(query, []any{slug}, func(scan scan) (err error) {
		found = true
		p, err = scanProject(scan)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: project %s", board.ErrNotFound, slug)
	}
	return p, err
}

func (r *reader) Projects(slugs ...string) ([]board.Project, error) {
	const query = projectColumns + ` ORDER BY slug`
	var list []board.Project
	err := r.each(query, nil, func(scan scan) error {
		p, err := scanProject(scan)
		if len(slugs) == 0 || slices.Contains(slugs, p.Slug) {
			list = append(list, p)
		}
		return err
	})
	return list, err
}

// PutProject creates or replaces a project. It keeps the counter of its task numbers, and where it lands.
func (t *tx) PutProject(p board.Project) error {
	const query = `INSERT INTO projects (slug, name, policy, accept, lease, skills, paused_by, keep, archived) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (slug) DO UPDATE SET name = excluded.name, policy = excluded.policy, accept = excluded.accept, lease = excluded.lease,
		skills = excluded.skills, paused_by = excluded.paused_by, keep = excluded.keep, archived = excluded.archived`
	if !board.ValidSlug(p.Slug) {
		return fmt.Errorf("%w: invalid project name %.40q", board.ErrInvalid, p.Slug)
	}
	skills, err := listJSON(p.Skills)
	if err != nil {
		return err
	}
	policy, accept := p.Policy.Stored()
	_, err = t.exec(query, p.Slug, p.Name, policy, accept, micros(p.Lease), skills, p.PausedBy, micros(p.Keep), p.Archived)
	return err
}

// LockProject only checks that the project exists: there is one writer at a time.
func (t *tx) LockProject(slug string) error {
	_, err := t.projectID(slug)
	return err
}

// Numbers continues after the highest number in use, also if it was imported.
func (t *tx) Numbers(slug string, n int) (int64, error) {
	const next = `SELECT max(next_no, coalesce((SELECT max(id) FROM tasks WHERE id BETWEEN ? AND ?), 0) - ? + 1) FROM projects WHERE id = ?`
	const take = `UPDATE projects SET next_no = ? WHERE id = ?`
	project, err := t.projectID(slug)
	if err != nil {
		return 0, err
	}
	first, last := idRange(project)
	var no int64
	if err := t.get(next, []any{first, last, first, project}, &no); err != nil {
		return 0, err
	}
	if n < 1 || no+int64(n)-1 > board.MaxNo {
		return 0, fmt.Errorf("%w: project %s does not have %d numbers left", board.ErrInvalid, slug, n)
	}
	_, err = t.exec(take, no+int64(n), project)
	return no, err
}

// projectID returns the row id of a project.
func (r *reader) projectID(slug string) (int64, error) {
	const query = `SELECT id FROM projects WHERE slug = ?`
	if id := r.projects[slug]; id != 0 {
		return id, nil
	}
	var id int64
	err := r.get(query, []any{slug}, &id)
	if err == board.ErrNotFound {
		return 0, fmt.Errorf("%w: project %s", board.ErrNotFound, slug)
	}
	if err == nil {
		r.projects[slug] = id
	}
	return id, err
}

// projectIDs returns the row ids of those projects that exist.
func (r *reader) projectIDs(slugs []string) ([]int64, error) {
	const query = `SELECT id FROM projects WHERE slug = ?`
	var ids []int64
	for _, slug := range slugs {
		if err := r.each(query, []any{slug}, func(scan scan) error {
			var id int64
			err := scan(&id)
			ids = append(ids, id)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// inProjects restricts a query to the tasks of projects; nil means all.
func (r *reader) inProjects(q *query, condition string, slugs []string) error {
	if slugs == nil {
		return nil
	}
	ids, err := r.projectIDs(slugs)
	if err != nil {
		return err
	}
	anyOf(q, condition, ids, func(project int64) []any {
		first, last := idRange(project)
		return []any{first, last}
	})
	return nil
}

// noBits is the number of low bits of a task's row id that hold its number.
const noBits = 40

// idRange returns the first and the last row id that a project's tasks can have.
func idRange(project int64) (first, last int64) {
	return project << noBits, project<<noBits | board.MaxNo
}

// pack returns the row id of a task. The project must exist.
func (r *reader) pack(id board.ID) (int64, error) {
	if id.No < 1 || id.No > board.MaxNo {
		return 0, fmt.Errorf("%w: task %v", board.ErrNotFound, id)
	}
	project, err := r.projectID(id.Project)
	if err != nil {
		return 0, err
	}
	return project<<noBits | id.No, nil
}

// packOrNull is pack for an ID that may be zero, which is NULL.
func (r *reader) packOrNull(id board.ID) (any, error) {
	if id.IsZero() {
		return nil, nil
	}
	return r.pack(id)
}

// unpack returns the ID of a task from its project and its row id.
func unpack(slug string, id int64) board.ID { return board.ID{Project: slug, No: id & board.MaxNo} }
