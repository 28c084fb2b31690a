package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

const (
	// hintEvery is the least time between two hints of a process. NOTIFY takes a lock
	// that all commits with one share, so it is never part of a write.
	hintEvery = 50 * time.Millisecond

	hintChannel = "bossman"
)

// Hint leaves a mark for the notifier that Watch runs.
func (s *Store) Hint() {
	select {
	case s.dirty <- struct{}{}:
	default: // there is one
	}
}

// Watch listens for hints of other processes and sends ours. It keeps the line up,
// and makes it again when it breaks; hints may have been missed by then, so it wakes.
func (s *Store) Watch(ctx context.Context, wake func()) error {
	defer s.line.hear(hintChannel, func(_ context.Context, _ *pgx.Conn, sender string) {
		if sender != s.name {
			wake()
		}
	})()
	defer s.line.greet(wake)()
	s.keep(ctx)
	return nil
}

// notify sends one hint for all that came within hintEvery.
func (s *Store) notify(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.dirty:
		}
		_ = s.Read(ctx, func(r board.Reader) error { // it is a hint
			_, err := r.(*reader).exec(`SELECT pg_notify($1, $2)`, hintChannel, s.name)
			return err
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(hintEvery):
		}
	}
}
