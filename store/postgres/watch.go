package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

const (
	// hintEvery is the least time between two hints of a process. NOTIFY takes a lock
	// that all commits with one share, so it is never part of a write.
	hintEvery = 50 * time.Millisecond

	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 5 * time.Second
)

// Hint leaves a mark for the notifier that Watch runs.
func (s *Store) Hint() {
	select {
	case s.dirty <- struct{}{}:
	default: // there is one
	}
}

// Watch listens for hints of other processes and sends ours. It keeps one connection
// and makes it again when it breaks; hints may have been missed by then, so it wakes.
func (s *Store) Watch(ctx context.Context, wake func()) error {
	var wg sync.WaitGroup
	wg.Go(func() { s.notify(ctx) })
	defer wg.Wait()
	wait := reconnectFirst
	for ctx.Err() == nil {
		began := time.Now()
		_ = s.listen(ctx, wake) // whatever it was, we connect again
		if time.Since(began) > reconnectMost {
			wait = reconnectFirst
		}
		if pause(ctx, wait) != nil {
			break
		}
		wait = min(2*wait, reconnectMost)
	}
	return nil
}

func (s *Store) listen(ctx context.Context, wake func()) error {
	config := s.config.Copy()
	newLink(config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, `LISTEN bossman`); err != nil {
		return err
	}
	wake()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if n.Payload != s.name {
			wake()
		}
	}
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
			_, err := r.(*reader).exec(`SELECT pg_notify('bossman', $1)`, s.name)
			return err
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(hintEvery):
		}
	}
}
