package pgtest

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// use has a test of its own use a reusable database, and returns what it was at first
// and what the test left.
func use(t *testing.T, c *Cluster, name string, f func(t *testing.T, db string)) (first, left string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		db := c.Database(t)
		first = dump(t, c, db)
		f(t, db)
		left = dump(t, c, db)
	})
	return first, left
}

// dump writes the schema public with its rows and sequences.
func dump(t *testing.T, c *Cluster, db string) string {
	t.Helper()
	out, err := c.Command("pg_dump", "-d", c.DSN(db), "--inserts", "--schema=public").Output()
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^\\(un)?restrict .*$`).ReplaceAllString(string(out), "")
}

// Whatever rows a test leaves, the next one finds a new database.
func TestDatabase_again(t *testing.T) {
	c := Shared(t)
	fresh := dump(t, c, c.NewDatabase(t))
	for _, n := range []int{1, 5_000} { // deleted, and truncated
		first, left := use(t, c, "used", func(t *testing.T, db string) {
			s := c.OpenIn(t, db, nil)
			b := board.New(s, nil)
			if err := b.SetProject(t.Context(), board.Project{Slug: "web", Name: "Web"}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := b.Create(t.Context(), board.Actor{Principal: "ada"}, board.NewTask{Project: "web", Title: strings.Repeat("x", 100)}, "key"); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Next(t.Context(), board.Actor{Principal: "p", Owner: "o"}, board.Wish{Projects: []string{"web"}}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := auth.New(s, nil).CreateKey(t.Context(), auth.NewKey{Owner: "ada", Project: "web", Role: auth.Worker}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.SealKeys().Keys(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.Exec(t, db, "UPDATE meta SET feed_epoch = 7, system_id = 5", "DELETE FROM auth_meta", "DELETE FROM app_roles",
				"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)",
				"INSERT INTO idempotency (principal, key, op, hash, answer) SELECT 'p', i, 'op', 'h', repeat('x', 100) FROM generate_series(1, "+strconv.Itoa(n)+") i")
		})
		if first != fresh {
			t.Errorf("a database of the pool begins as\n%s\nwant\n%s", first, fresh)
		}
		if left == fresh {
			t.Error("the test changed nothing")
		}
	}
	if first, _ := use(t, c, "last", func(*testing.T, string) {}); first != fresh {
		t.Errorf("a database of the pool is given again as\n%s\nwant\n%s", first, fresh)
	}
}

// Sessions that a test leaves open end before the next test begins.
func TestDatabase_sessions(t *testing.T) {
	c := Shared(t)
	var left *pgx.Conn
	var name string
	use(t, c, "leaves", func(t *testing.T, db string) {
		name = db
		var err error
		if left, err = pgx.Connect(t.Context(), c.DSN(db)); err != nil {
			t.Fatal(err)
		}
		if _, err := left.Exec(t.Context(), "BEGIN; INSERT INTO people (name, created_at) VALUES ('ada', now())"); err != nil {
			t.Fatal(err)
		}
	})
	use(t, c, "next", func(t *testing.T, db string) {
		if db != name {
			t.Fatalf("Database = %s, want %s again", db, name)
		}
		if _, err := left.Exec(t.Context(), "COMMIT"); err == nil {
			t.Error("the last test's session is still there")
		}
	})
	// Also if a test ended ours.
	use(t, c, "ends all", func(t *testing.T, db string) {
		c.Exec(t, "postgres", "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '"+db+"'")
	})
	use(t, c, "after", func(*testing.T, string) {})
}

// The schema of a database that tests share cannot be changed.
func TestDatabase_schema(t *testing.T) {
	c := Shared(t)
	conn, err := pgx.Connect(t.Context(), c.DSN(c.Database(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range []string{
		"CREATE TABLE x ()", "ALTER TABLE tasks ADD x int", "DROP INDEX tasks_ready", "GRANT SELECT ON tasks TO PUBLIC",
		"CREATE INDEX x ON tasks (title)", "ALTER TABLE tasks SET (autovacuum_enabled = off)",
	} {
		if _, err := conn.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "use NewDatabase") {
			t.Errorf("%s: %v, want it refused", statement, err)
		}
	}
}
