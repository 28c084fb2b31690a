package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// Usage reads a principal's own open questions, and neither the answered ones of all
// years nor the open ones of others.
func TestUsage_cost(t *testing.T) {
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	c.Exec(t, db, `
INSERT INTO questions (project_id, attempt, nonce, principal, worker, owner, chat_id, text, options, dflt, blocking, human_only, state, answer, answered_by, asked_at)
SELECT 1, 0, '', CASE WHEN i % 1000 = 0 THEN 'mine' ELSE 'p' || i % 100 END, '', '', '', repeat('?', 300), '{}', '', false, false,
	CASE WHEN i % 20 = 0 THEN 'open' ELSE 'answered' END, '', '', now() FROM generate_series(1, 50000) i`, `ANALYZE questions`)
	conn, err := pgx.Connect(t.Context(), c.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; PREPARE usage AS `+postgres.UsageQuery); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), `EXPLAIN (ANALYZE, BUFFERS) EXECUTE usage('mine')`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	for _, index := range []string{"claims_principal_worker_key", "questions_asker"} {
		if !strings.Contains(plan, index) {
			t.Errorf("the index %s is not used:\n%s", index, plan)
		}
	}
	if strings.Contains(plan, "Rows Removed by Filter") {
		t.Errorf("rows of others are read:\n%s", plan)
	}
}
