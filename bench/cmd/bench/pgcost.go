package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// costs shows two things that a busy queue must not meet: a reader that keeps its
// snapshot, and NOTIFY in every commit.
func (q *queue) costs(ctx context.Context, o *options, p *printer) error {
	if err := q.reader(ctx, o, p); err != nil {
		return err
	}
	return q.notify(ctx, o, p)
}

// reader claims while another session keeps a snapshot: dead index entries cannot be
// cleaned away, and each claim walks over those of all claims before it.
func (q *queue) reader(ctx context.Context, o *options, p *printer) error {
	p50 := func() (float64, error) {
		l, _, err := q.benchClaims(ctx, 1, time.Second)
		slices.Sort(l.latencies)
		return quantile(l.latencies, 0.50) / 1e3, err
	}
	before, err := p50()
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
	l, _, err := q.benchClaims(ctx, 8, min(2*o.measure, 6*time.Second))
	if err != nil {
		return err
	}
	under, err := p50()
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "VACUUM tasks"); err != nil {
		return err
	}
	after, err := p50()
	if err != nil {
		return err
	}
	p.printf("\n| one client, pgbench | p50 ms | × |\n|---|--:|--:|\n")
	p.printf("| a claim | %.2f | 1.00 |\n", before)
	p.printf("| while a reader has kept its snapshot for %d claims | %.2f | %.2f |\n", l.calls, under, under/before)
	p.printf("| after the reader's end and a vacuum | %.2f | %.2f |\n", after, after/before)
	return nil
}

// notify compares commits of one row with and without a NOTIFY, which takes a lock of
// the whole server until the commit is on disk.
func (q *queue) notify(ctx context.Context, o *options, p *printer) error {
	const (
		insert = "\\set k random(1, 1000000000000000)\nWITH i AS (INSERT INTO idempotency (principal, key, op, hash) VALUES ('bench', :k::text, '', '') RETURNING key) SELECT "
		plain  = "one row"
	)
	var all results
	for _, clients := range []int{8, 32} {
		rs, err := o.boardRounds("notify", cell{Proto: "postgres", Width: clients}, []way{
			{plain, func(d time.Duration) (load, time.Duration, error) {
				return q.pgbench(ctx, insert+"key FROM i;\n", clients, d)
			}},
			{"one row and NOTIFY", func(d time.Duration) (load, time.Duration, error) {
				return q.pgbench(ctx, insert+"pg_notify('bench', key) FROM i;\n", clients, d)
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
