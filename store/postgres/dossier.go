package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// Dossier reads all about a task in one round trip.
func (r *reader) Dossier(id board.ID, n int) (board.Dossier, error) {
	const (
		task = `SELECT ` + taskColumns + `, d.description, d.acceptance, d.result::text, clock_timestamp()
FROM projects p JOIN tasks t ON t.id = p.id::bigint << 40 | $2::bigint JOIN task_docs d ON d.task_id = t.id WHERE p.slug = $1`
		// OFFSET 0 as in HandOut.
		others = `SELECT ` + taskColumns + `, k.kind, (SELECT d.result::text FROM task_docs d WHERE d.task_id = t.id AND k.kind = 'blocker')
FROM projects p CROSS JOIN LATERAL (
	SELECT 'blocker' AS kind, blocker_id AS id FROM links WHERE task_id = p.id::bigint << 40 | $2::bigint
	UNION ALL SELECT 'dependent', task_id FROM links WHERE blocker_id = p.id::bigint << 40 | $2::bigint
	UNION ALL SELECT 'child', id FROM tasks WHERE parent_id = p.id::bigint << 40 | $2::bigint) k
CROSS JOIN LATERAL (SELECT * FROM tasks t WHERE t.id = k.id OFFSET 0) t
WHERE p.slug = $1 ORDER BY t.id`
	)
	var d board.Dossier
	var claims, reviews []board.Claim
	var b batch
	args := []any{id.Project, no(id)}
	batchOne(&b, &d.Task, true, func(row pgx.CollectableRow) (board.Task, error) {
		t, _, err := scanTaskAnd(row, &d.Doc.Description, &d.Doc.Acceptance, resultInto{&d.Doc.Result}, &d.Now)
		return t, err
	}, task, args...)
	batchList(&b, &claims, scanClaim, claimQuery, args...)
	batchList(&b, &reviews, scanClaim, reviewQuery, args...)
	batchList(&b, &d.Attempts, scanAttempt, attemptsQuery, args...)
	b.Queue(others, args...).Query(func(rows pgx.Rows) error {
		_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) { return struct{}{}, scanOther(row, &d) })
		return err
	})
	batchList(&b, &d.Questions, scanQuestion, taskQuestionsQuery, args...)
	batchList(&b, &d.Events, scanEvent, lastEventsQuery, append(args, n)...)
	if err := r.send(&b); err != nil {
		return board.Dossier{}, named(err, "task", id)
	}
	if len(claims) > 0 {
		d.Claim = &claims[0]
	}
	if len(reviews) > 0 {
		d.Review = &reviews[0]
	}
	slices.Reverse(d.Events)
	return d, nil
}

// scanOther adds a blocker, a dependent or a child to d.
func scanOther(row pgx.CollectableRow, d *board.Dossier) error {
	var kind string
	var result *board.Result
	t, _, err := scanTaskAnd(row, &kind, resultInto{&result})
	switch kind {
	case "blocker":
		d.Blockers = append(d.Blockers, t)
	case "dependent":
		d.Dependents = append(d.Dependents, t)
	case "child":
		d.Children = append(d.Children, t)
	}
	if result != nil {
		if d.Results == nil {
			d.Results = map[board.ID]board.Result{}
		}
		d.Results[t.ID] = *result
	}
	return err
}
