package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

const (
	// admitted begins a statement that locks a claim and extends its lease. Its parameters are
	// the task in $1 and $2, the attempt, the nonce, the principal, the limit and the slack.
	// The sweep locks the claim as well, and all that ends a claim deletes it, so that one of the
	// two comes first. Nothing else is locked. That the lease was looked at before the wait for the
	// lock does no harm: the claim is still there, and its lease is extended.
	admitted = `
WITH c AS MATERIALIZED (
	SELECT k.task_id, k.attempt, k.worker, k.principal, k.lease_until, least($6::interval, k.lease) AS span FROM claims k
	WHERE k.task_id = ` + taskID + ` AND k.attempt = $3 AND k.nonce = $4 AND k.principal = $5 AND k.lease_until > clock_timestamp()
	FOR NO KEY UPDATE),
x AS (
	UPDATE claims k SET lease_until = clock_timestamp() + c.span + $7::interval FROM c
	WHERE k.task_id = c.task_id AND c.lease_until < clock_timestamp() + c.span + $7::interval)`
	// admit records the call of a claim, and admitAlone one without.
	admit = admitted + `
INSERT INTO gateway_calls (task_id, attempt, principal, worker, upstream, tool, class, step, args_hash, args, began_at, deadline, follow)
SELECT c.task_id, c.attempt, c.principal, c.worker, $8, $9, $10, nullif($11, ''), $12, $13, n.now, n.now + c.span, $14
FROM c CROSS JOIN LATERAL (SELECT clock_timestamp() AS now WHERE c.task_id IS NOT NULL OFFSET 0) n
ON CONFLICT (task_id, step) WHERE step IS NOT NULL DO NOTHING RETURNING id, began_at, deadline`
	admitAlone = `
INSERT INTO gateway_calls (attempt, principal, worker, upstream, tool, class, args_hash, args, began_at, deadline, follow)
SELECT 0, $1, $2, $3, $4, $5, $6, $7, n.now, n.now + $8::interval, $9 FROM (SELECT clock_timestamp() AS now OFFSET 0) n
RETURNING id, began_at, deadline`
	// admitAgain moves the deadline of an open call.
	admitAgain = admitted + `
UPDATE gateway_calls g SET deadline = clock_timestamp() + c.span, follow = coalesce(nullif($9, ''), g.follow) FROM c
WHERE g.id = $8 AND g.task_id = c.task_id AND g.principal = c.principal AND g.upstream = $10 AND g.outcome = '' RETURNING g.id, clock_timestamp(), g.deadline`
	admitAgainAlone = `
UPDATE gateway_calls g SET deadline = clock_timestamp() + $3::interval, follow = coalesce(nullif($4, ''), g.follow)
WHERE g.id = $1 AND g.task_id IS NULL AND g.principal = $2 AND g.upstream = $5 AND g.outcome = '' RETURNING g.id, clock_timestamp(), g.deadline`
)

// admission returns the statement that admits a call.
func admission(a board.Admission) (query string, args []any) {
	h := a.Claim
	claim := []any{h.Task.Project, no(h.Task), h.Attempt, h.Nonce, a.Worker.Principal, a.Limit, a.Slack}
	switch {
	case h.IsZero() && a.Again != 0:
		return admitAgainAlone, []any{int64(a.Again), a.Worker.Principal, a.Limit, a.Follow, a.Upstream}
	case h.IsZero():
		return admitAlone, []any{a.Worker.Principal, a.Worker.Name, a.Upstream, a.Tool, a.Class, a.ArgsHash, a.Args, a.Limit, a.Follow}
	case a.Again != 0:
		return admitAgain, append(claim, int64(a.Again), a.Follow, a.Upstream)
	}
	return admit, append(claim, a.Upstream, a.Tool, a.Class, a.Step, a.ArgsHash, a.Args, a.Follow)
}

// Admit records a call under a claim. It is one statement.
func (s *Store) Admit(ctx context.Context, a board.Admission) (call board.Call, ok bool, err error) {
	query, args := admission(a)
	return s.admit(ctx, query, args)
}

func (s *Store) admit(ctx context.Context, query string, args []any) (call board.Call, ok bool, err error) {
	defer s.observe(OpWrite, time.Now(), &err)
	err = retryAborted(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return s.withCommit(ctx, conn.Conn(), func(ctx context.Context) error {
			rows, err := conn.Query(ctx, query, args...)
			if err != nil {
				return err
			}
			calls, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c board.Call, err error) {
				err = row.Scan((*int64)(&c.ID), &c.BeganAt, &c.Deadline)
				return c, err
			})
			if ok = err == nil && len(calls) > 0; ok {
				call = calls[0]
			}
			return err
		})
	})
	return call, ok && err == nil, err
}

// callColumns are columns of gateway_calls g, of projects p, which may be NULL, and the longer ones, which lists leave out.
const (
	callColumns = `g.id, coalesce(p.slug, ''), coalesce(g.task_id, 0), g.attempt, g.principal, g.worker, g.upstream, g.tool, g.class, coalesce(g.step, ''),
	g.began_at, g.deadline, g.ended_at, g.outcome, g.error, g.bytes, coalesce(g.artifact, 0), g.follow`
	callTables = ` FROM gateway_calls g LEFT JOIN projects p ON p.id = (g.task_id >> 40)::int`
	wholeCall  = `SELECT ` + callColumns + `, g.args_hash, g.args, g.result` + callTables
)

func scanCallAnd(row pgx.CollectableRow, more ...any) (c board.Call, err error) {
	err = row.Scan(append([]any{
		(*int64)(&c.ID), &c.Task.Project,
		numberInto{&c.Task.No},
		&c.Attempt, &c.Worker.Principal, &c.Worker.Name, &c.Upstream, &c.Tool, &c.Class, &c.Step,
		&c.BeganAt, &c.Deadline, stamp(&c.EndedAt), (*string)(&c.Outcome), &c.Error, &c.Bytes, (*int64)(&c.Artifact), &c.Follow,
	}, more...)...)
	return c, err
}

func scanCall(row pgx.CollectableRow) (board.Call, error) { return scanCallAnd(row) }

func scanWholeCall(row pgx.CollectableRow) (board.Call, error) {
	var hash []byte
	var args, result string
	c, err := scanCallAnd(row, &hash, &args, &result)
	c.ArgsHash, c.Args, c.Result = hash, args, result
	return c, err
}

// CallKey reads the key of the board.
func (r *reader) CallKey() (string, error) {
	return one(r, pgx.RowTo[string], `SELECT call_key FROM meta`)
}

// Call reads a call.
func (r *reader) Call(id board.CallID) (board.Call, error) {
	c, err := one(r, scanWholeCall, wholeCall+` WHERE g.id = $1`, int64(id))
	return c, named(err, "call", id)
}

// Step reads the call of a step.
func (r *reader) Step(id board.ID, step string) (board.Call, error) {
	c, err := one(r, scanWholeCall, wholeCall+` WHERE g.task_id = `+taskID+` AND g.step = $3`, id.Project, no(id), step)
	return c, named(err, "step "+step+" of", id)
}

// Calls lists calls, newest first.
func (r *reader) Calls(f board.CallFilter) ([]board.Call, error) {
	const (
		all  = `SELECT ` + callColumns + callTables + ` WHERE ($1 = 0 OR g.id < $1) ORDER BY g.id DESC LIMIT $2`
		task = `SELECT ` + callColumns + callTables + ` WHERE g.task_id = ` + taskID + ` AND ($3 = 0 OR g.id < $3) ORDER BY g.id DESC LIMIT $4`
	)
	if f.Task.IsZero() {
		return list(r, scanCall, all, int64(f.Before), limitOf(f.Limit))
	}
	return list(r, scanCall, task, f.Task.Project, no(f.Task), int64(f.Before), limitOf(f.Limit))
}

// batchCalls adds queries for the calls of a task in a dossier.
func batchCalls(b *batch, id board.ID, d *board.Dossier) {
	const (
		last   = `SELECT ` + callColumns + callTables + ` WHERE g.task_id = ` + taskID + ` ORDER BY g.id DESC LIMIT $3`
		counts = `SELECT CASE WHEN outcome = '' AND deadline <= statement_timestamp() THEN 'unknown' ELSE outcome END, count(*)
FROM gateway_calls WHERE task_id = ` + taskID + ` GROUP BY 1 ORDER BY 1`
		reads = `SELECT coalesce(sum(n), 0)::bigint FROM gateway_reads WHERE task_id = ` + taskID
	)
	args := []any{id.Project, no(id)}
	batchList(b, &d.Calls.Last, scanCall, last, append(args, board.MaxDossierCalls)...)
	batchList(b, &d.Calls.Counts, func(row pgx.CollectableRow) (c board.CallCount, err error) {
		err = row.Scan((*string)(&c.Outcome), &c.N)
		return c, err
	}, counts, args...)
	batchOne(b, &d.Calls.Reads, false, pgx.RowTo[int64], reads, args...)
}

// Busy locks a claim, and then looks for calls under it.
func (t *tx) Busy(id board.ID) (until time.Time, err error) {
	const (
		lock  = `SELECT FROM claims WHERE task_id = ` + taskID + ` FOR NO KEY UPDATE`
		query = `SELECT max(deadline) FROM gateway_calls WHERE task_id = ` + taskID + ` AND outcome = ''`
	)
	t.known.now = time.Time{}
	var b batch
	b.Queue(lock, id.Project, no(id))
	batchEach(&b, func(row pgx.CollectableRow) error { return row.Scan(stamp(&until)) }, query, id.Project, no(id))
	return until, t.send(&b)
}

// EndCall writes the end of an open call.
func (t *tx) EndCall(e board.EndedCall, free bool) error {
	const query = `
UPDATE gateway_calls SET ended_at = greatest(began_at, clock_timestamp() - $9::interval), outcome = $3, error = $4, bytes = $5, result = $6, artifact = nullif($7::bigint, 0),
	step = CASE WHEN $8 THEN NULL ELSE step END
WHERE id = $1 AND principal = $2 AND outcome = ''`
	t.later(query, int64(e.ID), e.Principal, string(e.Outcome), e.Error, e.Bytes, e.Result, int64(e.Artifact), free, e.Ago)
	return nil
}

// RenewAll renews claims in one statement. It locks them in the order of their tasks, as other
// statements do that lock several.
func (t *tx) RenewAll(claims []board.Handle) error {
	const query = `
UPDATE claims c SET lease_until = greatest(c.lease_until, clock_timestamp() + c.lease), deliveries = 0 WHERE c.task_id IN (
	SELECT k.task_id FROM unnest($1::text[], $2::bigint[], $3::int[], $4::text[]) v(slug, no, attempt, nonce)
	JOIN projects p ON p.slug = v.slug JOIN claims k ON k.task_id = p.id::bigint << 40 | v.no AND k.attempt = v.attempt AND k.nonce = v.nonce
	WHERE k.lease_until > clock_timestamp() ORDER BY k.task_id FOR NO KEY UPDATE OF k)`
	if len(claims) == 0 {
		return nil
	}
	var slugs, nonces []string
	var nos []int64
	var attempts []int
	for _, h := range claims {
		slugs, nos, attempts, nonces = append(slugs, h.Task.Project), append(nos, no(h.Task)), append(attempts, h.Attempt), append(nonces, h.Nonce)
	}
	t.known.now = time.Time{}
	t.later(query, slugs, nos, attempts, nonces)
	return nil
}

// AddReads adds to the counts of an attempt.
func (t *tx) AddReads(h board.Handle, r board.Reads) error {
	const query = `
INSERT INTO gateway_reads AS g (task_id, attempt, upstream, tool, n, errors, last_at)
SELECT t.id, $3, $4, $5, $6, $7, clock_timestamp() FROM tasks t WHERE t.id = ` + taskID + `
ON CONFLICT (task_id, attempt, upstream, tool) DO UPDATE SET n = g.n + excluded.n, errors = g.errors + excluded.errors, last_at = excluded.last_at`
	t.later(query, h.Task.Project, no(h.Task), h.Attempt, r.Upstream, r.Tool, r.N, r.Errors)
	return nil
}

// ForgetCalls deletes old calls without a task.
func (t *tx) ForgetCalls(age time.Duration) error {
	const query = `DELETE FROM gateway_calls WHERE task_id IS NULL AND began_at < statement_timestamp() - $1::interval`
	_, err := t.exec(query, age)
	return err
}

// EraseCalls deletes what calls of a task were told and have answered, or the calls.
func (t *tx) EraseCalls(id board.ID, all bool) error {
	key, err := t.key(id)
	if err != nil {
		return err
	}
	t.later(`DELETE FROM gateway_artifacts WHERE task_id = $1`, key)
	if !all {
		t.later(`UPDATE gateway_calls SET args = '', error = '', result = '', artifact = NULL WHERE task_id = $1`, key)
		return nil
	}
	t.later(`DELETE FROM gateway_reads WHERE task_id = $1`, key)
	t.later(`DELETE FROM gateway_calls WHERE task_id = $1`, key)
	return nil
}
