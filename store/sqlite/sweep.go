package sqlite

import (
	"time"

	"github.com/bossman-dev/bossman/board"
)

// Expired returns the tasks in the order in which their leases expired.
func (t *tx) Expired(limit int) ([]board.Task, error) {
	const query = taskColumns + ` FROM claims c CROSS JOIN tasks t ON t.id = c.task_id CROSS JOIN lanes l ON l.id = t.lane_id
		CROSS JOIN projects p ON p.id = l.project_id WHERE c.lease_until <= ? ORDER BY c.lease_until, t.id LIMIT ?`
	return t.tasks(query, t.now(), limitOr(limit, pageSize))
}

// abandoned is a condition: the task is reserved for a worker that is not connected.
const abandoned = `reserved_principal > '' AND reserved_name IS NOT NULL AND status = 'pending' AND NOT EXISTS (SELECT 1 FROM workers w
	WHERE w.principal = reserved_principal AND w.name = reserved_name AND w.owner <> '' AND w.stopped_by = '')`

// Due returns the tasks in the order of NotBefore.
func (t *tx) Due(limit int) ([]board.Task, error) {
	const query = taskColumns + taskTables + ` WHERE t.id IN (
			SELECT id FROM tasks INDEXED BY tasks_due WHERE not_before <= ? AND status = 'pending'
			UNION ALL SELECT id FROM tasks INDEXED BY tasks_reserved WHERE ` + abandoned + `)
		ORDER BY t.not_before, t.id LIMIT ?`
	return t.tasks(query, t.now(), limitOr(limit, pageSize))
}

// Overdue returns the questions in the order of their deadlines.
func (t *tx) Overdue(limit int) ([]board.Question, error) {
	const query = questionColumns + ` WHERE q.state = 'open' AND q.needed_by <= ? AND q.dflt <> '' ORDER BY q.needed_by, q.id LIMIT ?`
	return t.questions(query, t.now(), limitOr(limit, pageSize))
}

// Stale reports whether one of the three above or ExpiredReviews would return something.
func (r *reader) Stale() (bool, error) {
	const query = `SELECT EXISTS (SELECT 1 FROM claims WHERE lease_until <= ?1)
		OR EXISTS (SELECT 1 FROM reviews r WHERE r.lease_until <= ?1
			OR EXISTS (SELECT 1 FROM claims c WHERE c.principal = r.principal AND c.worker = r.worker))
		OR EXISTS (SELECT 1 FROM tasks WHERE not_before <= ?1 AND status = 'pending')
		OR EXISTS (SELECT 1 FROM tasks INDEXED BY tasks_reserved WHERE ` + abandoned + `)
		OR EXISTS (SELECT 1 FROM questions WHERE state = 'open' AND needed_by <= ?1 AND dflt <> '')`
	var stale bool
	err := r.get(query, []any{r.now()}, &stale)
	return stale, err
}

// A pulse is when the last sweep was, and how often there must be one while claims are live.
// It is often enough for the shortest lease, and rare enough for a laptop's disk.
type pulse struct{ last, every int64 }

// pulse returns false if there are no live claims with a lease that is protected.
func (r *reader) pulse() (p pulse, live bool, err error) {
	const query = `SELECT swept, (SELECT coalesce(min(lease), 0) FROM (
		SELECT lease FROM claims WHERE lease >= ?1 UNION ALL SELECT lease FROM reviews WHERE lease >= ?1)) FROM meta`
	var shortest int64
	err = r.get(query, []any{micros(board.MinProtected)}, &p.last, &shortest)
	p.every = min(shortest/8, micros(30*time.Second))
	return p, shortest > 0, err
}

// SweepDue reports whether the time of a sweep must be recorded.
func (r *reader) SweepDue() (bool, error) {
	p, live, err := r.pulse()
	since := r.now() - p.last
	return live && (since >= p.every || since < 0), err
}

// BeginSweep extends all leases at once: a file has few claims. One whose process has left is
// not extended. A claim that no process holds is extended once between two signs of life:
// commands sweep only when somebody runs one, and a gap between them says nothing about its
// agent.
func (t *tx) BeginSweep(every time.Duration) (board.Sweep, error) {
	const (
		sweep  = `UPDATE meta SET swept = ?`
		extend = ` AS c SET lease_until = max(lease_until, min(lease_until + min(?2 - ?1, ?2 - granted_at) - 1000000, ?2 + lease)),
				credited = max(lease_until, min(lease_until + min(?2 - ?1, ?2 - granted_at) - 1000000, ?2 + lease))
			WHERE lease_until > ?1 AND granted_at < ?2 AND lease >= ?3
				AND (credited <> lease_until OR owner NOT LIKE 'd-%' AND owner NOT LIKE '%/d-%')
				AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.principal = c.principal AND w.name = c.worker AND w.owner <> c.owner)`
	)
	p, live, err := t.pulse()
	if err != nil {
		return board.Sweep{}, err
	}
	now := t.now()
	s := board.Sweep{At: fromMicros(now)}
	since := now - p.last
	if live && since > max(p.every+p.every/2, 2*micros(every))+1_000_000 {
		s.Gap = time.Duration(since) * time.Microsecond
		for _, table := range []string{`UPDATE claims`, `UPDATE reviews`} {
			n, err := t.exec(table+extend, p.last, now, micros(board.MinProtected))
			if err != nil {
				return s, err
			}
			s.Extended += int(n)
		}
	}
	if live && (since >= p.every || since < 0) {
		_, err = t.exec(sweep, now)
	}
	return s, err
}

// Lapsed lists attempts that expired within the last day.
func (r *reader) Lapsed(owner string) ([]board.Handle, error) {
	const query = `SELECT p.slug, a.task_id, a.attempt, a.nonce FROM attempts a INDEXED BY attempts_expired
		CROSS JOIN tasks t ON t.id = a.task_id AND t.attempt = a.attempt AND t.nonce = a.nonce
		CROSS JOIN lanes l ON l.id = t.lane_id CROSS JOIN projects p ON p.id = l.project_id
		WHERE a.owner = ? AND a.cause = 'expired' AND a.ended_at > ? AND t.status IN ('pending', 'failed') ORDER BY a.task_id LIMIT 100`
	var list []board.Handle
	err := r.each(query, []any{owner, r.now() - micros(24*time.Hour)}, func(scan scan) error {
		var h board.Handle
		var slug string
		var id int64
		if err := scan(&slug, &id, &h.Attempt, &h.Nonce); err != nil {
			return err
		}
		h.Task = unpack(slug, id)
		list = append(list, h)
		return nil
	})
	return list, err
}
