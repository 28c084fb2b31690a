package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// few is the short queue that the long one is compared with.
const few = 1000

// postgresPart measures claims on a cluster of its own. Where PostgreSQL's programs are
// absent it is left out, unless the figures are to be checked.
func postgresPart(ctx context.Context, o *options, p *printer) ([]bound, error) {
	c, err := newCluster(o, "shared_buffers = 512MB", "max_wal_size = 8GB", "checkpoint_timeout = 30min", "max_connections = 100",
		"fsync = on", "synchronous_commit = on")
	if c == nil || err != nil {
		return nil, err
	}
	defer remove(c)
	version, err := serverVersion(ctx, c.DSN("postgres"))
	if err != nil {
		return nil, err
	}
	short, err := newQueue(ctx, c, few)
	if err != nil {
		return nil, err
	}
	long, err := newQueue(ctx, c, o.tasks)
	if err != nil {
		return nil, err
	}
	p.printf("\n### Claims on PostgreSQL %s, fsync and synchronous_commit on\n", version)
	p.printf("\n180 lanes in three projects; the older half of the tasks is unfit. By EXPLAIN (ANALYZE, BUFFERS):\n")
	p.printf("\n| pages per claim | %d tasks | %d tasks | × |\n|---|--:|--:|--:|\n", few, o.tasks)
	var bounds []bound
	for i, state := range []string{"new tasks", "vacuumed"} {
		ratio := float64(long.pages[i]) / float64(short.pages[i])
		p.printf("| %s | %d | %d | %.2f |\n", state, short.pages[i], long.pages[i], ratio)
		bounds = append(bounds, bound{what: fmt.Sprintf("pages per claim, %s, %d tasks / %d", state, o.tasks, few), figure: ratio, limit: mostPages})
	}
	q, err := openQueue(ctx, c, long.db)
	if err != nil {
		return nil, err
	}
	defer q.close()
	more, err := q.claims(ctx, o, p)
	if err != nil {
		return nil, err
	}
	if o.wants("costs") {
		if err := q.costs(ctx, o, p); err != nil {
			return nil, err
		}
	}
	return append(bounds, more...), nil
}

// A filled database, and the pages of a claim when it was new and when it was vacuumed.
type filled struct {
	db    string
	pages [2]int
}

func newQueue(ctx context.Context, c *pgtest.Cluster, n int) (f filled, err error) {
	say("filling a queue of %d tasks", n)
	f.db = "q" + strconv.Itoa(n)
	if err := execute(ctx, c.DSN("postgres"), "CREATE DATABASE "+f.db); err != nil {
		return f, err
	}
	dsn := c.DSN(f.db)
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return f, err
	}
	if err := pgtest.FillQueue(ctx, dsn, n); err != nil {
		return f, err
	}
	if f.pages[0], err = pgtest.QueuePages(ctx, dsn); err != nil {
		return f, err
	}
	if err := pgtest.VacuumQueue(ctx, dsn); err != nil {
		return f, err
	}
	f.pages[1], err = pgtest.QueuePages(ctx, dsn)
	return f, err
}

func execute(ctx context.Context, dsn string, statements ...string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func serverVersion(ctx context.Context, dsn string) (version string, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, "SELECT split_part(current_setting('server_version'), ' ', 1)").Scan(&version)
	return version, err
}

// A queue is a filled database and those who claim from it.
type queue struct {
	cluster *pgtest.Cluster
	db      string
	store   *postgres.Store
	board   *board.Board
}

func openQueue(ctx context.Context, c *pgtest.Cluster, db string) (*queue, error) {
	s, err := postgres.Open(ctx, c.DSN(db), &postgres.Options{MaxConns: 8})
	if err != nil {
		return nil, err
	}
	return &queue{cluster: c, db: db, store: s, board: board.New(s, nil)}, nil
}

func (q *queue) close() { _ = q.store.Close() } // it cannot fail

// claims compares 8 clients of each kind.
func (q *queue) claims(ctx context.Context, o *options, p *printer) ([]bound, error) {
	const (
		clients   = 8
		statement = "pgbench, the same statement"
		bare      = "Store.Claim"
		next      = "Board.Next"
	)
	ways := []way{
		{statement, func(d time.Duration) (load, time.Duration, error) {
			return q.benchClaims(ctx, clients, until(d))
		}},
		{bare, func(d time.Duration) (load, time.Duration, error) {
			return together(clients, d, func(i int) error {
				claims, err := q.store.Claim(ctx, board.Want{
					Projects: pgtest.QueueProjects, Skills: pgtest.QueueSkills, Lease: 10 * time.Minute,
					For: []board.Claimant{{Worker: board.WorkerID{Principal: "bare", Name: "w" + board.NewNonce() + board.NewNonce()}, Owner: "bench"}},
				})
				if err == nil && len(claims) == 0 {
					err = errDrained
				}
				return err
			})
		}},
		{next, func(d time.Duration) (load, time.Duration, error) {
			return together(clients, d, func(i int) error {
				// Names are unique for a principal, and there are not a million of them.
				_, err := q.board.Next(ctx, board.Actor{Principal: fmt.Sprintf("next%d", i/1000), Owner: "bench"},
					board.Wish{Projects: pgtest.QueueProjects, Skills: pgtest.QueueSkills})
				if _, ok := errors.AsType[*board.Nothing](err); ok {
					err = errDrained
				}
				return err
			})
		}},
	}
	for _, w := range ways {
		if _, _, err := w.run(o.warm); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	rs, err := o.boardRounds("board", cell{Proto: "postgres", Size: o.tasks, Width: clients}, ways)
	if err != nil {
		return nil, err
	}
	p.printf("\n| clients | what | claims/s | min..max | × pgbench | p50 ms | p99 ms |\n|--:|---|--:|--:|--:|--:|--:|\n")
	rs.printClaims(p, func(c cell) string { return strconv.Itoa(c.Width) }, statement)
	c := rs.cells()[0]
	ratio, _ := rs.ratio(c, next, statement, rate)
	return []bound{{what: "claims/s, Board.Next / pgbench, 8 clients", figure: ratio, limit: leastClaims, least: true}}, nil
}

var errDrained = errors.New("nothing is left to claim: more -tasks, less time")

// together lets clients call f again and again for d; each call has a number.
func together(clients int, d time.Duration, f func(i int) error) (load, time.Duration, error) {
	begin := time.Now()
	end := begin.Add(d)
	loads, errs := make([]load, clients), make([]error, clients)
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() {
			for i := n; ; i += clients {
				at := time.Now()
				if at.After(end) {
					return
				}
				if errs[n] = f(i); errs[n] != nil {
					return
				}
				loads[n].latencies = append(loads[n].latencies, time.Since(at))
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	var all load
	for _, l := range loads {
		all.latencies = append(all.latencies, l.latencies...)
	}
	all.calls = len(all.latencies)
	return all, took, errors.Join(errs...)
}

// claimScript is the hand-out for pgbench: its parameters are pgbench's variables,
// and each transaction is a new worker's.
var claimScript = func() string {
	values := map[string]string{
		"$1":  ":projects::text[]",
		"$2":  ":skills::text[]",
		"$3":  "ARRAY[:principal::text]",
		"$4":  "ARRAY[:worker::text]",
		"$5":  "ARRAY[:owner::text]",
		"$6":  "ARRAY[:session::text]",
		"$7":  "ARRAY[:nonce::text]",
		"$8":  "ARRAY[:place::text]",
		"$9":  "ARRAY[:detail::text]",
		"$10": "ARRAY[:new::bool]",
		"$11": ":lease::interval",
	}
	parameter := regexp.MustCompile(`\$\d+(::\w+(\[\])?)?`)
	body := parameter.ReplaceAllStringFunc(postgres.HandOut, func(s string) string {
		name, _, _ := strings.Cut(s, "::")
		return "(" + values[name] + ")"
	})
	return "\\set worker random(1, 1000000000000000)\n\\set nonce random(1, 1000000000)\n" + body + ";\n"
}()

// benchClaims runs claimScript. A transaction that got no task would be a cheap one.
func (q *queue) benchClaims(ctx context.Context, clients int, stop []string) (load, time.Duration, error) {
	before, err := q.count(ctx, "claims")
	if err != nil {
		return load{}, 0, err
	}
	l, took, err := q.pgbench(claimScript, clients, stop)
	if err != nil {
		return load{}, 0, err
	}
	after, err := q.count(ctx, "claims")
	if err == nil && after-before < l.calls {
		err = fmt.Errorf("pgbench claimed %d tasks with %d transactions: %w", after-before, l.calls, errDrained)
	}
	return l, took, err
}

func (q *queue) count(ctx context.Context, table string) (n int, err error) {
	conn, err := pgx.Connect(ctx, q.cluster.DSN(q.db))
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	return n, err
}

// until tells pgbench when to stop. It counts in seconds; for less there is a number of
// transactions of each client.
func until(d time.Duration) []string {
	if d < time.Second {
		return []string{"-t", "50"}
	}
	return []string{"-T", strconv.Itoa(int(d.Round(time.Second) / time.Second))}
}

// pgbench runs a script with the settings that our own connections have.
func (q *queue) pgbench(script string, clients int, stop []string) (load, time.Duration, error) {
	const settings = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off"
	dsn := q.cluster.DSN(q.db) + "&options=" + strings.ReplaceAll(url.QueryEscape(settings), "+", "%20")
	args := append(stop, "-n", "-M", "prepared", "-f", "-", "-c", strconv.Itoa(clients), "-j", strconv.Itoa(min(2, clients)),
		"-l", "--log-prefix=pgbench",
		"-D", "projects={"+strings.Join(pgtest.QueueProjects, ",")+"}", "-D", "skills={"+strings.Join(pgtest.QueueSkills, ",")+"}",
		"-D", "principal=pgbench", "-D", "owner=bench", "-D", "session=s", "-D", "place={}", "-D", `detail={"Nonce":"k7f2q","Worker":"otter-k7f"}`,
		"-D", "new=true", "-D", "lease=10min", dsn)
	cmd := q.cluster.Command("pgbench", args...)
	cmd.Stdin = strings.NewReader(script)
	return readPgbench(cmd)
}

// readPgbench runs pgbench and reads the log of its transactions. The first of each
// client is left out: it plans the statement, and ours are planned by then.
func readPgbench(cmd *exec.Cmd) (load, time.Duration, error) {
	if out, err := cmd.CombinedOutput(); err != nil {
		return load{}, 0, fmt.Errorf("%w\n%s", err, out)
	}
	logs, err := filepath.Glob(filepath.Join(cmd.Dir, "pgbench.*"))
	if err != nil {
		return load{}, 0, err
	}
	var l load
	var spent time.Duration // by all clients
	seen := map[int64]bool{}
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			return load{}, 0, err
		}
		for line := range strings.Lines(string(text)) {
			var client, no, us, script int64
			if _, err := fmt.Sscan(line, &client, &no, &us, &script); err != nil {
				return load{}, 0, fmt.Errorf("pgbench's log has a line %q: %w", line, err)
			}
			if !seen[client] {
				seen[client] = true
				continue
			}
			took := time.Duration(us) * time.Microsecond
			l.latencies = append(l.latencies, took)
			spent += took
		}
		if err := os.Remove(name); err != nil {
			return load{}, 0, err
		}
	}
	l.calls = len(l.latencies)
	return l, spent / time.Duration(max(1, len(seen))), nil
}
