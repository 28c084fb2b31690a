package sqlite

import (
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

const projectColumns = `SELECT slug, name, policy, lease, skills, paused_by, archived FROM projects`

func scanProject(scan scan) (p board.Project, err error) {
	var lease int64
	var skills string
	if err := scan(&p.Slug, &p.Name, &p.Policy, &lease, &skills, &p.PausedBy, &p.Archived); err != nil {
		return p, err
	}
	p.Lease = fromSpan(lease)
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

// PutProject keeps the number that its next task gets.
func (t *tx) PutProject(p board.Project) error {
	const query = `INSERT INTO projects (slug, name, policy, lease, skills, paused_by, archived) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (slug) DO UPDATE SET name = excluded.name, policy = excluded.policy, lease = excluded.lease,
		skills = excluded.skills, paused_by = excluded.paused_by, archived = excluded.archived`
	if !board.ValidSlug(p.Slug) {
		return fmt.Errorf("%w: %.40q cannot be a project's short name", board.ErrInvalid, p.Slug)
	}
	skills, err := listJSON(p.Skills)
	if err != nil {
		return err
	}
	_, err = t.exec(query, p.Slug, p.Name, p.Policy, span(p.Lease), skills, p.PausedBy, p.Archived)
	return err
}

// LockProject has nothing to do: only one transaction writes at a time.
func (t *tx) LockProject(slug string) error {
	_, err := t.projectID(slug)
	return err
}

// Numbers goes on after the highest number there is, whoever chose it.
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
		return 0, fmt.Errorf("%w: project %s has no %d numbers left", board.ErrInvalid, slug, n)
	}
	_, err = t.exec(take, no+int64(n), project)
	return no, err
}

// projectID finds a project's own number; ErrNotFound if there is none.
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

// projectIDs gives those that exist.
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

// inProjects bounds a query to the tasks of projects; nil means all.
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

// A task's number takes the lower bits of its id.
const noBits = 40

// idRange is the first and the last id that a project's tasks can have.
func idRange(project int64) (first, last int64) {
	return project << noBits, project<<noBits | board.MaxNo
}

// pack is a task's id as it is stored; the project must exist.
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

// packOrNull does the same for an id that may be zero.
func (r *reader) packOrNull(id board.ID) (any, error) {
	if id.IsZero() {
		return nil, nil
	}
	return r.pack(id)
}

// unpack is the id of a task in the project slug.
func unpack(slug string, id int64) board.ID { return board.ID{Project: slug, No: id & board.MaxNo} }
