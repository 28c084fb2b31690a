package postgres_test

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// queue gives a database with n ready tasks.
func queue(t testing.TB, c *pgtest.Cluster, n int) string {
	t.Helper()
	db := c.NewDatabase(t)
	if err := pgtest.FillQueue(t.Context(), c.DSN(db), n); err != nil {
		t.Fatal(err)
	}
	return db
}

// The hand-out costs the same behind a long queue as behind a short one. The long one
// has BOSSMAN_TEST_TASKS tasks, for example 1000000.
func TestClaim_cost(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	many := 50_000
	if s := os.Getenv("BOSSMAN_TEST_TASKS"); s != "" {
		many, _ = strconv.Atoi(s)
	}
	var got [2]int
	for i, n := range []int{1000, many} {
		var err error
		if got[i], err = pgtest.QueuePages(t.Context(), c.DSN(queue(t, c, n))); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("pages: %d with 1,000 ready tasks, %d with %d", got[0], got[1], many)
	if float64(got[1]) > 1.3*float64(got[0]) {
		t.Errorf("the hand-out touches %d pages with %d ready tasks and %d with 1,000, want at most 1.3 times as many", got[1], many, got[0])
	}
}

// BenchmarkClaim claims from a queue of BOSSMAN_TEST_TASKS, and shows beside it what
// the machine gives for a statement that writes one row.
func BenchmarkClaim(b *testing.B) {
	c := pgtest.Shared(b)
	n := 100_000
	if s := os.Getenv("BOSSMAN_TEST_TASKS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	db := queue(b, c, n)
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("limit/clients=%d", clients), func(b *testing.B) {
			config, err := pgxpool.ParseConfig(c.DSN(db))
			if err != nil {
				b.Fatal(err)
			}
			config.MaxConns = int32(clients)
			pool, err := pgxpool.NewWithConfig(b.Context(), config)
			if err != nil {
				b.Fatal(err)
			}
			defer pool.Close()
			var next atomic.Int64
			var wg sync.WaitGroup
			stamp := fmt.Sprint(time.Now().UnixNano())
			b.ResetTimer()
			for range clients {
				wg.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if _, err := pool.Exec(b.Context(), `INSERT INTO idempotency (principal, key, op, hash) VALUES ($1, $2, '', '')`, stamp, fmt.Sprint(i)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := c.OpenIn(b, db, &postgres.Options{MaxConns: clients})
			var next atomic.Int64
			var none atomic.Int64
			var wg sync.WaitGroup
			stamp := time.Now().UnixNano()
			b.ResetTimer()
			for range clients {
				wg.Go(func() {
					for {
						i := next.Add(1)
						if i > int64(b.N) {
							return
						}
						w := want("p1", fmt.Sprintf("w%d-%d", stamp, i))
						w.Projects, w.Skills = pgtest.QueueProjects, pgtest.QueueSkills
						claims, err := s.Claim(b.Context(), w)
						if err != nil {
							b.Error(err)
							return
						}
						if len(claims) == 0 {
							none.Add(1)
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
			b.ReportMetric(float64(none.Load()), "none")
		})
	}
}
