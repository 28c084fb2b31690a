package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/auth/authtest"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

func TestAuth(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	authtest.Run(t, func(t *testing.T) auth.Store { return c.Open(t, nil) })
}

// TestAuth_noPlaintext looks for the key in a dump of the whole database.
func TestAuth_noPlaintext(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	s := c.OpenIn(t, db, nil)
	k, text, err := auth.New(s, nil).CreateKey(t.Context(), auth.NewKey{Owner: "ada", Project: "web", Role: auth.Worker})
	if err != nil {
		t.Fatal(err)
	}
	dump, err := c.Command("pg_dump", "-d", c.DSN(db)).Output()
	if err != nil {
		t.Fatal(err)
	}
	secret := text.Reveal()[strings.LastIndex(text.Reveal(), "_")+1:]
	if !strings.Contains(string(dump), k.ID) || strings.Contains(string(dump), secret) {
		t.Error("the dump does not have the key's id, or has its secret")
	}
}

// TestAuth_reducedRole: the role of a server needs no more than rows.
func TestAuth_reducedRole(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	c.Exec(t, db, "CREATE ROLE auth_reduced LOGIN", "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO auth_reduced")
	t.Cleanup(func() {
		c.Exec(t, db, "DROP OWNED BY auth_reduced", "DROP ROLE auth_reduced")
	})
	s, err := postgres.Open(t.Context(), c.DSNAs("auth_reduced", db), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := auth.New(s, nil)
	k, text, err := a.CreateKey(t.Context(), auth.NewKey{Owner: "ada", Project: "web", Role: auth.Worker})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Token(t.Context(), text.Reveal()); err != nil {
		t.Error(err)
	}
	_, lower := a.LowerKey(t.Context(), k.ID, "web", auth.Viewer, "shell:root")
	_, revoke := a.RevokeKey(t.Context(), k.ID, "shell:root")
	if err := errors.Join(lower, revoke, a.DisablePerson(t.Context(), "ada")); err != nil {
		t.Error(err)
	}
}

// TestAuth_oldProgram: beside this program one may run that does not know where keys come
// from. What it revokes ends what was created from it, and what it created for a machine is
// known by its name after the migration.
func TestAuth_oldProgram(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	a := auth.New(c.OpenIn(t, db, nil), nil)
	parent, _, err := a.CreateKey(t.Context(), auth.NewKey{Owner: "ada", Person: true, Project: "web", Role: auth.Lead})
	if err != nil {
		t.Fatal(err)
	}
	child, text, err := a.CreateKey(t.Context(), auth.NewKey{Name: "ada on laptop", Owner: "ada", Person: true, Project: "web", Role: auth.Lead, Machine: "laptop", Parent: parent.ID})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	p, err := a.Token(t.Context(), text.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	c.Exec(t, db, `WITH v AS (UPDATE auth_meta SET version = version + 1 RETURNING version) UPDATE api_keys SET revoked_at = now(), version = v.version FROM v WHERE id = '`+parent.ID+`'`)
	select {
	case <-p.Revoked:
	case <-time.After(time.Minute):
		t.Error("the machine's key goes on")
	}
	if _, err := a.Token(t.Context(), text.Reveal()); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("the machine's key: %v", err)
	}

	c.Exec(t, db, "ALTER TABLE tasks DROP COLUMN redoes", "ALTER TABLE meta DROP COLUMN call_key", "ALTER TABLE questions DROP COLUMN pushed", "ALTER TABLE projects DROP COLUMN keep", "ALTER TABLE meta DROP COLUMN floor_epoch, DROP COLUMN floor_xid, DROP COLUMN floor_id",
		"DROP FUNCTION events_archived, events_erased, search_doc, search_title, require_landing CASCADE", "ALTER TABLE projects DROP COLUMN land", "ALTER TABLE attempts DROP COLUMN actors", `DROP TABLE gateway_calls, gateway_reads, gateway_artifacts, gateway_catalogues, gateway_pins, push_deliveries, push_targets, push_keys, diffs, runs, run_logs, landers, intents, intent_items, search, archives, sweep, task_counts, counted, state_counts, states_counted`, `ALTER TABLE workers DROP COLUMN seen_on`, `ALTER TABLE claims DROP COLUMN credited`, `ALTER TABLE reviews DROP COLUMN credited`)
	c.Exec(t, db, `DROP INDEX api_keys_changed, api_keys_parent`,
		`ALTER TABLE api_keys DROP COLUMN parent, DROP COLUMN machine, DROP COLUMN created_by, DROP COLUMN revoked_by`,
		`DELETE FROM goose_db_version WHERE version_id >= 10`)
	if err := postgres.Migrate(t.Context(), c.DSN(db)); err != nil {
		t.Fatal(err)
	}
	s := c.OpenIn(t, db, nil)
	for id, want := range map[string]string{parent.ID: "", child.ID: "laptop"} {
		if k, err := s.Key(t.Context(), id); err != nil || k.Machine != want {
			t.Errorf("key %s is for machine %q, %v, want %q", id, k.Machine, err, want)
		}
	}
}

// TestAuth_databaseGone: for five seconds what was checked counts, then nobody is let
// in and nobody is told that their key is bad; when the database is back, neither.
func TestAuth_databaseGone(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	a := auth.New(c.Open(t, nil), &auth.Options{Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	_, key, err := a.CreateKey(t.Context(), auth.NewKey{Owner: "ada", Project: "web", Role: auth.Worker})
	if err != nil {
		t.Fatal(err)
	}
	p, err := a.Token(t.Context(), key.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stop("immediate"); err != nil {
		t.Fatal(err)
	}
	// until calls often until the answer is want.
	until := func(want error) time.Duration {
		t.Helper()
		since, tick := time.Now(), time.NewTicker(20*time.Millisecond)
		defer tick.Stop()
		for {
			_, err := a.Token(t.Context(), key.Reveal())
			if errors.Is(err, auth.ErrUnauthenticated) {
				t.Fatal("a good key is called bad")
			}
			if errors.Is(err, want) {
				return time.Since(since)
			}
			if time.Since(since) > 30*time.Second {
				t.Fatalf("after 30 s Token() = %v, want %v", err, want)
			}
			<-tick.C
		}
	}
	t.Logf("unavailable after %v", until(auth.ErrUnavailable))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Logf("back after %v", until(nil))
	select {
	case <-p.Revoked:
		t.Error("what was open has ended")
	default:
	}
}

// TestSweep_endedKeys: keys that ended long ago are deleted, unless others were created from
// them, whose end they are.
func TestSweep_endedKeys(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	s := c.OpenIn(t, db, nil)
	a := auth.New(s, nil)
	create := func(name, parent string) auth.Key {
		k, _, err := a.CreateKey(t.Context(), auth.NewKey{Name: name, Owner: "ada", Person: true, Project: "web", Role: auth.Lead, Machine: parent, Parent: parent})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	old, parent, _, _ := create("old", ""), create("parent", ""), create("lately", ""), create("live", "")
	create("child", parent.ID)
	c.Exec(t, db, `UPDATE api_keys SET revoked_at = now() - interval '181 days' WHERE id IN ('`+old.ID+`', '`+parent.ID+`')`,
		`UPDATE api_keys SET expires_at = now() - interval '179 days' WHERE name = 'lately'`)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys, err := s.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "child lately live parent" {
		t.Errorf("keys after the sweep: %s", got)
	}
}

// TestMigrate_fromTheFirst: a database from before there were keys says what to run,
// and then has them.
func TestMigrate_fromTheFirst(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	seed(t, c.OpenIn(t, db, nil), "web", 2, nil)
	c.Exec(t, db, "ALTER TABLE projects DROP COLUMN accept", "ALTER TABLE questions DROP COLUMN answered_as", "ALTER TABLE links DROP COLUMN inherited", "ALTER TABLE claims DROP COLUMN credited",
		"ALTER TABLE tasks DROP COLUMN redoes", "ALTER TABLE meta DROP COLUMN call_key", "ALTER TABLE questions DROP COLUMN pushed", "ALTER TABLE projects DROP COLUMN keep", "ALTER TABLE meta DROP COLUMN floor_epoch, DROP COLUMN floor_xid, DROP COLUMN floor_id", "DROP FUNCTION events_archived, events_erased, require_landing CASCADE", "ALTER TABLE projects DROP COLUMN land", "ALTER TABLE attempts DROP COLUMN actors")
	c.Exec(t, db, "DROP FUNCTION search_doc, search_title CASCADE", "ALTER TABLE workers DROP COLUMN seen_on", "DROP TABLE gateway_calls, gateway_reads, gateway_artifacts, gateway_catalogues, gateway_pins, push_deliveries, push_targets, push_keys, diffs, runs, run_logs, landers, intents, intent_items, search, archives, task_counts, counted, state_counts, states_counted, sweep, reviews, plan_items, api_keys, people, auth_meta, durable_calls, session_states, relay, seal_keys, app_roles", "DELETE FROM goose_db_version WHERE version_id > 1")
	_, err := postgres.Open(t.Context(), c.DSN(db), nil)
	if e, ok := errors.AsType[*postgres.SchemaError](err); !ok || e.Have != 1 {
		t.Fatalf("Open(old) = %v, want a SchemaError", err)
	}
	if err := postgres.Migrate(t.Context(), c.DSN(db)); err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Open(t.Context(), c.DSN(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if keys, err := s.Keys(t.Context()); err != nil || len(keys) != 0 {
		t.Errorf("Keys() = %v, %v", keys, err)
	}
	read(t, s, func(r board.Reader) error {
		_, err := r.Project("web")
		return err
	})
}
