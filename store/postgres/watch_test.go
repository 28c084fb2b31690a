package postgres_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// A hint of one process wakes the other, not itself; many are one.
func TestWatch(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	here, there := c.OpenIn(t, db, nil), c.OpenIn(t, db, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var woken [2]atomic.Int64
	ready := make(chan struct{}, 100)
	for i, s := range []interface {
		Watch(context.Context, func()) error
	}{here, there} {
		wg.Go(func() {
			if err := s.Watch(ctx, func() { woken[i].Add(1); ready <- struct{}{} }); err != nil {
				t.Errorf("Watch = %v", err)
			}
		})
	}
	<-ready // each wakes when it has connected
	<-ready
	for range 1000 {
		here.Hint()
	}
	select {
	case <-ready:
	case <-time.After(time.Minute):
		t.Fatal("no hint arrived")
	}
	// What another says after them both hear after them.
	eventually(t, "all hints are sent", func() bool { return postgres.Hinted(here) })
	before := woken[0].Load()
	c.Exec(t, db, `NOTIFY bossman, 'another'`)
	eventually(t, "the sender hears another", func() bool { return woken[0].Load() > before })
	eventually(t, "the other hears another", func() bool { return woken[1].Load() > 2 })
	if a, b := woken[0].Load()-2, woken[1].Load()-2; a != 0 || b < 1 || b > 3 {
		t.Errorf("1,000 hints woke their sender %d times and the other %d times, want 0 and a few", a, b)
	}

	// The connection is made again.
	for len(ready) > 0 {
		<-ready
	}
	c.Exec(t, db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`)
	for range 2 {
		select {
		case <-ready:
		case <-time.After(time.Minute):
			t.Fatal("Watch did not connect again")
		}
	}
	cancel()
	wg.Wait()
}
