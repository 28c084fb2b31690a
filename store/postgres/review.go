package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// reviewColumns are what scanClaim reads, of projects p and reviews c; a review has no
// attempt and no place.
const reviewColumns = `p.slug, c.task_id, 0, c.nonce, c.principal, c.worker, c.owner, c.session,
	c.granted_at, c.lease_until, c.lease, c.deliveries, NULL,
	(SELECT w.last_seen FROM workers w WHERE w.principal = c.principal AND w.name = c.worker),
	coalesce((SELECT w.owner <> c.owner FROM workers w WHERE w.principal = c.principal AND w.name = c.worker), false)`

const reviewQuery = `SELECT ` + reviewColumns + `
FROM projects p JOIN reviews c ON c.task_id = p.id::bigint << 40 | $2::bigint WHERE p.slug = $1`

// Reviews lists live claims on reviews.
func (r *reader) Reviews(f board.ClaimFilter) ([]board.Claim, error) {
	const (
		head = `SELECT ` + reviewColumns + ` FROM reviews c JOIN projects p ON p.id = c.task_id >> 40 WHERE true`
		tail = ` ORDER BY p.slug, c.task_id`
	)
	if len(f.Areas) > 0 {
		return nil, nil
	}
	conditions, args := filterClaims(f)
	return list(r, scanClaim, head+conditions+tail+limitClaims(f, &args), args...)
}

// Reviewable finds the review that comes first for a claimant.
func (r *reader) Reviewable(w board.Want) (board.Reviewable, error) {
	const query = `
SELECT p.slug, t.id, EXISTS (SELECT FROM projects q JOIN lanes l ON l.project_id = q.id
	CROSS JOIN LATERAL (SELECT FROM tasks x WHERE x.lane_id = l.id AND x.ready AND x.priority < t.priority LIMIT 1) x
	WHERE q.slug = ANY($2::text[]) AND q.paused_by = '' AND NOT q.archived AND ($3::text[] IS NULL OR l.skills <@ $3))
FROM projects p JOIN tasks t ON t.id >= p.id::bigint << 40 AND t.id < (p.id + 1)::bigint << 40
WHERE p.slug = ANY($1::text[]) AND p.policy = 'person' AND p.accept = 'lead' AND p.paused_by = '' AND NOT p.archived
	AND t.status = 'review' AND t.open_children = 0 AND ($3::text[] IS NULL OR t.skills <@ $3)
	AND NOT EXISTS (SELECT FROM reviews c WHERE c.task_id = t.id)
	AND NOT EXISTS (SELECT FROM declines d WHERE d.principal = $4 AND d.worker = $5 AND d.task_id = t.id AND d.until > statement_timestamp())
	AND NOT EXISTS (SELECT FROM attempts a WHERE a.task_id = t.id AND (a.owner = $6 OR strpos(a.actors, chr(10) || $6 || chr(10)) > 0 OR a.principal = $4 AND (a.worker = $5 OR $7 OR ` + inDir + `)))
ORDER BY t.priority, t.queued_at, t.id LIMIT 1`
	if len(w.Reviews) == 0 {
		return board.Reviewable{}, nil
	}
	who := w.For[0]
	found, err := list(r, func(row pgx.CollectableRow) (n board.Reviewable, err error) {
		var key int64
		err = row.Scan(&n.Task.Project, &key, &n.Behind)
		n.Task.No = number(key)
		return n, err
	}, query, w.Reviews, w.Projects, w.Skills, who.Worker.Principal, who.Worker.Name, who.Owner, who.OneWorker)
	if err != nil || len(found) == 0 {
		return board.Reviewable{}, err
	}
	return found[0], nil
}

// InsertReview stores a claim on a review; ErrConflict if the task or the worker has one.
func (t *tx) InsertReview(c board.Claim) error {
	const query = `
INSERT INTO reviews (task_id, nonce, principal, worker, owner, session, granted_at, lease_until, lease, deliveries)
SELECT p.id::bigint << 40 | $2::bigint, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM projects p WHERE p.slug = $1
ON CONFLICT DO NOTHING`
	conflict := fmt.Errorf("%w: worker %s or task %v already has a review", board.ErrConflict, c.Worker.Name, c.Task)
	return t.write(conflict, query, c.Task.Project, no(c.Task), c.Nonce, c.Worker.Principal, c.Worker.Name, c.Owner, c.Session,
		c.GrantedAt, c.LeaseUntil, c.Lease, c.Deliveries)
}

// UpdateReview writes the owner, the session, the lease and the deliveries of a review.
func (t *tx) UpdateReview(c board.Claim) error {
	const query = `
UPDATE reviews SET owner = $4, session = $5, lease_until = $6, lease = $7, deliveries = $8
WHERE task_id = ` + taskID + ` AND nonce = $3`
	conflict := fmt.Errorf("%w: %v is not live", board.ErrConflict, c.Handle)
	return t.write(conflict, query, c.Task.Project, no(c.Task), c.Nonce, c.Owner, c.Session, c.LeaseUntil, c.Lease, c.Deliveries)
}

// DeleteReview deletes the claim on the review of a task, if there is one.
func (t *tx) DeleteReview(id board.ID) error {
	key, err := t.key(id)
	if err != nil {
		return err
	}
	t.later(`DELETE FROM reviews WHERE task_id = $1`, key)
	return nil
}

// ExpiredReviews returns claims on reviews that have expired, or whose worker holds a task.
func (t *tx) ExpiredReviews(limit int) ([]board.Claim, error) {
	const query = `SELECT ` + reviewColumns + ` FROM reviews c JOIN projects p ON p.id = c.task_id >> 40
WHERE c.lease_until <= statement_timestamp() OR EXISTS (SELECT FROM claims x WHERE x.principal = c.principal AND x.worker = c.worker)
ORDER BY c.task_id LIMIT $1`
	return list(&t.reader, scanClaim, query, limit)
}
