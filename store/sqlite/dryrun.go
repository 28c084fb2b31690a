package sqlite

import (
	"context"
	"database/sql"

	"github.com/bossman-dev/bossman/board"
)

// dryRun runs f on an empty board in memory and reports whether f wrote anything. So a
// sweep that finds nothing, or a call that fails, does not create a file.
func (s *Store) dryRun(ctx context.Context, f func(board.Tx) error) (wrote bool, err error) {
	const changes = `SELECT total_changes()`
	db, err := sql.Open("sqlite", "file::memory:?_txlock=immediate&_pragma=foreign_keys(1)")
	if err != nil {
		return false, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection has a database of its own
	if err := s.migrate(ctx, db); err != nil {
		return false, err
	}
	c, err := connect(ctx, db)
	if err != nil {
		return false, err
	}
	defer c.close()
	t := &tx{reader: reader{ctx: ctx, store: s, conn: c, projects: map[string]int64{}}}
	var before, after int64
	if err := t.get(changes, nil, &before); err != nil {
		return false, err
	}
	// In a transaction, as in write, because foreign keys are checked at its end.
	if _, err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		return false, err
	}
	if err := f(t); err != nil {
		return false, err
	}
	err = t.get(changes, nil, &after)
	return after != before, err
}
