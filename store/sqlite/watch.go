package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// Watch polls the file and calls wake after commits of this process or of others, and once it
// has begun: what was committed just before is not a change that it would notice.
func (s *Store) Watch(ctx context.Context, wake func()) error {
	if err := s.startCall(); err != nil {
		return err
	}
	defer s.calls.Done()
	tick := time.NewTicker(s.opt.Poll)
	defer tick.Stop()
	w := watcher{store: s}
	defer w.close()
	w.changed(ctx)
	wake()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.stop:
			return fmt.Errorf("%w: the board is closed", board.ErrUnavailable)
		case <-tick.C:
			if w.changed(ctx) {
				wake()
			}
		}
	}
}

// A watcher has a connection of its own, because data_version is relative to a connection.
type watcher struct {
	store   *Store
	file    *file
	conn    *conn
	version int64
}

// changed reports whether the file was replaced or changed since the last call. It reports
// false on errors; the next call tries again.
func (w *watcher) changed(ctx context.Context) bool {
	f, err := w.store.attach(ctx)
	if err != nil {
		return false
	}
	if f != w.file {
		w.close()
		w.file = f // it stays attached
		if f != nil {
			w.read(ctx)
		}
		return true
	}
	w.store.detach(f)
	if f == nil {
		return false
	}
	before := w.version
	return w.read(ctx) && w.version != before
}

func (w *watcher) read(ctx context.Context) bool {
	const query = `PRAGMA data_version`
	if w.conn == nil {
		c, err := connect(ctx, w.file.db)
		if err != nil {
			return false
		}
		w.conn = c
	}
	if err := w.conn.c.QueryRowContext(ctx, query).Scan(&w.version); err != nil {
		w.conn.close()
		w.conn = nil
		return false
	}
	return true
}

func (w *watcher) close() {
	if w.conn != nil {
		w.conn.close()
	}
	w.store.detach(w.file)
	w.conn, w.file = nil, nil
}
