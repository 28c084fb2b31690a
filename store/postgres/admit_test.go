package postgres_test

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/board/boardtest"
	"github.com/bossman-dev/bossman/internal/pgtest"
)

// races is how many claims the tests of admission let end: few, or BOSSMAN_ADMIT_RACES.
func races(t *testing.T, few int) int {
	if n, err := strconv.Atoi(os.Getenv("BOSSMAN_ADMIT_RACES")); err == nil {
		return n
	}
	if testing.Short() {
		return few / 3
	}
	return few
}

// Claims end in every way while two replicas admit calls under them.
func TestAdmit_races(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	raced := race(t, c, db, races(t, 120), false)
	ended, expired, late, overtaken, errs := boardtest.CheckCalls(t.Context(), c.OpenIn(t, db, nil))
	t.Logf("%d attempts ended, %d of them by expiry; %d calls admitted, %d refused; %d began too late, %d were overtaken",
		ended, expired, raced.Admitted, raced.Refused, late, overtaken)
	if late != 0 || overtaken != 0 || len(errs) > 0 {
		t.Errorf("%d calls began after the end of their attempt, %d were overtaken by expiry; %v", late, overtaken, errs)
	}
	if raced.Admitted == 0 || raced.Refused == 0 || expired == 0 {
		t.Error("nothing raced")
	}
}

// The same check finds calls that were admitted without a lock on the claim.
func TestAdmit_racesWithoutLock(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	raced := race(t, c, db, races(t, 120), true)
	ended, expired, late, overtaken, errs := boardtest.CheckCalls(t.Context(), c.OpenIn(t, db, nil))
	t.Logf("without the lock: %d attempts ended, %d of them by expiry; %d calls admitted, %d refused; %d began too late, %d were overtaken",
		ended, expired, raced.Admitted, raced.Refused, late, overtaken)
	if late == 0 || len(errs) > 0 {
		t.Errorf("no call began after the end of its attempt, want some; %v", errs)
	}
}

// race runs AdmitRaces on two replicas.
func race(t *testing.T, c *pgtest.Cluster, db string, n int, control bool) (sum boardtest.Raced) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range 2 {
		s := c.OpenIn(t, db, nil)
		wg.Go(func() {
			raced, err := boardtest.AdmitRaces(context.WithoutCancel(t.Context()), s, "r"+strconv.Itoa(i), (n+1)/2, control)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			sum.Admitted += raced.Admitted
			sum.Refused += raced.Refused
		})
	}
	wg.Wait()
	return sum
}

// BenchmarkAdmit runs on a cluster that flushes to disk.
func BenchmarkAdmit(b *testing.B) {
	c := pgtest.Start(b)
	boardtest.BenchmarkAdmit(b, c.Open(b, nil))
}
