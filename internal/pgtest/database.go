package pgtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/store/postgres"
)

// The roles of a board, as an operator creates them: Owner owns the tables, the program
// connects as App.
const (
	Owner = "bossman_owner"
	App   = "bossman_app"
)

// Roles creates Owner and App unless they exist.
func (c *Cluster) Roles(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rolesLocked(t)
}

func (c *Cluster) rolesLocked(t testing.TB) {
	t.Helper()
	if !c.roles {
		c.Exec(t, "postgres", "CREATE ROLE "+Owner+" LOGIN", "CREATE ROLE "+App+" LOGIN")
		c.roles = true
	}
}

// NewDatabase creates a database with a board's schema, owned by Owner, and returns its
// name. It is dropped when the test ends. Only a test that changes more than rows needs
// one; for the others Database is faster.
func (c *Cluster) NewDatabase(t testing.TB) string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	name := c.createLocked(t)
	t.Cleanup(func() {
		// The server may be down by now, or up again.
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if conn, err := pgx.Connect(ctx, c.DSN("postgres")); err == nil {
			defer conn.Close(ctx)
			_, _ = conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		}
	})
	return name
}

// createLocked creates a database from the template, which it first makes if need be.
func (c *Cluster) createLocked(t testing.TB) string {
	t.Helper()
	if !c.template {
		c.rolesLocked(t)
		c.Exec(t, "postgres", "CREATE DATABASE template_board OWNER "+Owner)
		dsn := c.DSNAs(Owner, "template_board")
		if err := postgres.Migrate(context.Background(), dsn); err != nil {
			t.Fatal(err)
		}
		if err := postgres.Grant(context.Background(), dsn, App); err != nil {
			t.Fatal(err)
		}
		c.template = true
	}
	c.made++
	name := fmt.Sprintf("t%d", c.made)
	c.Exec(t, "postgres", "CREATE DATABASE "+name+" TEMPLATE template_board OWNER "+Owner)
	return name
}

// A reusable is a database of the pool.
type reusable struct {
	name string
	conn *pgx.Conn // as a user who may do everything; restoring is ten times as fast on one that has done it before
}

// Database returns the name of a database like NewDatabase's that other tests have used
// before and will use again: its rows and sequences are those of a new one. Statements
// that change the schema fail in it.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var d *reusable
	if n := len(c.free); n > 0 {
		d, c.free = c.free[n-1], c.free[:n-1]
		if err := d.restore(c); err != nil {
			t.Fatal(err)
		}
	} else {
		d = &reusable{name: c.createLocked(t)}
		c.Exec(t, d.name, keepFresh)
	}
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.free = append(c.free, d)
	})
	return d.name
}

// restore makes the database as it was when it was new.
func (d *reusable) restore(c *Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		connected := d.conn == nil
		if connected {
			conn, err := pgx.Connect(ctx, c.DSN(d.name))
			if err != nil {
				return fmt.Errorf("pgtest: %w", err)
			}
			d.conn = conn
		}
		_, err := d.conn.Exec(ctx, "SELECT fresh.restore()")
		if err == nil {
			return nil
		}
		if connected || !d.conn.IsClosed() {
			return fmt.Errorf("pgtest: restore database %s: %w", d.name, err)
		}
		d.conn = nil // a test has ended all sessions
	}
}

// keepFresh copies the rows of a new database to the schema fresh, defines
// fresh.restore, which restores them, and forbids other changes of the schema.
//
// Restoring ends every other session, so that nothing of the last test can still commit.
// Deleting rows is far quicker than TRUNCATE, whose cost is in files, not rows; but what
// is deleted stays on the pages, so tables that have grown are truncated.
const keepFresh = `
CREATE SCHEMA fresh;
CREATE TABLE fresh."all tables" AS SELECT tablename AS name, false AS has_rows FROM pg_tables WHERE schemaname = 'public';
CREATE TABLE fresh."all sequences" AS
	SELECT format('public.%I', sequencename)::regclass AS id, coalesce(last_value, start_value) AS value, last_value IS NOT NULL AS called
	FROM pg_sequences WHERE schemaname = 'public';
DO $$
DECLARE
	one record;
	found_rows bool;
BEGIN
	FOR one IN SELECT * FROM fresh."all tables" LOOP
		EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', one.name) INTO found_rows;
		IF found_rows THEN
			UPDATE fresh."all tables" SET has_rows = true WHERE name = one.name;
			EXECUTE format('CREATE TABLE fresh.%1$I AS TABLE public.%1$I', one.name);
		END IF;
	END LOOP;
END $$;

CREATE FUNCTION fresh.restore() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	one record;
BEGIN
	PERFORM pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid();
	SET LOCAL session_replication_role = replica; -- no triggers, no foreign keys
	IF (SELECT max(pg_relation_size(format('public.%I', name))) FROM fresh."all tables") > 256 * 1024 THEN
		EXECUTE (SELECT 'TRUNCATE ' || string_agg(format('public.%I', name), ', ') FROM fresh."all tables");
	END IF;
	FOR one IN SELECT * FROM fresh."all tables" LOOP
		EXECUTE format('DELETE FROM public.%I', one.name);
		IF one.has_rows THEN
			EXECUTE format('INSERT INTO public.%1$I OVERRIDING SYSTEM VALUE SELECT * FROM fresh.%1$I', one.name);
		END IF;
	END LOOP;
	PERFORM setval(id, value, called) FROM fresh."all sequences";
END $$;

CREATE FUNCTION fresh.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'pgtest: % in a database that tests share; use NewDatabase', tg_tag;
END $$;
CREATE EVENT TRIGGER refuse ON ddl_command_start EXECUTE FUNCTION fresh.refuse();
`

// Exec runs statements without parameters in a database.
func (c *Cluster) Exec(t testing.TB, db string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// Open opens an empty board, in a Database.
func (c *Cluster) Open(t testing.TB, opts *postgres.Options) *postgres.Store {
	t.Helper()
	return c.OpenIn(t, c.Database(t), opts)
}

// OpenIn opens the board in a database as App, and closes it when the test ends.
func (c *Cluster) OpenIn(t testing.TB, db string, opts *postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), c.DSNAs(App, db), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
