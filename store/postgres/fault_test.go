package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/store/postgres"
)

// A server that goes away gives ErrUnavailable before a commit, and the store works
// again when the server does.
func TestCrash(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	db := c.NewDatabase(t)
	s := c.OpenIn(t, db, nil)
	ids := seed(t, s, "web", 3, nil)

	err := s.Write(t.Context(), func(tx board.Tx) error {
		if _, err := tx.Lock(ids[0]); err != nil {
			return err
		}
		if err := tx.Append(board.Event{Task: ids[0], Seq: 2, Kind: board.EventNote}); err != nil {
			return err
		}
		if err := c.Stop("immediate"); err != nil {
			t.Fatal(err)
		}
		_, _, err := tx.Links(ids[0])
		return err
	})
	if !errors.Is(err, board.ErrUnavailable) || errors.Is(err, board.ErrUnknown) {
		t.Errorf("Write as the server crashes = %v, want ErrUnavailable", err)
	}
	if _, err := s.Claim(t.Context(), want("web", "a")); !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Claim without a server = %v, want ErrUnavailable", err)
	}
	if err := s.Read(t.Context(), func(r board.Reader) error { _, err := r.Now(); return err }); !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Read without a server = %v, want ErrUnavailable", err)
	}
	if _, err := postgres.Open(t.Context(), c.DSN(db), nil); !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Open without a server = %v, want ErrUnavailable", err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	claims, err := s.Claim(t.Context(), want("web", "a"))
	if err != nil || len(claims) != 1 {
		t.Errorf("Claim after the restart = %v, %v", claims, err)
	}
	read(t, s, func(r board.Reader) error {
		events, err := r.Events(ids[0], 0, 0)
		if len(events) != 2 { // created, claimed
			t.Errorf("events = %v", events)
		}
		return err
	})
}

// Writers run while the server crashes. What they were told holds afterwards.
func TestCrash_underLoad(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	db := c.NewDatabase(t)
	s := c.OpenIn(t, db, nil)
	seed(t, s, "web", 0, nil)
	type told struct {
		slug string
		err  error
	}
	var mu sync.Mutex
	var all []told
	var wg sync.WaitGroup
	written := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, x := range all {
			if x.err == nil {
				n++
			}
		}
		return n
	}
	stop := make(chan struct{})
	for i := range 8 {
		wg.Go(func() {
			for j := 0; ; j++ {
				select {
				case <-stop:
					return
				default:
				}
				slug := fmt.Sprintf("p%dx%d", i, j)
				err := s.Write(context.WithoutCancel(t.Context()), func(tx board.Tx) error { return tx.PutProject(board.Project{Slug: slug}) })
				mu.Lock()
				all = append(all, told{slug, err})
				mu.Unlock()
				if errors.Is(err, board.ErrUnavailable) {
					select {
					case <-stop:
					case <-time.After(20 * time.Millisecond):
					}
				}
			}
		})
	}
	for range 3 {
		before := written()
		eventually(t, "they write", func() bool { return written() > before+50 })
		if err := c.Stop("immediate"); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	there := map[string]bool{}
	read(t, s, func(r board.Reader) error {
		projects, err := r.Projects()
		for _, p := range projects {
			there[p.Slug] = true
		}
		return err
	})
	n := map[string]int{}
	for _, x := range all {
		switch {
		case x.err == nil:
			n["ok"]++
			if !there[x.slug] {
				t.Errorf("%s was acknowledged and is gone", x.slug)
			}
		case errors.Is(x.err, board.ErrUnknown):
			n["unknown"]++
		case errors.Is(x.err, board.ErrUnavailable):
			n["unavailable"]++
			if there[x.slug] {
				t.Errorf("%s was refused and is there: %v", x.slug, x.err)
			}
		default:
			t.Errorf("%s: %v, want one of the three", x.slug, x.err)
		}
	}
	t.Log(n)
	if n["ok"] == 0 || n["unavailable"] == 0 {
		t.Errorf("outcomes = %v", n)
	}
}

// A commit that waits for a standby which never answers is neither success nor
// failure, and the driver does not cut the wait short.
func TestCommit_unknown(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	db := c.NewDatabase(t)
	s := c.OpenIn(t, db, &postgres.Options{CommitTimeout: 700 * time.Millisecond})
	seed(t, s, "web", 3, nil)
	admin, err := pgx.Connect(t.Context(), c.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	for _, q := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()", "SELECT pg_sleep(0.2)"} {
		if _, err := admin.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for _, q := range []string{"ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()"} {
			if _, err := admin.Exec(t.Context(), q); err != nil {
				t.Error(err)
			}
		}
	}()
	put := func(ctx context.Context, slug string) error {
		return s.Write(ctx, func(tx board.Tx) error { return tx.PutProject(board.Project{Slug: slug}) })
	}
	// signal does something to the session that waits for the standby.
	signal := func(function string) <-chan error {
		done := make(chan error, 1)
		go func() {
			for {
				var n int
				err := admin.QueryRow(t.Context(), `SELECT count(`+function+`(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()`).Scan(&n)
				if err != nil || n > 0 {
					done <- err
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		return done
	}
	for _, f := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		done := signal(f)
		if err := put(t.Context(), "x"+f[3:6]); !errors.Is(err, board.ErrUnknown) {
			t.Errorf("Write with %s = %v, want ErrUnknown", f, err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(c.Log(), "canceling wait for synchronous replication"); n != 1 {
		t.Fatalf("the log has %d cancelled waits, want 1", n)
	}

	if err := put(t.Context(), "late"); !errors.Is(err, board.ErrUnknown) {
		t.Errorf("Write past CommitTimeout = %v, want ErrUnknown", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := put(ctx, "gone"); !errors.Is(err, board.ErrUnknown) {
		t.Errorf("Write whose caller went = %v, want ErrUnknown", err)
	}
	if _, err := s.Claim(t.Context(), want("web", "a")); !errors.Is(err, board.ErrUnknown) {
		t.Errorf("Claim = %v, want ErrUnknown", err)
	}
	time.Sleep(300 * time.Millisecond) // for what the driver does behind our back
	if n := strings.Count(c.Log(), "canceling wait for synchronous replication"); n != 1 {
		t.Errorf("the log has %d cancelled waits, want 1:\n%s", n, c.Log())
	}
	if err := s.Read(t.Context(), func(r board.Reader) error { _, err := r.Now(); return err }); err != nil {
		t.Errorf("Read = %v", err)
	}
}

// The answer of an idempotency key is no more acknowledged than the call that made it:
// who repeats a call whose commit the standby lacks waits for the standby too.
func TestCommit_unknownAgain(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	s := c.OpenIn(t, c.NewDatabase(t), &postgres.Options{CommitTimeout: 500 * time.Millisecond})
	seed(t, s, "web", 0, nil)
	b := board.New(s, nil)
	create := func() (board.ID, error) {
		task, _, err := b.Create(t.Context(), board.Actor{Principal: "ada"}, board.NewTask{Project: "web", Title: "One"}, "key")
		return task.ID, err
	}
	c.Exec(t, "postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()", "SELECT pg_sleep(0.2)")
	for try := range 2 {
		if id, err := create(); !errors.Is(err, board.ErrUnknown) {
			t.Errorf("Create without a standby, try %d = %v, %v, want ErrUnknown", try, id, err)
		}
		// It has ended waiting, as the server does by itself when it is restarted.
		c.Exec(t, "postgres", `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
	}
	c.Exec(t, "postgres", "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()", "SELECT pg_sleep(0.2)")
	id, err := create()
	if err != nil || id.No != 1 {
		t.Errorf("Create with a standby = %v, %v, want web-1", id, err)
	}
}

// A server that hangs keeps its connections and answers nobody. A call is not kept
// waiting for it.
func TestFrozen(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	db := c.NewDatabase(t)
	s, err := postgres.Open(t.Context(), c.DSNAs(pgtest.App, db), &postgres.Options{StatementTimeout: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ids := seed(t, s, "web", 1, nil)
	defer s.Close()
	defer c.Kill()
	now := func(r board.Reader) error { _, err := r.Now(); return err }
	begun := time.Now()
	err = s.Write(t.Context(), func(tx board.Tx) error {
		if err := c.Freeze(); err != nil {
			t.Fatal(err)
		}
		_, err := tx.Lock(ids[0])
		return err
	})
	if !errors.Is(err, board.ErrUnavailable) || errors.Is(err, board.ErrUnknown) {
		t.Errorf("Write as the server freezes = %v, want ErrUnavailable", err)
	}
	if err := s.Read(t.Context(), now); !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Read of a frozen server = %v, want ErrUnavailable", err)
	}
	if took := time.Since(begun); took > 40*time.Second {
		t.Errorf("it took %v", took)
	}
}

// When the server freezes and its standby is promoted, calls reach the standby within
// seconds, whatever the pool was doing: connections that were in use and those that were
// idle are given up together, and keep no place in the pool.
func TestFrozen_promoted(t *testing.T) {
	t.Parallel()
	a := pgtest.Start(t)
	db := a.NewDatabase(t)
	b := a.Standby(t)
	dsn := fmt.Sprintf("postgres://%s@%s,%s/%s?sslmode=disable", pgtest.App, a.Addr(), b.Addr(), db)
	const conns = 4
	s, err := postgres.Open(t.Context(), dsn, &postgres.Options{StatementTimeout: 500 * time.Millisecond, MaxConns: conns})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer a.Kill()
	now := func(r board.Reader) error { _, err := r.Now(); return err }
	// together runs n reads at once, each on a connection of its own.
	together := func(n int, f func()) {
		var at, done sync.WaitGroup
		at.Add(n)
		for range n {
			done.Go(func() {
				_ = s.Read(t.Context(), func(r board.Reader) error {
					at.Done()
					at.Wait()
					f()
					return now(r)
				})
			})
		}
		done.Wait()
	}
	together(conns, func() {})
	var freeze sync.Once
	together(conns/2, func() {
		freeze.Do(func() {
			if err := a.Freeze(); err != nil {
				t.Error(err)
			}
		})
	})
	if err := b.Promote(); err != nil {
		t.Fatal(err)
	}
	promoted := time.Now()
	for err := errors.New("no try"); err != nil; err = s.Read(t.Context(), now) {
		if time.Since(promoted) > time.Minute {
			t.Fatal(err)
		}
	}
	if took := time.Since(promoted); took > 12*time.Second {
		t.Errorf("the first answer came %v after the promotion, want at most 12 s", took)
	} else {
		t.Logf("the first answer came %v after the promotion", took)
	}
}

// A deferred or timed-out wait is refused, and nothing has happened.
func TestLockTimeout(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t).Open(t, &postgres.Options{LockTimeout: 100 * time.Millisecond})
	ids := seed(t, s, "web", 1, nil)
	write(t, s, func(tx board.Tx) error {
		if _, err := tx.Lock(ids[0]); err != nil {
			return err
		}
		err := s.Write(t.Context(), func(tx board.Tx) error { _, err := tx.Lock(ids[0]); return err })
		if !errors.Is(err, board.ErrUnavailable) {
			t.Errorf("Lock past the time = %v, want ErrUnavailable", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		err = s.Write(ctx, func(tx board.Tx) error { _, err := tx.Lock(ids[0]); return err })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock of a caller who left = %v, want DeadlineExceeded", err)
		}
		return nil
	})
}

// A lockedText is what was logged.
type lockedText struct {
	mu   sync.Mutex
	text []byte
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	return len(b), nil
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// After a failover the store finds the new server by itself, and the feed begins a new
// epoch at once: before the promoted server's first checkpoint.
func TestFailover(t *testing.T) {
	t.Parallel()
	a := pgtest.Start(t)
	db := a.NewDatabase(t)
	b := a.Standby(t)
	dsn := fmt.Sprintf("postgres://%s@%s,%s/%s?sslmode=disable", pgtest.App, b.Addr(), a.Addr(), db)
	var said lockedText
	s, err := postgres.Open(t.Context(), dsn, &postgres.Options{Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	runStore(t, s)
	runStore(t, other)
	heard := make(chan mcp.Event, 1000)
	defer other.Bus().Subscribe(func(kind, name string) { heard <- mcp.Event{Kind: mcp.EventKind(kind), Name: name} })()
	seed(t, s, "web", 3, nil)
	claims, err := s.Claim(t.Context(), want("web", "a"))
	if err != nil || len(claims) != 1 {
		t.Fatalf("Claim = %v, %v", claims, err)
	}
	replica, err := pgx.Connect(t.Context(), b.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer replica.Close(t.Context())
	eventually(t, "the standby has the claim", func() bool {
		var n int
		if err := replica.QueryRow(t.Context(), `SELECT count(*) FROM claims`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
	if err := a.Stop("immediate"); err != nil {
		t.Fatal(err)
	}
	if err := b.Promote(); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		_, err = s.Claim(t.Context(), want("web", "b"))
		if err == nil {
			break
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatal(err)
		}
		if !errors.Is(err, board.ErrUnavailable) && !errors.Is(err, board.ErrUnknown) {
			t.Errorf("Claim after the failover = %v", err)
		}
	}
	read(t, s, func(r board.Reader) error {
		events, err := r.Feed(nil, "", 0)
		if err != nil || len(events) != 5 {
			t.Fatalf("Feed = %v, %v, want 5 events", events, err)
		}
		if first, last := events[0].Cursor, events[4].Cursor; first[:2] != "1." || last[:2] != "2." {
			t.Errorf("Feed's cursors go from %s to %s, want from epoch 1 to 2", first, last)
		}
		return nil
	})
	// The replicas hear each other again, after they were told that they may have
	// missed something.
	ready(t, s, other)
	s.Bus().Publish(string(mcp.EventTask), "after")
	told := false
	eventually(t, "an event after the failover", func() bool {
		select {
		case e := <-heard:
			told = told || e.Kind == mcp.EventTools
			return e.Name == "after"
		default:
			return false
		}
	})
	if !told {
		t.Error("after the failover listeners were not told to read again")
	}
	for text, want := range map[string]int{"the database was promoted or restored": 1, "commits do not wait for a standby": 2} {
		if n := strings.Count(said.String(), text); n != want {
			t.Errorf("the operator was told %d times that %s, want %d:\n%s", n, text, want, said.String())
		}
	}
}

// A host that takes connections and says nothing, as the address of a machine that is
// gone may, does not hold up the way to the next one for long.
func TestOpen_silentHost(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	dsn := fmt.Sprintf("postgres://%s@%s,%s/%s?sslmode=disable", pgtest.App, silent.Addr(), c.Addr(), c.Database(t))
	begun := time.Now()
	s, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("Open took %v", took)
	}
}
