package postgres_test

import (
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board/boardtest"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// TestMigrate_redoes: of the tasks with the title of one that does another again, those count that a person has made from it.
func TestMigrate_redoes(t *testing.T) {
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	s := c.OpenIn(t, db, nil)
	boardtest.MakeRedoes(t, s)
	before := boardtest.Redoes(t, s)
	s.Close()
	c.Exec(t, db, `ALTER TABLE tasks DROP COLUMN redoes`, `DELETE FROM goose_db_version WHERE version_id >= 33`)
	for range 2 { // it may be repeated
		if err := postgres.Migrate(t.Context(), c.DSN(db)); err != nil {
			t.Fatal(err)
		}
		c.Exec(t, db, `DELETE FROM goose_db_version WHERE version_id >= 33`)
	}
	if err := postgres.Migrate(t.Context(), c.DSN(db)); err != nil {
		t.Fatal(err)
	}
	if got := boardtest.Redoes(t, c.OpenIn(t, db, nil)); got != before || strings.Count(got, ";") != 2 {
		t.Errorf("after the migration: %s want two, %s", got, before)
	}
}
