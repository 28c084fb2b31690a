package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"syscall"

	"github.com/bossman-dev/bossman/board"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// code returns SQLite's extended result code of err, or 0.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// mapError translates errors of SQLite into those of package board. ctx is the context of
// the call.
func mapError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return board.ErrNotFound
	}
	if full := asFull(err); full != err {
		return full
	}
	switch code(err) & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: %w", board.ErrUnavailable, err)
	case sqlite3.SQLITE_INTERRUPT:
		if ctx.Err() != nil {
			return ctx.Err()
		}
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("the board's file is damaged; restore a backup: %w", err)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%w: %w", board.ErrReadOnly, err)
	}
	return err
}

// asFull makes an error of SQLite or of the system say that the disk is full, if that is
// what it means. The file that SQLite cannot extend may be the one that it opens the board with.
func asFull(err error) error {
	full := code(err)&0xff == sqlite3.SQLITE_FULL || code(err) == sqlite3.SQLITE_IOERR_SHMSIZE ||
		errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	if full && !errors.Is(err, board.ErrFull) {
		return fmt.Errorf("%w: %w", board.ErrFull, err)
	}
	return err
}

// isDuplicate reports whether err is a violation of a unique or primary key.
func isDuplicate(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return true
	}
	return false
}

// endsTransaction reports whether SQLite may have rolled back the whole transaction. Each
// statement after that would be committed by itself.
func endsTransaction(err error) bool {
	switch code(err) & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY,
		sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CORRUPT:
		return true
	}
	return false
}
