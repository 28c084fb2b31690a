package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// loadDB is the database of taskLoadPart and operationsPart.
const loadDB = "load"

// newLoadDatabase makes a board with n ready tasks in one lane.
func newLoadDatabase(ctx context.Context, c *pgtest.Cluster, n int) error {
	if err := execute(ctx, c.DSN("postgres"), "CREATE DATABASE "+loadDB); err != nil {
		return err
	}
	dsn := c.DSN(loadDB)
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return err
	}
	return execute(ctx, dsn,
		`SET synchronous_commit = off`,
		`INSERT INTO projects (slug, name, policy, lease, skills, paused_by, archived) VALUES ('web', '', 'trust', '0', '{}', '', false)`,
		fmt.Sprintf(`INSERT INTO project_counters (project_id, next_no) SELECT id, %d FROM projects`, n+1),
		`INSERT INTO lanes (project_id, skills) SELECT id, '{}' FROM projects`,
		fmt.Sprintf(`INSERT INTO tasks (id, lane_id, skills, status, ready, hold, priority, queued_at, open_blockers, open_children, done_children,
			attempt, nonce, failures, max_failures, lease, spec_version, seq, areas, area_up, wants, title, created_by, created_at)
			SELECT l.project_id::bigint << 40 | i, l.id, l.skills, 'pending', true, false, 2, timestamptz '2026-01-01' + i * interval '1 ms', 0, 0, 0,
				0, '', 0, 3, '0', 1, 1, '{}', '{}', '{}', 'a title of the usual length, task ' || i, 'ada', now()
			FROM generate_series(1, %d) i, lanes l`, n),
		`INSERT INTO task_docs (task_id, description, acceptance) SELECT id, repeat('what is to be done ', 10), '' FROM tasks`,
		`INSERT INTO events (epoch, project_id, task_id, seq, actor, kind, from_status, to_status, detail)
			SELECT 1, id >> 40, id, 1, 'ada', 'created', '', 'pending', '{}' FROM tasks`,
		`VACUUM ANALYZE`)
}

// loadNotes is how many notes a task of the load gets.
const loadNotes = 10

// taskLoadPart measures the life of a task, a claim, ten notes and its report, beside bare SQL that
// writes the same rows.
func taskLoadPart(ctx context.Context, o *options, p *printer) ([]bound, error) {
	const clients = 8
	c, err := newCluster(o, "shared_buffers = 512MB", "max_wal_size = 8GB", "checkpoint_timeout = 30min", "fsync = on", "synchronous_commit = on")
	if c == nil || err != nil {
		return nil, err
	}
	defer remove(c)
	// As many as both could do if a task took 1 ms.
	if err := newLoadDatabase(ctx, c, max(2*few, int((o.warm+time.Duration(o.rounds)*o.measure)/time.Millisecond))); err != nil {
		return nil, err
	}
	s, err := postgres.Open(ctx, c.DSN(loadDB), &postgres.Options{MaxConns: clients})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	pool, err := newBarePool(ctx, c.DSN(loadDB), clients)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	ways := []*taskWay{
		{name: "one statement each", do: bareTask{pool}.do},
		{name: "the board", do: boardTask{board.New(s, nil)}.do},
	}
	for _, w := range ways {
		if err := w.run(ctx, c, clients, o.warm); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		w.samples = nil
	}
	for range o.rounds {
		for _, w := range ways {
			if err := w.run(ctx, c, clients, o.measure); err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	base, ours := ways[0].median(), ways[1].median()
	p.printf("\n### A claim, %d notes and a report on PostgreSQL, %d workers, medians of %d rounds\n", loadNotes, clients, o.rounds)
	p.printf("\n| what | tasks/s | × | PostgreSQL's CPU, ms a task | × | WAL KiB a task |\n|---|--:|--:|--:|--:|--:|\n")
	for i, m := range []taskSample{base, ours} {
		p.printf("| %s | %.0f | %.2f | %.2f | %.2f | %.1f |\n", ways[i].name, m.rate, m.rate/base.rate, m.cpu, m.cpu/base.cpu, m.wal)
	}
	return []bound{{what: "PostgreSQL's CPU, the board / one statement each", figure: ours.cpu / base.cpu, limit: mostCPU}}, p.err
}

// A taskWay is one of the ways to work on tasks that are compared.
type taskWay struct {
	name    string
	do      func(ctx context.Context, client int) error
	samples []taskSample
}

type taskSample struct{ rate, cpu, wal float64 } // tasks a second, and for one of them ms and KiB

func (w *taskWay) run(ctx context.Context, c *pgtest.Cluster, clients int, d time.Duration) error {
	conn, err := pgx.Connect(ctx, c.DSN(loadDB))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var lsn string
	if err := conn.QueryRow(ctx, "SELECT pg_current_wal_insert_lsn()::text").Scan(&lsn); err != nil {
		return err
	}
	before, err := familyCPU(c.PID())
	if err != nil {
		return err
	}
	l, took, err := together(clients, d, func(i int) error { return w.do(ctx, i%clients) })
	if err != nil {
		return err
	}
	after, err := familyCPU(c.PID())
	if err != nil {
		return err
	}
	var wal float64
	if err := conn.QueryRow(ctx, "SELECT (pg_current_wal_insert_lsn() - $1::text::pg_lsn)::float8 / 1024", lsn).Scan(&wal); err != nil {
		return err
	}
	n := float64(l.calls)
	w.samples = append(w.samples, taskSample{rate: n / took.Seconds(), cpu: (after - before).Seconds() * 1e3 / n, wal: wal / n})
	return nil
}

func (w *taskWay) median() taskSample {
	of := func(f func(taskSample) float64) float64 {
		var all []float64
		for _, s := range w.samples {
			all = append(all, f(s))
		}
		slices.Sort(all)
		return median(all)
	}
	return taskSample{
		rate: of(func(s taskSample) float64 { return s.rate }), cpu: of(func(s taskSample) float64 { return s.cpu }), wal: of(func(s taskSample) float64 { return s.wal }),
	}
}

// A boardTask works on a task through a board.
type boardTask struct{ b *board.Board }

func (t boardTask) do(ctx context.Context, client int) error {
	// A laptop and a directory of its own for each worker, so that none has neighbours.
	a := board.Actor{Principal: "laptop" + strconv.Itoa(client), Owner: "bench"}
	where := opWhere
	where.Host = a.Principal
	h, err := t.b.Next(ctx, a, board.Wish{Projects: []string{"web"}, Where: where})
	if err != nil {
		if _, ok := errors.AsType[*board.Nothing](err); ok {
			err = errDrained
		}
		return err
	}
	for range loadNotes {
		if _, err := t.b.Progress(ctx, a, h.Claim.Handle, board.Note{Text: "read the code, wrote a test, next the fix", Percent: 10, Where: where}); err != nil {
			return err
		}
	}
	_, err = t.b.Done(ctx, a, h.Claim.Handle, board.Report{Summary: "It is done, see the branch.", Where: where})
	return err
}

// A bareTask works on a task with one statement for each operation, which writes the same
// rows. It is the least that a board on this schema costs.
type bareTask struct{ pool *pgxpool.Pool }

func newBarePool(ctx context.Context, dsn string, conns int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = conns
	for name, value := range map[string]string{"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"} {
		config.ConnConfig.RuntimeParams[name] = value
	}
	return pgxpool.NewWithConfig(ctx, config)
}

const (
	bareWhere  = `{"Host":"laptop","Dir":"/home/ada/src/app","Branch":"agent/x","Head":"0123456789abcdef0123456789abcdef01234567"}`
	bareDetail = `{"Attempt":1,"Nonce":"abcde","Worker":"heron-k7f","Text":"read the code, wrote a test, next the fix","Percent":10,"Where":` + bareWhere + `}`

	bareClaim = `
WITH c AS MATERIALIZED (SELECT t.id, t.attempt + 1 AS attempt, t.spec_version FROM tasks t
	WHERE t.lane_id = (SELECT min(id) FROM lanes) AND t.ready ORDER BY t.priority, t.queued_at, t.id LIMIT 1 FOR UPDATE OF t SKIP LOCKED),
cl AS (INSERT INTO claims (task_id, attempt, nonce, principal, worker, owner, session, granted_at, lease_until, lease, deliveries)
	SELECT id, attempt, $1, 'p', $2, 'o', '', clock_timestamp(), clock_timestamp() + interval '10 min', interval '10 min', 0 FROM c ON CONFLICT DO NOTHING RETURNING *),
u AS (UPDATE tasks t SET status = 'in_progress', ready = false, attempt = cl.attempt, nonce = $1, seq = t.seq + 1 FROM cl WHERE t.id = cl.task_id
	RETURNING t.id, t.seq, t.spec_version, t.attempt),
a AS (INSERT INTO attempts (task_id, attempt, nonce, principal, worker, owner, granted_at, cause, reason, do_not_repeat, place, spec_version, created, report_hash, report_answer)
	SELECT id, attempt, $1, 'p', $2, 'o', clock_timestamp(), '', '', '', $3::text::json, spec_version, 0, '', '' FROM u),
w AS (INSERT INTO workers (principal, name, owner, last_seen, stopped_by) SELECT 'p', $2, 'o', clock_timestamp(), '' FROM u
	ON CONFLICT (principal, name) DO UPDATE SET owner = excluded.owner, last_seen = excluded.last_seen),
e AS (INSERT INTO events (epoch, project_id, task_id, seq, actor, kind, from_status, to_status, detail)
	SELECT m.feed_epoch, id >> 40, id, seq, $2, 'claimed', 'pending', 'in_progress', $4::text::json FROM u, meta m)
SELECT u.id, u.attempt, d.description, d.acceptance FROM u JOIN task_docs d ON d.task_id = u.id`

	bareNote = `
WITH u AS (UPDATE tasks SET seq = seq + 1 WHERE id = $1 AND status = 'in_progress' AND attempt = $2 AND nonce = $3 RETURNING id, seq, spec_version),
cl AS (UPDATE claims SET lease_until = clock_timestamp() + lease WHERE task_id = $1 AND attempt = $2 AND nonce = $3
	AND (lease_until < clock_timestamp() + lease / 2 OR deliveries > 0) RETURNING 1),
a AS (UPDATE attempts a SET place = $4::text::json, spec_version = u.spec_version FROM u WHERE a.task_id = u.id AND a.attempt = $2
	AND (a.spec_version <> u.spec_version OR a.place::text <> $4) RETURNING 1),
e AS (INSERT INTO events (epoch, project_id, task_id, seq, actor, kind, from_status, to_status, detail)
	SELECT m.feed_epoch, id >> 40, id, seq, 'heron-k7f', 'note', 'in_progress', 'in_progress', $5::text::json FROM u, meta m)
SELECT u.seq, (SELECT json_agg(q)::text FROM questions q WHERE q.task_id = u.id AND q.state = 'answered'),
	(SELECT stopped_by FROM claims c JOIN workers w ON w.principal = c.principal AND w.name = c.worker WHERE c.task_id = u.id) FROM u`

	bareDone = `
WITH u AS (UPDATE tasks SET status = 'done', ready = false, seq = seq + 1, ended_at = clock_timestamp()
	WHERE id = $1 AND status = 'in_progress' AND attempt = $2 AND nonce = $3 RETURNING id, seq, parent_id),
d AS (UPDATE task_docs SET result = $4::text::json FROM u WHERE task_id = u.id),
c AS (DELETE FROM claims USING u WHERE task_id = u.id),
ca AS (DELETE FROM claim_areas USING u WHERE task_id = u.id),
a AS (UPDATE attempts SET ended_at = clock_timestamp(), cause = 'done', report_hash = '0123456789abcdef0123456789abcdef', report_answer = $4
	FROM u WHERE attempts.task_id = u.id AND attempts.attempt = $2),
f AS (UPDATE tasks t SET open_blockers = t.open_blockers - 1, seq = t.seq + 1,
	ready = (t.status = 'pending' AND NOT t.hold AND t.open_blockers = 1 AND t.open_children = 0 AND t.not_before IS NULL)
	FROM u JOIN links l ON l.blocker_id = u.id WHERE t.id = l.task_id RETURNING t.id, t.seq),
e AS (INSERT INTO events (epoch, project_id, task_id, seq, actor, kind, from_status, to_status, detail)
	SELECT m.feed_epoch, id >> 40, id, seq, 'heron-k7f', 'done', 'in_progress', 'done', $5::text::json FROM u, meta m)
SELECT u.seq FROM u`
)

var bareNames atomic.Int64

func (t bareTask) do(ctx context.Context, _ int) error {
	nonce := board.NewNonce()
	var id, seq int64
	var attempt int
	var description, acceptance string
	var answers, stopped *string
	err := t.pool.QueryRow(ctx, bareClaim, nonce, "w"+strconv.FormatInt(bareNames.Add(1), 10), bareWhere, bareDetail).Scan(&id, &attempt, &description, &acceptance)
	if errors.Is(err, pgx.ErrNoRows) {
		return errDrained
	}
	if err != nil {
		return err
	}
	for range loadNotes {
		if err := t.pool.QueryRow(ctx, bareNote, id, attempt, nonce, bareWhere, bareDetail).Scan(&seq, &answers, &stopped); err != nil {
			return err
		}
	}
	return t.pool.QueryRow(ctx, bareDone, id, attempt, nonce, `{"Summary":"It is done, see the branch."}`, bareDetail).Scan(&seq)
}
