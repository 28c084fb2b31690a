package postgres

import (
	"context"
	"sync"
	"time"
)

const (
	sweepEvery = 30 * time.Second
	// sweepBatch is how many rows one transaction deletes.
	sweepBatch = 500
)

// sweeps delete at most $1 expired rows each. The times of durable calls and sessions come
// from processes whose clocks may differ from the database's, so those rows get five more
// minutes.
var sweeps = []string{
	`DELETE FROM durable_calls WHERE id IN (SELECT id FROM durable_calls
WHERE until < statement_timestamp() - interval '5 min' ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM session_states WHERE session IN (SELECT session FROM session_states
WHERE until < statement_timestamp() - interval '5 min' ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM relay WHERE id IN (SELECT id FROM relay
WHERE at < statement_timestamp() - interval '1 min' ORDER BY at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
	// A key that others were created from is kept with them: what it has lost, they have.
	`DELETE FROM api_keys WHERE id IN (SELECT k.id FROM api_keys k
WHERE least(k.revoked_at, k.expires_at) < statement_timestamp() - interval '180 days'
	AND NOT EXISTS (SELECT FROM api_keys c WHERE c.parent = k.id AND c.parent <> '') LIMIT $1 FOR UPDATE SKIP LOCKED)`,
}

// Run keeps the connection of Relay and Bus, sweeps expired rows, and keeps the counts of
// tasks, until ctx ends. Each replica must run it.
func (s *Store) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { s.runListener(ctx) })
	wg.Go(func() { s.countAlways(ctx) })
	defer wg.Wait()
	for sleep(ctx, sweepEvery) == nil {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("sweep failed", "err", err)
		}
	}
	return nil
}

// Sweep deletes expired durable calls, sessions and messages, and keys that ended half a year
// ago, in small transactions. Run
// calls it regularly.
func (s *Store) Sweep(ctx context.Context) error {
	for _, query := range sweeps {
		for n := int64(sweepBatch); n > 0; { // a batch may be smaller, and others follow
			err := s.writeRetrying(ctx, func(r *reader) (err error) {
				n, err = r.exec(query, sweepBatch)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
