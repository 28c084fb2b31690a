package sqlite

import (
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

// A lane is the tasks of a project that require the same set of skills. The hand-out reads
// the head of each lane, so their number is limited.
const maxLanes = 64

// lane returns the id of the lane of a set of skills, and creates it if necessary.
func (t *tx) lane(project int64, slug string, skills []string) (int64, error) {
	const find = `SELECT id FROM lanes WHERE project_id = ? AND skills = ?`
	const count = `SELECT count(*) FROM lanes WHERE project_id = ?`
	const open = `INSERT INTO lanes (project_id, skills) VALUES (?, ?) RETURNING id`
	if !slices.IsSorted(skills) {
		skills = slices.Sorted(slices.Values(skills))
	}
	set, err := listJSON(slices.Compact(slices.Clone(skills)))
	if err != nil {
		return 0, err
	}
	var id int64
	if err := t.get(find, []any{project, set}, &id); err != board.ErrNotFound {
		return id, err
	}
	var n int
	if err := t.get(count, []any{project}, &n); err != nil {
		return 0, err
	}
	if n >= maxLanes {
		return 0, fmt.Errorf("%w: the tasks of project %s already have %d different sets of skills, which is the limit; use one of them",
			board.ErrInvalid, slug, maxLanes)
	}
	err = t.get(open, []any{project, set}, &id)
	return id, err
}
