package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// silent makes a database whose server does not tell programs who it is, as some managed
// services do.
func silent(t *testing.T, c *pgtest.Cluster, db string) {
	t.Helper()
	c.Exec(t, db,
		"REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC",
		"REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC",
		"REVOKE EXECUTE ON FUNCTION pg_current_wal_insert_lsn() FROM PUBLIC")
}

func epoch(t *testing.T, c *pgtest.Cluster, db string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "SELECT feed_epoch FROM meta").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A server that does not say who it is has a board all the same, and an epoch begins when its
// transaction ids go back.
func TestIdentity_refused(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	db := c.NewDatabase(t)
	silent(t, c, db)
	s := c.OpenIn(t, db, nil)
	seed(t, s, "web", 3, nil)
	if claims, err := s.Claim(t.Context(), want("web", "a")); err != nil || len(claims) != 1 {
		t.Errorf("Claim = %v, %v", claims, err)
	}
	before := epoch(t, c, db)
	c.OpenIn(t, db, nil)
	if now := epoch(t, c, db); now != before {
		t.Errorf("the epoch is %d after a new connection to the same server, was %d", now, before)
	}
	c.Exec(t, db, "ALTER TABLE events DISABLE TRIGGER ALL", "UPDATE events SET xid = '99999999'", "ALTER TABLE events ENABLE TRIGGER ALL")
	c.OpenIn(t, db, nil) // as if the server was restored from a dump
	c.OpenIn(t, db, nil)
	if now := epoch(t, c, db); now != before+1 {
		t.Errorf("the epoch is %d after transaction ids went back, want %d", now, before+1)
	}
}

// A board can be made there, too.
func TestIdentity_migrate(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	c.Roles(t)
	c.Exec(t, "postgres", "CREATE DATABASE managed OWNER "+pgtest.Owner)
	silent(t, c, "managed")
	if err := postgres.Migrate(t.Context(), c.DSNAs(pgtest.Owner, "managed")); err != nil {
		t.Fatal(err)
	}
	if n := epoch(t, c, "managed"); n != 1 {
		t.Errorf("the epoch of a new board is %d, want 1", n)
	}
}
