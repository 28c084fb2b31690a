package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

const (
	// hintEvery is the minimum interval between two hints of a process. A commit with a
	// NOTIFY takes an instance-wide lock, so hints are never part of a write.
	hintEvery = 50 * time.Millisecond

	hintChannel = "bossman"
)

// Attend does nothing: see Gone.
func (s *Store) Attend(string) {}

// Hint marks that a hint is to be sent by Watch or Run.
func (s *Store) Hint() {
	select {
	case s.dirty <- struct{}{}:
	default: // one is pending already
	}
}

// Watch calls wake for each hint of another process, and sends the hints of this one. It
// also calls wake after each reconnect, because hints may have been lost.
func (s *Store) Watch(ctx context.Context, wake func()) error {
	defer s.listener.handle(hintChannel, func(_ context.Context, _ *pgx.Conn, sender string) {
		if sender != s.name {
			wake()
		}
	})()
	defer s.listener.connects(wake)()
	s.runListener(ctx)
	return nil
}

// notify sends pending hints, at most one in hintEvery, until ctx ends.
func (s *Store) notify(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.dirty:
		}
		_ = s.Read(ctx, func(r board.Reader) error { // best effort
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
