package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// taskColumns and taskTables begin a query for tasks. The joins are CROSS joins so that
// SQLite looks up the lane and the project of each task, and not the reverse.
const (
	taskColumns = `SELECT p.slug, t.id, t.title, t.priority, l.skills, t.areas, t.wants, t.parent_id, t.redoes, t.hold, t.status, t.attempt, t.nonce,
		t.failures, t.max_failures, t.lease, t.spec_version, t.open_blockers, t.open_children, t.done_children, t.not_before,
		t.reserved_principal, t.reserved_name, t.queued_at, t.seq, t.created_by, t.created_at, t.ended_at`
	taskTables = ` FROM tasks t CROSS JOIN lanes l ON l.id = t.lane_id CROSS JOIN projects p ON p.id = l.project_id`
)

// scanTask reads taskColumns, and more columns after them.
func scanTask(scan scan, more ...any) (board.Task, error) {
	var t board.Task
	var id, lease, queued, created int64
	var parent, redoes, notBefore, ended *int64
	var skills, areas, wants string
	var principal, name *string
	if err := scan(append([]any{
		&t.ID.Project, &id, &t.Title, &t.Priority, &skills, &areas, &wants, &parent, &redoes, &t.Hold, &t.Status, &t.Attempt, &t.Nonce,
		&t.Failures, &t.MaxFailures, &lease, &t.SpecVersion, &t.OpenBlockers, &t.OpenChildren, &t.DoneChildren, &notBefore,
		&principal, &name, &queued, &t.Seq, &t.CreatedBy, &created, &ended,
	}, more...)...); err != nil {
		return t, err
	}
	t.ID = unpack(t.ID.Project, id)
	if parent != nil {
		t.Parent = unpack(t.ID.Project, *parent)
	}
	if redoes != nil {
		t.Redoes = unpack(t.ID.Project, *redoes)
	}
	if name != nil {
		t.ReservedFor = board.WorkerID{Principal: *principal, Name: *name}
	}
	t.Lease = toDuration(lease)
	t.NotBefore, t.EndedAt = fromNullTime(notBefore), fromNullTime(ended)
	t.QueuedAt, t.CreatedAt = fromMicros(queued), fromMicros(created)
	var err1, err2, err3 error
	t.Skills, err1 = listFromJSON[string](skills)
	t.Areas, err2 = listFromJSON[string](areas)
	t.Wants, err3 = listFromJSON[board.EvidenceKind](wants)
	return t, errors.Join(err1, err2, err3)
}

func (r *reader) Task(id board.ID) (board.Task, error) {
	packed, err := r.pack(id)
	if err != nil {
		return board.Task{}, err
	}
	return r.task(packed, id)
}

func (r *reader) task(packed int64, id board.ID) (board.Task, error) {
	const query = taskColumns + taskTables + ` WHERE t.id = ?`
	tasks, err := r.tasks(query, packed)
	if err == nil && len(tasks) == 0 {
		err = fmt.Errorf("%w: task %v", board.ErrNotFound, id)
	}
	if err != nil {
		return board.Task{}, err
	}
	return tasks[0], nil
}

// tasks runs a constant query that begins with taskColumns.
func (r *reader) tasks(query string, args ...any) ([]board.Task, error) {
	var list []board.Task
	err := r.each(query, args, func(scan scan) error {
		t, err := scanTask(scan)
		list = append(list, t)
		return err
	})
	return list, err
}

// Lock only reads, because there is one writer at a time.
func (t *tx) Lock(ids ...board.ID) ([]board.Task, error) {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b board.ID) int {
		return cmp.Or(strings.Compare(a.Project, b.Project), cmp.Compare(a.No, b.No))
	})
	var list []board.Task
	for _, id := range slices.Compact(ids) {
		task, err := t.Task(id)
		if err != nil {
			return nil, err
		}
		list = append(list, task)
	}
	return list, nil
}

func (t *tx) InsertTask(task board.Task, d board.Doc) error {
	const query = `INSERT INTO tasks (lane_id, status, ready, priority, queued_at, hold, open_blockers, open_children, done_children, not_before,
		reserved_principal, reserved_name, attempt, nonce, failures, max_failures, lease, spec_version, seq, parent_id, title, areas, wants,
		ended_at, id, created_by, created_at, redoes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	id, values, err := t.taskValues(task)
	if err != nil {
		return err
	}
	redoes, err := t.packOrNull(task.Redoes)
	if err != nil {
		return err
	}
	_, err = t.exec(query, append(values, id, task.CreatedBy, task.CreatedAt.UnixMicro(), redoes)...)
	if isDuplicate(err) {
		return fmt.Errorf("%w: task %v exists already", board.ErrConflict, task.ID)
	}
	if err != nil {
		return err
	}
	return t.putDoc(id, d)
}

func (t *tx) UpdateTask(task board.Task, seq int64) error {
	const query = `UPDATE tasks SET lane_id = ?, status = ?, ready = ?, priority = ?, queued_at = ?, hold = ?, open_blockers = ?,
		open_children = ?, done_children = ?, not_before = ?, reserved_principal = ?, reserved_name = ?, attempt = ?, nonce = ?,
		failures = ?, max_failures = ?, lease = ?, spec_version = ?, seq = ?, parent_id = ?, title = ?, areas = ?, wants = ?,
		ended_at = ? WHERE id = ? AND seq = ?`
	id, values, err := t.taskValues(task)
	if err != nil {
		return err
	}
	n, err := t.exec(query, append(values, id, seq)...)
	if err != nil || n == 1 {
		return err
	}
	now, err := t.task(id, task.ID)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: task %v has changed: it is at event %d, but was read at %d", board.ErrConflict, task.ID, now.Seq, seq)
}

// taskValues returns the row id, and the values of the columns that both statements write,
// in their order.
func (t *tx) taskValues(task board.Task) (int64, []any, error) {
	id, err := t.pack(task.ID)
	if err != nil {
		return 0, nil, err
	}
	lane, err := t.lane(id>>noBits, task.ID.Project, task.Skills)
	if err != nil {
		return 0, nil, err
	}
	parent, err := t.packOrNull(task.Parent)
	if err != nil {
		return 0, nil, err
	}
	areas, err1 := listJSON(task.Areas)
	wants, err2 := listJSON(task.Wants)
	if err := errors.Join(err1, err2); err != nil {
		return 0, nil, err
	}
	var principal, name any
	if w := task.ReservedFor; !w.IsZero() {
		principal, name = w.Principal, w.Name
	}
	return id, []any{
		lane, task.Status, task.Ready(), int64(task.Priority), task.QueuedAt.UnixMicro(), task.Hold, task.OpenBlockers,
		task.OpenChildren, task.DoneChildren, nullTime(task.NotBefore), principal, name, task.Attempt, task.Nonce,
		task.Failures, task.MaxFailures, micros(task.Lease), task.SpecVersion, task.Seq, parent, task.Title, areas, wants,
		nullTime(task.EndedAt),
	}, nil
}

func (t *tx) Doc(id board.ID) (board.Doc, error) {
	packed, err := t.pack(id)
	if err != nil {
		return board.Doc{}, err
	}
	return t.doc(packed, id)
}

func (r *reader) doc(packed int64, id board.ID) (board.Doc, error) {
	const query = `SELECT description, acceptance, result FROM task_docs WHERE task_id = ?`
	var d board.Doc
	var result *string
	err := r.get(query, []any{packed}, &d.Description, &d.Acceptance, &result)
	if err == board.ErrNotFound {
		return d, fmt.Errorf("%w: task %v", board.ErrNotFound, id)
	}
	if err == nil && result != nil {
		d.Result = &board.Result{}
		err = fromJSON(*result, d.Result)
	}
	return d, err
}

func (t *tx) PutDoc(id board.ID, d board.Doc) error {
	packed, err := t.pack(id)
	if err != nil {
		return err
	}
	return t.putDoc(packed, d)
}

func (t *tx) putDoc(packed int64, d board.Doc) error {
	const query = `INSERT INTO task_docs (task_id, description, acceptance, result) VALUES (?, ?, ?, ?)
		ON CONFLICT (task_id) DO UPDATE SET description = excluded.description, acceptance = excluded.acceptance, result = excluded.result`
	var result any
	if d.Result != nil {
		text, err := asJSON(d.Result)
		if err != nil {
			return err
		}
		result = text
	}
	_, err := t.exec(query, packed, d.Description, d.Acceptance, result)
	return err
}
