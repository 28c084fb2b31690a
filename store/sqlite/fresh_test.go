package sqlite

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pressly/goose/v3"
)

// A new board has the schema that goose makes of the same migrations, one after the other, and goose has
// nothing left to do there.
func TestFresh(t *testing.T) {
	dump := func(make func(*sql.DB) error) (list []string) {
		t.Helper()
		db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "board.db")+"?_txlock=immediate&_pragma=foreign_keys(1)")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := make(db); err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{
			`SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY rowid`,
			`SELECT id || ' ' || version_id || ' ' || is_applied || ' ' || (tstamp IS NOT NULL) FROM goose_db_version ORDER BY id`,
		} {
			rows, err := db.QueryContext(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var line string
				if err := rows.Scan(&line); err != nil {
					t.Fatal(err)
				}
				list = append(list, line)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			rows.Close()
		}
		return list
	}
	up := func(ctx context.Context, db *sql.DB) (int, error) {
		p, err := goose.NewProvider(goose.DialectSQLite3, db, migrations, goose.WithSlog(slog.New(slog.DiscardHandler)), goose.WithDisableGlobalRegistry(true))
		if err != nil {
			return 0, err
		}
		done, err := p.Up(ctx)
		return len(done), err
	}
	want := dump(func(db *sql.DB) error { _, err := up(t.Context(), db); return err })
	got := dump(func(db *sql.DB) error {
		if done, err := fresh(t.Context(), db, migrations); err != nil || !done {
			t.Errorf("an empty database: %t, %v", done, err)
		}
		if done, err := fresh(t.Context(), db, migrations); err != nil || done {
			t.Errorf("one that is not empty: %t, %v", done, err)
		}
		n, err := up(t.Context(), db)
		if n > 0 {
			t.Errorf("goose has applied %d migrations", n)
		}
		return err
	})
	if !slices.Equal(got, want) {
		t.Errorf("the schema is\n%q\nwant\n%q", got, want)
	}
}
