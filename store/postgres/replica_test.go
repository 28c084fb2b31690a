package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
	"github.com/bossman-dev/bossman/mcp/replica/replicatest"
	"github.com/bossman-dev/bossman/mcp/transport"
	"github.com/bossman-dev/bossman/store/postgres"
)

// openReplica opens a store in a database and runs it until the test ends.
func openReplica(t *testing.T, c *pgtest.Cluster, db string) *postgres.Store {
	t.Helper()
	s := c.OpenIn(t, db, &postgres.Options{MaxConns: 6})
	runStore(t, s)
	return s
}

func runStore(t *testing.T, s *postgres.Store) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run = %v", err)
			}
		case <-time.After(30 * time.Second):
			t.Error("Run did not end")
		}
	})
	ready(t, s)
}

// ready waits until the stores hear all that somebody wants to hear.
func ready(t *testing.T, stores ...*postgres.Store) {
	t.Helper()
	for _, s := range stores {
		eventually(t, "listen", func() bool { return postgres.Ready(s) })
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(40 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestDurableCalls(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	replicatest.TaskStore(t, func(t *testing.T) replica.TaskStore { return c.Open(t, nil).DurableCalls() })
}

// What one replica creates another finds; nothing is kept beyond a bound, and what
// nobody asks for any more is swept.
func TestDurableCalls_replicas(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	here, there := c.OpenIn(t, db, nil), c.OpenIn(t, db, nil)
	now := time.Now()
	old := &replica.TaskRecord{ID: "old", Owner: "o", Status: replica.TaskWorking, Created: now.Add(-2 * time.Hour), TTL: time.Hour}
	young := &replica.TaskRecord{ID: "young", Owner: "o", Status: replica.TaskCompleted, Created: now.Add(-2 * time.Hour), TTL: 3 * time.Hour}
	for _, d := range []*replica.TaskRecord{old, young} {
		if err := here.DurableCalls().Create(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := there.DurableCalls().Create(t.Context(), old); !errors.Is(err, board.ErrConflict) {
		t.Errorf("Create again = %v, want ErrConflict", err)
	}
	_, err := there.DurableCalls().Update(t.Context(), "young", func(d *replica.TaskRecord) error {
		d.Result = json.RawMessage(`"` + strings.Repeat("x", postgres.MaxDurableCall) + `"`)
		return nil
	})
	if !errors.Is(err, board.ErrInvalid) {
		t.Errorf("Update(too much) = %v, want ErrInvalid", err)
	}
	for i := range 1_200 {
		d := *old
		d.ID = fmt.Sprint("many ", i)
		if err := here.DurableCalls().Create(t.Context(), &d); err != nil {
			t.Fatal(err)
		}
	}
	if err := there.Sweep(t.Context()); err != nil {
		t.Fatalf("Sweep = %v", err)
	}
	for _, id := range []string{"old", "many 0", "many 1199"} {
		if _, err := here.DurableCalls().Get(t.Context(), id); !errors.Is(err, mcp.ErrNotFound) {
			t.Errorf("Get(%s) after the sweep = %v, want ErrNotFound", id, err)
		}
	}
	if d, err := there.DurableCalls().Get(t.Context(), "young"); err != nil || d.Result != nil || d.Owner != "o" {
		t.Errorf("Get(young) = %+v, %v", d, err)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	replicatest.SessionStore(t, func(t *testing.T) replica.SessionStore { return c.Open(t, nil).Sessions() })
}

func TestSessions_replicas(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	here, there := c.OpenIn(t, db, nil).Sessions(), c.OpenIn(t, db, nil)
	end := func(st *replica.SessionState) error {
		st.Ended = true
		return nil
	}
	for session, until := range map[string]time.Time{"old": time.Now().Add(-time.Hour), "young": time.Now().Add(-time.Minute)} {
		if err := here.Update(t.Context(), session, until, end); err != nil {
			t.Fatal(err)
		}
		if st, err := there.Sessions().Load(t.Context(), session); err != nil || st == nil || !st.Ended {
			t.Errorf("Load(%s) by the other = %+v, %v, want an ended session", session, st, err)
		}
	}
	if err := there.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st, err := here.Load(t.Context(), "old"); err != nil || st != nil {
		t.Errorf("Load(old) after the sweep = %+v, %v, want nothing", st, err)
	}
	if st, err := here.Load(t.Context(), "young"); err != nil || st == nil {
		t.Errorf("Load(young) after the sweep = %+v, %v: a replica's clock may be behind", st, err)
	}
	err := here.Update(t.Context(), "young", time.Now(), func(st *replica.SessionState) error {
		st.Subscribed = []string{strings.Repeat("x", 2<<20)}
		return nil
	})
	if !errors.Is(err, transport.ErrTooManySubscriptions) {
		t.Errorf("Update(too much) = %v, want ErrTooMany", err)
	}
}

// A server that goes away is an error, soon; then all is as it was told.
func TestReplicas_crash(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	db := c.NewDatabase(t)
	s, other := openReplica(t, c, db), openReplica(t, c, db)
	heard := make(chan mcp.Event, 10_000)
	defer other.Bus().Subscribe(func(kind, name string) { heard <- mcp.Event{Kind: mcp.EventKind(kind), Name: name} })()
	if err := s.DurableCalls().Create(t.Context(), &replica.TaskRecord{ID: "a", Status: replica.TaskWorking}); err != nil {
		t.Fatal(err)
	}
	keys, err := s.SealKeys().Keys(t.Context())
	if err != nil || len(keys) != 1 {
		t.Fatalf("Keys = %d, %v", len(keys), err)
	}
	if err := c.Stop("immediate"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i := range 20_000 { // more than the queue holds
		s.Bus().Publish(string(mcp.EventResource), fmt.Sprint(i))
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("Publish waited for the database: 20,000 took %v", d)
	}
	if err := s.Relay().Send(t.Context(), "x", []byte("m")); err != nil {
		t.Errorf("Send without a server = %v", err)
	}
	// What was being sent is lost when that has failed.
	eventually(t, "all above the queue's size are lost", func() bool { return s.Relay().Stats().Lost >= 20_000-postgres.MaxQueued })
	if _, err := s.DurableCalls().Get(t.Context(), "a"); !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Get without a server = %v, want ErrUnavailable", err)
	}
	if _, err := s.Sessions().Load(t.Context(), "a"); !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Load without a server = %v, want ErrUnavailable", err)
	}
	if _, err := s.SealKeys().Keys(t.Context()); !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Keys without a server = %v, want ErrUnavailable", err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// The other comes back by itself and is told to read all lists again.
	lists := map[mcp.EventKind]bool{}
	for len(lists) < 3 {
		select {
		case e := <-heard:
			if e.Kind != mcp.EventResource {
				lists[e.Kind] = true
			}
		case <-time.After(40 * time.Second):
			t.Fatalf("after the crash only %v are said to have changed", lists)
		}
	}
	ready(t, s, other)
	s.Bus().Publish(string(mcp.EventTask), "after")
	eventually(t, "an event after the crash", func() bool {
		select {
		case e := <-heard:
			return e.Name == "after"
		default:
			return false
		}
	})
	if d, err := other.DurableCalls().Get(t.Context(), "a"); err != nil || d.Status != replica.TaskWorking {
		t.Errorf("Get after the crash = %+v, %v", d, err)
	}
	if again, err := other.SealKeys().Keys(t.Context()); err != nil || len(again) != 1 || string(again[0]) != string(keys[0]) {
		t.Errorf("after the crash the keys are others, %v", err)
	}
}

func TestBus(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	replicatest.Bus(t, func(t *testing.T) (here, there replica.Bus) {
		db := c.Database(t)
		return openReplica(t, c, db).Bus(), openReplica(t, c, db).Bus()
	})
}

func TestRelay(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	replicatest.Relay(t, func(t *testing.T) ([3]replica.Relay, func()) {
		db := c.Database(t)
		a, b, d := openReplica(t, c, db), openReplica(t, c, db), openReplica(t, c, db)
		return [3]replica.Relay{a.Relay(), b.Relay(), d.Relay()}, func() { ready(t, a, b, d) }
	})
}

// Many messages are few transactions, long ones are gone after a while, and a
// connection that is cut comes again.
func TestRelay_together(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	here, there := openReplica(t, c, db), openReplica(t, c, db)
	var mu sync.Mutex
	got := 0
	defer there.Relay().Receive("there", func([]byte) {
		mu.Lock()
		defer mu.Unlock()
		got++
	})()
	count := func(n int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return got == n
		}
	}
	ready(t, there)
	began := time.Now()
	for range 5_000 {
		if err := here.Relay().Send(t.Context(), "there", []byte("message")); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "5,000 messages", count(5_000))
	eventually(t, "all are known to be sent", func() bool { return here.Relay().Stats().Sent == 5_000 })
	st := here.Relay().Stats()
	if most := uint64(time.Since(began)/(10*time.Millisecond)) + 2; st.Together > most || st.Lost != 0 {
		t.Errorf("%+v in %v, want 5,000 sent in %d transactions at most", st, time.Since(began), most)
	}
	if err := here.Relay().Send(t.Context(), "", make([]byte, 9<<20)); !errors.Is(err, board.ErrInvalid) {
		t.Errorf("Send(9 MiB) = %v, want ErrInvalid", err)
	}

	long := make([]byte, 10_000)
	if err := here.Relay().Send(t.Context(), "there", long); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a long message", count(5_001))
	c.Exec(t, db, `UPDATE relay SET at = at - interval '2 min'`)
	if err := there.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Exec(t, db, `DO $$ BEGIN IF EXISTS (SELECT FROM relay) THEN RAISE 'not swept'; END IF; END $$`)

	c.Exec(t, db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`)
	eventually(t, "a message after the cut", func() bool {
		_ = here.Relay().Send(t.Context(), "there", long)
		mu.Lock()
		defer mu.Unlock()
		return got > 5_001
	})
}

// Events of a burst that are the same go once.
func TestBus_same(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	s := openReplica(t, c, db)
	for range 10_000 {
		s.Bus().Publish(string(mcp.EventTools), "")
	}
	eventually(t, "sent", func() bool { return s.Relay().Stats().Sent > 0 })
	if st := s.Relay().Stats(); st.Sent > 1_000 || st.Lost > 0 {
		t.Errorf("10,000 times the same: %+v", st)
	}
}

// A subscriber that blocks delays neither publishers nor the listener.
func TestBus_slowListener(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	here, there := openReplica(t, c, db), openReplica(t, c, db)
	stuck, release := make(chan struct{}, 1), make(chan struct{})
	defer here.Bus().Subscribe(func(string, string) {
		select {
		case stuck <- struct{}{}:
		default:
		}
		<-release
	})()
	defer close(release)
	here.Bus().Publish(string(mcp.EventTools), "")
	<-stuck
	for i := range postgres.MaxQueued + 10 {
		here.Bus().Publish(string(mcp.EventResource), fmt.Sprint(i))
	}
	if lost := here.Bus().Lost(); lost != 10 {
		t.Errorf("Lost = %d, want the ten oldest", lost)
	}
	got := make(chan []byte, 1)
	defer here.Relay().Receive("here", func(m []byte) { got <- m })()
	ready(t, here)
	if err := there.Relay().Send(t.Context(), "here", []byte("m")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-got:
	case <-time.After(20 * time.Second):
		t.Error("a listener of the bus holds up the relay")
	}
}

// Of several goroutines that run the listener, one does at a time.
func TestListener_turn(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	s, other := c.OpenIn(t, db, nil), openReplica(t, c, db)
	first, endFirst := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer endFirst()
	wg.Go(func() { _ = s.Watch(first, func() {}) })
	ready(t, s)
	woken := make(chan struct{}, 1000)
	second, endSecond := context.WithCancel(t.Context())
	defer endSecond()
	wg.Go(func() { _ = s.Watch(second, func() { woken <- struct{}{} }) })
	<-woken // the listener is connected
	other.Hint()
	<-woken
	endFirst()
	<-woken // it is up again
	ready(t, s)
	for len(woken) > 0 {
		<-woken
	}
	other.Hint()
	select {
	case <-woken:
	case <-time.After(20 * time.Second):
		t.Error("no hint after the first has ended")
	}
}
