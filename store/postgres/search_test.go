package postgres_test

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// The entries of a new task in the search index are written in batches: the write-ahead log
// would have 24 KiB of them otherwise. A search finds those that are pending, too. That holds
// for an index that an earlier program made.
func TestSearch_writeAheadLog(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	c.Exec(t, db, `ALTER INDEX search_text SET (fastupdate = off)`, `ALTER TABLE tasks DROP COLUMN redoes`, `ALTER TABLE meta DROP COLUMN call_key`, `ALTER TABLE questions DROP COLUMN pushed`, `DROP TABLE gateway_calls, gateway_reads, gateway_artifacts, gateway_catalogues, gateway_pins, push_deliveries, push_targets, push_keys, diffs, runs, run_logs, landers, intents, intent_items`, `DROP FUNCTION require_landing`, `ALTER TABLE projects DROP COLUMN land`, `ALTER TABLE attempts DROP COLUMN actors`, `DELETE FROM goose_db_version WHERE version_id > 22`)
	if err := postgres.Migrate(t.Context(), c.DSN(db)); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), c.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	const query = `EXPLAIN (ANALYZE, WAL, TIMING OFF, FORMAT JSON) INSERT INTO search (task_id, txt)
SELECT 9::bigint << 40 | n, 'a title of the usual length, task ' || n || ' correct how module ' || n % 7 || ' reads what its neighbour ' || md5(n::text)
	|| ' wrote. the cause is known, and so is where it belongs; see the notes of the meeting, and keep what others rely on.' FROM generate_series(1, 300) n`
	var text string
	if err := conn.QueryRow(t.Context(), query).Scan(&text); err != nil {
		t.Fatal(err)
	}
	var plans []struct {
		Plan struct {
			Bytes int `json:"WAL Bytes"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	if n := plans[0].Plan.Bytes / 300; n < 100 || n > 8<<10 {
		t.Errorf("a copy for searching writes %d bytes to the log, want at most 8 KiB", n)
	}
	s := c.OpenIn(t, db, nil)
	seed(t, s, "web", 400, func(i int, task *board.Task) { // more than are looked at without the index
		if i == 399 {
			task.Title = "the zanzibar one"
		}
	})
	found, err := board.New(s, nil).List(t.Context(), board.TaskFilter{Query: "zanzibar"})
	if err != nil || len(found) != 1 || found[0].ID.No != 400 {
		t.Errorf("a search for what is pending finds %v, %v", found, err)
	}
}
