package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// Neither what is over nor what is open makes anything slower: behind twelve times as many
// finished tasks, and with four times as many open ones, the database touches about as many
// pages. Where there is no index, a search covers the newest tasks.
func TestHistory(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	var dbs []string
	var conns []*pgx.Conn
	for _, h := range []pgtest.History{{Finished: 1000, Open: 6000, Events: 3}, {Finished: 12_000, Open: 6000, Events: 3}, {Finished: 1000, Open: 24_000, Events: 3}} {
		db := c.NewDatabase(t)
		if err := pgtest.FillHistory(t.Context(), c.DSN(db), h); err != nil {
			t.Fatal(err)
		}
		s := c.OpenIn(t, db, nil)
		if err := errors.Join(s.CountStates(t.Context()), s.Close()); err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.Connect(t.Context(), c.DSN(db))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		dbs, conns = append(dbs, db), append(conns, conn)
	}
	list := func(f board.TaskFilter) func(context.Context, *board.Board) error {
		f.Projects, f.Limit = []string{pgtest.HistoryProject}, 21
		return func(ctx context.Context, b *board.Board) error {
			_, err := b.List(ctx, f)
			return err
		}
	}
	ops := map[string]func(context.Context, *board.Board) error{
		"counts": func(ctx context.Context, b *board.Board) error { _, err := b.Counts(ctx); return err },
		"status": func(ctx context.Context, b *board.Board) error {
			_, err := b.Summary(ctx, pgtest.HistoryProject)
			return err
		},
		"inbox": func(ctx context.Context, b *board.Board) error {
			in, err := b.Inbox(ctx, pgtest.HistoryProject)
			if err == nil && (len(in.Open) != 60 && len(in.Open) != 100 || len(in.Review) != 100 || len(in.Failed) != 100 || len(in.Stuck) == 0) {
				err = fmt.Errorf("%d questions, %d in review, %d failed, %d stuck", len(in.Open), len(in.Review), len(in.Failed), len(in.Stuck))
			}
			return err
		},
		"workers of the last day": func(ctx context.Context, b *board.Board) error {
			_, _, err := b.Workers(ctx, 24*time.Hour)
			return err
		},
		"claims on a page": func(ctx context.Context, b *board.Board) error {
			ids := []board.ID{{Project: pgtest.HistoryProject, No: 1}, {Project: pgtest.HistoryProject, No: 2}}
			_, err := b.Claims(ctx, board.ClaimFilter{Project: pgtest.HistoryProject, Tasks: ids})
			return err
		},
		"leave": func(ctx context.Context, b *board.Board) error { return b.Leave(ctx, "p-1") },
		"next": func(ctx context.Context, b *board.Board) error {
			_, err := b.Next(ctx, board.Actor{Principal: "p", Owner: "o"}, board.Wish{Projects: []string{pgtest.HistoryProject}, Skills: pgtest.HistorySkills})
			return err
		},
		"the end of the feed": func(ctx context.Context, b *board.Board) error {
			at, err := b.FeedEnd(ctx)
			if err == nil {
				_, err = b.Feed(ctx, nil, at, 100)
			}
			return err
		},
		"a page of the feed": func(ctx context.Context, b *board.Board) error { _, err := b.Feed(ctx, nil, "", 100); return err },
		"open questions": func(ctx context.Context, b *board.Board) error {
			_, err := b.Questions(ctx, board.QuestionFilter{State: board.QuestionOpen, Limit: 20})
			return err
		},
		"list stuck":            list(board.TaskFilter{Stuck: true}),
		"list drafts":           list(board.TaskFilter{Hold: true}),
		"list resting":          list(board.TaskFilter{Resting: true}),
		"list ready":            list(board.TaskFilter{Ready: true}),
		"list a worker's":       list(board.TaskFilter{Worker: "nobody"}),
		"list a parent's":       list(board.TaskFilter{Parent: board.ID{Project: pgtest.HistoryProject, No: 10}}),
		"list by skill":         list(board.TaskFilter{Skill: "s5"}),
		"list by skill, open":   list(board.TaskFilter{Statuses: board.Open, Skill: "s5"}),
		"list failed":           list(board.TaskFilter{Statuses: []board.Status{board.Failed}}),
		"list done, failed":     list(board.TaskFilter{Statuses: []board.Status{board.Done, board.Failed}}),
		"list in review, ended": list(board.TaskFilter{Statuses: []board.Status{board.InReview, board.Cancelled}}),
		"search, rare":          list(board.TaskFilter{Query: pgtest.HistoryRare}),
		"search, common":        list(board.TaskFilter{Query: pgtest.HistoryCommon}),
		"search, nothing":       list(board.TaskFilter{Query: "xylophone"}),
		"search, short":         list(board.TaskFilter{Query: "qx"}),
		"search, short, open":   list(board.TaskFilter{Query: "qx", Statuses: board.Open}),
	}
	// These look at up to a thousand tasks or at all live claims, of which there are fewer here.
	thousands := []string{"counts", "status", "list resting", "list a worker's"}
	for name, op := range ops {
		few, long, wide := pages(t, c.DSN(dbs[0]), conns[0], op), pages(t, c.DSN(dbs[1]), conns[1], op), pages(t, c.DSN(dbs[2]), conns[2], op)
		most := 1.5*float64(few) + 20
		if slices.Contains(thousands, name) {
			most = max(most, 1300)
		}
		t.Logf("%-23s %5d pages, %5d with a long history, %5d with many open tasks", name, few, long, wide)
		if float64(max(long, wide)) > most {
			t.Errorf("%s touches %d pages behind 12,000 finished tasks, %d with 24,000 open ones, and %d with fewer of both", name, long, wide, few)
		}
	}
	// Pages that were written since the last vacuum make an index dearer to the planner, which must not drive it to another one.
	if _, err := conns[2].Exec(t.Context(), `UPDATE tasks SET spec_version = spec_version WHERE id % 10 = 0; ANALYZE tasks`); err != nil {
		t.Fatal(err)
	}
	if n := pages(t, c.DSN(dbs[2]), conns[2], ops["list ready"]); n > 500 {
		t.Errorf("list ready touches %d pages where every tenth task was written a moment ago", n)
	}
	searchWithoutIndex(t, c, dbs[1])
}

// pages returns how many pages of tables and indexes op touches when its statements are
// planned. Another connection looks on.
func pages(t *testing.T, dsn string, conn *pgx.Conn, op func(context.Context, *board.Board) error) int {
	t.Helper()
	const calls = 5
	// As if a server had been there: or the first sweep extends all leases.
	if _, err := conn.Exec(t.Context(), `UPDATE sweep SET swept = clock_timestamp()`); err != nil {
		t.Fatal(err)
	}
	// Autovacuum reads pages too, and is counted.
	const alone = `DO $$ DECLARE r regclass; BEGIN
		FOR r IN SELECT relid FROM pg_stat_user_tables LOOP EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', r); END LOOP;
	END $$`
	if _, err := conn.Exec(t.Context(), alone); err != nil {
		t.Fatal(err)
	}
	before := touched(t, conn)
	s, err := postgres.Open(t.Context(), dsn, &postgres.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := board.New(s, nil)
	for range calls {
		if err := op(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return (touched(t, conn) - before) / calls
}

// touched returns how many pages of the database were read so far by connections that have ended. A
// connection reports what it did when it ends, a little after it was closed.
func touched(t *testing.T, conn *pgx.Conn) (n int) {
	t.Helper()
	const left = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type IN ('client backend', 'autovacuum worker') AND pid <> pg_backend_pid()`
	for n, deadline := 1, time.Now().Add(10*time.Second); n > 0; time.Sleep(5 * time.Millisecond) {
		if err := conn.QueryRow(t.Context(), left).Scan(&n); err != nil || time.Now().After(deadline) {
			t.Fatal(n, "connections are left", err)
		}
	}
	const query = `SELECT coalesce(sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0)), 0)::bigint FROM pg_statio_user_tables`
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// searchWithoutIndex searches among 12,000 finished and 6,000 other tasks. The next migration
// makes the index if it can.
func searchWithoutIndex(t *testing.T, c *pgtest.Cluster, db string) {
	c.Exec(t, db, `UPDATE task_docs SET description = 'a Xylophone' WHERE task_id - (1::bigint << 40) IN (5, 12100, 13500, 17990)`,
		`UPDATE tasks SET status = 'done', ready = false WHERE id = 1::bigint << 40 | 17990`)
	b := board.New(c.OpenIn(t, db, nil), nil)
	finds := func(when, text string, want ...int64) {
		t.Helper()
		got, err := b.List(t.Context(), board.TaskFilter{Query: text, Limit: 5})
		var nos []int64
		for _, task := range got {
			nos = append(nos, task.ID.No)
		}
		if err != nil || fmt.Sprint(nos) != fmt.Sprint(want) {
			t.Errorf("%s: a search for %q finds %v, %v, want %v", when, text, nos, err, want)
		}
	}
	finds("with an index", "xylophone", 5, 12100, 13500, 17990)
	c.Exec(t, db, `DROP INDEX search_text`, `DELETE FROM search`, `DROP EXTENSION pg_trgm`)
	finds("without", "xylophone", 13500, 17990)
	if err := postgres.Migrate(t.Context(), c.DSN(db)); err != nil {
		t.Fatal(err)
	}
	finds("with a new one", "xylophone", 5, 12100, 13500, 17990)
	finds("less than three letters", "xy", 13500, 17990)
}

// That workers can be found by when they were seen costs no entry in an index for each of
// their calls.
func TestSeen_heapOnly(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	s := c.OpenIn(t, db, nil)
	w := board.Worker{WorkerID: board.WorkerID{Principal: "p", Name: "otter-1"}, LastSeen: time.Now(), Owner: "o"}
	for i := range 10 {
		err := s.Write(t.Context(), func(tx board.Tx) error {
			if i == 0 {
				return tx.PutWorker(w)
			}
			return tx.Seen(w.WorkerID)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), c.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var all, hot int
	for deadline := time.Now().Add(10 * time.Second); all < 9; time.Sleep(5 * time.Millisecond) {
		const query = `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'workers'`
		if err := conn.QueryRow(t.Context(), query).Scan(&all, &hot); err != nil || time.Now().After(deadline) {
			t.Fatal(all, "updates were reported", err)
		}
	}
	if hot < 8 { // one may see midnight
		t.Errorf("%d of %d updates of a worker are heap-only", hot, all)
	}
}
