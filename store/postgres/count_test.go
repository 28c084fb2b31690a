package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
)

// The counts are right before and after the events are counted, after an import, and in a
// database that was restored elsewhere, where transactions have other numbers.
func TestCounts(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	s := c.OpenIn(t, db, nil)
	b := board.New(s, nil)
	ada := board.Actor{Principal: "ada", Owner: "ada", Name: "ada", Person: true}
	ctx := t.Context()
	check := func(when string) {
		t.Helper()
		want := map[board.State]int{}
		all, err := b.List(ctx, board.TaskFilter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range all {
			want[task.State()]++
		}
		got, err := b.Counts(ctx)
		for _, state := range board.States {
			if got.In(state) != want[state] || err != nil {
				t.Errorf("%s: %d tasks are %s, %v, want %d", when, got.In(state), state, err, want[state])
			}
		}
	}
	count := func(when string) {
		t.Helper()
		check(when)
		if err := s.Count(ctx); err != nil {
			t.Fatal(err)
		}
		check(when + ", counted")
	}
	create := func(n int) (id board.ID) {
		t.Helper()
		for range n {
			task, _, err := b.Create(ctx, ada, board.NewTask{Project: "web", Title: "t", Priority: board.Normal}, "")
			if err != nil {
				t.Fatal(err)
			}
			id = task.ID
		}
		return id
	}
	cancel := func(id board.ID) {
		t.Helper()
		if _, err := b.Cancel(ctx, ada, id, "", board.DependentsKeep); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.SetProject(ctx, board.Project{Slug: "web"}); err != nil {
		t.Fatal(err)
	}
	count("empty")
	cancel(create(3))
	count("three tasks")
	if n := counted(t, c, db); n != 3 {
		t.Errorf("task_counts has %d tasks, want 3", n)
	}
	cancel(create(2))
	var lines [][]byte
	if err := b.Export(ctx, "web", func(line []byte) error { lines = append(lines, bytes.Clone(line)); return nil }); err != nil {
		t.Fatal(err)
	}
	_, err := b.Import(ctx, ada, "copy", func(yield func([]byte, error) bool) {
		for _, l := range lines {
			if !yield(l, nil) {
				return
			}
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	count("an import")

	// Programs from before stored places that PostgreSQL cannot read as JSON.
	odd := create(1)
	cancel(odd)
	c.Exec(t, db, "ALTER TABLE events DISABLE TRIGGER USER",
		`UPDATE events SET detail = '{"Where":{"Branch":"a\u0000b"}}' WHERE task_id = 1::bigint << 40 | `+fmt.Sprint(odd.No), "ALTER TABLE events ENABLE TRIGGER USER")
	count("a NUL")

	// Another system, with events that nobody has counted: some from before.
	create(1)
	c.Exec(t, db, "UPDATE meta SET system_id = 5")
	c.Exec(t, db, "UPDATE counted SET at = '18446744073709551000:18446744073709551000:'")
	s = c.OpenIn(t, db, nil)
	b = board.New(s, nil)
	cancel(create(2))
	got, err := b.Counts(ctx)
	if err != nil || got.Status[board.Cancelled] != 6 {
		t.Errorf("after a restore %d tasks are cancelled, %v, want 6", got.Status[board.Cancelled], err)
	}
	if err := s.Count(ctx); err != nil {
		t.Fatal(err)
	}
	again, err := b.Counts(ctx)
	if err != nil || again.Total() != got.Total() || again.Status[board.Cancelled] != 6 {
		t.Errorf("Counts = %v, %v after they were brought up to date, want %v", again, err, got)
	}
}

func counted(t *testing.T, c *pgtest.Cluster, db string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "SELECT sum(n) FROM task_counts").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// More than a thousand tasks of a state are not counted by every reader: it takes their number
// from what was counted last, unless that was long ago.
func TestCountStates(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	if err := pgtest.FillHistory(t.Context(), c.DSN(db), pgtest.History{Finished: 100, Open: 2000, Events: 3}); err != nil {
		t.Fatal(err)
	}
	s := c.OpenIn(t, db, nil)
	b := board.New(s, nil)
	is := func(when string, ready, held, later int) {
		t.Helper()
		got, err := b.Counts(t.Context())
		if got.Ready != ready || got.Held != held || got.Later != later || err != nil {
			t.Errorf("%s: %d ready, %d drafts, %d later, %v, want %d, %d, %d", when, got.Ready, got.Held, got.Later, err, ready, held, later)
		}
		if sum := got.Ready + got.Held + got.Later + got.Blocked; sum != got.Status[board.Pending] {
			t.Errorf("%s: the states add up to %d of %d pending tasks", when, sum, got.Status[board.Pending])
		}
	}
	count := func() {
		t.Helper()
		c.Exec(t, db, `UPDATE states_counted SET counted_at = counted_at - interval '2 s'`)
		if err := s.CountStates(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	add := func(hold bool) {
		t.Helper()
		ada := board.Actor{Principal: "ada", Owner: "ada", Name: "ada", Person: true}
		if _, _, err := b.Create(t.Context(), ada, board.NewTask{Project: pgtest.HistoryProject, Title: "t", Priority: board.Normal, Hold: hold}, ""); err != nil {
			t.Fatal(err)
		}
	}
	is("never counted", 1280, 80, 40)
	count()
	is("counted", 1280, 80, 40)
	add(false)
	add(true)
	is("with two more tasks", 1280, 81, 40)
	c.Exec(t, db, `UPDATE states_counted SET counted_at = counted_at - interval '2 min'`)
	is("long after", 1281, 81, 40)
	count()
	is("counted again", 1281, 81, 40)
	c.Exec(t, db, `UPDATE states_counted SET counted_at = counted_at - interval '2 min'`)
	is("long after, and nothing happened", 1281, 81, 40)
	c.Exec(t, db, `UPDATE tasks SET not_before = now() + interval '1 hour', ready = false WHERE ready`)
	add(true) // an event
	count()
	is("when all rest", 0, 82, 1321)
}

// What a day has cost is read from the runs of that day, whatever there was in years before, and an
// agent that tells its costs again and again does not leave old rows in the index.
func TestSpent_history(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	s := c.OpenIn(t, db, nil)
	seed(t, s, "web", 1, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c.Exec(t, db, `INSERT INTO runs (task_id, attempt, nonce, agent, model, session, tokens_in, tokens_out, tokens_cached, cost, at)
		SELECT p.id::bigint << 40 | n, 1, '0000000000', 'claude', 'opus', 'a-session', 1, 1, 1, 1, now() - n * interval '15 min' FROM projects p, generate_series(0, 99999) n`)
	c.Exec(t, db, `INSERT INTO attempts (task_id, attempt, nonce, principal, worker, owner, granted_at, cause, reason, do_not_repeat, place, spec_version, created, report_hash, report_answer)
		SELECT task_id, attempt, nonce, 'local', 'otter-7k', 'p-1', at, '', '', '', '{}', 1, 0, '', '' FROM runs`)
	conn, err := pgx.Connect(t.Context(), c.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	spent := func(ctx context.Context, b *board.Board) error {
		sum, err := b.Spent(ctx, "web")
		if err == nil && (sum.Cost < 1 || sum.Cost > 96) {
			err = fmt.Errorf("today has cost %d", sum.Cost)
		}
		return err
	}
	for _, when := range []string{"at first", "after an analysis"} {
		n := pages(t, c.DSN(db), conn, spent)
		t.Logf("%s: %d pages of %d runs", when, n, 100_000)
		if n > 600 { // some four for the attempt of each of the 96 runs
			t.Errorf("%s what today has cost takes %d pages", when, n)
		}
		c.Exec(t, db, `ANALYZE runs`)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	for range 5 {
		if _, err := tx.Exec(t.Context(), `UPDATE runs SET cost = cost + 1, at = at - interval '1 us' WHERE task_id = (SELECT id::bigint << 40 FROM projects)`); err != nil {
			t.Fatal(err)
		}
	}
	var updates, hot int
	if err := tx.QueryRow(t.Context(), `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'runs'`).Scan(&updates, &hot); err != nil || updates != 5 || hot != 5 {
		t.Errorf("%d of %d updates leave the index alone, %v", hot, updates, err)
	}
}
