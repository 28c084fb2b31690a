package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
)

//go:embed migration/*.sql
var embedded embed.FS

var migrations = func() fs.FS {
	sub, err := fs.Sub(embedded, "migration")
	if err != nil {
		panic(err)
	}
	return sub
}()

// newestMigration returns the number of the newest migration.
func newestMigration(fsys fs.FS) (int64, error) {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return 0, err
	}
	newest := int64(0)
	for _, name := range names {
		n, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("migration %s: %w", name, err)
		}
		newest = max(newest, n)
	}
	return newest, nil
}

// schemaVersion returns the number of the newest migration that was applied to db, 0 if db
// is empty. It fails for the database of another program.
func schemaVersion(ctx context.Context, db *sql.DB) (int64, error) {
	const exists = `
SELECT count(*) FILTER (WHERE name IN ('meta', 'goose_db_version')),
       count(*) FILTER (WHERE name NOT IN ('meta', 'goose_db_version') AND name NOT LIKE 'sqlite\_%' ESCAPE '\')
  FROM sqlite_schema WHERE type = 'table'`
	const newest = `SELECT max(version_id) FROM goose_db_version WHERE is_applied`
	var tables, others int
	if err := db.QueryRowContext(ctx, exists).Scan(&tables, &others); err != nil {
		return 0, mapError(ctx, err)
	}
	switch {
	case tables < 2 && others > 0:
		return 0, errors.New("the file is the database of another program, not a board; choose another file")
	case tables < 2:
		return 0, nil
	}
	if err := checkSchema(ctx, db); err != nil {
		return 0, err
	}
	var version int64
	if err := db.QueryRowContext(ctx, newest).Scan(&version); err != nil {
		return 0, mapError(ctx, err)
	}
	return version, nil
}

// checkSchema refuses a file whose schema computes anything. A file that somebody else made
// could have a view without end in place of a table, values that are made when they are
// read, or a trigger that writes. So no migration may add a view, a virtual table or a
// generated column, and their triggers are the only ones.
func checkSchema(ctx context.Context, db *sql.DB) error {
	const computed = `
SELECT type || ' ' || name, CASE type WHEN 'trigger' THEN sql ELSE '' END FROM sqlite_schema WHERE type IN ('view', 'trigger') OR type = 'table' AND rootpage = 0
UNION ALL
SELECT 'column ' || x.name || ' of ' || s.name, '' FROM sqlite_schema AS s JOIN pragma_table_xinfo(s.name) AS x WHERE s.type = 'table' AND s.rootpage > 0 AND x.hidden > 1
LIMIT 10`
	var known []byte
	names, err := fs.Glob(migrations, "*.sql")
	for _, name := range names {
		text, failed := fs.ReadFile(migrations, name)
		known, err = append(known, text...), errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	rows, err := db.QueryContext(ctx, computed)
	if err != nil {
		return mapError(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		var what, text string
		if err := rows.Scan(&what, &text); err != nil {
			return mapError(ctx, err)
		}
		if text == "" || !bytes.Contains(known, []byte(text+";")) {
			return fmt.Errorf("the file was not made by this program: its schema has the %.80q; restore a backup, or choose another file", what)
		}
	}
	return mapError(ctx, rows.Err())
}

// prepareLocked creates what is missing of the directory, the file and the schema. It
// backs up a file whose schema is at an older version first.
func (s *Store) prepareLocked(ctx context.Context, version int64) error {
	// A cancelled call must not leave the work half done.
	ctx = context.WithoutCancel(ctx)
	if err := createFile(s.path); err != nil {
		return err
	}
	info, err := plainFile(s.path)
	if err != nil {
		return err
	}
	f, err := openFile(s.path, info, s.opt.synchronous, false)
	if err != nil {
		return err
	}
	defer f.close()
	if version > 0 {
		if err := backup(ctx, f.db, fmt.Sprintf("%s.v%d.bak", s.path, version)); err != nil {
			return fmt.Errorf("backup before the upgrade: %w", err)
		}
	}
	var mode string
	if err := f.db.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode); err != nil {
		return mapError(ctx, err)
	}
	if mode != "wal" {
		return fmt.Errorf("journal mode is %s, want wal", mode)
	}
	return s.migrate(ctx, f.db)
}

func (s *Store) migrate(ctx context.Context, db *sql.DB) error {
	if done, err := fresh(ctx, db, s.opt.migrations); err != nil || done {
		return mapError(ctx, err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, s.opt.migrations,
		goose.WithSlog(slog.New(slog.DiscardHandler)), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return mapError(ctx, err)
}

// createFile creates an empty file, accessible only to its owner, and its directory.
func createFile(path string) error {
	in, err := boardDir(path, true)
	if err != nil {
		return err
	}
	defer in.Close()
	// O_EXCL, because closing a file that SQLite has open would drop its locks.
	f, err := in.OpenFile(filepath.Base(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	// Sync the directories as well, or the file may be lost in a power failure. Not all
	// systems support that, so errors are ignored.
	dir := filepath.Dir(path)
	for _, dir := range []string{dir, filepath.Dir(dir)} {
		if f, err := os.Open(dir); err == nil {
			_ = f.Sync()
			f.Close()
		}
	}
	return nil
}

// backup copies the database to the file name. It replaces an existing copy, which an
// interrupted upgrade has left.
func backup(ctx context.Context, db *sql.DB, name string) error {
	in, err := boardDir(name, true)
	if err != nil {
		return err
	}
	defer in.Close()
	dir, err := in.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	base := filepath.Base(name)
	part := base + ".part"
	if err := in.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := in.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // accessible only to its owner
	if err != nil {
		return err
	}
	into, _, ok := nameIn(dir, part)
	if !ok {
		into = name + ".part"
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, into)
	err = mapError(ctx, err)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = in.Rename(part, base)
	}
	if err != nil {
		_ = in.Remove(part)
	}
	return err
}
