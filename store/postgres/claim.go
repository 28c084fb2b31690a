package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// HandOut is the statement behind Claim, for those who measure it or ask for its plan.
//
// It grants ready tasks, one to each claimant at most, and writes all that
// board.Grant writes. Parameters: projects, skills, then the claimants' principals,
// names, owners, sessions, nonces, places, event details and whether the name is new,
// then the usual lease.
//
//	w     who wants. One of several that has declined tasks is picky, and is left for a
//	      call of its own, where its tasks are passed over.
//	k     those that get something if there is something
//	no    what the only claimant has declined
//	pr    a project that has something ready for them; they are tried in random order
//	la    its lanes that fit
//	win   the first ready tasks of these: more of each lane where there are few lanes
//	c     of these those that nobody else has locked; by priority, no overlap, age
//	cl    the claims. The rest is written only for claims that took.
//
// OFFSET 0 keeps the planner from turning single lookups into a join over all rows.
const HandOut = `
WITH w AS MATERIALIZED (
	SELECT c.*, cardinality($4::text[]) > 1 AND EXISTS (SELECT FROM declines d
		WHERE d.principal = c.principal AND d.worker = c.name AND d.until > statement_timestamp() OFFSET 0) AS picky
	FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bool[])
		WITH ORDINALITY c(principal, name, owner, session, nonce, place, detail, fresh, no)),
k AS MATERIALIZED (
	SELECT w.*, row_number() OVER (ORDER BY w.no) AS rn FROM w WHERE NOT w.picky
		AND NOT EXISTS (SELECT FROM claims x WHERE x.principal = w.principal AND x.worker = w.name OFFSET 0)
		AND NOT EXISTS (SELECT FROM workers x WHERE x.principal = w.principal AND x.name = w.name AND (w.fresh OR x.stopped_by <> '') OFFSET 0)),
no AS MATERIALIZED (
	SELECT ARRAY(SELECT d.task_id FROM k CROSS JOIN LATERAL (
		SELECT d.task_id FROM declines d WHERE d.principal = k.principal AND d.worker = k.name AND d.until > statement_timestamp() OFFSET 0) d) AS ids),
pr AS MATERIALIZED (
	SELECT p.id FROM (
		SELECT p.id FROM projects p WHERE p.slug = ANY($1::text[]) AND p.paused_by = '' AND NOT p.archived
			AND EXISTS (SELECT FROM k) ORDER BY random()) p
	WHERE EXISTS (SELECT FROM (SELECT l.id FROM lanes l WHERE l.project_id = p.id AND ($2::text[] IS NULL OR l.skills <@ $2) OFFSET 0) l
		CROSS JOIN LATERAL (SELECT FROM tasks t WHERE t.lane_id = l.id AND t.ready AND t.id <> ALL ((SELECT ids FROM no)::bigint[]) LIMIT 1) t)
	LIMIT 1),
la AS MATERIALIZED (
	SELECT l.id, count(*) OVER () AS n FROM pr JOIN lanes l ON l.project_id = pr.id AND ($2::text[] IS NULL OR l.skills <@ $2)),
win AS MATERIALIZED (
	SELECT h.* FROM la CROSS JOIN LATERAL (
		SELECT t.id, t.priority, t.queued_at FROM tasks t
		WHERE t.lane_id = la.id AND t.ready AND t.id <> ALL ((SELECT ids FROM no)::bigint[])
		ORDER BY t.priority, t.queued_at, t.id LIMIT least(16 + 4 * cardinality($4), 2 + 2 * cardinality($4) + 64 / la.n)) h
	ORDER BY h.priority, h.queued_at, h.id LIMIT 16 + 4 * cardinality($4)),
c AS MATERIALIZED (
	SELECT t.id, t.attempt + 1 AS attempt, t.lease FROM win w JOIN tasks t ON t.id = w.id WHERE t.ready
	ORDER BY w.priority,
		EXISTS (SELECT FROM unnest(t.areas) a(p), LATERAL (
			SELECT FROM claim_areas b WHERE b.project_id = t.id >> 40 AND b.path = a.p LIMIT 1) x)
		OR EXISTS (SELECT FROM unnest(t.area_up) a(p), LATERAL (
			SELECT FROM claim_areas b WHERE b.project_id = t.id >> 40 AND b.path = a.p AND b.self LIMIT 1) x),
		w.queued_at, w.id
	LIMIT (SELECT count(*) FROM k) FOR UPDATE OF t SKIP LOCKED),
cl AS (
	INSERT INTO claims (task_id, attempt, nonce, principal, worker, owner, session, granted_at, lease_until, lease, deliveries)
	SELECT c.id, c.attempt, k.nonce, k.principal, k.name, k.owner, k.session, c.now, c.now + l.lease, l.lease, 0
	FROM (SELECT c.*, row_number() OVER () AS rn, clock_timestamp() AS now FROM c) c JOIN k USING (rn)
	JOIN projects p ON p.id = c.id >> 40
	CROSS JOIN LATERAL (SELECT coalesce(nullif(c.lease, '0'), nullif(p.lease, '0'), $11::interval) AS lease) l
	ON CONFLICT DO NOTHING RETURNING *),
u AS (
	UPDATE tasks t SET status = 'in_progress', ready = false, attempt = cl.attempt, nonce = cl.nonce, seq = t.seq + 1,
		not_before = NULL, reserved_principal = NULL, reserved_worker = NULL
	FROM cl WHERE t.id = cl.task_id RETURNING t.id, t.seq, t.spec_version, t.areas, t.area_up),
g AS (
	SELECT cl.*, u.*, k.place, k.detail FROM cl JOIN u ON u.id = cl.task_id JOIN k ON k.nonce = cl.nonce AND k.principal = cl.principal AND k.name = cl.worker),
at AS (
	INSERT INTO attempts (task_id, attempt, nonce, principal, worker, owner, granted_at, cause, reason, do_not_repeat,
		place, spec_version, created, report_hash, report_answer)
	SELECT g.task_id, g.attempt, g.nonce, g.principal, g.worker, g.owner, g.granted_at, '', '', '',
		g.place::json, g.spec_version, 0, '', '' FROM g),
ar AS (
	INSERT INTO claim_areas (project_id, path, self, task_id)
	SELECT g.task_id >> 40, a.path, true, g.task_id FROM g, unnest(g.areas) a(path)
	UNION SELECT g.task_id >> 40, a.path, false, g.task_id FROM g, unnest(g.area_up) a(path)
	ON CONFLICT DO NOTHING),
wk AS (
	INSERT INTO workers (principal, name, owner, last_seen, stopped_by)
	SELECT g.principal, g.worker, g.owner, g.granted_at, '' FROM g
	ON CONFLICT (principal, name) DO UPDATE SET owner = excluded.owner, last_seen = excluded.last_seen),
ev AS (
	INSERT INTO events (epoch, project_id, task_id, seq, at, actor, kind, from_status, to_status, detail)
	SELECT m.feed_epoch, g.task_id >> 40, g.task_id, g.seq, g.granted_at, g.worker, 'claimed', 'pending', 'in_progress',
		('{"Attempt":' || g.attempt || ',' || substr(g.detail, 2, length(g.detail) - 2)
			|| CASE WHEN g.lease >= '1s' THEN ',"LeaseSecs":' || trunc(extract(epoch FROM g.lease))::bigint ELSE '' END || '}')::json
	FROM g, meta m)
SELECT w.no, w.picky, EXISTS (SELECT FROM win), p.slug, cl.task_id, cl.attempt, cl.nonce, cl.granted_at, cl.lease_until, cl.lease
FROM w LEFT JOIN cl ON cl.nonce = w.nonce AND cl.principal = w.principal AND cl.worker = w.name
LEFT JOIN projects p ON p.id = cl.task_id >> 40`

// Claim hands out in a transaction of its own: one statement, one round trip.
func (s *Store) Claim(ctx context.Context, w board.Want) (_ []board.Claim, err error) {
	defer s.observe(OpClaim, time.Now(), &err)
	return claim(ctx, w, func(args []any) (granted []grant, err error) {
		err = repeat(ctx, func() error {
			conn, err := s.acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			return s.decide(ctx, conn.Conn(), func(ctx context.Context) (err error) {
				rows, err := conn.Query(ctx, HandOut, args...)
				if err != nil {
					return err
				}
				granted, err = pgx.CollectRows(rows, scanGrant)
				return err
			})
		})
		return granted, err
	})
}

// Claim hands out as a part of t.
func (t *tx) Claim(w board.Want) ([]board.Claim, error) {
	return claim(t.ctx, w, func(args []any) ([]grant, error) { return list(&t.reader, scanGrant, HandOut, args...) })
}

// claim runs the statement once; again if there were candidates and others had all of
// them locked; and for each of several claimants that has declined
// something.
func claim(ctx context.Context, w board.Want, run func(args []any) ([]grant, error)) ([]board.Claim, error) {
	if len(w.For) == 0 || len(w.Projects) == 0 {
		return nil, nil
	}
	var claims []board.Claim
	var picky []board.Claimant
	for try := range 2 {
		args, err := handOutArgs(w)
		if err != nil {
			return nil, err
		}
		rows, err := run(args)
		if err != nil {
			return nil, err
		}
		picky = nil
		some := false
		for _, g := range rows {
			some = some || g.some
			c := w.For[g.no-1]
			switch {
			case g.picky:
				picky = append(picky, c)
			case g.Attempt > 0:
				g.Worker, g.Owner, g.Session = c.Worker, c.Owner, c.Session
				claims = append(claims, g.Claim)
			}
		}
		if len(claims) > 0 || len(picky) > 0 || !some || try > 0 {
			break
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return nil, err
		}
	}
	for _, c := range picky {
		one := w
		one.For = []board.Claimant{c}
		more, err := claim(ctx, one, run)
		if err != nil {
			if len(claims) > 0 {
				break // what is granted must reach its workers
			}
			return nil, err
		}
		claims = append(claims, more...)
	}
	return claims, nil
}

func handOutArgs(w board.Want) ([]any, error) {
	columns := make([][]string, 7)
	var fresh []bool
	for _, c := range w.For {
		nonce := board.NewNonce()
		place, err := encode(c.Where)
		if err != nil {
			return nil, err
		}
		// The statement adds what only it knows: Attempt in front, LeaseSecs behind.
		detail, err := encode(board.Detail{Nonce: nonce, Worker: c.Worker.Name, Where: c.Where})
		if err != nil {
			return nil, err
		}
		for i, v := range []string{c.Worker.Principal, c.Worker.Name, c.Owner, c.Session, nonce, place, detail} {
			columns[i] = append(columns[i], v)
		}
		fresh = append(fresh, c.New)
	}
	args := []any{w.Projects, w.Skills}
	for _, c := range columns {
		args = append(args, c)
	}
	return append(args, fresh, w.Lease), nil
}

// A grant is what the statement says of one claimant.
type grant struct {
	no    int64
	picky bool
	some  bool // there were candidates
	board.Claim
}

func scanGrant(row pgx.CollectableRow) (g grant, err error) {
	var slug, nonce *string
	var key *int64
	var attempt *int
	var lease *time.Duration
	err = row.Scan(&g.no, &g.picky, &g.some, &slug, &key, &attempt, &nonce, stamp(&g.GrantedAt), stamp(&g.LeaseUntil), &lease)
	if err != nil || key == nil {
		return g, err
	}
	g.Handle = board.Handle{Task: board.ID{Project: *slug, No: number(*key)}, Attempt: *attempt, Nonce: *nonce}
	g.Lease = *lease
	return g, nil
}

// claimColumns are of projects p and claims c.
const claimColumns = `p.slug, c.task_id, c.attempt, c.nonce, c.principal, c.worker, c.owner, c.session,
	c.granted_at, c.lease_until, c.lease, c.deliveries`

func scanClaim(row pgx.CollectableRow) (c board.Claim, err error) {
	var key int64
	err = row.Scan(&c.Task.Project, &key, &c.Attempt, &c.Nonce, &c.Worker.Principal, &c.Worker.Name, &c.Owner, &c.Session,
		&c.GrantedAt, &c.LeaseUntil, &c.Lease, &c.Deliveries)
	c.Task.No = number(key)
	return c, err
}

const claimQuery = `SELECT ` + claimColumns + `
FROM projects p JOIN claims c ON c.task_id = p.id::bigint << 40 | $2::bigint WHERE p.slug = $1`

// LiveClaim reads the claim on a task.
func (t *tx) LiveClaim(id board.ID) (board.Claim, error) {
	c, err := one(&t.reader, scanClaim, claimQuery, id.Project, no(id))
	return c, named(err, "claim on", id)
}

// Claims lists live claims.
func (r *reader) Claims(f board.ClaimFilter) ([]board.Claim, error) {
	const (
		head      = `SELECT ` + claimColumns + ` FROM claims c JOIN projects p ON p.id = c.task_id >> 40 WHERE true`
		tail      = ` ORDER BY p.slug, c.task_id`
		project   = ` AND p.slug = $%d`
		principal = ` AND c.principal = $%d`
		owner     = ` AND c.owner = $%d`
		worker    = ` AND c.worker = $%d`
		session   = ` AND c.session = $%d`
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
	return list(r, scanClaim, head+conditions.String()+tail, args...)
}

// InsertClaim stores a claim, unless the task or the worker has one.
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
	conflict := fmt.Errorf("%w: worker %s has a claim already, or task %v has", board.ErrConflict, c.Worker.Name, c.Task)
	return t.write(conflict, query, c.Task.Project, no(c.Task), c.Attempt, c.Nonce, c.Worker.Principal, c.Worker.Name, c.Owner, c.Session,
		c.GrantedAt, c.LeaseUntil, c.Lease, c.Deliveries, orEmpty(areas), ancestors(areas))
}

// UpdateClaim writes what can change of a claim.
func (t *tx) UpdateClaim(c board.Claim) error {
	const query = `
UPDATE claims SET owner = $5, session = $6, lease_until = $7, lease = $8, deliveries = $9
WHERE task_id = ` + taskID + ` AND attempt = $3 AND nonce = $4`
	conflict := fmt.Errorf("%w: %v is not the claim on %v", board.ErrConflict, c.Handle, c.Task)
	return t.write(conflict, query, c.Task.Project, no(c.Task), c.Attempt, c.Nonce,
		c.Owner, c.Session, c.LeaseUntil, c.Lease, c.Deliveries)
}

// DeleteClaim ends the claim on a task, if there is one.
func (t *tx) DeleteClaim(id board.ID) error {
	const query = `
WITH cl AS (DELETE FROM claims WHERE task_id = ` + taskID + ` RETURNING task_id)
DELETE FROM claim_areas a USING cl WHERE a.task_id = cl.task_id`
	_, err := t.exec(query, id.Project, no(id))
	return err
}

// Renew moves a live claim's end. It touches the claim alone; the sweep locks it
// before it ends it, so one of the two comes first and the other sees it.
func (t *tx) Renew(h board.Handle) (bool, error) {
	const query = `
UPDATE claims SET lease_until = greatest(lease_until, clock_timestamp() + lease)
WHERE task_id = ` + taskID + ` AND attempt = $3 AND nonce = $4 AND lease_until > clock_timestamp()`
	n, err := t.exec(query, h.Task.Project, no(h.Task), h.Attempt, h.Nonce)
	return n > 0, err
}

// Expired locks tasks together with their claims, and looks at the claim again once
// it has the lock: one that was renewed meanwhile is not given.
func (t *tx) Expired(limit int) ([]board.Task, error) {
	const query = `SELECT ` + taskColumns + `
FROM claims c JOIN tasks t ON t.id = c.task_id JOIN projects p ON p.id = c.task_id >> 40
WHERE c.lease_until <= statement_timestamp()
ORDER BY c.lease_until LIMIT $1 FOR UPDATE OF t, c SKIP LOCKED`
	tasks, err := list(&t.reader, scanTask, query, limit)
	slices.SortFunc(tasks, byID)
	return tasks, err
}

// Extend renews what is under half of its lease, or has run out.
func (t *tx) Extend() error {
	_, err := t.exec(`UPDATE claims SET lease_until = clock_timestamp() + lease WHERE lease_until < clock_timestamp() + lease / 2`)
	return err
}

// Stale asks what Expired, Due and Overdue would.
func (r *reader) Stale() (bool, error) {
	const query = `SELECT EXISTS (SELECT FROM claims WHERE lease_until <= statement_timestamp())
	OR EXISTS (SELECT FROM tasks WHERE not_before <= statement_timestamp() AND status = 'pending')
	OR EXISTS (SELECT FROM questions WHERE state = 'open' AND dflt <> '' AND needed_by <= statement_timestamp())`
	return one(r, pgx.RowTo[bool], query)
}
