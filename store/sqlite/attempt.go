package sqlite

import (
	"fmt"

	"github.com/bossman-dev/bossman/board"
)

const attemptColumns = `SELECT p.slug, a.task_id, a.attempt, a.nonce, a.principal, a.worker, a.owner, a.granted_at, a.ended_at, a.cause,
	a.reason, a.do_not_repeat, a.place, a.spec_version, a.created, a.report_hash, a.report_answer, a.actors
	FROM attempts a CROSS JOIN projects p ON p.id = a.task_id >> 40`

// attempts runs a constant query that begins with attemptColumns.
func (r *reader) attempts(query string, args ...any) ([]board.Attempt, error) {
	var list []board.Attempt
	err := r.each(query, args, func(scan scan) error {
		var a board.Attempt
		var id, granted int64
		var ended *int64
		var place string
		if err := scan(&a.Task.Project, &id, &a.Handle.Attempt, &a.Nonce, &a.Worker.Principal, &a.Worker.Name, &a.Owner, &granted, &ended,
			&a.Cause, &a.Reason, &a.DoNotRepeat, &place, &a.SpecVersion, &a.Created, &a.ReportHash, &a.ReportAnswer, &a.Actors); err != nil {
			return err
		}
		a.Task = unpack(a.Task.Project, id)
		a.GrantedAt, a.EndedAt = fromMicros(granted), fromNullTime(ended)
		if err := fromJSON(place, &a.Where); err != nil {
			return err
		}
		list = append(list, a)
		return nil
	})
	return list, err
}

func (t *tx) Attempt(id board.ID, n int) (board.Attempt, error) {
	const query = attemptColumns + ` WHERE a.task_id = ? AND a.attempt = ?`
	packed, err := t.pack(id)
	if err != nil {
		return board.Attempt{}, err
	}
	list, err := t.attempts(query, packed, n)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: attempt %d of task %v", board.ErrNotFound, n, id)
	}
	if err != nil {
		return board.Attempt{}, err
	}
	return list[0], nil
}

// inDir is a condition: the attempt a was made with commands in a directory, see
// board.DirPrefix.
const inDir = `(a.owner LIKE 'd-%' OR a.owner LIKE '%/d-%')`

// actedAs is a condition: the owner ?2 is among the actors of the attempt a, see board.Attempt.
const actedAs = `instr(a.actors, char(10) || ?2 || char(10)) > 0`

func (t *tx) Held(id board.ID, who board.Claimant) (bool, error) {
	const query = `SELECT EXISTS (SELECT 1 FROM attempts a WHERE task_id = ?1 AND (owner = ?2 OR ` + actedAs + ` OR principal = ?3 AND (worker = ?4 OR ?5 OR ` + inDir + `)
	OR EXISTS (SELECT 1 FROM workers w WHERE w.principal = a.principal AND w.name = a.worker AND w.owner = ?2 AND w.owner <> '')))`
	packed, err := t.pack(id)
	if err != nil {
		return false, err
	}
	var held bool
	err = t.get(query, []any{packed, who.Owner, who.Worker.Principal, who.Worker.Name, who.OneWorker}, &held)
	return held, err
}

func (t *tx) InsertAttempt(a board.Attempt) error {
	const query = `INSERT INTO attempts (nonce, principal, worker, owner, granted_at, ended_at, cause, reason, do_not_repeat, place,
		spec_version, created, report_hash, report_answer, actors, task_id, attempt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	values, err := t.attemptValues(a)
	if err != nil {
		return err
	}
	_, err = t.exec(query, values...)
	if isDuplicate(err) {
		return fmt.Errorf("%w: attempt %d of task %v exists already", board.ErrConflict, a.Handle.Attempt, a.Task)
	}
	return err
}

func (t *tx) UpdateAttempt(a board.Attempt) error {
	const query = `UPDATE attempts SET nonce = ?, principal = ?, worker = ?, owner = ?, granted_at = ?, ended_at = ?, cause = ?, reason = ?,
		do_not_repeat = ?, place = ?, spec_version = ?, created = ?, report_hash = ?, report_answer = ?, actors = ? WHERE task_id = ? AND attempt = ?`
	values, err := t.attemptValues(a)
	if err != nil {
		return err
	}
	return changed(t.exec(query, values...))
}

// attemptValues returns the values in the order of both statements.
func (t *tx) attemptValues(a board.Attempt) ([]any, error) {
	id, err := t.pack(a.Task)
	if err != nil {
		return nil, err
	}
	place, err := asJSON(a.Where)
	if err != nil {
		return nil, err
	}
	return []any{
		a.Nonce, a.Worker.Principal, a.Worker.Name, a.Owner, a.GrantedAt.UnixMicro(), nullTime(a.EndedAt), a.Cause, a.Reason,
		a.DoNotRepeat, place, a.SpecVersion, a.Created, a.ReportHash, a.ReportAnswer, a.Actors, id, a.Handle.Attempt,
	}, nil
}
