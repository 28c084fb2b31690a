package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
)

// aloneName is the mix without HTTP.
const aloneName = "Board, in one process"

// loadPart finds how many tasks a cell carries, beside the hand-out statement alone and
// the board without HTTP.
func loadPart(ctx context.Context, o *options, c *pgtest.Cluster, p *printer) error {
	g, err := newGround(ctx, o, c)
	if err != nil {
		return err
	}
	defer g.close()
	bare, err := openQueue(ctx, c, "bare")
	if err != nil {
		return err
	}
	defer bare.close()

	ways := []string{aloneName}
	for _, n := range o.replicas {
		ways = append(ways, strconv.Itoa(n))
	}
	got := map[string][]*climb{}
	var claims []float64
	for round := range o.rounds {
		l, took, err := bare.benchClaims(ctx, 8, until(o.measure))
		if err != nil {
			return err
		}
		claims = append(claims, float64(l.calls)/took.Seconds())
		for _, name := range ways {
			from := o.from
			if round > 0 { // what was carried before is not in question
				from = max(from, 0.6*got[name][round-1].best.offered)
			}
			x, err := g.way(ctx, o, name, from)
			if err != nil {
				return err
			}
			got[name] = append(got[name], x)
		}
	}
	p.printf("\n### The limit of a cell\n\n")
	p.printf("A synchronous standby; a history of %d tasks with %d events each, a queue of %d, %d live claims; %d notes for a task, and %d renewals of a laptop.\n", o.finished[0], o.events, o.tasks, o.live, o.notes, o.renews)
	p.printf("%d rounds; a way is the median of its limits, which are the last rates before the 99th percentile of an operation is over %v, less than nine tenths are finished, or something fails.\n", o.rounds, slow)
	p.printf("The hand-out statement alone, by pgbench with 8 clients: %.0f claims/s (%.0f..%.0f).\n", median(claims), slices.Min(claims), slices.Max(claims))
	p.printf("\n| `bossman serve` | tasks/s | min..max | × Board | calls/s | claims/s | notes/s | renewals/s | finishes/s | what was too much |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n")
	for _, name := range ways {
		rates := values(got[name], func(x *climb) float64 { return x.best.rate(opFinish) })
		ratios := make([]float64, len(rates))
		for i := range rates {
			ratios[i] = rates[i] / got[aloneName][i].best.rate(opFinish)
		}
		var each [ops]float64
		all := 0.0
		for op := range ops {
			each[op] = median(values(got[name], func(x *climb) float64 { return x.best.rate(op) }))
			all += each[op]
		}
		p.printf("| %s | %.0f | %.0f..%.0f | %.2f | %.0f | %.0f | %.0f | %.0f | %.0f | %s |\n", name, median(rates), slices.Min(rates), slices.Max(rates),
			median(ratios), all, each[opClaim], each[opNote], each[opRenew], each[opFinish], got[name][0].why)
	}
	p.printf("\n| `bossman serve` | processors: PostgreSQL | its standby | the replicas | this program | ms of PostgreSQL for a task | ms of the standby | ms of the replicas | WAL for a task | database for a task |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, name := range ways {
		p.printf("| %s", name)
		for u := range usages {
			p.printf(" | %.2f", median(values(got[name], func(x *climb) float64 { return x.best.use[u] })))
		}
		for _, u := range []int{usePostgres, useStandby, useReplicas} {
			p.printf(" | %.1f", 1e3*median(values(got[name], func(x *climb) float64 { return x.best.use[u] / x.best.rate(opFinish) })))
		}
		p.printf(" | %.1f KiB | %.1f KiB |\n",
			median(values(got[name], func(x *climb) float64 { return x.best.wal / float64(len(x.best.lat[opFinish])) }))/1024,
			median(values(got[name], func(x *climb) float64 { return x.size }))/1024)
	}
	p.printf("\n| `bossman serve` | ms, p50 / p99: claim | note | renewal | finish |\n|---|--:|--:|--:|--:|\n")
	for _, name := range ways {
		p.printf("| %s", name)
		for op := range ops {
			p.printf(" | %.0f / %.0f", median(values(got[name], func(x *climb) float64 { return quantile(x.best.lat[op], 0.5) }))/1e3,
				median(values(got[name], func(x *climb) float64 { return quantile(x.best.lat[op], 0.99) }))/1e3)
		}
		p.printf(" |\n")
	}
	last := ways[min(1, len(ways)-1)]
	of := costOf(got[last])
	p.printf("\n### How large for how many agents\n\nFrom the row %q, for docs/scale.md:\n\n", last)
	p.printf("<!-- plan: PostgreSQL %.1f ms, standby %.1f ms, replicas %.1f ms, WAL %.1f KiB, database %.1f KiB -->\n\n", of.postgres, of.standby, of.replicas, of.wal, of.database)
	printPlan(p, of)
	return nil
}

func values(climbs []*climb, f func(*climb) float64) []float64 {
	out := make([]float64, len(climbs))
	for i, c := range climbs {
		out[i] = f(c)
	}
	return out
}

// way climbs with agents of one kind. Every other one is a laptop.
func (g *ground) way(ctx context.Context, o *options, name string, from float64) (*climb, error) {
	if name == aloneName {
		inner, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- g.board.Run(inner) }()
		defer func() {
			stop()
			<-ended
		}()
		return g.climb(ctx, o, name, from, &fleet{}, func(i int) agent {
			return &direct{board: g.board, actor: board.Actor{Principal: fmt.Sprintf("direct %d", i%agents), Owner: "p-" + strconv.Itoa(i)}, in: pgtest.QueueProjects, skills: pgtest.QueueSkills, laptop: i%2 == 0}
		})
	}
	n, err := strconv.Atoi(name)
	if err != nil {
		return nil, err
	}
	f, err := startFleet(o, g.c.DSN(g.db), n)
	if err != nil {
		return nil, err
	}
	defer f.stop()
	begun := strconv.FormatInt(time.Now().UnixMilli(), 36)
	return g.climb(ctx, o, name, from, f, func(i int) agent {
		key := g.keys[i%len(g.keys)]
		if i%2 == 0 {
			return &laptop{fleet: f, key: key, owner: "p-" + begun + "-" + strconv.Itoa(i)}
		}
		return &toolAgent{fleet: f, key: key}
	})
}
