package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bossman-dev/bossman/board"
)

// aborted reports whether the database aborted a transaction because of a serialization
// failure or a deadlock.
func aborted(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "40001" || e.Code == "40P01")
}

// translate wraps an error of the database with the kind of error that package board has
// for it.
func translate(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return board.ErrNotFound
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		kind := kindOf(e.Code)
		if kind == board.ErrInvalid {
			return fmt.Errorf("%w: a text has a NUL or is not UTF-8", kind)
		}
		if kind != nil {
			return fmt.Errorf("%w: %w", kind, err)
		}
		return err
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return unavailable(err)
	}
	return err
}

// kindOf returns the kind of error of a SQLSTATE code, or nil if there is none, as for
// errors in our own SQL.
func kindOf(code string) error {
	switch code {
	case "40001", "40P01", // serialization, deadlock; after the retries
		"55P03", "57014", // lock timeout, statement timeout
		"25006", // the server is read-only, such as a standby
		"25P03", // idle in transaction for too long
		"57P01", "57P02", "57P03", "57P05":
		return board.ErrUnavailable
	case "53100": // disk full
		return board.ErrFull
	case "22021", "22P05": // text with a NUL or not UTF-8
		return board.ErrInvalid
	}
	switch code[:2] {
	case "08", "53", "58": // connection, resources, the system
		return board.ErrUnavailable
	}
	return nil
}

func isUnavailable(err error) bool { return errors.Is(err, board.ErrUnavailable) }

func unavailable(err error) error { return fmt.Errorf("%w: %w", board.ErrUnavailable, err) }
