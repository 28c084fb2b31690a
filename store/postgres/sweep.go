package postgres

import (
	"context"
	"sync"
	"time"
)

const (
	sweepEvery = 30 * time.Second
	// sweepSome is how many rows go in one transaction.
	sweepSome = 500
)

// sweeps delete what has had its time, $1 rows at most. Processes that took the times
// may have clocks that differ from the database's: what they say is given five
// minutes more.
var sweeps = []string{
	`DELETE FROM durable_calls WHERE id IN (SELECT id FROM durable_calls
WHERE until < statement_timestamp() - interval '5 min' ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM session_states WHERE session IN (SELECT session FROM session_states
WHERE until < statement_timestamp() - interval '5 min' ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM relay WHERE id IN (SELECT id FROM relay
WHERE at < statement_timestamp() - interval '1 min' ORDER BY at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
}

// Run does what a replica owes to the others until ctx ends: it keeps the line for
// Relay and Bus up and sweeps what nobody needs any more.
func (s *Store) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { s.keep(ctx) })
	defer wg.Wait()
	for pause(ctx, sweepEvery) == nil {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("sweep failed", "err", err)
		}
	}
	return nil
}

// Sweep deletes the durable calls, sessions and messages that have had their time, in
// small transactions. Run does it now and then.
func (s *Store) Sweep(ctx context.Context) error {
	for _, query := range sweeps {
		for n := int64(sweepSome); n == sweepSome; {
			err := s.change(ctx, func(r *reader) (err error) {
				n, err = r.exec(query, sweepSome)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
