package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/board"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// code is SQLite's extended result code of err, or 0.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// mapError says in the board's words what SQLite says. ctx is the call's.
func mapError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return board.ErrNotFound
	}
	switch code(err) & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: %w", board.ErrUnavailable, err)
	case sqlite3.SQLITE_INTERRUPT:
		if ctx.Err() != nil {
			return ctx.Err()
		}
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("the disk is full, nothing was written: %w", err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("the board's file is damaged; put back a backup: %w", err)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("the board's file may not be written: %w", err)
	}
	return err
}

// taken reports whether err is that a key is there already.
func taken(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return true
	}
	return false
}

// ends reports whether SQLite may have undone the whole transaction by itself.
// Statements after that would each be committed alone.
func ends(err error) bool {
	switch code(err) & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY,
		sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CORRUPT:
		return true
	}
	return false
}
