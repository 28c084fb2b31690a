package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bossman-dev/bossman/board"
)

// aborted reports whether the database gave up a transaction for the sake of others:
// a serialization failure or a deadlock.
func aborted(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "40001" || e.Code == "40P01")
}

// translate gives an error of the database the kind that package board has for it.
// The original stays within reach of errors.As.
func translate(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return board.ErrNotFound
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		if kind := kindOf(e.Code); kind != nil {
			return fmt.Errorf("%w: %w", kind, err)
		}
		return err
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return unavailable(err)
	}
	return err
}

// kindOf sorts SQLSTATE codes; nil means that none of the kinds fits, as for
// mistakes in our own SQL.
func kindOf(code string) error {
	switch code {
	case "40001", "40P01", // serialization, deadlock; after the retries
		"55P03", "57014", // no lock, or no answer, in time
		"25006", // the server takes no writes (any more)
		"25P03", // idle for too long in a transaction
		"57P01", "57P02", "57P03", "57P05":
		return board.ErrUnavailable
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
