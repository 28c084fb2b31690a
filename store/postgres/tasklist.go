package postgres

import (
	"slices"

	"github.com/bossman-dev/bossman/board"
)

// A listing is a query for tasks by project and number. It reads the ids of candidates from
// a source, at most a page for each project, and then those tasks. So what it reads does not
// depend on how many tasks are over.
type listing struct {
	args []any // the first two are the limits of the list and of the candidates
	// with is a WITH clause. source selects ids of tasks t of a project p, in are more
	// conditions on these, and end follows them; out are conditions on the tasks that were
	// read, and projects those on p.
	with                           string
	source, in, end, out, projects where
}

// The sources. The conditions of each are those of an index; OFFSET 0 keeps the planner from
// using another one.
const (
	inProject  = `t.id >= p.id::bigint << 40 AND t.id < (p.id + 1)::bigint << 40`
	allTasks   = `SELECT t.id FROM tasks t WHERE ` + inProject
	openTasks  = allTasks + ` AND t.status NOT IN ('done', 'cancelled')`
	draftTasks = allTasks + isDraft
	// restingTasks are those that are ready first.
	restingTasks = `SELECT t.id FROM (SELECT t.* FROM tasks t WHERE (t.id >> 40)::int = p.id` + isResting + `
	ORDER BY t.not_before, t.id LIMIT 1000) t WHERE true`
	childTasks = `SELECT t.id FROM (SELECT t.* FROM tasks t WHERE true` + hasParent + ` OFFSET 0) t WHERE ` + inProject
	heldTasks  = `SELECT t.id FROM (SELECT c.task_id FROM claims c
	WHERE c.task_id >= p.id::bigint << 40 AND c.task_id < (p.id + 1)::bigint << 40 AND c.worker = $%d OFFSET 0) c
CROSS JOIN LATERAL (SELECT * FROM tasks t WHERE t.id = c.task_id OFFSET 0) t WHERE true`
	namedTasks = `SELECT t.id FROM unnest($%d::text[], $%d::bigint[]) v(slug, no)
CROSS JOIN LATERAL (SELECT * FROM tasks t WHERE t.id = p.id::bigint << 40 | v.no OFFSET 0) t WHERE v.slug = p.slug`
	// blockedTasks are the oldest of the tasks that wait for others.
	blockedTasks = `SELECT t.id FROM (SELECT t.* FROM tasks t WHERE ` + inProject + ` AND t.open_blockers > 0 AND t.status = 'pending'
	ORDER BY t.id LIMIT 1000) t WHERE true`
	// laneTasks reads each status of each lane.
	laneTasks = `SELECT x.id FROM lanes l CROSS JOIN unnest($%d::text[]) s(status) CROSS JOIN LATERAL (
	SELECT t.id FROM tasks t WHERE t.lane_id = l.id AND t.status = s.status`
	laneEnd = ` ORDER BY t.id LIMIT $2) x WHERE l.project_id = p.id`
	// readyTasks reads the ready tasks of each lane. It does not name their status: the planner would
	// take the share of pending tasks for that in all tasks, and read all ready ones. BETWEEN keeps it from the order of
	// the primary key: it would take the ready tasks of a lane for evenly spread, and read all finished ones before them.
	readyTasks = `SELECT x.id FROM lanes l CROSS JOIN LATERAL (SELECT t.id FROM tasks t WHERE t.lane_id BETWEEN l.id AND l.id AND t.ready`
	readyEnd   = ` ORDER BY t.lane_id, t.id LIMIT $2) x WHERE l.project_id = p.id`

	isDraft   = ` AND t.hold AND t.status = 'pending'`
	isResting = ` AND t.not_before IS NOT NULL AND t.status = 'pending'
		AND NOT t.hold AND t.open_blockers = 0 AND t.open_children = 0`
	hasParent = ` AND t.parent_id = (SELECT q.id::bigint << 40 | $%d::bigint FROM projects q WHERE q.slug = $%d)`
)

// Tasks lists tasks by project and number.
func (r *reader) Tasks(f board.TaskFilter) ([]board.Task, error) {
	if f.Query != "" {
		return r.search(f)
	}
	l := newListing(f)
	l.readFrom(f)
	return l.list(r)
}

// newListing returns a listing for a filter without its text. It has no source yet.
func newListing(f board.TaskFilter) *listing {
	const (
		status = ` AND t.status = ANY($%d)`
		skill  = ` AND $%d::text = ANY(t.skills)`
		ready  = ` AND t.ready`
		stuck  = ` AND t.open_blockers > 0 AND t.status = 'pending' AND EXISTS (SELECT FROM links k JOIN tasks b ON b.id = k.blocker_id
	WHERE k.task_id = t.id AND b.status IN ('failed', 'cancelled'))`
		ids      = ` AND (p.slug, t.id & ((1::bigint << 40) - 1)) IN (SELECT * FROM unnest($%d::text[], $%d::bigint[]))`
		worker   = ` AND EXISTS (SELECT FROM claims c WHERE c.task_id = t.id AND c.worker = $%d)`
		after    = ` AND t.id > CASE WHEN p.slug = $%d THEN p.id::bigint << 40 | $%d::bigint ELSE 0 END`
		from     = ` AND p.slug >= $%d`
		projects = ` AND p.slug = ANY($%d)`
	)
	l := &listing{args: []any{limitOf(f.Limit), limitOf(f.Limit)}}
	if f.Statuses != nil {
		l.in.add(&l.args, status, texts(f.Statuses))
	}
	if f.Skill != "" {
		l.in.add(&l.args, skill, f.Skill)
	}
	if f.Ready {
		l.in.add(&l.args, ready)
	}
	if f.Resting {
		l.in.add(&l.args, isResting)
	}
	if f.Hold {
		l.in.add(&l.args, isDraft)
	}
	if f.Stuck {
		l.in.add(&l.args, stuck)
	}
	if f.IDs != nil {
		slugs, nos := split(f.IDs)
		l.in.add(&l.args, ids, slugs, nos)
	}
	if f.Worker != "" {
		l.in.add(&l.args, worker, f.Worker)
	}
	if !f.Parent.IsZero() {
		l.in.add(&l.args, hasParent, no(f.Parent), f.Parent.Project)
	}
	if !f.After.IsZero() {
		l.in.add(&l.args, after, f.After.Project, f.After.No)
		l.projects.add(&l.args, from, f.After.Project)
	}
	if f.Projects != nil {
		l.projects.add(&l.args, projects, f.Projects)
	}
	return l
}

// readFrom chooses the source that has the fewest candidates.
func (l *listing) readFrom(f board.TaskFilter) {
	const skill = ` AND $%d::text = ANY(l.skills)`
	open := len(f.Statuses) == len(board.Open) && !hasTerminal(f.Statuses)
	switch {
	case f.IDs != nil:
		slugs, nos := split(f.IDs)
		l.source.add(&l.args, namedTasks, slugs, nos)
	case !f.Parent.IsZero():
		l.source.add(&l.args, childTasks, no(f.Parent), f.Parent.Project)
	case f.Worker != "":
		l.source.add(&l.args, heldTasks, f.Worker)
	case f.Resting:
		l.source.add(&l.args, restingTasks)
	case f.Hold:
		l.source.add(&l.args, draftTasks)
	case f.Stuck:
		l.source.add(&l.args, blockedTasks)
	case f.Ready:
		l.source.add(&l.args, readyTasks)
		l.end.add(&l.args, readyEnd)
		if f.Skill != "" {
			l.end.add(&l.args, skill, f.Skill)
		}
	case f.Skill != "" || f.Statuses != nil && !open:
		statuses := f.Statuses
		if statuses == nil {
			statuses = board.Statuses
		}
		l.source.add(&l.args, laneTasks, texts(statuses))
		l.end.add(&l.args, laneEnd)
		if f.Skill != "" {
			l.end.add(&l.args, skill, f.Skill)
		}
	case open:
		l.source.add(&l.args, openTasks)
	default:
		l.source.add(&l.args, allTasks)
	}
}

func (l *listing) list(r *reader) ([]board.Task, error) {
	const (
		head = `SELECT ` + taskColumns + ` FROM projects p CROSS JOIN LATERAL (`
		read = ` ORDER BY id LIMIT $2) c CROSS JOIN LATERAL (SELECT * FROM tasks t WHERE t.id = c.id OFFSET 0) t WHERE true`
		tail = ` ORDER BY p.slug, t.id LIMIT $1`
	)
	query := l.with + head + l.source.String() + l.in.String() + l.end.String() + read + l.out.String() + l.projects.String() + tail
	return list(r, scanTask, query, l.args...)
}

// Resting lists tasks that cool down or are reserved.
func (r *reader) Resting(projects []string, n int) ([]board.Task, error) {
	const query = `SELECT ` + taskColumns + ` FROM projects p CROSS JOIN LATERAL (
	SELECT t.* FROM tasks t WHERE (t.id >> 40)::int = p.id` + isResting + ` ORDER BY t.not_before, t.id LIMIT $2) t
WHERE p.slug = ANY($1) ORDER BY t.not_before, t.id LIMIT $2`
	return list(r, scanTask, query, projects, n)
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

func hasTerminal(statuses []board.Status) bool {
	return slices.ContainsFunc(statuses, board.Status.Terminal)
}
