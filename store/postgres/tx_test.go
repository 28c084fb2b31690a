package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// A trippedBoard is a board behind a proxy.
type trippedBoard struct {
	*board.Board
	store  *postgres.Store
	cutter *pgtest.Cutter
	direct *pgx.Conn
}

// newTrippedBoard opens a board with one connection, and a project web with n tasks.
func newTrippedBoard(t *testing.T, n int, opts *postgres.Options) *trippedBoard {
	t.Helper()
	c := pgtest.Shared(t)
	db := c.Database(t)
	b := &trippedBoard{cutter: c.Cutter(t)}
	s, err := postgres.Open(t.Context(), b.cutter.DSN(pgtest.App, db), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b.Board, b.store = board.New(s, nil), s
	seed(t, s, "web", n, nil)
	if b.direct, err = pgx.Connect(t.Context(), c.DSN(db)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.direct.Close(context.Background()) })
	return b
}

func (b *trippedBoard) next(t *testing.T) board.Handle {
	t.Helper()
	h, err := b.Next(t.Context(), ada, board.Wish{Projects: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	return h.Claim.Handle
}

// notes returns the number of notes that a task has.
func (b *trippedBoard) notes(t *testing.T, text string) (n int) {
	t.Helper()
	if err := b.direct.QueryRow(t.Context(), `SELECT count(*) FROM events WHERE kind = 'note' AND detail->>'Text' = $1`, text).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// What a transaction needs comes in one round trip, and what it writes goes with COMMIT.
func TestTrips(t *testing.T) {
	t.Parallel()
	b := newTrippedBoard(t, 40, &postgres.Options{MaxConns: 1})
	ctx := t.Context()
	person := board.Actor{Principal: "bob", Name: "bob", Person: true}
	var held board.Handle
	var q board.Question
	create := func(n board.NewTask, key string) (board.ID, error) {
		n.Project, n.Title, n.Priority = "web", "t", board.Normal
		made, _, err := b.Create(ctx, ada, n, key)
		return made.ID, err
	}
	take := func() error { held = b.next(t); return nil }
	keys := 0
	for _, op := range []struct {
		name   string
		want   int64
		before func() error
		run    func() error
	}{
		{"create", 2, nil, func() error { _, err := create(board.NewTask{}, ""); return err }},
		{"create with a key", 2, nil, func() error { keys++; _, err := create(board.NewTask{}, fmt.Sprint("k", keys)); return err }},
		{"create after another", 2, nil, func() error {
			_, err := create(board.NewTask{DependsOn: []board.ID{{Project: "web", No: 20}}}, "")
			return err
		}},
		{"plan", 2, nil, func() error {
			_, err := b.CreatePlan(ctx, ada, board.Plan{Project: "web", Tasks: []board.PlanTask{
				{Key: "a", NewTask: board.NewTask{Title: "a", Priority: board.Low}},
				{Key: "b", After: []string{"a"}, NewTask: board.NewTask{Title: "b", Priority: board.Low}},
			}})
			return err
		}},
		{"note", 2, take, func() error { _, err := b.Progress(ctx, ada, held, board.Note{Text: "x"}); return err }},
		{"ask", 3, take, func() (err error) {
			q, err = b.Ask(ctx, ada, board.NewQuestion{Claim: held, Text: "which?"})
			return err
		}},
		{"answer", 3, func() (err error) {
			q, err = b.Ask(ctx, ada, board.NewQuestion{Claim: held, Text: "which?"})
			return err
		}, func() error { _, err := b.Answer(ctx, person, q.ID, "this"); return err }},
		{"note after an answer", 3, nil, func() error { _, err := b.Progress(ctx, ada, held, board.Note{Text: "x"}); return err }},
		{"done", 2, take, func() error { _, err := b.Done(ctx, ada, held, board.Report{Summary: "x"}); return err }},
		{"done, frees one", 2, func() error {
			take()
			_, err := create(board.NewTask{DependsOn: []board.ID{held.Task}}, "")
			return err
		}, func() error { _, err := b.Done(ctx, ada, held, board.Report{Summary: "x"}); return err }},
		{"renew", 1, take, func() error { _, err := b.store.Renew(ctx, held); return err }},
		{"failed", 2, take, func() error { _, err := b.Fail(ctx, ada, held, board.Failure{Reason: "x"}); return err }},
	} {
		least := int64(1000) // the first times prepare statements, and a connection that was idle is tried
		for range 4 {
			if op.before != nil {
				if err := op.before(); err != nil {
					t.Fatalf("%s: %v", op.name, err)
				}
			}
			var trips atomic.Int64
			b.cutter.Judge(func(p pgtest.Piece) int {
				if !p.Answer {
					trips.Add(1)
				}
				return pgtest.Whole
			})
			if err := op.run(); err != nil {
				t.Fatalf("%s: %v", op.name, err)
			}
			b.cutter.Judge(nil)
			least = min(least, trips.Load())
		}
		if least != op.want {
			t.Errorf("%s takes %d round trips, want %d", op.name, least, op.want)
		}
	}
}

// A transaction that has waited for the lock on a task sees all that the one before it has
// written, and not only the task.
func TestAhead_waited(t *testing.T) {
	t.Parallel()
	b := newTrippedBoard(t, 1, nil)
	h := b.next(t)
	holder, err := b.direct.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`SELECT FROM tasks FOR UPDATE`,
		`DELETE FROM claims`,
		`UPDATE attempts SET ended_at = now(), cause = 'released', reason = 'given to another'`,
		`UPDATE tasks SET status = 'pending', ready = true, seq = seq + 1`,
	} {
		if _, err := holder.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	said := make(chan error, 1)
	go func() {
		_, err := b.Progress(t.Context(), ada, h, board.Note{Text: "still here"})
		said <- err
	}()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		var waits bool
		if err := holder.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE NOT l.granted AND a.datname = current_database())`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		if waits {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("Progress does not wait for the lock")
		}
	}
	if err := holder.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-said; !errors.Is(err, board.ErrLeaseLost) {
		t.Errorf("Progress after the claim was taken = %v, want ErrLeaseLost", err)
	}
}

// The answer of a COMMIT is lost. The store finds out that it took effect.
func TestWrite_lostAnswer(t *testing.T) {
	t.Parallel()
	b := newTrippedBoard(t, 1, nil)
	h := b.next(t)
	for i, pass := range []int{0, 7} {
		text := fmt.Sprint("lost answer ", i)
		b.cutter.Judge(cutAnswer(text, pass))
		if _, err := b.Progress(t.Context(), ada, h, board.Note{Text: text}); err != nil {
			t.Errorf("Progress with %d bytes of the answer = %v", pass, err)
		}
		if n := b.notes(t, text); n != 1 || b.cutter.Cuts() != i+1 {
			t.Errorf("%d notes, %d cuts, want 1 and %d", n, b.cutter.Cuts(), i+1)
		}
	}
}

// The statements and the COMMIT never arrive, or not all of them. The store finds out that
// nothing came of it.
func TestWrite_lostRequest(t *testing.T) {
	t.Parallel()
	b := newTrippedBoard(t, 1, nil)
	h := b.next(t)
	for i, pass := range []int{0, 40} {
		text := fmt.Sprint("lost request ", i)
		cut := false
		b.cutter.Judge(func(p pgtest.Piece) int {
			if cut || p.Answer || !bytes.Contains(p.Bytes, []byte(text)) {
				return pgtest.Whole
			}
			cut = true
			return pass
		})
		_, err := b.Progress(t.Context(), ada, h, board.Note{Text: text})
		if !errors.Is(err, board.ErrUnavailable) || errors.Is(err, board.ErrUnknown) {
			t.Errorf("Progress of which %d bytes arrived = %v, want ErrUnavailable", pass, err)
		}
		if n := b.notes(t, text); n != 0 || !cut {
			t.Errorf("%d notes, cut %v, want none", n, cut)
		}
	}
}

// If the database does not come back, the outcome is unknown.
func TestWrite_unknown(t *testing.T) {
	t.Parallel()
	b := newTrippedBoard(t, 1, &postgres.Options{CommitTimeout: 300 * time.Millisecond})
	h := b.next(t)
	first := cutAnswer("whatever became of it", 0)
	away := false
	b.cutter.Judge(func(p pgtest.Piece) int {
		if away {
			return 0
		}
		most := first(p)
		away = most != pgtest.Whole
		return most
	})
	if _, err := b.Progress(t.Context(), ada, h, board.Note{Text: "whatever became of it"}); !errors.Is(err, board.ErrUnknown) {
		t.Errorf("Progress = %v, want ErrUnknown", err)
	}
}

// A queued write that affects no row keeps the transaction from committing.
func TestWrite_missing(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := seed(t, s, "web", 1, nil)[0]
	err := s.Write(t.Context(), func(tx board.Tx) error {
		if err := tx.PutWorker(board.Worker{WorkerID: board.WorkerID{Principal: "p", Name: "n"}, LastSeen: time.Now()}); err != nil {
			return err
		}
		return tx.UpdateAttempt(board.Attempt{Handle: board.Handle{Task: id, Attempt: 7, Nonce: "abcde"}, GrantedAt: time.Now()})
	})
	if !errors.Is(err, board.ErrNotFound) {
		t.Errorf("UpdateAttempt(none) = %v, want ErrNotFound", err)
	}
	read(t, s, func(r board.Reader) error {
		w, err := r.Worker(board.WorkerID{Principal: "p", Name: "n"})
		if !w.IsZero() {
			t.Errorf("the worker was stored nevertheless: %+v", w)
		}
		return err
	})
}

// A transaction that writes much does not leave all of it to its COMMIT, and an error in between
// is its error.
func TestWrite_much(t *testing.T) {
	t.Parallel()
	const n = 1200
	b := newTrippedBoard(t, 1, &postgres.Options{MaxConns: 1})
	fill := func(seq int64) error {
		return b.store.Write(t.Context(), func(tx board.Tx) error {
			if err := tx.UpdateTask(board.Task{ID: board.ID{Project: "web", No: 1}, Title: "t", Status: board.Pending, Seq: seq + 1}, seq); err != nil {
				return err
			}
			for i := range n {
				if err := tx.PutWorker(board.Worker{WorkerID: board.WorkerID{Principal: "p", Name: fmt.Sprint("w", i)}, LastSeen: time.Now()}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	workers := func() (n int) {
		t.Helper()
		if err := b.direct.QueryRow(t.Context(), `SELECT count(*) FROM workers`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if err := fill(7); !errors.Is(err, board.ErrConflict) || workers() != 0 {
		t.Errorf("Write that begins with a conflict = %v, and %d workers, want ErrConflict and none", err, workers())
	}
	if err := fill(1); err != nil || workers() != n { // which also prepares the statements
		t.Errorf("Write = %v, and %d workers, want %d", err, workers(), n)
	}
	trips := 0
	b.cutter.Judge(func(p pgtest.Piece) int {
		if !p.Answer && bytes.HasSuffix(p.Bytes, []byte("S\x00\x00\x00\x04")) { // Sync ends a round trip
			trips++
		}
		return pgtest.Whole
	})
	if err := fill(2); err != nil {
		t.Error(err)
	}
	b.cutter.Judge(nil)
	if trips < 5 { // two for the row ids of the project and the lane, one with COMMIT
		t.Errorf("%d statements were sent in %d round trips, want 5 or more", n, trips)
	}
}

// A renewal writes to no index.
func TestRenew_hot(t *testing.T) {
	t.Parallel()
	const n = 50
	b := newTrippedBoard(t, 1, &postgres.Options{MaxConns: 1})
	h := b.next(t)
	for i := range n {
		if ok, err := b.store.Renew(t.Context(), h); err != nil || !ok {
			t.Fatalf("Renew %d = %v, %v", i, ok, err)
		}
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) { // statistics are late
		var all, hot int
		if err := b.direct.QueryRow(t.Context(), `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'claims'`).Scan(&all, &hot); err != nil {
			t.Fatal(err)
		}
		if all >= n {
			if hot != all {
				t.Errorf("%d of %d renewals wrote no index, want all", hot, all)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d updates after %d renewals", all, n)
		}
		b.store.Renew(t.Context(), h) // whose end reports them
	}
}

// Many live claims are not looked through all the time, and one that has expired is found all
// the same.
func TestStale_manyClaims(t *testing.T) {
	t.Parallel()
	const n = 20_000 // a scan each 200 ms
	b := newTrippedBoard(t, 0, nil)
	for _, statement := range []string{
		fmt.Sprintf(`INSERT INTO claims (task_id, attempt, nonce, principal, worker, owner, session, granted_at, lease_until, lease, deliveries)
			SELECT 1::bigint << 40 | i, 1, 'abcde', 'p', 'w' || i, 'o', '', now(), now() + interval '1 hour', '1 hour', 0 FROM generate_series(1, %d) i`, n),
		`ANALYZE claims`,
	} {
		if _, err := b.direct.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	stale := func() (is bool) {
		t.Helper()
		read(t, b.store, func(r board.Reader) (err error) {
			is, err = r.Stale()
			return err
		})
		return is
	}
	scans := func() (n int) {
		t.Helper()
		if err := b.direct.QueryRow(t.Context(), `SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'claims'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	began := time.Now()
	for range 100 {
		if stale() {
			t.Fatal("Stale, although all leases last")
		}
	}
	most := int(time.Since(began)/(n*10*time.Microsecond)) + 2
	if _, err := b.direct.Exec(t.Context(), `UPDATE claims SET lease_until = now() WHERE task_id = 1::bigint << 40 | 7`); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); !stale(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a claim has expired, and is not found")
		}
	}
	if read := scans(); read > (most+3)*n {
		t.Errorf("100 calls of Stale have read %d rows of %d claims, want at most %d scans", read, n, most)
	}
}
