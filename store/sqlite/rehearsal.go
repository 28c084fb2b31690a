package sqlite

import (
	"context"
	"database/sql"

	"github.com/bossman-dev/bossman/board"
)

// rehearse runs f on an empty board in memory and reports whether it wrote
// anything. So a sweep that finds nothing, a process that takes its leave, or a
// call that fails do not create a file where there was none.
func (s *Store) rehearse(ctx context.Context, f func(board.Tx) error) (wrote bool, err error) {
	const changes = `SELECT total_changes()`
	db, err := sql.Open("sqlite", "file::memory:?_txlock=immediate&_pragma=foreign_keys(1)")
	if err != nil {
		return false, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	if err := s.migrate(ctx, db); err != nil {
		return false, err
	}
	c, err := connect(ctx, db)
	if err != nil {
		return false, err
	}
	defer c.close()
	t := &tx{reader{ctx: ctx, store: s, conn: c, projects: map[string]int64{}}}
	var before, after int64
	if err := t.get(changes, nil, &before); err != nil {
		return false, err
	}
	// In a transaction, as it will be: links may name what is inserted later.
	if _, err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		return false, err
	}
	if err := f(t); err != nil {
		return false, err
	}
	err = t.get(changes, nil, &after)
	return after != before, err
}
