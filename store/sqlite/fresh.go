package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
)

// fresh applies all migrations to an empty database in one transaction, and leaves it as goose would. It reports
// whether the database was empty. One transaction each takes several times as long, and so does reading
// the migrations as goose does.
func fresh(ctx context.Context, db *sql.DB, migrations fs.FS) (done bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	var tables int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil || tables > 0 {
		return false, err
	}
	text, err := schema(migrations)
	if err != nil || text == "" {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// schema returns what makes an empty database one to which all migrations were applied; empty if one of them asks for
// more of goose than to be applied.
func schema(migrations fs.FS) (string, error) {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	var text, versions strings.Builder
	// The table of goose, as it makes it.
	text.WriteString(`CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
`)
	versions.WriteString("INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)")
	for _, name := range names {
		n, err := goose.NumericComponent(name)
		if err != nil {
			return "", fmt.Errorf("migration %s: %w", name, err)
		}
		file, err := fs.ReadFile(migrations, name)
		if err != nil {
			return "", err
		}
		_, up, ok := strings.Cut(string(file), "-- +goose Up\n")
		up, _, _ = strings.Cut(up, "-- +goose Down")
		if !ok || strings.Contains(string(file), "NO TRANSACTION") || strings.Contains(up, "ENVSUB") {
			return "", nil
		}
		text.WriteString(up + "\n")
		fmt.Fprintf(&versions, ", (%d, 1)", n)
	}
	return text.String() + versions.String() + ";\n", nil
}
