package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// claimColumns are columns of projects p and claims c.
const claimColumns = `p.slug, c.task_id, c.attempt, c.nonce, c.principal, c.worker, c.owner, c.session,
	c.granted_at, c.lease_until, c.lease, c.deliveries,
	(SELECT a.place FROM attempts a WHERE a.task_id = c.task_id AND a.attempt = c.attempt),
	(SELECT w.last_seen FROM workers w WHERE w.principal = c.principal AND w.name = c.worker),
	coalesce((SELECT w.owner <> c.owner FROM workers w WHERE w.principal = c.principal AND w.name = c.worker), false)`

func scanClaim(row pgx.CollectableRow) (c board.Claim, err error) {
	var key int64
	err = row.Scan(&c.Task.Project, &key, &c.Attempt, &c.Nonce, &c.Worker.Principal, &c.Worker.Name, &c.Owner, &c.Session,
		&c.GrantedAt, &c.LeaseUntil, &c.Lease, &c.Deliveries, jsonInto{&c.Where}, stamp(&c.LastCall), &c.Left)
	c.Task.No = number(key)
	return c, err
}

const claimQuery = `SELECT ` + claimColumns + `
FROM projects p JOIN claims c ON c.task_id = p.id::bigint << 40 | $2::bigint WHERE p.slug = $1`

// LiveClaim reads the claim on a task.
func (t *tx) LiveClaim(id board.ID) (board.Claim, error) {
	if h := t.known.held; h != nil && h.attempt.Task == id && h.claim != nil {
		return *h.claim, nil
	}
	c, err := one(&t.reader, scanClaim, claimQuery, id.Project, no(id))
	return c, named(err, "claim on", id)
}

// Claims lists live claims.
func (r *reader) Claims(f board.ClaimFilter) ([]board.Claim, error) {
	const (
		head = `SELECT ` + claimColumns + ` FROM claims c JOIN projects p ON p.id = c.task_id >> 40 WHERE true`
		tail = ` ORDER BY p.slug, c.task_id`
	)
	conditions, args := filterClaims(f)
	return list(r, scanClaim, head+conditions+tail+limitClaims(f, &args), args...)
}

// filterClaims returns the conditions of a filter on projects p and claims or reviews c.
func filterClaims(f board.ClaimFilter) (string, []any) {
	const (
		task      = ` AND p.slug = $%d AND c.task_id = p.id::bigint << 40 | $%d::bigint`
		project   = ` AND p.slug = $%d`
		principal = ` AND c.principal = $%d`
		owner     = ` AND c.owner = $%d`
		worker    = ` AND c.worker = $%d`
		session   = ` AND c.session = $%d`
		tasks     = ` AND c.task_id = ANY (ARRAY(SELECT q.id::bigint << 40 | v.no FROM unnest($%d::text[], $%d::bigint[]) v(slug, no) JOIN projects q ON q.slug = v.slug))`
		// Two areas overlap if they are equal or one is above the other.
		areas = ` AND c.task_id = ANY (ARRAY(SELECT b.task_id FROM projects q JOIN claim_areas b ON b.project_id = q.id
	WHERE ($%[3]d = '' OR q.slug = $%[3]d) AND (b.path = ANY($%[1]d::text[]) OR b.self AND b.path = ANY($%[2]d::text[]))))`
	)
	var conditions where
	var args []any
	for _, x := range []struct{ condition, value string }{
		{project, f.Project},
		{principal, f.Principal},
		{owner, f.Owner},
		{worker, f.Worker},
		{session, f.Session},
	} {
		if x.value != "" {
			conditions.add(&args, x.condition, x.value)
		}
	}
	if !f.Task.IsZero() {
		conditions.add(&args, task, f.Task.Project, no(f.Task))
	}
	if f.Tasks != nil {
		slugs, nos := split(f.Tasks)
		conditions.add(&args, tasks, slugs, nos)
	}
	if len(f.Areas) > 0 {
		conditions.add(&args, areas, f.Areas, ancestors(f.Areas), f.Project)
	}
	return conditions.String(), args
}

// limitClaims returns the end of a query for claims.
func limitClaims(f board.ClaimFilter, args *[]any) string {
	var limit where
	if f.Limit > 0 {
		limit.add(args, ` LIMIT $%d`, f.Limit)
	}
	return limit.String()
}

// InsertClaim stores a claim; ErrConflict if the task or the worker has one.
func (t *tx) InsertClaim(c board.Claim, areas []string) error {
	const query = `
WITH cl AS (
	INSERT INTO claims (task_id, attempt, nonce, principal, worker, owner, session, granted_at, lease_until, lease, deliveries)
	SELECT p.id::bigint << 40 | $2::bigint, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 FROM projects p WHERE p.slug = $1
	ON CONFLICT DO NOTHING RETURNING task_id),
ar AS (
	INSERT INTO claim_areas (project_id, path, self, task_id)
	SELECT cl.task_id >> 40, a.path, true, cl.task_id FROM cl, unnest($13::text[]) a(path)
	UNION SELECT cl.task_id >> 40, a.path, false, cl.task_id FROM cl, unnest($14::text[]) a(path)
	ON CONFLICT DO NOTHING)
SELECT FROM cl`
	conflict := fmt.Errorf("%w: worker %s or task %v already has a claim", board.ErrConflict, c.Worker.Name, c.Task)
	return t.write(conflict, query, c.Task.Project, no(c.Task), c.Attempt, c.Nonce, c.Worker.Principal, c.Worker.Name, c.Owner, c.Session,
		c.GrantedAt, c.LeaseUntil, c.Lease, c.Deliveries, orEmpty(areas), ancestors(areas))
}

// UpdateClaim writes the owner, the session, the lease and the deliveries of a claim.
func (t *tx) UpdateClaim(c board.Claim) error {
	const (
		query = `UPDATE claims SET owner = $4, session = $5, lease_until = $6, lease = $7, deliveries = $8
WHERE task_id = $1 AND attempt = $2 AND nonce = $3`
		// A lease that is not shortened may have been extended meanwhile, by a call.
		later = mustBegin + `UPDATE claims SET owner = $4, session = $5, lease_until = CASE WHEN $9 THEN $6 ELSE greatest(lease_until, $6) END,
	lease = $7, deliveries = $8 WHERE task_id = $1 AND attempt = $2 AND nonce = $3` + mustEnd
	)
	key, err := t.key(c.Task)
	if err != nil {
		return err
	}
	conflict := fmt.Errorf("%w: %v is not the live claim of %v", board.ErrConflict, c.Handle, c.Task)
	args := []any{key, c.Attempt, c.Nonce, c.Owner, c.Session, c.LeaseUntil, c.Lease, c.Deliveries}
	if h := t.known.held; h == nil || h.claim == nil || h.claim.Handle != c.Handle {
		return t.write(conflict, query, args...) // it may have ended
	}
	shorter := c.LeaseUntil.Before(t.known.held.claim.LeaseUntil)
	t.known.held.claim = &c
	t.must(conflict, later, append(args, shorter)...)
	return nil
}

// DeleteClaim deletes the claim on a task, if there is one. Unless the claim is locked already, it
// does so at once, and then reads the clock: a call may be admitted at this moment.
func (t *tx) DeleteClaim(id board.ID) error {
	const query = `WITH cl AS (DELETE FROM claims WHERE task_id = $1) DELETE FROM claim_areas WHERE task_id = $1`
	key, err := t.key(id)
	if err != nil {
		return err
	}
	if h := t.known.held; h != nil && h.attempt.Task == id {
		h.claim = nil
	}
	t.later(query, key)
	if t.known.claims[id] {
		return nil
	}
	var b batch
	t.batchMoment(&b)
	return t.send(&b)
}

// Renew extends the lease of a live claim. It is one statement, and writes only the claim, in
// no index. The sweep locks the claim before it ends it, so the two are serialized.
func (s *Store) Renew(ctx context.Context, h board.Handle) (renewed bool, err error) {
	const query = `
UPDATE claims SET lease_until = greatest(lease_until, clock_timestamp() + lease)
WHERE task_id = ` + taskID + ` AND attempt = $3 AND nonce = $4 AND lease_until > clock_timestamp()`
	defer s.observe(OpWrite, time.Now(), &err)
	err = retryAborted(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		return s.withCommit(ctx, conn.Conn(), func(ctx context.Context) error {
			tag, err := conn.Exec(ctx, query, h.Task.Project, no(h.Task), h.Attempt, h.Nonce)
			renewed = tag.RowsAffected() > 0
			return err
		})
	})
	return renewed, err
}

// Expired locks tasks together with their claims. PostgreSQL checks the condition again
// after it has the lock, so a claim that was renewed in the meantime is not returned.
func (t *tx) Expired(limit int) ([]board.Task, error) {
	const query = `
WITH over AS MATERIALIZED (
	SELECT task_id FROM claims WHERE lease_until <= statement_timestamp() ORDER BY lease_until LIMIT $1)
SELECT ` + lockedColumns + ` FROM over o JOIN claims c ON c.task_id = o.task_id JOIN tasks t ON t.id = o.task_id
JOIN projects p ON p.id = (o.task_id >> 40)::int
WHERE c.lease_until <= statement_timestamp() FOR UPDATE OF t, c SKIP LOCKED`
	tasks, err := list(&t.reader, t.scanLocked, query, limit)
	slices.SortFunc(tasks, byID)
	for _, task := range tasks {
		t.known.claims[task.ID] = true
	}
	return tasks, err
}

// Gone returns nothing: the processes are on other machines, and their leases tell.
func (r *reader) Gone() ([]string, error) { return nil, nil }

// abandoned is a condition: the task r is reserved for a worker that is not connected.
const abandoned = `r.reserved_worker IS NOT NULL AND r.status = 'pending' AND NOT EXISTS (SELECT FROM workers w
	WHERE w.principal = r.reserved_principal AND w.name = r.reserved_worker AND w.owner <> '' AND w.stopped_by = '')`

// scanPause is how long after all claims were looked through it is not done again, for each of
// them: about twenty times as long as it took.
const scanPause = 10 * time.Microsecond

// A leaseScan is when all claims were last looked through and none had expired, and how many
// there were.
type leaseScan struct {
	mu     sync.Mutex
	at     time.Time
	claims float64
}

// due reports whether to look again.
func (l *leaseScan) due() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.at) >= time.Duration(l.claims)*scanPause
}

func (l *leaseScan) done(claims float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.claims = time.Now(), claims
}

// Stale reports whether Expired, ExpiredReviews, Due or Overdue would return something. No index
// has the ends of leases, see Renew, so that it does not look for them all the time.
func (r *reader) Stale() (bool, error) {
	const query = `SELECT greatest(c.reltuples, 0)::float8, $1 AND EXISTS (SELECT FROM claims WHERE lease_until <= statement_timestamp())
	OR EXISTS (SELECT FROM reviews r WHERE r.lease_until <= statement_timestamp()
		OR EXISTS (SELECT FROM claims c WHERE c.principal = r.principal AND c.worker = r.worker))
	OR EXISTS (SELECT FROM tasks WHERE not_before <= statement_timestamp() AND status = 'pending')
	OR EXISTS (SELECT FROM tasks r WHERE ` + abandoned + `)
	OR EXISTS (SELECT FROM questions WHERE state = 'open' AND dflt <> '' AND needed_by <= statement_timestamp())
FROM pg_class c WHERE c.oid = 'claims'::regclass`
	type state struct {
		Claims float64
		Stale  bool
	}
	due := r.scan.due()
	found, err := one(r, pgx.RowToStructByPos[state], query, due)
	if err == nil && due && !found.Stale {
		r.scan.done(found.Claims)
	}
	return found.Stale, err
}
