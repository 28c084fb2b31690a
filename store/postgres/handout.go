package postgres

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// HandOut is the statement behind Claim, exported for benchmarks and query plans.
//
// It grants ready tasks, at most one to each claimant, and writes all that board.Grant
// writes. Its parameters are
//
//	$1       the projects
//	$2       the skills of the claimants, NULL for any
//	$3, $4   the claimants' principals and names
//	$5..$9   their owners, sessions, nonces, places and event details
//	$10      whether the name is new
//	$11      the lease of tasks for which neither the task nor its project has one
//
// OFFSET 0 keeps the planner from turning single lookups into a join over all rows.
const HandOut = `
-- Who asks. One of several claimants that has declined tasks is picky, and is left to
-- a call of its own, in which its tasks are passed over.
WITH claimants AS MATERIALIZED (
	SELECT c.*, cardinality($4::text[]) > 1 AND EXISTS (SELECT FROM declines d
		WHERE d.principal = c.principal AND d.worker = ANY (ARRAY[c.name, CASE WHEN c.fresh THEN c.owner END])
		AND d.until > statement_timestamp() OFFSET 0) AS picky
	FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bool[])
		WITH ORDINALITY c(principal, name, owner, session, nonce, place, detail, fresh, no)),
-- Those who may get a task. Not one who holds a task or a review, was stopped, as worker or as owner,
-- or has a new name that is taken.
eligible AS MATERIALIZED (
	SELECT w.*, row_number() OVER (ORDER BY w.no) AS rn FROM claimants w WHERE NOT w.picky
		AND NOT EXISTS (SELECT FROM claims x WHERE x.principal = w.principal AND x.worker = w.name OFFSET 0)
		AND NOT EXISTS (SELECT FROM reviews x WHERE x.principal = w.principal AND x.worker = w.name OFFSET 0)
		AND NOT EXISTS (SELECT FROM workers x WHERE x.principal = w.principal AND x.name = ANY (ARRAY[w.name, w.owner])
			AND (w.fresh AND x.name = w.name OR x.stopped_by <> '') OFFSET 0)),
-- The tasks that the only claimant has declined, as one array. A new name has declined what
-- its owner has.
declined AS MATERIALIZED (
	SELECT ARRAY(SELECT d.task_id FROM eligible e CROSS JOIN LATERAL (
		SELECT d.task_id FROM declines d WHERE d.principal = e.principal AND d.worker = ANY (ARRAY[e.name, CASE WHEN e.fresh THEN e.owner END])
		AND d.until > statement_timestamp() OFFSET 0) d) AS ids),
-- One project with a ready task that fits. The projects are tried in random order.
chosen_project AS MATERIALIZED (
	SELECT p.id FROM (
		SELECT p.id FROM projects p WHERE p.slug = ANY($1::text[]) AND p.paused_by = '' AND NOT p.archived
			AND EXISTS (SELECT FROM eligible) ORDER BY random()) p
	WHERE EXISTS (SELECT FROM (SELECT l.id FROM lanes l WHERE l.project_id = p.id AND ($2::text[] IS NULL OR l.skills <@ $2) OFFSET 0) l
		CROSS JOIN LATERAL (SELECT FROM tasks t WHERE t.lane_id = l.id AND t.ready AND t.id <> ALL ((SELECT ids FROM declined)::bigint[]) LIMIT 1) t)
	LIMIT 1),
-- The lanes of that project whose skills the claimants have, and how many there are.
fitting_lanes AS MATERIALIZED (
	SELECT l.id, count(*) OVER () AS n FROM chosen_project p JOIN lanes l ON l.project_id = p.id AND ($2::text[] IS NULL OR l.skills <@ $2)),
-- The first ready tasks of these lanes, by priority and age. The fewer lanes there are,
-- the more tasks of each.
candidates AS MATERIALIZED (
	SELECT h.* FROM fitting_lanes f CROSS JOIN LATERAL (
		SELECT t.id, t.priority, t.queued_at FROM tasks t
		WHERE t.lane_id = f.id AND t.ready AND t.id <> ALL ((SELECT ids FROM declined)::bigint[])
		ORDER BY t.priority, t.queued_at, t.id LIMIT least(16 + 4 * cardinality($4), 2 + 2 * cardinality($4) + 64 / f.n)) h
	ORDER BY h.priority, h.queued_at, h.id LIMIT 16 + 4 * cardinality($4)),
-- Whether live claims of that project have areas at all.
occupied AS MATERIALIZED (
	SELECT EXISTS (SELECT FROM claim_areas b WHERE b.project_id = (SELECT id FROM chosen_project)) AS any_area),
-- One task for each claimant, locked one after the other until there are enough. Tasks that
-- others have locked are passed over. Within a priority, tasks whose areas overlap a live
-- claim come last.
locked_tasks AS MATERIALIZED (
	SELECT t.id, t.attempt + 1 AS attempt, t.lease FROM (
		SELECT w.id FROM candidates w ORDER BY w.priority,
			CASE WHEN (SELECT any_area FROM occupied) THEN EXISTS (SELECT FROM tasks t WHERE t.id = w.id AND (
				EXISTS (SELECT FROM unnest(t.areas) a(p), LATERAL (
					SELECT FROM claim_areas b WHERE b.project_id = t.id >> 40 AND b.path = a.p LIMIT 1) x)
				OR EXISTS (SELECT FROM unnest(t.area_up) a(p), LATERAL (
					SELECT FROM claim_areas b WHERE b.project_id = t.id >> 40 AND b.path = a.p AND b.self LIMIT 1) x)) OFFSET 0) ELSE false END,
			w.queued_at, w.id OFFSET 0) w
	CROSS JOIN LATERAL (SELECT t.id, t.attempt, t.lease FROM tasks t WHERE t.id = w.id AND t.ready FOR UPDATE SKIP LOCKED) t
	LIMIT (SELECT count(*) FROM eligible)),
-- The claims. A worker that got another claim in the meantime gets none here, and what
-- follows is written only for the claims that were.
new_claims AS (
	INSERT INTO claims (task_id, attempt, nonce, principal, worker, owner, session, granted_at, lease_until, lease, deliveries)
	SELECT t.id, t.attempt, e.nonce, e.principal, e.name, e.owner, e.session, t.now, t.now + l.lease, l.lease, 0
	FROM (SELECT t.*, row_number() OVER () AS rn, clock_timestamp() AS now FROM locked_tasks t) t JOIN eligible e USING (rn)
	JOIN projects p ON p.id = t.id >> 40
	CROSS JOIN LATERAL (SELECT coalesce(nullif(t.lease, '0'), nullif(p.lease, '0'), $11::interval) AS lease) l
	ON CONFLICT DO NOTHING RETURNING *),
-- The tasks, in progress from now on.
claimed_tasks AS (
	UPDATE tasks t SET status = 'in_progress', ready = false, attempt = c.attempt, nonce = c.nonce, seq = t.seq + 1,
		not_before = NULL, reserved_principal = NULL, reserved_worker = NULL
	FROM new_claims c WHERE t.id = c.task_id RETURNING t.id, t.seq, t.spec_version, t.areas, t.area_up),
-- Each claim with its task and its claimant, for the rows that follow.
grants AS (
	SELECT c.*, t.*, e.place, e.detail FROM new_claims c JOIN claimed_tasks t ON t.id = c.task_id
	JOIN eligible e ON e.nonce = c.nonce AND e.principal = c.principal AND e.name = c.worker),
-- The attempts that begin.
new_attempts AS (
	INSERT INTO attempts (task_id, attempt, nonce, principal, worker, owner, granted_at, cause, reason, do_not_repeat,
		place, spec_version, created, report_hash, report_answer)
	SELECT g.task_id, g.attempt, g.nonce, g.principal, g.worker, g.owner, g.granted_at, '', '', '',
		g.place::json, g.spec_version, 0, '', '' FROM grants g),
-- The areas that the claims work in, and their ancestors.
new_areas AS (
	INSERT INTO claim_areas (project_id, path, self, task_id)
	SELECT g.task_id >> 40, a.path, true, g.task_id FROM grants g, unnest(g.areas) a(path)
	UNION SELECT g.task_id >> 40, a.path, false, g.task_id FROM grants g, unnest(g.area_up) a(path)
	ON CONFLICT DO NOTHING),
-- The workers, seen now.
seen_workers AS (
	INSERT INTO workers (principal, name, owner, last_seen, stopped_by)
	SELECT g.principal, g.worker, g.owner, g.granted_at, '' FROM grants g
	ON CONFLICT (principal, name) DO UPDATE SET owner = excluded.owner, last_seen = excluded.last_seen),
-- An event for each task. Its detail comes from the caller, without what only this
-- statement knows, the attempt and the lease.
new_events AS (
	INSERT INTO events (epoch, project_id, task_id, seq, at, actor, kind, from_status, to_status, detail)
	SELECT m.feed_epoch, g.task_id >> 40, g.task_id, g.seq, g.granted_at, g.worker, 'claimed', 'pending', 'in_progress',
		('{"Attempt":' || g.attempt || ',' || substr(g.detail, 2, length(g.detail) - 2)
			|| CASE WHEN g.lease >= '1s' THEN ',"LeaseSecs":' || trunc(extract(epoch FROM g.lease))::bigint ELSE '' END || '}')::json
	FROM grants g, meta m)
-- One row for each claimant, with its claim if it got one.
SELECT w.no, w.picky, EXISTS (SELECT FROM candidates), p.slug, c.task_id, c.attempt, c.nonce, c.granted_at, c.lease_until, c.lease
FROM claimants w LEFT JOIN new_claims c ON c.nonce = w.nonce AND c.principal = w.principal AND c.worker = w.name
LEFT JOIN projects p ON p.id = c.task_id >> 40`

// Claim hands out tasks in a transaction of its own: one statement, one round trip. If the
// answer is lost, it finds the claims that were granted.
func (s *Store) Claim(ctx context.Context, w board.Want) (_ []board.Claim, err error) {
	defer s.observe(OpClaim, time.Now(), &err)
	return claim(ctx, w, func(args []any) ([]handout, error) { return s.handOut(ctx, args) })
}

// Claim hands out tasks in t.
func (t *tx) Claim(w board.Want) ([]board.Claim, error) {
	return claim(t.ctx, w, func(args []any) ([]handout, error) { return list(&t.reader, scanHandout, HandOut, args...) })
}

// claim runs HandOut. It runs it a second time if there were candidates and others had
// locked all of them, and once for each claimant that is picky.
func claim(ctx context.Context, w board.Want, run func(args []any) ([]handout, error)) ([]board.Claim, error) {
	if len(w.For) == 0 || len(w.Projects) == 0 {
		return nil, nil
	}
	var claims []board.Claim
	var picky []board.Claimant
	var unknown error
	for try := range 2 {
		args, err := handOutArgs(w)
		if err != nil {
			return nil, err
		}
		rows, err := run(args)
		if err != nil && len(rows) == 0 {
			return nil, err
		}
		unknown = err
		picky = nil
		candidates := false
		for _, g := range rows {
			candidates = candidates || g.candidates
			c := w.For[g.no-1]
			switch {
			case g.picky:
				picky = append(picky, c)
			case g.Attempt > 0:
				g.Worker, g.Owner, g.Session, g.Where = c.Worker, c.Owner, c.Session, c.Where
				g.LastCall = g.GrantedAt
				claims = append(claims, g.Claim)
			}
		}
		if len(claims) > 0 || len(picky) > 0 || !candidates || try > 0 {
			break
		}
		if err := sleep(ctx, 2*time.Millisecond); err != nil {
			return nil, err
		}
	}
	for _, c := range picky {
		one := w
		one.For = []board.Claimant{c}
		more, err := claim(ctx, one, run)
		claims = append(claims, more...)
		switch {
		case errors.Is(err, board.ErrUnknown):
			unknown = err
		case err != nil && len(claims) == 0 && unknown == nil:
			return nil, err
		}
		if err != nil {
			break // the workers must get what was granted
		}
	}
	return claims, unknown
}

// handOutArgs returns the parameters of HandOut.
func handOutArgs(w board.Want) ([]any, error) {
	columns := make([][]string, 7)
	var fresh []bool
	for _, c := range w.For {
		nonce := cmp.Or(c.Nonce, board.NewNonce())
		place, err := encode(c.Where)
		if err != nil {
			return nil, err
		}
		// The statement adds Attempt at the beginning and LeaseSecs at the end.
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

// A handout is a row of HandOut: the result for one claimant.
type handout struct {
	no          int64 // of the claimant, from 1
	picky       bool
	candidates  bool // there were candidates
	board.Claim      // zero if it got no task
}

func scanHandout(row pgx.CollectableRow) (g handout, err error) {
	var slug, nonce *string
	var key *int64
	var attempt *int
	var lease *time.Duration
	err = row.Scan(&g.no, &g.picky, &g.candidates, &slug, &key, &attempt, &nonce, stamp(&g.GrantedAt), stamp(&g.LeaseUntil), &lease)
	if err != nil || key == nil {
		return g, err
	}
	g.Handle = board.Handle{Task: board.ID{Project: *slug, No: number(*key)}, Attempt: *attempt, Nonce: *nonce}
	g.Lease = *lease
	return g, nil
}
