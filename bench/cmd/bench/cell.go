package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// cellSuite measures one cell, which is a PostgreSQL and the replicas of `bossman
// serve` on it: how much work it carries, and what those cost it who wait for some.
func cellSuite(o *options, w io.Writer) error {
	ctx := context.Background()
	for _, name := range o.only {
		if !slices.Contains([]string{"load", "idle"}, name) {
			return fmt.Errorf("no part %q: load, idle: %w", name, errUsage)
		}
	}
	// Checkpoints and full pages are as PostgreSQL has them. What is loaded needs no log; the
	// standby gets it with its copy.
	c, err := newCluster(o, "shared_buffers = 1GB", "max_connections = 200", "fsync = on", "synchronous_commit = on", "full_page_writes = on",
		"wal_level = minimal", "max_wal_senders = 0")
	if c == nil || err != nil {
		return err
	}
	defer remove(c)
	p := &printer{w: w}
	p.printf("\nThe machine's load before it began: %s\n", loadAverage())
	if o.wants("load") {
		if err := loadPart(ctx, o, c, p); err != nil {
			return fmt.Errorf("load: %w", err)
		}
	}
	if o.wants("idle") {
		if err := idlePart(ctx, o, c, p); err != nil {
			return fmt.Errorf("idle: %w", err)
		}
	}
	return p.err
}

// loadAverage is how busy the machine is without us.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}

// agents is how many keys take turns: more than enough for the rate that one key has.
const agents = 400

// A ground is a filled database on which the ways to work are compared.
type ground struct {
	c       *pgtest.Cluster
	standby *pgtest.Cluster
	db      string
	conn    *pgx.Conn // for figures
	main    int       // PostgreSQL's first process
	store   *postgres.Store
	board   *board.Board
	keys    []auth.Secret
}

// newGround fills a database with a history, a queue and live claims, and starts a
// synchronous standby. Leases are as short as the tasks.
func newGround(ctx context.Context, o *options, c *pgtest.Cluster) (*ground, error) {
	g := &ground{c: c, db: "cell"}
	// pgbench's claims never end, so they get a place of their own.
	for _, db := range []string{g.db, "bare"} {
		if err := execute(ctx, c.DSN("postgres"), "CREATE DATABASE "+db); err != nil {
			return nil, err
		}
		dsn := c.DSN(db)
		if err := postgres.Migrate(ctx, dsn); err != nil {
			return nil, err
		}
		if db == g.db {
			say("filling a history of %d finished tasks", o.finished[0])
			if err := pgtest.FillHistory(ctx, dsn, pgtest.History{Finished: o.finished[0], Open: 1000, Events: o.events, Short: o.finished[0] > 1_000_000}); err != nil {
				return nil, err
			}
		}
		say("filling a queue of %d tasks", o.tasks)
		if err := pgtest.FillQueue(ctx, dsn, o.tasks); err != nil {
			return nil, err
		}
		if db == g.db {
			if err := pgtest.HoldQueue(ctx, dsn, o.live); err != nil {
				return nil, err
			}
		}
		if err := pgtest.VacuumQueue(ctx, dsn); err != nil {
			return nil, err
		}
	}
	if err := execute(ctx, c.DSN(g.db), fmt.Sprintf("UPDATE projects SET lease = '%d ms'", taskLease.Milliseconds())); err != nil {
		return nil, err
	}
	say("copying it to a standby")
	if err := c.Reconfigure("wal_level = replica", "max_wal_senders = 10"); err != nil {
		return nil, err
	}
	var err error
	if g.standby, err = c.NewStandby(); err != nil {
		return nil, err
	}
	if err := execute(ctx, c.DSN("postgres"), "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"); err != nil {
		return nil, errors.Join(err, g.standby.Remove())
	}
	if err := g.open(ctx); err != nil {
		return nil, errors.Join(err, g.standby.Remove())
	}
	return g, nil
}

func (g *ground) open(ctx context.Context) (err error) {
	if g.store, err = postgres.Open(ctx, g.c.DSN(g.db), &postgres.Options{MaxConns: 16}); err != nil {
		return err
	}
	g.board = board.New(g.store, nil)
	if g.keys, err = newKeys(ctx, g.store, auth.EveryProject, agents); err != nil {
		return err
	}
	g.conn, g.main, err = onlooker(ctx, g.c.DSN(g.db))
	return err
}

// onlooker gives a connection for figures, and the number of PostgreSQL's first process.
func onlooker(ctx context.Context, dsn string) (*pgx.Conn, int, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, 0, err
	}
	fields, err := statOf(int(conn.PgConn().PID()))
	if err != nil {
		return nil, 0, err
	}
	main, err := strconv.Atoi(fields[1])
	return conn, main, err
}

func (g *ground) close() {
	_ = g.conn.Close(context.Background()) // nothing was written on it
	_ = g.store.Close()                    // it cannot fail
	// Without its standby, nothing more would be acknowledged.
	if err := execute(context.Background(), g.c.DSN("postgres"), "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()"); err != nil {
		say("%v", err)
	}
	remove(g.standby)
}

// Who uses processors.
const (
	usePostgres = iota
	useStandby
	useReplicas
	useBench
	usages
)

// used is the processor time that each has used so far.
func (g *ground) used(f *fleet) (u [usages]time.Duration, err error) {
	if u[usePostgres], err = familyCPU(g.main); err != nil {
		return u, err
	}
	if u[useStandby], err = familyCPU(g.standby.PID()); err != nil {
		return u, err
	}
	for _, r := range f.replicas {
		d, err := r.cpu()
		if err != nil {
			return u, err
		}
		u[useReplicas] += d
	}
	u[useBench], err = cpuOf(os.Getpid(), false)
	return u, err
}

func (g *ground) number(ctx context.Context, query string) (n float64, err error) {
	err = g.conn.QueryRow(ctx, query).Scan(&n)
	return n, err
}

const (
	walQuery  = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8"
	sizeQuery = "SELECT pg_database_size(current_database())::float8"
)

// A climb is what one way to work did in one round.
type climb struct {
	best  *step // the last that was good
	why   string
	size  float64 // bytes of database for a task
	tasks int
}

// climb raises the rate until it is too much.
func (g *ground) climb(ctx context.Context, o *options, name string, from float64, f *fleet, newAgent func(i int) agent) (*climb, error) {
	const growth = 1.2
	size, err := g.number(ctx, sizeQuery)
	if err != nil {
		return nil, err
	}
	c := &climb{}
	for rate := from; ; rate *= growth {
		var before [usages]time.Duration
		var wal float64
		var use [usages]float64
		s, err := offer(ctx, o, rate, newAgent, func(end bool) error {
			now, err := g.used(f)
			if err != nil {
				return err
			}
			at, err := g.number(ctx, walQuery)
			if !end {
				before, wal = now, at
				return err
			}
			for i := range use {
				use[i] = (now[i] - before[i]).Seconds() / o.measure.Seconds()
			}
			wal = at - wal
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s at %.0f tasks/s: %w", name, rate, err)
		}
		s.use, s.wal = use, wal
		c.tasks += s.begun
		say("%s: %.1f tasks/s, p99 %.0f/%.0f/%.0f/%.0f ms, processors %.2f %.2f %.2f %.2f: %s", name, rate,
			quantile(s.lat[0], 0.99)/1e3, quantile(s.lat[1], 0.99)/1e3, quantile(s.lat[2], 0.99)/1e3, quantile(s.lat[3], 0.99)/1e3,
			use[0], use[1], use[2], use[3], s.bad())
		c.why = s.bad()
		if c.why == "" || o.once { // one rate shows that everything runs, whether the machine keeps up or not
			c.best = s
		}
		if c.why != "" || o.once {
			break
		}
	}
	if c.best == nil {
		return nil, fmt.Errorf("%s cannot even do %.1f tasks/s: %s", name, from, c.why)
	}
	after, err := g.number(ctx, sizeQuery)
	c.size = (after - size) / float64(c.tasks)
	return c, err
}
