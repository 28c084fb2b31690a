package postgres_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// load fills a database with n ready tasks of three projects, 60 lanes in each. The
// oldest half wants a skill that the claimants below do not have.
func load(t testing.TB, c *pgtest.Cluster, db string, n int) {
	t.Helper()
	c.Exec(t, db,
		`INSERT INTO projects (slug, name, policy, lease, skills, paused_by, archived)
			SELECT 'p' || i, '', 'trust', '0', '{}', '', false FROM generate_series(1, 3) i`,
		`INSERT INTO project_counters (project_id, next_no) SELECT id, 1000000000 FROM projects`,
		`INSERT INTO lanes (project_id, skills)
			SELECT p.id, CASE WHEN i < 30 THEN ARRAY['other', 's' || i] WHEN i = 30 THEN '{}' ELSE ARRAY['s' || i] END
			FROM projects p, generate_series(0, 59) i`,
		fmt.Sprintf(`INSERT INTO tasks (id, lane_id, skills, status, ready, hold, priority, queued_at, open_blockers, open_children, done_children,
			attempt, nonce, failures, max_failures, lease, spec_version, seq, areas, area_up, wants, title, created_by, created_at)
			SELECT (1 + i %% 3)::bigint << 40 | i, l.id, l.skills, 'pending', true, false, 2, timestamptz '2026-01-01' + i * interval '1 ms', 0, 0, 0,
				0, '', 0, 3, '0', 1, 1, ARRAY['src/d' || i %% 50], '{.,src}', '{}', 'a title of the usual length, task ' || i, 'ada', now()
			FROM generate_series(1, %[1]d) i
			JOIN lanes l ON l.id = 1 + (i %% 3) * 60 + CASE WHEN i <= %[1]d / 2 THEN 0 ELSE 30 END + (i / 3) %% 30`, n),
		`VACUUM (ANALYZE)`)
}

func fitting() []string {
	var skills []string
	for i := range 60 {
		skills = append(skills, "s"+strconv.Itoa(i))
	}
	slices.Sort(skills)
	return skills
}

// buffers gives how many pages the hand-out touches, the middle of several runs.
func buffers(t testing.TB, c *pgtest.Cluster, db string) int {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, c.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off; PREPARE claim AS `+postgres.HandOut); err != nil {
		t.Fatal(err)
	}
	var skills string
	for _, s := range fitting() {
		skills += "," + s
	}
	var pages []int
	for i := range 15 {
		query := fmt.Sprintf(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE claim(
			'{p1,p2,p3}', '{%s}', '{p}', '{b%[2]d}', '{o}', '{s}', '{n%[2]d}', '{"{}"}', ARRAY['{"Nonce":"x"}'], '10 min')`, skills[1:], i)
		var text []byte
		if err := conn.QueryRow(ctx, query).Scan(&text); err != nil {
			t.Fatal(err)
		}
		var plan []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
				Rows int `json:"Actual Rows"`
			}
		}
		if err := json.Unmarshal(text, &plan); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, plan[0].Plan.Hit+plan[0].Plan.Read)
		if i == 14 && os.Getenv("BOSSMAN_TEST_PLAN") != "" {
			t.Logf("%s", text)
		}
	}
	slices.Sort(pages)
	return pages[len(pages)/2]
}

// The hand-out costs the same behind a long queue as behind a short one. The long one
// has BOSSMAN_TEST_TASKS tasks, for example 1000000.
func TestClaim_cost(t *testing.T) {
	c := pgtest.Shared(t)
	many := 50_000
	if s := os.Getenv("BOSSMAN_TEST_TASKS"); s != "" {
		many, _ = strconv.Atoi(s)
	}
	var got [2]int
	for i, n := range []int{1000, many} {
		db := c.NewDatabase(t)
		load(t, c, db, n)
		got[i] = buffers(t, c, db)
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
	db := c.NewDatabase(b)
	load(b, c, db, n)
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
			skills := fitting()
			b.ResetTimer()
			for range clients {
				wg.Go(func() {
					for {
						i := next.Add(1)
						if i > int64(b.N) {
							return
						}
						w := want("p1", fmt.Sprintf("w%d-%d", stamp, i))
						w.Projects, w.Skills = []string{"p1", "p2", "p3"}, skills
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
