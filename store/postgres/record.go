package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// taskIDs are the row ids of the tasks whose project is $1 and whose numbers are $2.
const taskIDs = `ANY (ARRAY(SELECT x.id::bigint << 40 | n FROM projects x, unnest($2::bigint[]) n WHERE x.slug = $1::text))`

// Records reads all about tasks in one round trip, with a statement for each table.
func (r *reader) Records(ids []board.ID) ([]board.Record, error) {
	const (
		tasks = `SELECT ` + taskColumns + `, d.description, d.acceptance, d.result::text
FROM tasks t JOIN task_docs d ON d.task_id = t.id JOIN projects p ON p.slug = $1 WHERE t.id = ` + taskIDs + ` ORDER BY t.id`
		links = `SELECT task_id, true, blocker_id FROM links WHERE task_id = ` + taskIDs + `
UNION ALL SELECT blocker_id, false, task_id FROM links WHERE blocker_id = ` + taskIDs + ` ORDER BY 1, 3`
		attempts = `SELECT ` + attemptColumns + ` FROM attempts a JOIN projects p ON p.slug = $1 WHERE a.task_id = ` + taskIDs + ` ORDER BY a.task_id, a.attempt`
		runs     = `SELECT ` + runColumns + `, coalesce((SELECT string_agg(l.text, '' ORDER BY l.no) FROM run_logs l WHERE l.task_id = r.task_id AND l.attempt = r.attempt), '')
FROM runs r JOIN projects p ON p.slug = $1 WHERE r.task_id = ` + taskIDs + ` ORDER BY r.task_id, r.attempt`
		diffs     = `SELECT ` + diffColumns + ` FROM diffs WHERE task_id = ` + taskIDs + ` ORDER BY task_id, attempt`
		questions = `SELECT ` + questionColumns + ` FROM questions q JOIN projects p ON p.slug = $1 WHERE q.task_id = ` + taskIDs + ` ORDER BY q.id`
		events    = `SELECT ` + eventColumns + ` FROM events e JOIN projects p ON p.slug = $1 WHERE e.task_id = ` + taskIDs + ` ORDER BY e.task_id, e.seq`
	)
	if len(ids) == 0 {
		return nil, nil
	}
	_, nos := split(ids)
	slug := ids[0].Project
	var records []board.Record
	at := map[int64]int{} // the index of a task by its number
	// of returns the record of a task.
	of := func(no int64) *board.Record {
		if i, ok := at[no]; ok {
			return &records[i]
		}
		return &board.Record{} // it was created between two statements
	}
	var b batch
	batchEach(&b, func(row pgx.CollectableRow) error {
		var d board.Doc
		t, _, err := scanTaskAnd(row, &d.Description, &d.Acceptance, resultInto{&d.Result})
		at[t.ID.No] = len(records)
		records = append(records, board.Record{Task: t, Doc: d})
		return err
	}, tasks, slug, nos)
	batchEach(&b, func(row pgx.CollectableRow) error {
		var task, other int64
		var blocker bool
		err := row.Scan(&task, &blocker, &other)
		record, id := of(number(task)), board.ID{Project: slug, No: number(other)}
		if blocker {
			record.Blockers = append(record.Blockers, id)
		} else {
			record.Dependents = append(record.Dependents, id)
		}
		return err
	}, links, slug, nos)
	batchEach(&b, func(row pgx.CollectableRow) error {
		a, err := scanAttempt(row)
		record := of(a.Task.No)
		record.Attempts = append(record.Attempts, a)
		return err
	}, attempts, slug, nos)
	batchEach(&b, func(row pgx.CollectableRow) error {
		run, err := scanRun(row)
		record := of(run.Claim.Task.No)
		record.Runs = append(record.Runs, run)
		return err
	}, runs, slug, nos)
	batchEach(&b, func(row pgx.CollectableRow) error {
		var no int64
		d, err := scanDiff(&no)(row)
		record := of(no)
		record.Diffs = append(record.Diffs, d)
		return err
	}, diffs, slug, nos)
	batchEach(&b, func(row pgx.CollectableRow) error {
		q, err := scanQuestion(row)
		record := of(q.Claim.Task.No)
		record.Questions = append(record.Questions, q)
		return err
	}, questions, slug, nos)
	batchEach(&b, func(row pgx.CollectableRow) error {
		e, err := scanEvent(row)
		record := of(e.Task.No)
		record.Events = append(record.Events, e)
		return err
	}, events, slug, nos)
	err := r.send(&b)
	return records, err
}
