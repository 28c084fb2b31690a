package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

const (
	// recordEvery is how often the time of a sweep is recorded while there are claims, and
	// gap is how long none was recorded if the database or all replicas were away.
	recordEvery = time.Second
	gap         = 3 * time.Second
	// creditBatch is how many leases one transaction extends.
	creditBatch = 5000
)

// SweepDue reports whether the time of a sweep must be recorded.
func (r *reader) SweepDue() (bool, error) {
	const query = `SELECT gap_from IS NOT NULL
	OR (EXISTS (SELECT FROM claims) OR EXISTS (SELECT FROM reviews))
		AND (statement_timestamp() - swept >= $1 OR statement_timestamp() < swept) FROM sweep`
	return one(r, pgx.RowTo[bool], query, recordEvery)
}

// BeginSweep locks the row that all replicas share, and then reads the clock. A gap is
// recorded first, and its leases are extended in this and in the next transactions.
func (t *tx) BeginSweep(every time.Duration) (board.Sweep, error) {
	const (
		lock   = `SELECT swept, gap_from, gap_until FROM sweep FOR UPDATE SKIP LOCKED`
		record = `UPDATE sweep SET swept = $1, gap_from = $2, gap_until = $3`
	)
	type row struct {
		Swept       time.Time
		From, Until *time.Time
	}
	rows, err := list(&t.reader, pgx.RowToStructByPos[row], lock)
	if err != nil || len(rows) == 0 {
		return board.Sweep{Wait: true}, err // another replica is sweeping
	}
	now, err := t.Now()
	if err != nil {
		return board.Sweep{}, err
	}
	s := board.Sweep{At: now}
	last := rows[0]
	since := now.Sub(last.Swept)
	if last.From == nil && since > max(gap, 2*every+time.Second) {
		last.From, last.Until = &last.Swept, &now
	}
	extended := last.From != nil
	if extended {
		s.Gap = last.Until.Sub(*last.From)
		if s.Extended, err = t.credit(*last.From, *last.Until); err != nil {
			return s, err
		}
		s.Wait = s.Extended >= creditBatch
	}
	if !extended && since >= 0 && since < recordEvery {
		return s, nil
	}
	if !s.Wait {
		last.From, last.Until = nil, nil
	}
	_, err = t.exec(record, now, last.From, last.Until)
	return s, err
}

// credit extends leases that were live when a gap began by its length less a second, but to
// no more than a whole lease, unless their process has left. It returns how many it has extended: creditBatch if there
// may be more.
func (t *tx) credit(from, until time.Time) (int, error) {
	const (
		which = ` c SET credited = $2, lease_until = greatest(lease_until,
	least(lease_until + least($2::timestamptz - $1::timestamptz, $2::timestamptz - granted_at) - interval '1 second', clock_timestamp() + lease))
WHERE task_id IN (SELECT task_id FROM `
		live = ` x WHERE lease_until > $1 AND credited < $2 AND granted_at < $2 AND lease >= $3
	AND NOT EXISTS (SELECT FROM workers w WHERE w.principal = x.principal AND w.name = x.worker AND w.owner <> x.owner)
	ORDER BY task_id LIMIT $4 FOR UPDATE)`
	)
	total := 0
	for _, table := range []string{"claims", "reviews"} {
		if total == creditBatch {
			break
		}
		n, err := t.exec("UPDATE "+table+which+table+live, from, until, board.MinProtected, creditBatch-total)
		if err != nil {
			return total, err
		}
		total += int(n)
	}
	return total, nil
}

// Lapsed lists attempts that expired within the last day.
func (r *reader) Lapsed(owner string) ([]board.Handle, error) {
	const query = `SELECT p.slug, a.task_id, a.attempt, a.nonce
FROM attempts a JOIN tasks t ON t.id = a.task_id AND t.attempt = a.attempt AND t.nonce = a.nonce JOIN projects p ON p.id = a.task_id >> 40
WHERE a.owner = $1 AND a.cause = 'expired' AND a.ended_at > statement_timestamp() - interval '1 day' AND t.status IN ('pending', 'failed')
ORDER BY a.task_id LIMIT 100`
	return list(r, func(row pgx.CollectableRow) (h board.Handle, err error) {
		var key int64
		err = row.Scan(&h.Task.Project, &key, &h.Attempt, &h.Nonce)
		h.Task.No = number(key)
		return h, err
	}, query, owner)
}
