package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

const workerColumns = `principal, name, owner, last_seen, stopped_by`

func scanWorker(row pgx.CollectableRow) (w board.Worker, err error) {
	err = row.Scan(&w.Principal, &w.Name, &w.Owner, &w.LastSeen, &w.StoppedBy)
	return w, err
}

// Workers lists the workers that were seen since a point in time.
func (r *reader) Workers(since time.Time) ([]board.Worker, error) {
	const query = `SELECT ` + workerColumns + ` FROM workers
WHERE seen_on >= ($1::timestamptz AT TIME ZONE 'UTC')::date AND last_seen >= $1 ORDER BY principal COLLATE "C", name COLLATE "C"`
	return list(r, scanWorker, query, since)
}

// PutWorker creates or replaces a worker.
func (t *tx) PutWorker(w board.Worker) error {
	const query = `
INSERT INTO workers (` + workerColumns + `) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (principal, name) DO UPDATE
SET owner = excluded.owner, last_seen = excluded.last_seen, stopped_by = excluded.stopped_by`
	if h := t.known.held; h != nil && h.worker.WorkerID == w.WorkerID {
		h.worker = w
	}
	t.later(query, w.Principal, w.Name, w.Owner, w.LastSeen, w.StoppedBy)
	return nil
}

// Seen sets when a worker was last seen to now.
func (t *tx) Seen(w board.WorkerID) error {
	t.later(`UPDATE workers SET last_seen = clock_timestamp() WHERE principal = $1 AND name = $2`, w.Principal, w.Name)
	return nil
}

const workerQuery = `SELECT ` + workerColumns + ` FROM workers WHERE principal = $1 AND name = $2`

// Worker reads a worker.
func (r *reader) Worker(w board.WorkerID) (worker board.Worker, err error) {
	var b batch
	batchOne(&b, &worker, false, scanWorker, workerQuery, w.Principal, w.Name)
	return worker, r.send(&b)
}

// Worker reads a worker.
func (t *tx) Worker(w board.WorkerID) (board.Worker, error) {
	if h := t.known.held; h != nil && h.worker.WorkerID == w {
		return h.worker, nil
	}
	return t.reader.Worker(w)
}

// Disown clears the owner of all workers and open questions, and ends the leases of landers, of an owner.
func (t *tx) Disown(owner string) error {
	const landers = `UPDATE landers SET nonce = '', lease_until = least(lease_until, clock_timestamp()) WHERE nonce <> '' AND owner = $1`
	if _, err := t.exec(landers, owner); err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE workers SET owner = '' WHERE owner = $1 AND owner <> ''`, owner); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE questions SET owner = '' WHERE state = 'open' AND owner = $1`, owner)
	return err
}

// Standing reads what a worker has, in one round trip.
func (r *reader) Standing(w board.WorkerID) (board.Standing, error) {
	const (
		claim    = `SELECT ` + claimColumns + ` FROM claims c JOIN projects p ON p.id = c.task_id >> 40 WHERE c.principal = $1 AND c.worker = $2`
		review   = `SELECT ` + reviewColumns + ` FROM reviews c JOIN projects p ON p.id = c.task_id >> 40 WHERE c.principal = $1 AND c.worker = $2`
		reserved = `
SELECT p.slug, t.id FROM tasks t JOIN projects p ON p.id = t.id >> 40
WHERE t.reserved_principal = $1 AND t.reserved_worker = $2
	AND t.status = 'pending' AND NOT t.hold AND t.open_blockers = 0 AND t.open_children = 0
ORDER BY t.priority, t.queued_at, t.id LIMIT 1`
	)
	var s board.Standing
	var claims, reviews []board.Claim
	var b batch
	batchOne(&b, &s.Worker, false, scanWorker, workerQuery, w.Principal, w.Name)
	batchList(&b, &claims, scanClaim, claim, w.Principal, w.Name)
	batchList(&b, &reviews, scanClaim, review, w.Principal, w.Name)
	batchOne(&b, &s.Reserved, false, scanID, reserved, w.Principal, w.Name)
	if err := r.send(&b); err != nil {
		return board.Standing{}, err
	}
	if len(claims) > 0 {
		s.Claim = &claims[0]
	}
	if len(reviews) > 0 {
		s.Review = &reviews[0]
	}
	return s, nil
}

func scanID(row pgx.CollectableRow) (id board.ID, err error) {
	var key int64
	err = row.Scan(&id.Project, &key)
	id.No = number(key)
	return id, err
}

// Declined returns the tasks that a worker has declined, and until when.
func (r *reader) Declined(w board.WorkerID) (map[board.ID]time.Time, error) {
	const query = `
SELECT p.slug, d.task_id, d.until FROM declines d JOIN projects p ON p.id = d.task_id >> 40
WHERE d.principal = $1 AND d.worker = $2 AND d.until > statement_timestamp()`
	type decline struct {
		id    board.ID
		until time.Time
	}
	found, err := list(r, func(row pgx.CollectableRow) (d decline, err error) {
		var key int64
		err = row.Scan(&d.id.Project, &key, &d.until)
		d.id.No = number(key)
		return d, err
	}, query, w.Principal, w.Name)
	tasks := make(map[board.ID]time.Time, len(found))
	for _, d := range found {
		tasks[d.id] = d.until
	}
	return tasks, err
}

// Decline keeps a task from being offered to a worker until a point in time.
func (t *tx) Decline(w board.WorkerID, id board.ID, until time.Time) error {
	const query = `
INSERT INTO declines (task_id, principal, worker, until) VALUES ($1, $2, $3, $4)
ON CONFLICT (principal, worker, task_id) DO UPDATE SET until = excluded.until`
	key, err := t.key(id)
	if err != nil {
		return err
	}
	t.later(query, key, w.Principal, w.Name, until)
	return nil
}

// ForgetWorkers deletes workers that were not seen for long, a bounded number at once.
func (t *tx) ForgetWorkers(age time.Duration) error {
	const query = `
DELETE FROM workers WHERE (principal, name) IN (SELECT w.principal, w.name FROM workers w
	WHERE w.last_seen < statement_timestamp() - $1::interval AND w.stopped_by = ''
		AND NOT EXISTS (SELECT FROM claims c WHERE c.principal = w.principal AND c.worker = w.name)
		AND NOT EXISTS (SELECT FROM reviews c WHERE c.principal = w.principal AND c.worker = w.name)
		AND NOT EXISTS (SELECT FROM tasks t WHERE t.reserved_principal = w.principal AND t.reserved_worker = w.name AND t.status = 'pending')
	LIMIT 1000 FOR UPDATE SKIP LOCKED)`
	_, err := t.exec(query, age)
	return err
}
