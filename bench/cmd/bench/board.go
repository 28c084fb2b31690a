package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// boardSuite measures how tasks are handed out, on both databases.
func boardSuite(o *options, w io.Writer) error {
	ctx := context.Background()
	for _, name := range o.only {
		if !slices.Contains([]string{"postgres", "costs", "load", "operations", "sqlite"}, name) {
			return fmt.Errorf("no part %q: postgres, costs (with postgres), load, operations, sqlite: %w", name, errUsage)
		}
	}
	p := &printer{w: w}
	var bounds []bound
	for _, part := range []struct {
		name string
		run  func(context.Context, *options, *printer) ([]bound, error)
	}{{"postgres", postgresPart}, {"load", taskLoadPart}, {"operations", operationsPart}, {"sqlite", sqlitePart}} {
		if !o.wants(part.name) {
			continue
		}
		more, err := part.run(ctx, o, p)
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		bounds = append(bounds, more...)
	}
	p.printf("\n")
	missed := false
	for _, b := range bounds {
		p.printf("%s\n", b)
		missed = missed || !b.met()
	}
	if p.err == nil && missed && o.check {
		return errMissed
	}
	return p.err
}

func (o *options) wants(part string) bool { return len(o.only) == 0 || slices.Contains(o.only, part) }

// A bound is what a figure of the board has to keep.
type bound struct {
	what   string
	figure float64
	limit  float64
	least  bool // it is a lower bound
}

func (b bound) met() bool {
	if b.least {
		return b.figure >= b.limit
	}
	return b.figure <= b.limit
}

func (b bound) String() string {
	word, sign := "MISSED", "≤"
	if b.met() {
		word = "ok"
	}
	if b.least {
		sign = "≥"
	}
	return fmt.Sprintf("%-6s  %s = %.2f (required %s %g)", word, b.what, b.figure, sign, b.limit)
}

// boardRounds runs each of the ways to claim in turn, round after round, and gives their
// samples.
func (o *options) boardRounds(suite string, c cell, ways []way) (results, error) {
	var all results
	for round := range o.rounds {
		for _, w := range ways {
			l, took, err := w.run(o.measure)
			if err == nil && l.calls == 0 {
				err = errors.New("not one claim in the measured time")
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			slices.Sort(l.latencies)
			got := sample{
				Suite: suite, Server: w.name, Cell: c, Round: round,
				Rate: float64(l.calls) / took.Seconds(), P50: quantile(l.latencies, 0.50), P99: quantile(l.latencies, 0.99), Errors: l.errors,
			}
			if err := got.save(o.out); err != nil {
				return nil, err
			}
			all = append(all, got)
		}
	}
	return all, nil
}

// A way is one of those that are compared: it claims for about d, and says what came
// of it and how long it took.
type way struct {
	name string
	run  func(d time.Duration) (load, time.Duration, error)
}

// printClaims writes the rows of one cell; the ratios are to base.
func (rs results) printClaims(p *printer, label func(cell) string, base string) {
	for _, c := range rs.cells() {
		for _, name := range rs.servers() {
			var rates, p50, p99 []float64
			for _, s := range rs.of(name, c) {
				rates, p50, p99 = append(rates, s.Rate), append(p50, s.P50), append(p99, s.P99)
			}
			if len(rates) == 0 {
				continue
			}
			p.printf("| %s | %s | %.0f | %.0f..%.0f | %s | %.2f | %.2f |\n", label(c), name,
				median(rates), slices.Min(rates), slices.Max(rates), rs.ratioText(c, name, base, rate), median(p50)/1e3, median(p99)/1e3)
		}
	}
}

// say tells on stderr what takes a while.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
