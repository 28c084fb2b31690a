package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bossman-dev/bossman/board"
)

// Backup copies the board to a new file while others go on writing it, and checks the copy.
// The copy has the keys of the board as well; only its owner may read it.
func (s *Store) Backup(ctx context.Context, name string) error {
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("back up to %s: %w", name, fs.ErrExist)
	}
	real := name
	if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil { // the person who named it may name a link
		real = filepath.Join(dir, filepath.Base(name))
	}
	err := s.withDB(ctx, func(db *sql.DB) error { return backup(ctx, db, real) })
	if err != nil {
		return fmt.Errorf("back up to %s: %w", name, asReadOnly(asFull(err)))
	}
	if err := checkCopy(ctx, real); err != nil {
		os.Remove(real)
		return fmt.Errorf("back up to %s: the copy is damaged: %w", name, err)
	}
	return nil
}

// Integrity returns what SQLite finds wrong with the file: pages, indexes and references.
func (s *Store) Integrity(ctx context.Context) (faults []string, err error) {
	err = s.withDB(ctx, func(db *sql.DB) error {
		faults, err = integrity(ctx, db)
		return err
	})
	return faults, err
}

// withDB calls f with the open file; board.ErrNotFound if there is none.
func (s *Store) withDB(ctx context.Context, f func(*sql.DB) error) error {
	if err := s.startCall(); err != nil {
		return err
	}
	defer s.calls.Done()
	file, err := s.attach(ctx)
	if err != nil {
		return err
	}
	if file == nil {
		return fmt.Errorf("there is no board in %s: %w", s.path, board.ErrNotFound)
	}
	defer s.detach(file)
	return f(file.db)
}

// checkCopy checks the integrity of a copy.
func checkCopy(ctx context.Context, name string) error {
	name, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	f, err := openFile(name, info, "OFF", true)
	if err != nil {
		return err
	}
	defer f.close()
	faults, err := integrity(ctx, f.db)
	if err == nil && len(faults) > 0 {
		err = errors.New(faults[0])
	}
	return err
}

func integrity(ctx context.Context, db *sql.DB) (faults []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'
		UNION ALL SELECT 'row ' || rowid || ' of ' || "table" || ' refers to a missing row of ' || parent FROM pragma_foreign_key_check LIMIT 100`)
	if err != nil {
		return nil, mapError(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		var fault string
		if err := rows.Scan(&fault); err != nil {
			return nil, err
		}
		faults = append(faults, fault)
	}
	return faults, mapError(ctx, rows.Err())
}
