package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A PoolerError is returned if a connection pooler between the program and PostgreSQL breaks
// what a session is.
type PoolerError struct{ Why string }

func (e *PoolerError) Error() string {
	return "postgres: there is a connection pooler, such as PgBouncer, in front of the database, and " + e.Why
}

// checkPooler finds out whether several connections share a session of the server: a pooler
// does that in its transaction mode. conn is one of them.
func (s *Store) checkPooler(ctx context.Context, conn *pgx.Conn) error {
	first := stateOf(conn).session
	if first.pid == conn.PgConn().PID() {
		return nil // PostgreSQL itself has answered
	}
	other, err := pgx.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return err
	}
	defer other.Close(context.WithoutCancel(ctx))
	second, err := sessionOf(ctx, other)
	if err == nil && first.pid == second.pid && first.began.Equal(second.began) {
		err = &PoolerError{"it gives connections a session for one transaction at a time"}
	}
	return err
}

// pooled returns a PoolerError for an error that only a pooler causes, and nil for others: it
// refuses settings, or a prepared statement is another connection's.
func pooled(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
		return nil
	case e.Code == "08P01" && strings.Contains(e.Message, "startup parameter"):
		return &PoolerError{"it refuses a setting of the connection: " + e.Message}
	case e.Code == "42P05" || e.Code == "26000":
		return &PoolerError{"it gives connections a session for one transaction at a time"}
	}
	return nil
}
