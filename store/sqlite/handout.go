package sqlite

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A hand-out considers window ready tasks, and perClaim more for each claimant.
const (
	window   = 16
	perClaim = 4
)

// A candidate is a ready task that fits the claimants.
type candidate struct {
	id       int64
	priority int
	queued   int64
	areas    []string
	taken    bool
}

// An openProject is a project that can be handed out from, with the lanes that fit the
// claimants and have ready tasks.
type openProject struct {
	id    int64
	slug  string
	lease time.Duration
	lanes []int64
}

func (t *tx) Claim(w board.Want) ([]board.Claim, error) {
	projects, err := t.fitting(w)
	if err != nil || len(projects) == 0 {
		return nil, err
	}
	declined, err := t.declined(w.For)
	if err != nil {
		return nil, err
	}
	rand.Shuffle(len(projects), func(i, j int) { projects[i], projects[j] = projects[j], projects[i] })
	var claims []board.Claim
	waiting := slices.Clone(w.For)
	for _, p := range projects {
		limit := window + perClaim*len(waiting) + declined.count
		var given []board.Claim
		if given, waiting, err = t.handOut(p, waiting, declined, limit, cmp.Or(p.lease, w.Lease)); err != nil {
			return nil, err
		}
		claims = append(claims, given...)
		if len(waiting) == 0 {
			break
		}
	}
	return claims, nil
}

// fitting returns the projects with ready tasks that fit the claimants.
func (r *reader) fitting(w board.Want) ([]openProject, error) {
	if len(w.For) == 0 {
		return nil, nil
	}
	var projects []openProject
	for _, slug := range slices.Compact(slices.Sorted(slices.Values(w.Projects))) {
		p, err := r.openProject(slug, w.Skills)
		if err != nil {
			return nil, err
		}
		if len(p.lanes) > 0 {
			projects = append(projects, p)
		}
	}
	return projects, nil
}

// openProject returns a project with its lanes that have ready tasks and require no other
// skills than the given ones; nil fits all.
func (r *reader) openProject(slug string, skills []string) (openProject, error) {
	const query = `SELECT p.id, p.lease, l.id, l.skills FROM projects p CROSS JOIN lanes l ON l.project_id = p.id
		WHERE p.slug = ? AND p.paused_by = '' AND NOT p.archived
		AND EXISTS (SELECT 1 FROM tasks t INDEXED BY tasks_ready WHERE t.lane_id = l.id AND t.ready)`
	p := openProject{slug: slug}
	err := r.each(query, []any{slug}, func(scan scan) error {
		var lease, lane int64
		var set string
		if err := scan(&p.id, &lease, &lane, &set); err != nil {
			return err
		}
		p.lease = toDuration(lease)
		wanted, err := listFromJSON[string](set)
		if err != nil {
			return err
		}
		if skills == nil || !slices.ContainsFunc(wanted, func(s string) bool { return !slices.Contains(skills, s) }) {
			p.lanes = append(p.lanes, lane)
		}
		return nil
	})
	return p, err
}

// handOut grants each claimant a task of the project while there are any. It also returns
// the claimants that got none.
func (t *tx) handOut(p openProject, waiting []board.Claimant, declined declines, limit int, lease time.Duration) ([]board.Claim, []board.Claimant, error) {
	tasks, err := t.candidates(p.lanes, limit)
	if err != nil {
		return nil, nil, err
	}
	busy, err := t.busyAreas(p, tasks)
	if err != nil {
		return nil, nil, err
	}
	var claims []board.Claim
	var rest []board.Claimant
	for _, c := range waiting {
		pick := best(tasks, busy, func(id int64) bool { return !declined.has(c.Worker, id) })
		if pick == nil {
			rest = append(rest, c)
			continue
		}
		id := unpack(p.slug, pick.id)
		task, err := t.task(pick.id, id)
		if err != nil {
			return nil, nil, err
		}
		claim, err := board.Grant(t, task, c, lease)
		if errors.Is(err, board.ErrConflict) {
			continue // it has a claim already, or was stopped
		}
		if err != nil {
			return nil, nil, err
		}
		pick.taken = true
		busy.add(task.Areas)
		claims = append(claims, claim)
	}
	return claims, rest, nil
}

// candidates returns the first ready tasks of the lanes, by priority and age.
func (t *tx) candidates(lanes []int64, limit int) ([]candidate, error) {
	const query = `SELECT id, priority, queued_at, areas FROM tasks INDEXED BY tasks_ready WHERE lane_id = ? AND ready
		ORDER BY priority, queued_at, id LIMIT ?`
	var list []candidate
	for _, lane := range lanes {
		if err := t.each(query, []any{lane, limit}, func(scan scan) error {
			var c candidate
			var areas string
			if err := scan(&c.id, &c.priority, &c.queued, &areas); err != nil {
				return err
			}
			var err error
			c.areas, err = listFromJSON[string](areas)
			list = append(list, c)
			return err
		}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.queued, b.queued), cmp.Compare(a.id, b.id))
	})
	return list[:min(len(list), limit)], nil
}

// best returns the first of the ordered tasks that is not taken and fits. Within a
// priority it prefers one whose areas do not overlap those of live claims.
func best(tasks []candidate, busy areas, fits func(id int64) bool) *candidate {
	var second *candidate
	for i := range tasks {
		c := &tasks[i]
		if second != nil && c.priority != second.priority {
			break
		}
		if c.taken || !fits(c.id) {
			continue
		}
		if !busy.overlap(c.areas) {
			return c
		}
		if second == nil {
			second = c
		}
	}
	return second
}

// busyAreas returns the areas of a project's live claims, if any of the tasks has areas.
func (t *tx) busyAreas(p openProject, tasks []candidate) (areas, error) {
	const query = `SELECT areas FROM claims WHERE task_id BETWEEN ? AND ? AND areas <> '[]'`
	busy := newAreas()
	if !slices.ContainsFunc(tasks, func(c candidate) bool { return len(c.areas) > 0 }) {
		return busy, nil
	}
	first, last := idRange(p.id)
	err := t.each(query, []any{first, last}, func(scan scan) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		paths, err := listFromJSON[string](text)
		busy.add(paths)
		return err
	})
	return busy, err
}
