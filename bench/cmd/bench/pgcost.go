package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/internal/pgtest"
)

// costs shows two things that a busy queue must not meet: a reader that keeps its
// snapshot, and NOTIFY in every commit.
func (q *queue) costs(ctx context.Context, o *options, p *printer) error {
	if err := q.reader(ctx, o, p); err != nil {
		return err
	}
	return q.notify(o, p)
}

// reader claims while another session keeps a snapshot: dead index entries cannot be
// cleaned away, and each claim walks over those of all claims before it.
func (q *queue) reader(ctx context.Context, o *options, p *printer) error {
	const clients = 8
	each := min(500, o.tasks/160) // claims of a client: a twentieth of all, at most
	type cost struct {
		p50   float64
		pages int
	}
	measure := func() (c cost, err error) {
		l, _, err := q.benchClaims(ctx, 1, until(time.Second))
		if err != nil {
			return c, err
		}
		slices.Sort(l.latencies)
		c.p50 = quantile(l.latencies, 0.50) / 1e3
		c.pages, err = pgtest.QueuePages(ctx, q.cluster.DSN(q.db))
		return c, err
	}
	before, err := measure()
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, q.cluster.DSN(q.db))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM projects"); err != nil {
		return err
	}
	if _, _, err := q.benchClaims(ctx, clients, []string{"-t", strconv.Itoa(each)}); err != nil {
		return err
	}
	under, err := measure()
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "VACUUM tasks"); err != nil {
		return err
	}
	after, err := measure()
	if err != nil {
		return err
	}
	p.printf("\n| a claim, one client | pages | × | p50 ms |\n|---|--:|--:|--:|\n")
	for _, row := range []struct {
		when string
		cost
	}{
		{"before", before},
		{fmt.Sprintf("while a reader has kept its snapshot for %d claims", clients*each), under},
		{"after the reader's end and a vacuum", after},
	} {
		p.printf("| %s | %d | %.2f | %.2f |\n", row.when, row.pages, float64(row.pages)/float64(before.pages), row.p50)
	}
	return nil
}

// notify compares commits of one row with and without a NOTIFY, which takes a lock of
// the whole server until the commit is on disk.
func (q *queue) notify(o *options, p *printer) error {
	const (
		insert = "\\set k random(1, 1000000000000000)\nWITH i AS (INSERT INTO idempotency (principal, key, op, hash) VALUES ('bench', :k::text, '', '') RETURNING key) SELECT "
		plain  = "one row"
	)
	var all results
	for _, clients := range []int{8, 32} {
		rs, err := o.boardRounds("notify", cell{Proto: "postgres", Width: clients}, []way{
			{plain, func(d time.Duration) (load, time.Duration, error) {
				return q.pgbench(insert+"key FROM i;\n", clients, until(d))
			}},
			{"one row and NOTIFY", func(d time.Duration) (load, time.Duration, error) {
				return q.pgbench(insert+"pg_notify('bench', key) FROM i;\n", clients, until(d))
			}},
		})
		if err != nil {
			return err
		}
		all = append(all, rs...)
	}
	p.printf("\n| clients | a commit of | commits/s | min..max | × | p50 ms | p99 ms |\n|--:|---|--:|--:|--:|--:|--:|\n")
	all.printClaims(p, func(c cell) string { return strconv.Itoa(c.Width) }, plain)
	return nil
}
