package sqlite

import (
	"errors"

	"github.com/bossman-dev/bossman/board"
)

// Records reads all about tasks with a statement for each table.
func (r *reader) Records(ids []board.ID) ([]board.Record, error) {
	const (
		among = ` IN (SELECT value FROM json_each(?1))`
		tasks = taskColumns + `, d.description, d.acceptance, d.result` + taskTables + ` CROSS JOIN task_docs d ON d.task_id = t.id
			WHERE t.id` + among + ` ORDER BY t.id`
		links = `SELECT task_id, TRUE, blocker_id FROM links WHERE task_id` + among + `
			UNION ALL SELECT blocker_id, FALSE, task_id FROM links WHERE blocker_id` + among + ` ORDER BY 1, 3`
		attempts  = attemptColumns + ` WHERE a.task_id` + among + ` ORDER BY a.task_id, a.attempt`
		runs      = runColumns + `, (SELECT group_concat(text, '') FROM (SELECT text FROM run_logs l WHERE l.task_id = r.task_id AND l.attempt = r.attempt ORDER BY no))` + runTables + ` WHERE r.task_id` + among + ` ORDER BY r.task_id, r.attempt`
		questions = questionColumns + ` WHERE q.task_id` + among + ` ORDER BY q.id`
		events    = eventColumns + ` WHERE e.task_id` + among + ` ORDER BY e.task_id, e.seq`
	)
	if len(ids) == 0 {
		return nil, nil
	}
	packed, err := r.packAll(ids)
	if errors.Is(err, board.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var records []board.Record
	at := map[int64]int{} // the index of a task by its number
	err = r.each(tasks, []any{packed}, func(scan scan) error {
		var d board.Doc
		var result *string
		t, err := scanTask(scan, &d.Description, &d.Acceptance, &result)
		if err == nil && result != nil {
			d.Result = &board.Result{}
			err = fromJSON(*result, d.Result)
		}
		at[t.ID.No] = len(records)
		records = append(records, board.Record{Task: t, Doc: d})
		return err
	})
	if err != nil {
		return nil, err
	}
	// of returns the record of a task.
	of := func(no int64) *board.Record {
		if i, ok := at[no]; ok {
			return &records[i]
		}
		return &board.Record{} // rows without a task
	}
	slug := ids[0].Project
	err = r.each(links, []any{packed}, func(scan scan) error {
		var task, other int64
		var blocker bool
		if err := scan(&task, &blocker, &other); err != nil {
			return err
		}
		record := of(task & board.MaxNo)
		if blocker {
			record.Blockers = append(record.Blockers, unpack(slug, other))
		} else {
			record.Dependents = append(record.Dependents, unpack(slug, other))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	as, err1 := r.attempts(attempts, packed)
	rs, err4 := r.runs(runs, packed)
	qs, err2 := r.questions(questions, packed)
	es, err3 := r.events(events, packed)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	for _, a := range as {
		record := of(a.Task.No)
		record.Attempts = append(record.Attempts, a)
	}
	for _, run := range rs {
		record := of(run.Claim.Task.No)
		record.Runs = append(record.Runs, run)
	}
	err = r.diffs(packed, func(no int64, d board.AttemptDiff) {
		record := of(no)
		record.Diffs = append(record.Diffs, d)
	})
	if err != nil {
		return nil, err
	}
	for _, q := range qs {
		record := of(q.Claim.Task.No)
		record.Questions = append(record.Questions, q)
	}
	for _, e := range es {
		record := of(e.Task.No)
		record.Events = append(record.Events, e)
	}
	return records, nil
}
