package postgres_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// TestPutLand_olderProgram: landing is not switched on while a program that does not know about it is
// connected, and no such program connects afterwards.
func TestPutLand_olderProgram(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	s := c.OpenIn(t, db, nil)
	c.OpenIn(t, db, nil) // another replica of this version
	seed(t, s, "web", 1, nil)
	b := board.New(s, nil)
	for _, name := range []string{"bossman", "bossman/26", "our bossman/5", "psql", "", "bossman/99x"} {
		older, err := pgx.Connect(t.Context(), c.DSNAs(pgtest.App, db)+"&application_name="+url.PathEscape(name))
		if err != nil {
			t.Fatal(err)
		}
		err = b.SetLand(t.Context(), board.Actor{Principal: "ada"}, "web", "main")
		if !errors.Is(err, board.ErrConflict) || !strings.Contains(err.Error(), name) {
			t.Errorf("SetLand with %q connected = %v, want ErrConflict that names it", name, err)
		}
		if err := older.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p, err := b.Project(t.Context(), "web")
	if err != nil || p.Land != "" {
		t.Fatalf("the project lands on %q, %v", p.Land, err)
	}
	owner, err := pgx.Connect(t.Context(), c.DSNAs(pgtest.Owner, db)) // is no replica
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(t.Context())
	needs := func() (n int) {
		t.Helper()
		if err := owner.QueryRow(t.Context(), `SELECT needs FROM meta`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := needs(); n >= 27 {
		t.Errorf("needs is %d although landing is off", n)
	}
	// A session that has just ended is listed for a moment.
	for range 100 {
		if err = b.SetLand(t.Context(), board.Actor{Principal: "ada"}, "web", "main"); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := needs(); n != 27 {
		t.Errorf("needs is %d, want 27", n)
	}
}

// TestRequireLanding_temporaryTable: the function runs with the rights of the tables' owner, and takes no
// temporary table of its caller for one of ours.
func TestRequireLanding_temporaryTable(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	conn, err := pgx.Connect(t.Context(), c.DSNAs(pgtest.App, db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range []string{`CREATE TEMPORARY TABLE meta (needs int)`, `INSERT INTO pg_temp.meta VALUES (1)`, `SELECT require_landing()`} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	var ours, theirs int
	if err := conn.QueryRow(t.Context(), `SELECT (SELECT needs FROM public.meta), (SELECT needs FROM pg_temp.meta)`).Scan(&ours, &theirs); err != nil || ours != 27 || theirs != 1 {
		t.Errorf("needs is %d, and %d in the temporary table, %v; want 27 and 1", ours, theirs, err)
	}
}

// TestOpen_applicationName: others can tell which schema a program knows, whatever the user calls it.
func TestOpen_applicationName(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	number := fmt.Sprintf("bossman/%d", postgres.Schema)
	for own, want := range map[string]string{"": number, "bossman": number, "payroll": "payroll " + number, strings.Repeat("x", 63): strings.Repeat("x", 62-len(number)) + " " + number} {
		s, err := postgres.Open(t.Context(), c.DSNAs(pgtest.App, db)+"&application_name="+url.PathEscape(own), nil)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.Connect(t.Context(), c.DSNAs(pgtest.Owner, db))
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name = $2`, db, want).Scan(&n); err != nil || n == 0 {
			t.Errorf("with %q no connection is called %q, %v", own, want, err)
		}
		conn.Close(t.Context())
		s.Close()
	}
}
