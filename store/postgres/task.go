package postgres

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// A lane is the tasks of a project that require the same set of skills. The hand-out reads
// the head of each lane, so their number is limited.
const maxLanes = 64

// taskColumns are columns of projects p and tasks t.
const taskColumns = `p.slug, t.id, t.title, t.priority, t.skills, t.areas, t.wants, t.parent_id, t.redoes, t.hold,
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
	var parent, redoes *int64
	var principal, worker *string
	err = row.Scan(append([]any{
		&t.ID.Project, &key, &t.Title, (*int8)(&t.Priority), &t.Skills, &t.Areas, &wants, &parent, &redoes, &t.Hold,
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
	if redoes != nil {
		t.Redoes = board.ID{Project: t.ID.Project, No: number(*redoes)}
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

// Task reads a task.
func (t *tx) Task(id board.ID) (board.Task, error) {
	if task, ok := t.known.tasks[id]; ok {
		return copied(task), nil
	}
	return t.reader.Task(id)
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

// lockQuery locks tasks in the order of their IDs. What else is read about them is read by
// later statements: a statement that has waited for a lock sees the rows that it locks as
// they are now, and those that it joins as they were before.
const lockQuery = `SELECT ` + lockedColumns + `
FROM unnest($1::text[], $2::bigint[]) i(slug, no) JOIN projects p ON p.slug = i.slug
JOIN tasks t ON t.id = p.id::bigint << 40 | i.no ORDER BY p.slug, t.id FOR UPDATE OF t`

// lockOneQuery is lockQuery for one task.
const lockOneQuery = `SELECT ` + lockedColumns + `
FROM projects p JOIN tasks t ON t.id = p.id::bigint << 40 | $2::bigint WHERE p.slug = $1 FOR UPDATE OF t`

// batchLockTasks adds lockQuery.
func (t *tx) batchLockTasks(b *batch, ids []board.ID) {
	if len(ids) == 1 {
		t.batchLock(b, lockOneQuery, ids[0].Project, no(ids[0]))
	} else {
		t.batchLock(b, lockQuery, lockArgs(ids)...)
	}
}

// lockArgs returns the parameters of lockQuery.
func lockArgs(ids []board.ID) []any {
	slugs, nos := make([]string, len(ids)), make([]int64, len(ids))
	for i, id := range ids {
		slugs[i], nos[i] = id.Project, no(id)
	}
	return []any{slugs, nos}
}

// Lock reads tasks FOR UPDATE, in the order of their IDs.
func (t *tx) Lock(ids ...board.ID) ([]board.Task, error) {
	var missing []board.ID
	for _, id := range ids {
		if _, ok := t.known.tasks[id]; !ok && !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		var b batch
		t.batchLockTasks(&b, missing)
		t.batchMoment(&b)
		if err := t.send(&b); err != nil {
			return nil, err
		}
	}
	locked := map[board.ID]board.Task{}
	for _, id := range ids {
		task, ok := t.known.tasks[id]
		if !ok {
			return nil, notFound("task", id)
		}
		locked[id] = copied(task)
	}
	return slices.SortedFunc(maps.Values(locked), byID), nil
}

// taskValues are the parameters of InsertTask and UpdateTask, from $1.
func (t *tx) taskValues(task board.Task) ([]any, error) {
	key, err := t.key(task.ID)
	if err != nil {
		return nil, err
	}
	lane, err := t.lane(task)
	if err != nil {
		return nil, err
	}
	wants := make([]string, len(task.Wants))
	for i, w := range task.Wants {
		wants[i] = string(w)
	}
	var principal, worker *string
	if !task.ReservedFor.IsZero() {
		principal, worker = &task.ReservedFor.Principal, &task.ReservedFor.Name
	}
	var parent *int64
	if !task.Parent.IsZero() {
		parent = new(key>>40<<40 | no(task.Parent))
	}
	return []any{
		key, lane, orEmpty(task.Skills),
		string(task.Status), task.Ready(), task.Hold, int16(task.Priority), task.QueuedAt, *stamp(&task.NotBefore), principal, worker,
		task.OpenBlockers, task.OpenChildren, task.DoneChildren, task.Attempt, task.Nonce, task.Failures, task.MaxFailures, task.Lease, task.SpecVersion, task.Seq,
		parent, orEmpty(task.Areas), ancestors(task.Areas), wants, task.Title, *stamp(&task.EndedAt),
	}, nil
}

// taskNames are the columns that taskValues has values for after the id, and taskNumbers
// their parameters.
const (
	taskNames = `lane_id, skills, status, ready, hold, priority, queued_at, not_before, reserved_principal, reserved_worker,
	open_blockers, open_children, done_children, attempt, nonce, failures, max_failures, lease, spec_version, seq,
	parent_id, areas, area_up, wants, title, ended_at`
	taskNumbers = `$2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27`
)

// InsertTask stores a new task.
func (t *tx) InsertTask(task board.Task, d board.Doc) error {
	const query = `
WITH t AS (INSERT INTO tasks (id, ` + taskNames + `, created_by, created_at, redoes) VALUES ($1, ` + taskNumbers + `, $28, $29, $33))
INSERT INTO task_docs (task_id, description, acceptance, result) VALUES ($1, $30, $31, $32::text::json)`
	result, err := encodeResult(d.Result)
	if err != nil {
		return err
	}
	values, err := t.taskValues(task)
	if err != nil {
		return err
	}
	var redoes *int64
	if !task.Redoes.IsZero() {
		redoes = new(values[0].(int64)>>40<<40 | no(task.Redoes))
	}
	t.later(query, append(values, task.CreatedBy, task.CreatedAt, d.Description, d.Acceptance, result, redoes)...)
	return nil
}

// UpdateTask writes a task that is at seq.
func (t *tx) UpdateTask(task board.Task, seq int64) error {
	const (
		touch  = mustBegin + `UPDATE tasks SET seq = $2 WHERE id = $1 AND seq = $3` + mustEnd
		update = mustBegin + `UPDATE tasks SET (` + taskNames + `) = ROW(` + taskNumbers + `) WHERE id = $1 AND seq = $28` + mustEnd
	)
	conflict := fmt.Errorf("%w: task %v is no longer at event %d", board.ErrConflict, task.ID, seq)
	old, ok := t.known.tasks[task.ID]
	if ok {
		t.known.tasks[task.ID] = copied(task)
	}
	if old.Seq = task.Seq; ok && reflect.DeepEqual(old, task) {
		key, err := t.key(task.ID)
		if err != nil {
			return err
		}
		t.touched = t.must(conflict, touch, key, task.Seq, seq)
		return nil
	}
	values, err := t.taskValues(task)
	if err != nil {
		return err
	}
	t.must(conflict, update, append(values, seq)...)
	return nil
}

// lane returns the row id of a task's lane, and creates the lane if it does not exist.
func (t *tx) lane(task board.Task) (int, error) {
	const (
		query  = `SELECT id FROM lanes WHERE project_id = $1 AND skills = $2`
		insert = `
INSERT INTO lanes (project_id, skills) SELECT $1, $2
WHERE (SELECT count(*) FROM lanes WHERE project_id = $1) < $3 ON CONFLICT DO NOTHING`
		count = `SELECT count(*) FROM lanes WHERE project_id = $1`
	)
	slug := task.ID.Project
	name := laneKey(slug, task.Skills)
	if id, ok := t.known.lanes[name]; ok {
		return id, nil
	}
	project, err := t.projectID(slug)
	if err != nil {
		return 0, err
	}
	id, err := one(&t.reader, pgx.RowTo[int], query, project, orEmpty(task.Skills))
	if errors.Is(err, board.ErrNotFound) {
		if _, err := t.exec(insert, project, orEmpty(task.Skills), maxLanes); err != nil {
			return 0, err
		}
		id, err = one(&t.reader, pgx.RowTo[int], query, project, orEmpty(task.Skills))
	}
	if errors.Is(err, board.ErrNotFound) {
		n, err := one(&t.reader, pgx.RowTo[int], count, project)
		if err == nil {
			err = fmt.Errorf("%w: the tasks of project %s already have %d different sets of skills, which is the limit", board.ErrConflict, slug, n)
		}
		return 0, err
	}
	if err != nil {
		return 0, err
	}
	t.known.lanes[name] = id
	return id, nil
}

func scanDoc(row pgx.CollectableRow) (d board.Doc, err error) {
	err = row.Scan(&d.Description, &d.Acceptance, resultInto{&d.Result})
	return d, err
}

const docQuery = `SELECT description, acceptance, result::text FROM task_docs WHERE task_id = ` + taskID

// Doc reads a task's longer texts.
func (t *tx) Doc(id board.ID) (board.Doc, error) {
	if d, ok := t.known.docs[id]; ok {
		return d, nil
	}
	d, err := one(&t.reader, scanDoc, docQuery, id.Project, no(id))
	return d, named(err, "task", id)
}

// PutDoc writes a task's longer texts.
func (t *tx) PutDoc(id board.ID, d board.Doc) error {
	const (
		all  = mustBegin + `UPDATE task_docs SET result = $2::text::json, description = $3, acceptance = $4 WHERE task_id = $1` + mustEnd
		some = mustBegin + `UPDATE task_docs SET result = $2::text::json WHERE task_id = $1` + mustEnd
	)
	result, err := encodeResult(d.Result)
	if err != nil {
		return err
	}
	key, err := t.key(id)
	if err != nil {
		return err
	}
	old, ok := t.known.docs[id]
	if ok {
		t.known.docs[id] = d
	}
	if ok && old.Description == d.Description && old.Acceptance == d.Acceptance {
		t.must(notFound("task", id), some, key, result)
	} else {
		t.must(notFound("task", id), all, key, result, d.Description, d.Acceptance)
	}
	return nil
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

// linksQuery returns a task's blockers and dependents.
const linksQuery = `
SELECT true, blocker_id FROM links WHERE task_id = ` + taskID + `
UNION ALL SELECT false, task_id FROM links WHERE blocker_id = ` + taskID + ` ORDER BY 2`

// scan adds a row of linksQuery.
func (l *links) scan(slug string) func(pgx.CollectableRow) error {
	return func(row pgx.CollectableRow) error {
		var blocker bool
		var key int64
		if err := row.Scan(&blocker, &key); err != nil {
			return err
		}
		other := board.ID{Project: slug, No: number(key)}
		if blocker {
			l.blockers = append(l.blockers, other)
		} else {
			l.dependents = append(l.dependents, other)
		}
		return nil
	}
}

// Links returns a task's blockers and dependents.
func (t *tx) Links(id board.ID) (blockers, dependents []board.ID, err error) {
	l, ok := t.known.links[id]
	if !ok {
		var b batch
		batchEach(&b, l.scan(id.Project), linksQuery, id.Project, no(id))
		err = t.send(&b)
	}
	return slices.Clone(l.blockers), slices.Clone(l.dependents), err
}

// Link records that task depends on blocker, in the same project.
func (t *tx) Link(task, blocker board.ID) error {
	const query = `INSERT INTO links (task_id, blocker_id) VALUES ($1, $2) ON CONFLICT (task_id, blocker_id) DO UPDATE SET inherited = false`
	return t.link(query, task, blocker)
}

// Inherit is Link for a link that a task has because its parent has it.
func (t *tx) Inherit(task, blocker board.ID) error {
	const query = `INSERT INTO links (task_id, blocker_id, inherited) VALUES ($1, $2, true) ON CONFLICT DO NOTHING`
	return t.link(query, task, blocker)
}

// Unlink removes that.
func (t *tx) Unlink(task, blocker board.ID) error {
	const query = `DELETE FROM links WHERE task_id = $1 AND blocker_id = $2`
	return t.link(query, task, blocker)
}

// link queues a statement that changes a link.
func (t *tx) link(query string, task, blocker board.ID) error {
	clear(t.known.links)
	key, err := t.key(task)
	if err != nil {
		return err
	}
	t.later(query, key, key>>40<<40|no(blocker))
	return nil
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

// Due locks pending tasks whose NotBefore has passed, and those that are reserved for a
// worker that is not connected.
func (t *tx) Due(limit int) ([]board.Task, error) {
	const query = `SELECT ` + lockedColumns + `
FROM tasks t JOIN projects p ON p.id = (t.id >> 40)::int
WHERE t.id IN (
	SELECT id FROM tasks WHERE not_before <= statement_timestamp() AND status = 'pending'
	UNION ALL SELECT r.id FROM tasks r WHERE ` + abandoned + `)
AND t.status = 'pending' AND (t.not_before <= statement_timestamp() OR t.reserved_worker IS NOT NULL)
ORDER BY t.not_before LIMIT $1 FOR UPDATE OF t SKIP LOCKED`
	tasks, err := list(&t.reader, t.scanLocked, query, limit)
	slices.SortFunc(tasks, byID)
	return tasks, err
}

func byID(a, b board.Task) int {
	if c := strings.Compare(a.ID.Project, b.ID.Project); c != 0 {
		return c
	}
	return int(a.ID.No - b.ID.No)
}
