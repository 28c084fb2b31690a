package sqlite

import (
	"time"

	"github.com/bossman-dev/bossman/board"
)

const workerColumns = `SELECT principal, name, owner, last_seen, stopped_by FROM workers`

// workers runs a constant query that begins with workerColumns.
func (r *reader) workers(query string, args ...any) ([]board.Worker, error) {
	var list []board.Worker
	err := r.each(query, args, func(scan scan) error {
		var w board.Worker
		var seen int64
		err := scan(&w.Principal, &w.Name, &w.Owner, &seen, &w.StoppedBy)
		w.LastSeen = fromMicros(seen)
		list = append(list, w)
		return err
	})
	return list, err
}

func (r *reader) Workers(since time.Time) ([]board.Worker, error) {
	const query = workerColumns + ` WHERE last_seen >= ? ORDER BY principal, name`
	return r.workers(query, since.UnixMicro())
}

func (r *reader) Worker(w board.WorkerID) (board.Worker, error) {
	const query = workerColumns + ` WHERE principal = ? AND name = ?`
	found, err := r.workers(query, w.Principal, w.Name)
	if err != nil || len(found) == 0 {
		return board.Worker{}, err
	}
	return found[0], nil
}

func (r *reader) Standing(w board.WorkerID) (board.Standing, error) {
	const claim = claimColumns + ` WHERE c.principal = ? AND c.worker = ?`
	const review = reviewColumns + ` WHERE c.principal = ? AND c.worker = ?`
	const reserved = `SELECT p.slug, t.id FROM tasks t CROSS JOIN projects p ON p.id = t.id >> 40
		WHERE t.reserved_principal = ? AND t.reserved_name = ? AND t.status = 'pending' ORDER BY t.id LIMIT 1`
	var s board.Standing
	var err error
	if s.Worker, err = r.Worker(w); err != nil {
		return s, err
	}
	claims, err := r.claims(claim, w.Principal, w.Name)
	if err != nil {
		return s, err
	}
	if len(claims) > 0 {
		s.Claim = &claims[0]
	}
	reviews, err := r.claims(review, w.Principal, w.Name)
	if err != nil {
		return s, err
	}
	if len(reviews) > 0 {
		s.Review = &reviews[0]
	}
	err = r.each(reserved, []any{w.Principal, w.Name}, func(scan scan) error {
		var slug string
		var id int64
		err := scan(&slug, &id)
		s.Reserved = unpack(slug, id)
		return err
	})
	return s, err
}

func (t *tx) PutWorker(w board.Worker) error {
	const query = `INSERT INTO workers (principal, name, owner, last_seen, stopped_by) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (principal, name) DO UPDATE SET owner = excluded.owner, last_seen = excluded.last_seen, stopped_by = excluded.stopped_by`
	_, err := t.exec(query, w.Principal, w.Name, w.Owner, w.LastSeen.UnixMicro(), w.StoppedBy)
	return err
}

func (t *tx) Seen(w board.WorkerID) error {
	const query = `UPDATE workers SET last_seen = ? WHERE principal = ? AND name = ?`
	_, err := t.exec(query, t.now(), w.Principal, w.Name)
	return err
}

func (t *tx) Disown(owner string) error {
	t.left = append(t.left, owner)
	const workers = `UPDATE workers SET owner = '' WHERE owner = ? AND owner <> ''`
	const questions = `UPDATE questions SET owner = '' WHERE state = 'open' AND owner = ?`
	const landers = `UPDATE landers SET nonce = '', lease_until = min(lease_until, ?) WHERE nonce <> '' AND owner = ?`
	if _, err := t.exec(workers, owner); err != nil {
		return err
	}
	if _, err := t.exec(landers, t.now(), owner); err != nil {
		return err
	}
	_, err := t.exec(questions, owner)
	return err
}

// Decline also deletes the worker's declines that are over.
func (t *tx) Decline(w board.WorkerID, id board.ID, until time.Time) error {
	const forget = `DELETE FROM declines WHERE principal = ? AND worker = ? AND until <= ?`
	const query = `INSERT INTO declines (principal, worker, task_id, until) VALUES (?, ?, ?, ?)
		ON CONFLICT (principal, worker, task_id) DO UPDATE SET until = excluded.until`
	packed, err := t.pack(id)
	if err != nil {
		return err
	}
	if _, err := t.exec(forget, w.Principal, w.Name, t.now()); err != nil {
		return err
	}
	_, err = t.exec(query, w.Principal, w.Name, packed, until.UnixMicro())
	return err
}

func (r *reader) Declined(w board.WorkerID) (map[board.ID]time.Time, error) {
	const query = `SELECT p.slug, d.task_id, d.until FROM declines d CROSS JOIN projects p ON p.id = d.task_id >> 40
		WHERE d.principal = ? AND d.worker = ? AND d.until > ?`
	tasks := map[board.ID]time.Time{}
	err := r.each(query, []any{w.Principal, w.Name, r.now()}, func(scan scan) error {
		var slug string
		var id, until int64
		err := scan(&slug, &id, &until)
		tasks[unpack(slug, id)] = fromMicros(until)
		return err
	})
	return tasks, err
}

// declines are the tasks that claimants have declined and must not be offered yet.
type declines struct {
	tasks map[board.WorkerID]map[int64]bool
	count int
}

func (d declines) has(w board.WorkerID, task int64) bool { return d.tasks[w][task] }

func (t *tx) declined(claimants []board.Claimant) (declines, error) {
	const query = `SELECT task_id FROM declines WHERE principal = ? AND worker IN (?, ?) AND until > ?`
	d := declines{tasks: map[board.WorkerID]map[int64]bool{}}
	now := t.now()
	for _, c := range claimants {
		tasks := map[int64]bool{}
		also := c.Worker.Name
		if c.New {
			also = c.Owner
		}
		if err := t.each(query, []any{c.Worker.Principal, c.Worker.Name, also, now}, func(scan scan) error {
			var id int64
			err := scan(&id)
			tasks[id] = true
			return err
		}); err != nil {
			return d, err
		}
		d.tasks[c.Worker] = tasks
		d.count += len(tasks)
	}
	return d, nil
}

// ForgetWorkers deletes workers that were not seen for long.
func (t *tx) ForgetWorkers(age time.Duration) error {
	const query = `DELETE FROM workers WHERE last_seen < ? AND stopped_by = ''
		AND NOT EXISTS (SELECT 1 FROM claims c WHERE c.principal = workers.principal AND c.worker = workers.name)
		AND NOT EXISTS (SELECT 1 FROM reviews c WHERE c.principal = workers.principal AND c.worker = workers.name)
		AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.reserved_principal = workers.principal AND t.reserved_name = workers.name AND t.status = 'pending')`
	_, err := t.exec(query, t.now()-micros(age))
	return err
}
