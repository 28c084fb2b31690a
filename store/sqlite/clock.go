package sqlite

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A clock gives the times that are stored. They are never before a time in the file, so a
// process whose clock is behind does not turn the order of events around. A machine whose
// clock was ahead once leaves such a time behind: then this clock continues from there, with
// the time that passes, until RepairClock.
type clock struct {
	now func() time.Time
	log *slog.Logger

	mu     sync.Mutex
	last   int64     // the latest time given, in microseconds
	at     time.Time // what now returned then
	floor  int64     // the time in the file, as of the last call
	warned bool
}

// clockSlack is how far clocks may differ without a warning, and how far the time in the
// file goes back if somebody has repaired it.
const clockSlack = 10 * time.Minute

// read returns the time in microseconds. floor is the largest time in the file, 0 if there is
// none.
func (c *clock) read(floor int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.now()
	n := max(t.UnixMicro(), floor)
	if floor > 0 && floor < c.floor-clockSlack.Microseconds() {
		c.last, c.floor, c.warned = 0, 0, false // it was repaired
	}
	if c.last > 0 {
		n = max(n, c.last+max(0, t.Sub(c.at).Microseconds())) // which is monotonic
	}
	c.last, c.at, c.floor = n, t, max(c.floor, floor)
	if ahead := time.Duration(n-t.UnixMicro()) * time.Microsecond; ahead > clockSlack && !c.warned {
		c.warned = true
		c.log.Warn("the times in the board are ahead of this machine's clock; if the clock is right, run bossman board repair-clock", "ahead", ahead.Round(time.Second))
	}
	return n
}

// Ahead returns how far the times in the file are ahead of this machine's clock.
func (s *Store) Ahead(ctx context.Context) (ahead time.Duration, err error) {
	err = s.Read(ctx, func(r board.Reader) error {
		now, err := r.Now()
		ahead = max(0, now.Sub(s.opt.Clock()))
		return err
	})
	return ahead, err
}

// RepairClock sets the clock of the board to this machine's, if it is more than ten minutes
// ahead, and returns how far it was. Times that are ahead are set back by as much, so leases,
// cool-downs and deadlines keep what is left of them; the events stay as they are.
func (s *Store) RepairClock(ctx context.Context) (ahead time.Duration, err error) {
	back := func(column string) string {
		return column + ` = iif(` + column + ` > ?2, ` + column + ` - ?1, ` + column + `)`
	}
	shifts := []string{
		`UPDATE claims SET ` + back("granted_at") + `, lease_until = lease_until - ?1, credited = 0 WHERE lease_until > ?2 + lease`,
		`UPDATE reviews SET ` + back("granted_at") + `, lease_until = lease_until - ?1, credited = 0 WHERE lease_until > ?2 + lease`,
		`UPDATE tasks SET ` + back("queued_at") + `, ` + back("created_at") + `, ` + back("ended_at") + `, ` + back("not_before") + `
			WHERE queued_at > ?2 OR created_at > ?2 OR ended_at > ?2 OR not_before > ?2`,
		`UPDATE attempts SET ` + back("granted_at") + `, ` + back("ended_at") + ` WHERE granted_at > ?2 OR ended_at > ?2`,
		`UPDATE questions SET ` + back("asked_at") + `, ` + back("answered_at") + `, needed_by = iif(asked_at > ?2, needed_by - ?1, needed_by)
			WHERE asked_at > ?2 OR answered_at > ?2`,
		`UPDATE gateway_calls SET ` + back("began_at") + `, ` + back("ended_at") + `, deadline = iif(began_at > ?2, deadline - ?1, deadline) WHERE began_at > ?2 OR ended_at > ?2`,
		`UPDATE declines SET until = until - ?1 WHERE until > ?2`,
		`UPDATE workers SET ` + back("last_seen") + ` WHERE last_seen > ?2`,
		`UPDATE idempotency SET ` + back("at") + ` WHERE at > ?2`,
		`UPDATE meta SET clock = ?2, swept = ?2 WHERE ?1 > 0`,
	}
	err = s.Write(ctx, func(w board.Tx) error {
		t := w.(*tx)
		wall := s.opt.Clock().UnixMicro()
		ahead = time.Duration(t.now()-wall) * time.Microsecond
		if ahead <= clockSlack {
			ahead = 0
			return nil
		}
		for _, query := range shifts {
			if _, err := t.exec(query, ahead.Microseconds(), wall); err != nil {
				return err
			}
		}
		t.given = 0 // so that it is not stored
		return nil
	})
	return ahead, err
}
