package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

const (
	// loadTimeout is the timeout of reading a session's state, which every request does.
	loadTimeout = 5 * time.Second
	// maxWatching is the maximum size of the URIs that a session watches, in bytes.
	maxWatching = 1 << 20
)

// Sessions stores the state of sessions, for all replicas. Run deletes it after its
// lifetime.
type Sessions struct{ store *Store }

var _ streamable.Store = (*Sessions)(nil)

// Sessions returns the session states stored beside the board.
func (s *Store) Sessions() *Sessions { return &Sessions{s} }

func scanState(row pgx.CollectableRow) (*streamable.State, error) {
	st := new(streamable.State)
	var level int16
	err := row.Scan(&st.Ended, &level, &st.Watching)
	st.Level = mcp.LogLevel(level)
	trim(&st.Watching)
	return st, err
}

// Load reads a session's state; nil if there is none.
func (s *Sessions) Load(ctx context.Context, session string) (st *streamable.State, err error) {
	const query = `SELECT ended, level, watching FROM session_states WHERE session = $1`
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	err = s.store.readRetrying(ctx, func(r *reader) (err error) {
		st, err = one(r, scanState, query, session)
		return err
	})
	if errors.Is(err, board.ErrNotFound) {
		return nil, nil
	}
	return st, err
}

// Update changes a session's state under a row lock. The change function may be called more
// than once.
func (s *Sessions) Update(ctx context.Context, session string, until time.Time, change func(*streamable.State) error) error {
	const (
		insert = `INSERT INTO session_states (session, until) VALUES ($1, $2) ON CONFLICT DO NOTHING`
		query  = `SELECT ended, level, watching FROM session_states WHERE session = $1 FOR UPDATE`
		update = `UPDATE session_states SET ended = $2, level = $3, watching = $4, until = $5 WHERE session = $1`
	)
	return s.store.writeRetrying(ctx, func(r *reader) error {
		if _, err := r.exec(insert, session, until); err != nil {
			return err
		}
		st, err := one(r, scanState, query, session)
		if err != nil {
			return err
		}
		if err := change(st); err != nil {
			return err
		}
		size := 0
		for _, uri := range st.Watching {
			size += len(uri)
		}
		if size > maxWatching {
			return mcp.ErrTooMany
		}
		swept := fmt.Errorf("%w: the session has expired", board.ErrConflict)
		return r.write(swept, update, session, st.Ended, int16(st.Level), orEmpty(st.Watching), until)
	})
}
