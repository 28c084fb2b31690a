package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// A lane is the tasks of a project that require the same set of skills. The hand-out reads
// the head of each lane, so their number is limited.
const maxLanes = 64

// taskColumns are columns of projects p and tasks t.
const taskColumns = `p.slug, t.id, t.title, t.priority, t.skills, t.areas, t.wants, t.parent_id, t.hold,
	t.status, t.attempt, t.nonce, t.failures, t.max_failures, t.lease, t.spec_version,
	t.open_blockers, t.open_children, t.done_children, t.not_before, t.reserved_principal, t.reserved_worker,
	t.queued_at, t.seq, t.created_by, t.created_at, t.ended_at`

func scanTask(row pgx.CollectableRow) (board.Task, error) {
	t, _, err := scanTaskAnd(row)
	return t, err
}

// scanTaskAnd reads a task, and more columns after it.
func scanTaskAnd(row pgx.CollectableRow, more ...any) (t board.Task, key int64, err error) {
	var wants []string
	var parent *int64
	var principal, worker *string
	err = row.Scan(append([]any{
		&t.ID.Project, &key, &t.Title, (*int8)(&t.Priority), &t.Skills, &t.Areas, &wants, &parent, &t.Hold,
		(*string)(&t.Status), &t.Attempt, &t.Nonce, &t.Failures, &t.MaxFailures, &t.Lease, &t.SpecVersion,
		&t.OpenBlockers, &t.OpenChildren, &t.DoneChildren, stamp(&t.NotBefore), &principal, &worker,
		&t.QueuedAt, &t.Seq, &t.CreatedBy, &t.CreatedAt, stamp(&t.EndedAt),
	}, more...)...)
	if err != nil {
		return t, key, err
	}
	t.ID.No = number(key)
	trim(&t.Skills, &t.Areas)
	for _, w := range wants {
		t.Wants = append(t.Wants, board.EvidenceKind(w))
	}
	if parent != nil {
		t.Parent = board.ID{Project: t.ID.Project, No: number(*parent)}
	}
	if principal != nil && worker != nil {
		t.ReservedFor = board.WorkerID{Principal: *principal, Name: *worker}
	}
	return t, key, nil
}

const taskQuery = `SELECT ` + taskColumns + `
FROM projects p JOIN tasks t ON t.id = p.id::bigint << 40 | $2::bigint WHERE p.slug = $1`

// Task reads a task.
func (r *reader) Task(id board.ID) (board.Task, error) {
	t, err := one(r, scanTask, taskQuery, id.Project, no(id))
	return t, named(err, "task", id)
}

// A where collects conditions. They are constants, with %d in place of the numbers of their
// parameters.
type where struct{ strings.Builder }

func (w *where) add(args *[]any, condition string, values ...any) {
	numbers := make([]any, len(values))
	for i, v := range values {
		*args = append(*args, v)
		numbers[i] = len(*args)
	}
	if len(values) > 0 {
		condition = fmt.Sprintf(condition, numbers...)
	}
	w.WriteString(condition)
}

func limitOf(n int) int {
	if n <= 0 {
		return 1000
	}
	return n
}

// Lock reads tasks FOR UPDATE, in the order of their IDs.
func (t *tx) Lock(ids ...board.ID) ([]board.Task, error) {
	const query = `SELECT ` + taskColumns + `
FROM unnest($1::text[], $2::bigint[]) i(slug, no) JOIN projects p ON p.slug = i.slug
JOIN tasks t ON t.id = p.id::bigint << 40 | i.no ORDER BY p.slug, t.id FOR UPDATE OF t`
	var slugs []string
	var nos []int64
	seen := map[board.ID]bool{}
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			slugs, nos = append(slugs, id.Project), append(nos, no(id))
		}
	}
	tasks, err := list(&t.reader, scanTask, query, slugs, nos)
	if err != nil {
		return nil, err
	}
	if len(tasks) < len(seen) {
		for _, task := range tasks {
			delete(seen, task.ID)
		}
		for id := range seen {
			return nil, notFound("task", id)
		}
	}
	return tasks, nil
}

// taskValues are the parameters of InsertTask and UpdateTask, from $1.
func taskValues(t board.Task) []any {
	wants := make([]string, len(t.Wants))
	for i, w := range t.Wants {
		wants[i] = string(w)
	}
	var principal, worker *string
	if !t.ReservedFor.IsZero() {
		principal, worker = &t.ReservedFor.Principal, &t.ReservedFor.Name
	}
	var parent *int64
	if !t.Parent.IsZero() {
		parent = new(no(t.Parent))
	}
	return []any{
		t.ID.Project, no(t.ID), orEmpty(t.Skills),
		string(t.Status), t.Ready(), t.Hold, int16(t.Priority), t.QueuedAt, *stamp(&t.NotBefore), principal, worker,
		t.OpenBlockers, t.OpenChildren, t.DoneChildren, t.Attempt, t.Nonce, t.Failures, t.MaxFailures, t.Lease, t.SpecVersion, t.Seq,
		parent, orEmpty(t.Areas), ancestors(t.Areas), wants, t.Title, *stamp(&t.EndedAt),
	}
}

// taskNames are the columns that taskValues has values for, and taskNumbers their
// parameters. lane is the subquery that finds the task's lane.
const (
	taskNames = `lane_id, skills, status, ready, hold, priority, queued_at, not_before, reserved_principal, reserved_worker,
	open_blockers, open_children, done_children, attempt, nonce, failures, max_failures, lease, spec_version, seq,
	parent_id, areas, area_up, wants, title, ended_at`
	taskNumbers = `lane.id, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
	lane.project_id::bigint << 40 | $22::bigint, $23, $24, $25, $26, $27`
	lane = `(SELECT l.id, l.project_id FROM projects p JOIN lanes l ON l.project_id = p.id
	WHERE p.slug = $1 AND l.skills = $3::text[]) lane`
)

// InsertTask stores a new task.
func (t *tx) InsertTask(task board.Task, d board.Doc) error {
	const query = `
WITH t AS (
	INSERT INTO tasks (id, ` + taskNames + `, created_by, created_at)
	SELECT lane.project_id::bigint << 40 | $2::bigint, ` + taskNumbers + `, $28, $29 FROM ` + lane + ` RETURNING id)
INSERT INTO task_docs (task_id, description, acceptance, result) SELECT t.id, $30, $31, $32::text::json FROM t`
	result, err := encodeResult(d.Result)
	if err != nil {
		return err
	}
	args := append(taskValues(task), task.CreatedBy, task.CreatedAt, d.Description, d.Acceptance, result)
	return t.inLane(task, notFound("project", task.ID.Project), query, args)
}

// UpdateTask writes a task that is at seq.
func (t *tx) UpdateTask(task board.Task, seq int64) error {
	const query = `UPDATE tasks t SET (` + taskNames + `) = ROW(` + taskNumbers + `) FROM ` + lane + `
WHERE t.id = lane.project_id::bigint << 40 | $2::bigint AND t.seq = $28`
	conflict := fmt.Errorf("%w: task %v is no longer at event %d", board.ErrConflict, task.ID, seq)
	return t.inLane(task, conflict, query, append(taskValues(task), seq))
}

// inLane runs a statement that uses the task's lane, and creates the lane if it does not
// exist.
func (t *tx) inLane(task board.Task, missing error, query string, args []any) error {
	n, err := t.exec(query, args...)
	if err != nil || n > 0 {
		return err
	}
	const (
		insert = `
INSERT INTO lanes (project_id, skills) SELECT p.id, $2 FROM projects p
WHERE p.slug = $1 AND (SELECT count(*) FROM lanes l WHERE l.project_id = p.id) < $3 ON CONFLICT DO NOTHING`
		exists = `SELECT EXISTS (SELECT FROM projects p JOIN lanes l ON l.project_id = p.id WHERE p.slug = $1 AND l.skills = $2)`
		count  = `SELECT count(*) FROM projects p JOIN lanes l ON l.project_id = p.id WHERE p.slug = $1`
	)
	made, err := t.exec(insert, task.ID.Project, orEmpty(task.Skills), maxLanes)
	if err != nil {
		return err
	}
	if made == 0 {
		there, err := one(&t.reader, pgx.RowTo[bool], exists, task.ID.Project, orEmpty(task.Skills))
		if err != nil {
			return err
		}
		if !there {
			n, err := one(&t.reader, pgx.RowTo[int], count, task.ID.Project)
			if err == nil && n >= maxLanes {
				err = fmt.Errorf("%w: the tasks of project %s already have %d different sets of skills, which is the limit",
					board.ErrConflict, task.ID.Project, n)
			}
			if err == nil {
				err = missing
			}
			return err
		}
	}
	return t.write(missing, query, args...)
}

func scanDoc(row pgx.CollectableRow) (d board.Doc, err error) {
	err = row.Scan(&d.Description, &d.Acceptance, resultInto{&d.Result})
	return d, err
}

const docQuery = `SELECT description, acceptance, result::text FROM task_docs WHERE task_id = ` + taskID

// Doc reads a task's longer texts.
func (t *tx) Doc(id board.ID) (board.Doc, error) {
	d, err := one(&t.reader, scanDoc, docQuery, id.Project, no(id))
	return d, named(err, "task", id)
}

// PutDoc writes a task's longer texts.
func (t *tx) PutDoc(id board.ID, d board.Doc) error {
	const query = `UPDATE task_docs SET description = $3, acceptance = $4, result = $5::text::json WHERE task_id = ` + taskID
	result, err := encodeResult(d.Result)
	if err != nil {
		return err
	}
	return t.write(notFound("task", id), query, id.Project, no(id), d.Description, d.Acceptance, result)
}

func encodeResult(r *board.Result) (*string, error) {
	if r == nil {
		return nil, nil
	}
	s, err := encode(r)
	return &s, err
}

// resultInto scans a result. NULL becomes nil.
type resultInto struct{ dest **board.Result }

func (r resultInto) Scan(src any) error {
	if src == nil {
		return nil
	}
	*r.dest = &board.Result{}
	return jsonInto{*r.dest}.Scan(src)
}

// Links returns a task's blockers and dependents.
func (t *tx) Links(id board.ID) (blockers, dependents []board.ID, err error) {
	const query = `
SELECT true, blocker_id FROM links WHERE task_id = ` + taskID + `
UNION ALL SELECT false, task_id FROM links WHERE blocker_id = ` + taskID + ` ORDER BY 2`
	type link struct {
		blocker bool
		key     int64
	}
	links, err := list(&t.reader, func(row pgx.CollectableRow) (l link, err error) {
		err = row.Scan(&l.blocker, &l.key)
		return l, err
	}, query, id.Project, no(id))
	for _, l := range links {
		other := board.ID{Project: id.Project, No: number(l.key)}
		if l.blocker {
			blockers = append(blockers, other)
		} else {
			dependents = append(dependents, other)
		}
	}
	return blockers, dependents, err
}

// Link records that task depends on blocker, in the same project.
func (t *tx) Link(task, blocker board.ID) error {
	const query = `
INSERT INTO links (task_id, blocker_id) SELECT p.id::bigint << 40 | $2::bigint, p.id::bigint << 40 | $3::bigint
FROM projects p WHERE p.slug = $1 ON CONFLICT (task_id, blocker_id) DO UPDATE SET inherited = false`
	_, err := t.exec(query, task.Project, no(task), no(blocker))
	return err
}

// Inherit is Link for a link that a task has because its parent has it.
func (t *tx) Inherit(task, blocker board.ID) error {
	const query = `
INSERT INTO links (task_id, blocker_id, inherited) SELECT p.id::bigint << 40 | $2::bigint, p.id::bigint << 40 | $3::bigint, true
FROM projects p WHERE p.slug = $1 ON CONFLICT DO NOTHING`
	_, err := t.exec(query, task.Project, no(task), no(blocker))
	return err
}

// Inherited returns the tasks that a task depends on because its parent does.
func (t *tx) Inherited(id board.ID) ([]board.ID, error) {
	const query = `SELECT blocker_id FROM links WHERE inherited AND task_id = ` + taskID + ` ORDER BY 1`
	return list(&t.reader, func(row pgx.CollectableRow) (board.ID, error) {
		var key int64
		err := row.Scan(&key)
		return board.ID{Project: id.Project, No: number(key)}, err
	}, query, id.Project, no(id))
}

// Unlink removes that.
func (t *tx) Unlink(task, blocker board.ID) error {
	const query = `
DELETE FROM links l USING projects p
WHERE p.slug = $1 AND l.task_id = p.id::bigint << 40 | $2::bigint AND l.blocker_id = p.id::bigint << 40 | $3::bigint`
	_, err := t.exec(query, task.Project, no(task), no(blocker))
	return err
}

// Due locks pending tasks whose NotBefore has passed, and those that are reserved for a
// worker that is not connected.
func (t *tx) Due(limit int) ([]board.Task, error) {
	const query = `SELECT ` + taskColumns + `
FROM tasks t JOIN projects p ON p.id = (t.id >> 40)::int
WHERE t.id IN (
	SELECT id FROM tasks WHERE not_before <= statement_timestamp() AND status = 'pending'
	UNION ALL SELECT r.id FROM tasks r WHERE ` + abandoned + `)
AND t.status = 'pending' AND (t.not_before <= statement_timestamp() OR t.reserved_worker IS NOT NULL)
ORDER BY t.not_before LIMIT $1 FOR UPDATE OF t SKIP LOCKED`
	tasks, err := list(&t.reader, scanTask, query, limit)
	slices.SortFunc(tasks, byID)
	return tasks, err
}

func byID(a, b board.Task) int {
	if c := strings.Compare(a.ID.Project, b.ID.Project); c != 0 {
		return c
	}
	return int(a.ID.No - b.ID.No)
}
