package postgres

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// Dossier reads all about a task in one round trip, or in two if the task has links, parts,
// questions, calls or a reviewer: it asks only for what there is.
func (r *reader) Dossier(id board.ID, n int) (board.Dossier, error) {
	const (
		// OFFSET 0 as in HandOut.
		task = `SELECT ` + taskColumns + `, d.description, d.acceptance, d.result::text, clock_timestamp(),
	EXISTS (SELECT FROM links l WHERE l.task_id = t.id) OR EXISTS (SELECT FROM links l WHERE l.blocker_id = t.id) OR EXISTS (SELECT FROM tasks x WHERE x.parent_id = t.id),
	EXISTS (SELECT FROM questions q WHERE q.task_id = t.id), EXISTS (SELECT FROM reviews v WHERE v.task_id = t.id),
	EXISTS (SELECT FROM gateway_calls g WHERE g.task_id = t.id) OR EXISTS (SELECT FROM gateway_reads g WHERE g.task_id = t.id),
	c.attempt, c.nonce, c.principal, c.worker, c.owner, c.session, c.granted_at, c.lease_until, c.lease, c.deliveries, w.last_seen, w.owner
FROM projects p JOIN tasks t ON t.id = p.id::bigint << 40 | $2::bigint JOIN task_docs d ON d.task_id = t.id
LEFT JOIN LATERAL (SELECT * FROM claims c WHERE c.task_id = t.id OFFSET 0) c ON true
LEFT JOIN LATERAL (SELECT * FROM workers w WHERE w.principal = c.principal AND w.name = c.worker OFFSET 0) w ON true
WHERE p.slug = $1`
		others = `SELECT ` + taskColumns + `, k.kind, (SELECT d.result::text FROM task_docs d WHERE d.task_id = t.id AND k.kind = 'blocker')
FROM projects p CROSS JOIN LATERAL (
	SELECT 'blocker' AS kind, blocker_id AS id FROM links WHERE task_id = p.id::bigint << 40 | $2::bigint
	UNION ALL SELECT 'dependent', task_id FROM links WHERE blocker_id = p.id::bigint << 40 | $2::bigint
	UNION ALL SELECT 'child', id FROM tasks WHERE parent_id = p.id::bigint << 40 | $2::bigint) k
CROSS JOIN LATERAL (SELECT * FROM tasks t WHERE t.id = k.id OFFSET 0) t
WHERE p.slug = $1 ORDER BY t.id`
	)
	var d board.Dossier
	var claim maybeClaim
	var related, asked, reviewed, called bool
	var b batch
	args := []any{id.Project, no(id)}
	batchOne(&b, &d.Task, true, func(row pgx.CollectableRow) (board.Task, error) {
		t, _, err := scanTaskAnd(row, append([]any{
			&d.Doc.Description, &d.Doc.Acceptance, resultInto{&d.Doc.Result}, &d.Now, &related, &asked, &reviewed, &called,
		}, claim.into()...)...)
		return t, err
	}, task, args...)
	batchList(&b, &d.Attempts, scanAttempt, attemptsQuery, args...)
	if n > 0 {
		batchList(&b, &d.Events, scanEvent, lastEventsQuery, append(args, n)...)
	}
	if err := r.send(&b); err != nil {
		return board.Dossier{}, named(err, "task", id)
	}
	slices.Reverse(d.Events)
	d.Claim = claim.of(d)
	b = batch{}
	if related {
		batchEach(&b, func(row pgx.CollectableRow) error { return scanOther(row, &d) }, others, args...)
	}
	if asked {
		batchList(&b, &d.Questions, scanQuestion, taskQuestionsQuery, args...)
	}
	var reviews []board.Claim
	if reviewed {
		batchList(&b, &reviews, scanClaim, reviewQuery, args...)
	}
	if called {
		batchCalls(&b, id, &d)
	}
	if b.Len() == 0 {
		return d, nil
	}
	if err := r.send(&b); err != nil {
		return board.Dossier{}, err
	}
	d.Calls.Tidy(d.Now)
	if len(reviews) > 0 {
		d.Review = &reviews[0]
	}
	return d, nil
}

// A maybeClaim is a row of claims and workers, or NULL.
type maybeClaim struct {
	attempt, deliveries                               *int
	nonce, principal, worker, owner, session, ownedBy *string
	grantedAt, leaseUntil, lastSeen                   *time.Time
	lease                                             *time.Duration
}

func (c *maybeClaim) into() []any {
	return []any{
		&c.attempt, &c.nonce, &c.principal, &c.worker, &c.owner, &c.session, &c.grantedAt, &c.leaseUntil, &c.lease, &c.deliveries, &c.lastSeen, &c.ownedBy,
	}
}

// of returns the claim on the task of a dossier, or nil. Its place is that of its attempt.
func (c *maybeClaim) of(d board.Dossier) *board.Claim {
	if c.attempt == nil {
		return nil
	}
	claim := &board.Claim{
		Handle: board.Handle{Task: d.Task.ID, Attempt: *c.attempt, Nonce: *c.nonce}, Worker: board.WorkerID{Principal: *c.principal, Name: *c.worker},
		Owner: *c.owner, Session: *c.session, GrantedAt: *c.grantedAt, LeaseUntil: *c.leaseUntil, Lease: *c.lease, Deliveries: *c.deliveries,
	}
	if c.lastSeen != nil {
		claim.LastCall, claim.Left = *c.lastSeen, *c.ownedBy != *c.owner
	}
	for _, a := range d.Attempts {
		if a.Handle == claim.Handle {
			claim.Where = a.Where
		}
	}
	return claim
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
