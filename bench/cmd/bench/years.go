package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// What bench years requires of every operation.
const (
	mostGrowth = 1.5 // of the middle duration, from the shortest history to the longest
	mostMillis = 50  // of the slowest of a hundred
)

// yearsSuite measures what a board does behind histories of several lengths. All boards are
// there at once, and each operation goes round them, so that a machine that is busy for a while
// is so for each of them.
func yearsSuite(o *options, w io.Writer) error {
	ctx := context.Background()
	c, err := newCluster(o, "shared_buffers = 2GB", "max_wal_size = 1GB", "max_connections = 100", "wal_level = minimal", "max_wal_senders = 0",
		"fsync = on", "synchronous_commit = on")
	if c == nil || err != nil {
		return err
	}
	defer remove(c)
	slices.Sort(o.finished)
	var boards []*oldBoard
	for _, n := range o.finished {
		b, err := newOldBoard(ctx, c, n, o.open)
		if err != nil {
			return err
		}
		defer b.store.Close()
		boards = append(boards, b)
	}
	if err := measureYears(ctx, o, boards); err != nil {
		return err
	}
	p := &printer{w: w}
	missed := printYears(p, o, boards)
	if p.err == nil && missed && o.check {
		return errMissed
	}
	return p.err
}

func measureYears(ctx context.Context, o *options, boards []*oldBoard) error {
	begin := time.Now()
	// As on a server: counts are kept up to date, and leases swept.
	running, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, b := range boards {
		wg.Go(func() { _ = b.board.Run(running) }) // it ends with running
		wg.Go(func() { _ = b.store.Run(running) })
	}
	defer wg.Wait()
	defer stop()
	for range o.rounds {
		for _, op := range yearOps {
			for _, b := range boards {
				if err := b.measure(ctx, o, op); err != nil {
					return fmt.Errorf("%d finished tasks: %s: %w", b.finished, op.name, err)
				}
			}
		}
	}
	say("measured in %v", time.Since(begin).Round(time.Second))
	return nil
}

// printYears writes the table, and reports whether a bound was missed.
func printYears(p *printer, o *options, boards []*oldBoard) (missed bool) {
	p.printf("\n### A board of %d open tasks behind its history\n\nms, p50 / p99, medians of %d rounds. The machine's load: %s.\n", o.open, o.rounds, loadAverage())
	p.printf("\n| finished tasks |")
	for _, b := range boards {
		p.printf(" %d |", b.finished)
	}
	p.printf(" × | |\n|---|%s--:|---|\n", dashes(len(boards)))
	p.printf("| events for each; size |")
	for _, b := range boards {
		p.printf(" %d; %.1f GB |", b.events, b.size/1e9)
	}
	p.printf(" | |\n| seconds to fill it |")
	for _, b := range boards {
		p.printf(" %.0f |", b.filling.Seconds())
	}
	p.printf(" | |\n")
	for _, op := range yearOps {
		p.printf("| %s |", op.name)
		var slowest float64
		for _, b := range boards {
			p50, p99 := median(b.p50[op.name]), median(b.p99[op.name])
			slowest = max(slowest, p99)
			p.printf(" %.2f / %.1f |", p50, p99)
		}
		growth := grown(boards[0].p50[op.name], boards[len(boards)-1].p50[op.name])
		verdict := "ok"
		if growth > mostGrowth || slowest > mostMillis {
			verdict, missed = "MISSED", true
		}
		p.printf(" %.2f | %s |\n", growth, verdict)
	}
	p.printf("\nRequired of each: growth of p50 ≤ %g, p99 ≤ %d ms.\n", mostGrowth, mostMillis)
	return missed
}

// grown returns how much longer something takes at last than at first: the middle of the ratios
// of the rounds, each of which measured both.
func grown(first, last []float64) float64 {
	var ratios []float64
	for i := range first {
		ratios = append(ratios, last[i]/first[i])
	}
	return median(ratios)
}

func dashes(n int) (s string) {
	for range n {
		s += "--:|"
	}
	return s
}

// An oldBoard is a board with a history.
type oldBoard struct {
	finished, events int
	size             float64 // bytes
	filling          time.Duration
	store            *postgres.Store
	board            *board.Board
	held             []*board.Handout // claimed by the operation next
	calls            int
	p50, p99         map[string][]float64 // ms, of each round
}

func newOldBoard(ctx context.Context, c *pgtest.Cluster, finished, open int) (*oldBoard, error) {
	b := &oldBoard{finished: finished, events: 13, p50: map[string][]float64{}, p99: map[string][]float64{}}
	if finished > 1_000_000 {
		b.events = 2 // or the disk is full
	}
	say("filling a board with %d finished tasks", finished)
	begin := time.Now()
	db := "years" + strconv.Itoa(finished)
	if err := execute(ctx, c.DSN("postgres"), "CREATE DATABASE "+db); err != nil {
		return nil, err
	}
	if err := postgres.Migrate(ctx, c.DSN(db)); err != nil {
		return nil, err
	}
	if err := pgtest.FillHistory(ctx, c.DSN(db), pgtest.History{Finished: finished, Open: open, Events: b.events, Short: true}); err != nil {
		return nil, err
	}
	var err error
	if b.store, err = postgres.Open(ctx, c.DSN(db), &postgres.Options{MaxConns: 4}); err != nil {
		return nil, err
	}
	if err := b.store.CountStates(ctx); err != nil {
		b.store.Close()
		return nil, err
	}
	b.board = board.New(b.store, nil)
	if b.size, err = databaseSize(ctx, c.DSN(db)); err != nil {
		b.store.Close()
		return nil, err
	}
	b.filling = time.Since(begin)
	say("filled in %v: %.1f GB", b.filling.Round(time.Second), b.size/1e9)
	return b, nil
}

// A yearOp is an operation that must not become slower over the years. Before is not
// measured.
type yearOp struct {
	name   string
	before func(ctx context.Context, b *oldBoard) error
	run    func(ctx context.Context, b *oldBoard) error
}

// measure runs an operation until o.measure has passed, but at least 20 times and at most
// 200 times.
func (b *oldBoard) measure(ctx context.Context, o *options, op yearOp) error {
	var took []time.Duration
	end := time.Now().Add(o.measure)
	for i := -3; i < 200 && (i < 20 || time.Now().Before(end)); i++ {
		b.calls++
		if op.before != nil {
			if err := op.before(ctx, b); err != nil {
				return err
			}
		}
		begin := time.Now()
		if err := op.run(ctx, b); err != nil {
			return err
		}
		if i >= 0 { // the first ones plan their statements
			took = append(took, time.Since(begin))
		}
	}
	slices.Sort(took)
	b.p50[op.name] = append(b.p50[op.name], quantile(took, 0.50)/1e3)
	b.p99[op.name] = append(b.p99[op.name], quantile(took, 0.99)/1e3)
	return nil
}
