package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// Admit records a call. No two transactions write at a time, so the end of a claim comes
// before it or after it.
func (s *Store) Admit(ctx context.Context, a board.Admission) (call board.Call, admitted bool, err error) {
	err = s.Write(ctx, func(w board.Tx) error {
		call, admitted, err = w.(*tx).admit(a)
		return err
	})
	return call, admitted && err == nil, err
}

func (t *tx) admit(a board.Admission) (call board.Call, admitted bool, err error) {
	const (
		find   = `SELECT worker, lease_until, lease FROM claims WHERE task_id = ? AND attempt = ? AND nonce = ? AND principal = ? AND lease_until > ?`
		extend = `UPDATE claims SET lease_until = ? WHERE task_id = ?`
	)
	now, limit := t.now(), micros(a.Limit)
	h, worker := a.Claim, a.Worker.Name
	var task any
	if !h.IsZero() {
		var until, lease int64
		id, err := t.pack(h.Task)
		if err == nil {
			err = t.get(find, []any{id, h.Attempt, h.Nonce, a.Worker.Principal, now}, &worker, &until, &lease)
		}
		if errors.Is(err, board.ErrNotFound) {
			return call, false, nil
		}
		if err != nil {
			return call, false, err
		}
		limit = min(limit, lease)
		if needed := now + limit + micros(a.Slack); until < needed {
			if _, err := t.exec(extend, needed, id); err != nil {
				return call, false, err
			}
		}
		task = id
	}
	call.BeganAt, call.Deadline = fromMicros(now), fromMicros(now+limit)
	if a.Again != 0 {
		call.ID = a.Again
		admitted, err = t.admitAgain(a, task, now+limit)
	} else {
		call.ID, admitted, err = t.insertCall(a, task, worker, now, now+limit)
	}
	return call, admitted, err
}

func (t *tx) insertCall(a board.Admission, task any, worker string, now, deadline int64) (board.CallID, bool, error) {
	const query = `INSERT INTO gateway_calls (task_id, attempt, principal, worker, upstream, tool, class, step, args_hash, args, began_at, deadline, follow)
		VALUES (?, ?, ?, ?, ?, ?, ?, nullif(?, ''), ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id`
	var id board.CallID
	err := t.get(query, []any{
		task, a.Claim.Attempt, a.Worker.Principal, worker, a.Upstream, a.Tool, a.Class, a.Step, a.ArgsHash, a.Args, now, deadline, a.Follow,
	}, (*int64)(&id))
	if errors.Is(err, board.ErrNotFound) { // the task has a call with that step
		return 0, false, nil
	}
	return id, err == nil, err
}

// admitAgain moves the deadline of an open call.
func (t *tx) admitAgain(a board.Admission, task any, deadline int64) (bool, error) {
	const query = `UPDATE gateway_calls SET deadline = ?, follow = coalesce(nullif(?, ''), follow)
		WHERE id = ? AND task_id IS ? AND principal = ? AND upstream = ? AND outcome = ''`
	n, err := t.exec(query, deadline, a.Follow, int64(a.Again), task, a.Worker.Principal, a.Upstream)
	return n > 0, err
}

const (
	callColumns = `SELECT g.id, coalesce(p.slug, ''), coalesce(g.task_id, 0), g.attempt, g.principal, g.worker, g.upstream, g.tool, g.class, coalesce(g.step, ''),
		g.began_at, g.deadline, g.ended_at, g.outcome, g.error, g.bytes, coalesce(g.artifact, 0), g.follow`
	callTables = ` FROM gateway_calls g LEFT JOIN projects p ON p.id = g.task_id >> 40`
	wholeCall  = callColumns + `, g.args_hash, g.args, g.result` + callTables
)

// calls runs a constant query that selects callColumns, and more columns if whole is set.
func (r *reader) calls(whole bool, query string, args ...any) ([]board.Call, error) {
	var list []board.Call
	err := r.each(query, args, func(scan scan) error {
		var c board.Call
		var task, began, deadline int64
		var ended *int64
		into := []any{
			(*int64)(&c.ID), &c.Task.Project, &task, &c.Attempt, &c.Worker.Principal, &c.Worker.Name, &c.Upstream, &c.Tool, &c.Class, &c.Step,
			&began, &deadline, &ended, (*string)(&c.Outcome), &c.Error, &c.Bytes, (*int64)(&c.Artifact), &c.Follow,
		}
		if whole {
			into = append(into, &c.ArgsHash, &c.Args, &c.Result)
		}
		if err := scan(into...); err != nil {
			return err
		}
		if task != 0 {
			c.Task = unpack(c.Task.Project, task)
		}
		c.BeganAt, c.Deadline, c.EndedAt = fromMicros(began), fromMicros(deadline), fromNullTime(ended)
		list = append(list, c)
		return nil
	})
	return list, err
}

// call is calls for one call.
func (r *reader) call(name string, query string, args ...any) (board.Call, error) {
	list, err := r.calls(true, query, args...)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: %s", board.ErrNotFound, name)
	}
	if err != nil {
		return board.Call{}, err
	}
	return list[0], nil
}

func (r *reader) CallKey() (key string, err error) {
	err = r.get(`SELECT call_key FROM meta`, nil, &key)
	return key, err
}

func (r *reader) Call(id board.CallID) (board.Call, error) {
	return r.call(fmt.Sprint("call ", id), wholeCall+` WHERE g.id = ?`, int64(id))
}

func (r *reader) Step(id board.ID, step string) (board.Call, error) {
	packed, err := r.pack(id)
	if err != nil {
		return board.Call{}, err
	}
	return r.call("step "+step, wholeCall+` WHERE g.task_id = ? AND g.step = ?`, packed, step)
}

func (r *reader) Calls(f board.CallFilter) ([]board.Call, error) {
	const (
		all  = callColumns + callTables + ` WHERE g.id < ? ORDER BY g.id DESC LIMIT ?`
		task = callColumns + callTables + ` WHERE g.task_id = ? AND g.id < ? ORDER BY g.id DESC LIMIT ?`
	)
	before := int64(f.Before)
	if before == 0 {
		before = 1<<63 - 1
	}
	if f.Task.IsZero() {
		return r.calls(false, all, before, limitOr(f.Limit, pageSize))
	}
	packed, err := r.pack(f.Task)
	if errors.Is(err, board.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.calls(false, task, packed, before, limitOr(f.Limit, pageSize))
}

// dossierCalls reads the calls of a task for its dossier.
func (r *reader) dossierCalls(packed int64, d *board.Dossier) (err error) {
	const (
		last   = callColumns + callTables + ` WHERE g.task_id = ? ORDER BY g.id DESC LIMIT ?`
		counts = `SELECT iif(outcome = '' AND deadline <= ?, 'unknown', outcome) AS how, count(*) FROM gateway_calls WHERE task_id = ? GROUP BY how ORDER BY how`
		reads  = `SELECT coalesce(sum(n), 0) FROM gateway_reads WHERE task_id = ?`
	)
	if d.Calls.Last, err = r.calls(false, last, packed, board.MaxDossierCalls); err != nil {
		return err
	}
	if err := r.get(reads, []any{packed}, &d.Calls.Reads); err != nil || len(d.Calls.Last) == 0 {
		return err
	}
	d.Calls.Tidy(d.Now)
	return r.each(counts, []any{d.Now.UnixMicro(), packed}, func(scan scan) error {
		var c board.CallCount
		err := scan((*string)(&c.Outcome), &c.N)
		d.Calls.Counts = append(d.Calls.Counts, c)
		return err
	})
}

// Busy only reads, because there is one writer at a time.
func (t *tx) Busy(id board.ID) (time.Time, error) {
	const query = `SELECT max(deadline) FROM gateway_calls WHERE task_id = ? AND outcome = ''`
	packed, err := t.pack(id)
	if err != nil {
		return time.Time{}, err
	}
	var until *int64
	err = t.get(query, []any{packed}, &until)
	return fromNullTime(until), err
}

func (t *tx) EndCall(e board.EndedCall, free bool) error {
	const query = `UPDATE gateway_calls SET ended_at = max(began_at, ?), outcome = ?, error = ?, bytes = ?, result = ?, artifact = nullif(?, 0), step = iif(?, NULL, step)
		WHERE id = ? AND principal = ? AND outcome = ''`
	_, err := t.exec(query, t.now()-e.Ago.Microseconds(), string(e.Outcome), e.Error, e.Bytes, e.Result, int64(e.Artifact), free, int64(e.ID), e.Principal)
	return err
}

func (t *tx) RenewAll(claims []board.Handle) error {
	const query = `UPDATE claims SET lease_until = max(lease_until, ?1 + lease), deliveries = 0
		WHERE task_id = ?2 AND attempt = ?3 AND nonce = ?4 AND lease_until > ?1`
	now := t.now()
	for _, h := range claims {
		id, err := t.pack(h.Task)
		if err != nil {
			return err
		}
		if _, err := t.exec(query, now, id, h.Attempt, h.Nonce); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) AddReads(h board.Handle, r board.Reads) error {
	const query = `INSERT INTO gateway_reads (task_id, attempt, upstream, tool, n, errors, last_at) SELECT id, ?, ?, ?, ?, ?, ? FROM tasks WHERE id = ?
		ON CONFLICT DO UPDATE SET n = n + excluded.n, errors = errors + excluded.errors, last_at = excluded.last_at`
	id, err := t.pack(h.Task)
	if err != nil {
		return err
	}
	_, err = t.exec(query, h.Attempt, r.Upstream, r.Tool, r.N, r.Errors, t.now(), id)
	return err
}

func (t *tx) ForgetCalls(age time.Duration) error {
	const query = `DELETE FROM gateway_calls WHERE task_id IS NULL AND began_at < ?`
	_, err := t.exec(query, t.now()-micros(age))
	return err
}

func (t *tx) EraseCalls(id board.ID, all bool) error {
	packed, err := t.pack(id)
	if err != nil {
		return err
	}
	queries := []string{
		`DELETE FROM gateway_artifacts WHERE task_id = ?`,
		`UPDATE gateway_calls SET args = '', error = '', result = '', artifact = NULL WHERE task_id = ?`,
	}
	if all {
		queries = append(queries[:1], `DELETE FROM gateway_reads WHERE task_id = ?`, `DELETE FROM gateway_calls WHERE task_id = ?`)
	}
	for _, query := range queries {
		if _, err := t.exec(query, packed); err != nil {
			return err
		}
	}
	return nil
}
