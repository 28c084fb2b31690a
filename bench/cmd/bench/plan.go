package main

import (
	"fmt"
	"math"
)

// A taskCost is what a task costs a cell: milliseconds of processors, and KiB.
type taskCost struct {
	postgres, standby, replicas float64
	wal, database               float64
}

// costOf is what a task cost in the climbs of one way to work.
func costOf(climbs []*climb) taskCost {
	ms := func(u int) float64 {
		return 1e3 * median(values(climbs, func(x *climb) float64 { return x.best.use[u] / x.best.rate(opFinish) }))
	}
	return taskCost{
		postgres: ms(usePostgres), standby: ms(useStandby), replicas: ms(useReplicas),
		wal:      median(values(climbs, func(x *climb) float64 { return x.best.wal / float64(len(x.best.lat[opFinish])) })) / 1024,
		database: median(values(climbs, func(x *climb) float64 { return x.size })) / 1024,
	}
}

// The work of an agent: a task after the other, of which each takes taskSeconds.
const taskSeconds = 20 * 60

// printPlan writes how large a cell must be for how many agents: the arithmetic of
// docs/scale.md.
func printPlan(p *printer, c taskCost) {
	const (
		day  = 24 * 60 * 60
		free = 2 // half of the processors are kept free
		kept = 30
	)
	p.printf("| agents | tasks/s | PostgreSQL: cores in use | to provide | its standby | replicas: cores in use | to provide | WAL a day | database a day | database, %d days kept |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n", kept)
	for _, agents := range []int{1_000, 10_000, 100_000, 1_000_000} {
		rate := float64(agents) / taskSeconds
		cores := func(ms float64) float64 { return rate * ms / 1e3 }
		gib := func(kib float64) float64 { return rate * day * kib / (1 << 20) }
		p.printf("| %s | %s | %s | %s | %s | %s | %s | %s GiB | %s GiB | %s GiB |\n", thousands(agents), figure(rate),
			figure(cores(c.postgres)), figure(free*cores(c.postgres)), figure(free*cores(c.standby)), figure(cores(c.replicas)), figure(free*cores(c.replicas)),
			figure(gib(c.wal)), figure(gib(c.database)), figure(kept*gib(c.database)))
	}
}

// figure writes a number with two or more figures that count.
func figure(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v >= 9.95:
		return thousands(int(math.Round(v)))
	case v >= 0.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// thousands writes a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
