package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// Dossier gathers a task's whole story in one round trip.
func (r *reader) Dossier(id board.ID, n int) (board.Dossier, error) {
	const (
		linked = `SELECT ` + taskColumns + `, (SELECT d.result::text FROM task_docs d WHERE d.task_id = t.id)
FROM links k JOIN tasks t ON t.id = k.blocker_id JOIN projects p ON p.slug = $1 WHERE k.task_id = ` + taskID + ` ORDER BY t.id`
		dependents = `SELECT ` + taskColumns + `
FROM links k JOIN tasks t ON t.id = k.task_id JOIN projects p ON p.slug = $1 WHERE k.blocker_id = ` + taskID + ` ORDER BY t.id`
		children = `SELECT ` + taskColumns + `
FROM tasks t JOIN projects p ON p.slug = $1 WHERE t.parent_id = ` + taskID + ` ORDER BY t.id`
	)
	var d board.Dossier
	var claims []board.Claim
	var b batch
	args := []any{id.Project, id.No}
	batchOne(&b, &d.Task, true, scanTask, taskQuery, args...)
	batchOne(&b, &d.Doc, true, scanDoc, docQuery, args...)
	batchList(&b, &claims, scanClaim, claimQuery, args...)
	batchList(&b, &d.Attempts, scanAttempt, attemptsQuery, args...)
	batchList(&b, &d.Blockers, func(row pgx.CollectableRow) (board.Task, error) {
		var result *board.Result
		t, _, err := scanTaskAnd(row, resultInto{&result})
		if result != nil {
			if d.Results == nil {
				d.Results = map[board.ID]board.Result{}
			}
			d.Results[t.ID] = *result
		}
		return t, err
	}, linked, args...)
	batchList(&b, &d.Dependents, scanTask, dependents, args...)
	batchList(&b, &d.Children, scanTask, children, args...)
	batchList(&b, &d.Questions, scanQuestion, taskQuestionsQuery, args...)
	batchList(&b, &d.Events, scanEvent, lastEventsQuery, append(args, n)...)
	batchOne(&b, &d.Now, true, pgx.RowTo, `SELECT clock_timestamp()`)
	if err := r.send(&b); err != nil {
		return board.Dossier{}, named(err, "task", id)
	}
	if len(claims) > 0 {
		d.Claim = &claims[0]
	}
	slices.Reverse(d.Events)
	return d, nil
}
