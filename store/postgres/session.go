package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp/replica"

	"github.com/bossman-dev/bossman/mcp/transport"
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

var _ replica.SessionStore = (*Sessions)(nil)

// Sessions returns the session states stored beside the board.
func (s *Store) Sessions() *Sessions { return &Sessions{s} }

// logLevels are the names of the levels in the order of their numbers, from 1 on. 0 means
// that none is set.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func levelName(n int16) string {
	if n < 1 || int(n) > len(logLevels) {
		return ""
	}
	return logLevels[n-1]
}

func levelNumber(name string) int16 { return int16(slices.Index(logLevels, name) + 1) }

func scanState(row pgx.CollectableRow) (*replica.SessionState, error) {
	st := new(replica.SessionState)
	var level int16
	err := row.Scan(&st.Ended, &level, &st.Subscribed)
	st.LogLevel = levelName(level)
	trim(&st.Subscribed)
	return st, err
}

// Load reads a session's state; nil if there is none.
func (s *Sessions) Load(ctx context.Context, session string) (st *replica.SessionState, err error) {
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
func (s *Sessions) Update(ctx context.Context, session string, until time.Time, change func(*replica.SessionState) error) error {
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
		for _, uri := range st.Subscribed {
			size += len(uri)
		}
		if size > maxWatching {
			return transport.ErrTooManySubscriptions
		}
		swept := fmt.Errorf("%w: the session has expired", board.ErrConflict)
		return r.write(swept, update, session, st.Ended, levelNumber(st.LogLevel), orEmpty(st.Subscribed), until)
	})
}
