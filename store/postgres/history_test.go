package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// What is over does not make anything slower: behind twelve times as many finished tasks,
// the database touches about as many pages. Where there is no index, a search covers what is
// open and the newest of the rest.
func TestHistory(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	var dbs []string
	var conns []*pgx.Conn
	for _, n := range []int{1000, 12_000} {
		db := c.NewDatabase(t)
		if err := pgtest.FillHistory(t.Context(), c.DSN(db), pgtest.History{Finished: n, Open: 600, Events: 3}); err != nil {
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
	}
	for name, op := range ops {
		few, many := pages(t, c.DSN(dbs[0]), conns[0], op), pages(t, c.DSN(dbs[1]), conns[1], op)
		t.Logf("%-22s %5d pages, %5d with a long history", name, few, many)
		if float64(many) > 1.5*float64(few)+20 {
			t.Errorf("%s touches %d pages behind 12,000 finished tasks and %d behind 1,000", name, many, few)
		}
	}
	searchWithoutIndex(t, c, dbs[1])
}

// pages returns how many pages of tables and indexes op touches when its statements are
// planned. Another connection looks on.
func pages(t *testing.T, dsn string, conn *pgx.Conn, op func(context.Context, *board.Board) error) int {
	t.Helper()
	const calls = 5
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
	// A connection reports what it did when it ends, a little after it was closed.
	const left = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`
	for n, deadline := 1, time.Now().Add(10*time.Second); n > 0; time.Sleep(5 * time.Millisecond) {
		if err := conn.QueryRow(t.Context(), left).Scan(&n); err != nil || time.Now().After(deadline) {
			t.Fatal(n, "connections are left", err)
		}
	}
	return (touched(t, conn) - before) / calls
}

func touched(t *testing.T, conn *pgx.Conn) (n int) {
	t.Helper()
	const query = `SELECT coalesce(sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0)), 0)::bigint FROM pg_statio_user_tables`
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// searchWithoutIndex searches among 12,000 finished and 600 other tasks. The next migration
// makes the index if it can.
func searchWithoutIndex(t *testing.T, c *pgtest.Cluster, db string) {
	c.Exec(t, db, `UPDATE task_docs SET description = 'a Xylophone' WHERE task_id IN (1::bigint << 40 | 5, 1::bigint << 40 | 11990, 1::bigint << 40 | 12100)`)
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
	finds("with an index", "xylophone", 5, 11990, 12100)
	c.Exec(t, db, `DROP INDEX search_text`, `DELETE FROM search`, `DROP EXTENSION pg_trgm`)
	finds("without", "xylophone", 11990, 12100)
	if err := postgres.Migrate(t.Context(), c.DSN(db)); err != nil {
		t.Fatal(err)
	}
	finds("with a new one", "xylophone", 5, 11990, 12100)
	finds("less than three letters", "xy", 11990, 12100)
}
