package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// attemptColumns are columns of projects p and attempts a.
const attemptColumns = `p.slug, a.task_id, a.attempt, a.nonce, a.principal, a.worker, a.owner, a.granted_at, a.ended_at, a.cause,
	a.reason, a.do_not_repeat, a.place::text, a.spec_version, a.created, a.report_hash, a.report_answer, a.actors`

func scanAttempt(row pgx.CollectableRow) (a board.Attempt, err error) {
	err = row.Scan(attemptInto(&a)...)
	return a, err
}

// attemptInto is where attemptColumns are scanned to.
func attemptInto(a *board.Attempt) []any {
	return []any{
		&a.Task.Project,
		numberInto{&a.Task.No},
		&a.Handle.Attempt, &a.Nonce, &a.Worker.Principal, &a.Worker.Name, &a.Owner, &a.GrantedAt, stamp(&a.EndedAt), (*string)(&a.Cause),
		&a.Reason, &a.DoNotRepeat,
		jsonInto{&a.Where},
		&a.SpecVersion, &a.Created, &a.ReportHash, &a.ReportAnswer, &a.Actors,
	}
}

const attemptsQuery = `SELECT ` + attemptColumns + ` FROM attempts a JOIN projects p ON p.slug = $1
WHERE a.task_id = ` + taskID + ` ORDER BY a.attempt`

// Attempt reads an attempt.
func (t *tx) Attempt(id board.ID, n int) (board.Attempt, error) {
	const query = `SELECT ` + attemptColumns + ` FROM attempts a JOIN projects p ON p.slug = $1
WHERE a.task_id = ` + taskID + ` AND a.attempt = $3`
	if h := t.known.held; h != nil && h.attempt.Task == id && h.attempt.Handle.Attempt == n {
		return h.attempt, nil
	}
	a, err := one(&t.reader, scanAttempt, query, id.Project, no(id), n)
	return a, named(err, "attempt", fmt.Sprintf("%d of %v", n, id))
}

// inDir is a condition: the attempt a was made with commands in a directory, see
// board.DirPrefix.
const inDir = `(a.owner LIKE 'd-%' OR a.owner LIKE '%/d-%')`

// Held reports whether any attempt of the task was held from the claimant's owner, has it among
// its actors, or was held by its worker, by a worker whose name that owner has now, or by its principal with commands in a
// directory; or by any worker of its principal.
func (t *tx) Held(id board.ID, who board.Claimant) (bool, error) {
	const query = `SELECT EXISTS (SELECT FROM attempts a WHERE a.task_id = ` + taskID + ` AND (a.owner = $3 OR strpos(a.actors, chr(10) || $3 || chr(10)) > 0 OR a.principal = $4 AND (a.worker = $5 OR $6 OR ` + inDir + `)
	OR EXISTS (SELECT FROM workers w WHERE w.principal = a.principal AND w.name = a.worker AND w.owner = $3 AND w.owner <> '')))`
	return one(&t.reader, pgx.RowTo[bool], query, id.Project, no(id), who.Owner, who.Worker.Principal, who.Worker.Name, who.OneWorker)
}

// InsertAttempt stores an attempt.
func (t *tx) InsertAttempt(a board.Attempt) error {
	const query = mustBegin + `
INSERT INTO attempts (task_id, attempt, nonce, principal, worker, owner, granted_at, ended_at, cause, reason, do_not_repeat,
	place, spec_version, created, report_hash, report_answer, actors)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::text::json, $13, $14, $15, $16, $17) ON CONFLICT DO NOTHING` + mustEnd
	args, err := t.attemptValues(a)
	if err != nil {
		return err
	}
	t.must(fmt.Errorf("%w: attempt %v exists already", board.ErrConflict, a.Handle), query, args...)
	return nil
}

// UpdateAttempt writes an attempt, unless nothing about it has changed.
func (t *tx) UpdateAttempt(a board.Attempt) error {
	const query = mustBegin + `
UPDATE attempts SET nonce = $3, principal = $4, worker = $5, owner = $6, granted_at = $7, ended_at = $8, cause = $9, reason = $10,
	do_not_repeat = $11, place = $12::text::json, spec_version = $13, created = $14, report_hash = $15, report_answer = $16, actors = $17
WHERE task_id = $1 AND attempt = $2` + mustEnd
	if h := t.known.held; h != nil && h.attempt.Handle == a.Handle {
		if h.attempt == a {
			return nil
		}
		h.attempt = a
	}
	args, err := t.attemptValues(a)
	if err != nil {
		return err
	}
	t.must(notFound("attempt", a.Handle), query, args...)
	return nil
}

func (t *tx) attemptValues(a board.Attempt) ([]any, error) {
	key, err := t.key(a.Task)
	if err != nil {
		return nil, err
	}
	place, err := encode(a.Where)
	return []any{
		key, a.Handle.Attempt, a.Nonce, a.Worker.Principal, a.Worker.Name, a.Owner, a.GrantedAt, *stamp(&a.EndedAt), string(a.Cause),
		a.Reason, a.DoNotRepeat, place, a.SpecVersion, a.Created, a.ReportHash, a.ReportAnswer, a.Actors,
	}, err
}
