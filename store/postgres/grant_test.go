package postgres_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// Every table is in the list, so that a migration cannot forget the program's role.
func TestGrants_complete(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	conn, err := pgx.Connect(t.Context(), c.DSNAs(pgtest.Owner, c.NewDatabase(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(tables)
	if granted := slices.Sorted(maps.Keys(postgres.Grants)); !slices.Equal(tables, granted) {
		t.Errorf("the tables are %v\nand Grants has %v", tables, granted)
	}
}

// What the program's role may not do. That it may do all the program does is shown by
// every other test: they open boards as App.
func TestGrant_nothingElse(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	s := c.OpenIn(t, db, nil)
	seed(t, s, "web", 1, nil)
	c.Exec(t, db, "UPDATE meta SET timeline = 77")
	c.OpenIn(t, db, nil) // has to begin an epoch
	conn, err := pgx.Connect(t.Context(), c.DSNAs(pgtest.App, db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range []string{
		`CREATE TABLE x ()`,
		`CREATE FUNCTION x() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
		`ALTER TABLE tasks ADD COLUMN x int`,
		`DROP TABLE relay`,
		`TRUNCATE tasks`,
		`ALTER TABLE events DISABLE TRIGGER ALL`,
		`UPDATE events SET actor = 'x'`,
		`TRUNCATE events`,
		`UPDATE meta SET needs = 0`,
		`DELETE FROM meta`,
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)`,
		`SELECT FROM app_roles`,
		`GRANT SELECT ON tasks TO PUBLIC`,
		`SET ROLE ` + pgtest.Owner,
	} {
		_, err := conn.Exec(t.Context(), statement)
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "42501" {
			// What one may not grant is a warning.
			var public bool
			err2 := conn.QueryRow(t.Context(), `SELECT has_table_privilege('public', 'tasks', 'SELECT')`).Scan(&public)
			if !strings.HasPrefix(statement, "GRANT") || err2 != nil || public {
				t.Errorf("%s = %v, want no permission", statement, err)
			}
		}
	}
	// It may delete the events of tasks that were archived, and no others.
	for _, statement := range []string{
		`DELETE FROM events`,
		`SET bossman.archive = 'on'; DELETE FROM events`,
		`DELETE FROM tasks; DELETE FROM events`,
		`INSERT INTO archives (project_id, first, last, tasks, source, place, sha256, by, at) SELECT 1, id, id, ARRAY[id], '', '', '', '', now() FROM tasks; DELETE FROM events`,
	} {
		_, err := conn.Exec(t.Context(), statement)
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "23000" {
			t.Errorf("%s = %v, want a refusal", statement, err)
		}
	}
}

func TestGrant_roles(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	owner := c.DSNAs(pgtest.Owner, db)
	for role, want := range map[string]string{
		`no"body`:    `CREATE ROLE "no""body"`,
		pgtest.Owner: "can change the tables",
		"postgres":   "superuser",
	} {
		if err := postgres.Grant(t.Context(), owner, role); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Grant(%s) = %v, want it to say %s", role, err, want)
		}
	}

	// A role that was given nothing is told what is missing.
	c.Exec(t, "postgres", `CREATE ROLE "new ""one" LOGIN`)
	dsn := strings.Replace(c.DSNAs("x", db), "x@", "new%20%22one@", 1)
	_, err := postgres.Open(t.Context(), dsn, nil)
	if e, ok := errors.AsType[*postgres.RoleError](err); !ok || e.Role != `new "one` {
		t.Errorf("Open(a role without rights) = %v, want a RoleError", err)
	}
	if err := postgres.Grant(t.Context(), owner, `new "one`); err != nil {
		t.Fatalf("Grant = %v", err)
	}
	s, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatalf("Open after Grant = %v", err)
	}
	s.Close()

	// A migration gives it what is new, and one that may create tables is refused.
	c.Exec(t, db, `REVOKE ALL ON durable_calls FROM "new ""one"`, `GRANT UPDATE ON events TO "new ""one"`)
	if err := postgres.Migrate(t.Context(), owner); err != nil {
		t.Fatalf("Migrate = %v", err)
	}
	c.Exec(t, db, `DO $$ BEGIN
		IF NOT has_table_privilege('new "one', 'durable_calls', 'INSERT') THEN RAISE 'not granted again'; END IF;
		IF has_table_privilege('new "one', 'events', 'UPDATE') THEN RAISE 'not revoked'; END IF;
	END $$`, `GRANT CREATE ON SCHEMA public TO "new ""one"`)
	if err := postgres.Grant(t.Context(), owner, `new "one`); err == nil || !strings.Contains(err.Error(), "REVOKE CREATE ON SCHEMA public") {
		t.Errorf("Grant(a role that may create tables) = %v, want it to be refused", err)
	}
	c.Exec(t, db, `DROP OWNED BY "new ""one"`, `DROP ROLE "new ""one"`)
	if err := postgres.Migrate(t.Context(), owner); err != nil {
		t.Errorf("Migrate without a role that was there = %v", err)
	}
}
