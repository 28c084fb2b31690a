package main

import (
	"fmt"
	"io"
	"slices"
)

// results are the samples of one suite, in the order they were taken.
type results []sample

// of returns what a server did in a cell, by round.
func (rs results) of(name string, c cell) map[int]sample {
	rounds := map[int]sample{}
	for _, s := range rs {
		if s.Server == name && s.Cell == c {
			rounds[s.Round] = s
		}
	}
	return rounds
}

// ratio returns the median over the rounds of a's value by b's in the same
// round, and false if there is no round with both.
func (rs results) ratio(c cell, a, b string, value func(sample) float64) (float64, bool) {
	others := rs.of(b, c)
	var ratios []float64
	for round, s := range rs.of(a, c) {
		if other, ok := others[round]; ok && value(other) > 0 {
			ratios = append(ratios, value(s)/value(other))
		}
	}
	return median(ratios), len(ratios) > 0
}

// figure returns the median over the rounds of a server's value, and false if
// it was not measured.
func (rs results) figure(c cell, name string, value func(sample) float64) (float64, bool) {
	var values []float64
	for _, s := range rs.of(name, c) {
		if v := value(s); v > 0 {
			values = append(values, v)
		}
	}
	return median(values), len(values) > 0
}

// cells and servers are listed in the order of their first appearance.
func (rs results) cells() []cell {
	return firsts(rs, func(s sample) cell { return s.Cell })
}

func (rs results) servers() []string {
	return firsts(rs, func(s sample) string { return s.Server })
}

func firsts[T comparable](rs results, field func(sample) T) []T {
	var found []T
	for _, s := range rs {
		if v := field(s); !slices.Contains(found, v) {
			found = append(found, v)
		}
	}
	return found
}

// print writes the table, in Markdown. The ratios are to base.
func (rs results) print(w io.Writer, title, base string) error {
	p := printer{w: w}
	p.printf("\n### %s\n\n", title)
	p.printf("| cell | server | calls/s | min..max | × %s | p50 µs | p99 µs | server CPU µs/call | × %s | allocated B/call | errors |\n", base, base)
	p.printf("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range rs.cells() {
		for _, name := range rs.servers() {
			samples := rs.of(name, c)
			if len(samples) == 0 {
				continue
			}
			var rates, p50, p99, cpus, allocs []float64
			var failed int
			for _, s := range samples {
				rates, cpus = append(rates, s.Rate), append(cpus, s.CPU)
				allocs = append(allocs, s.Allocated)
				p50, p99 = append(p50, s.P50), append(p99, s.P99)
				failed += s.Errors
			}
			p.printf("| %s | %s | %.0f | %.0f..%.0f | %s | %.0f | %.0f | %.1f | %s | %s | %d |\n",
				c, name, median(rates), slices.Min(rates), slices.Max(rates), rs.ratioText(c, name, base, rate),
				median(p50), median(p99), median(cpus), rs.ratioText(c, name, base, cpu), bytesOrNone(median(allocs)), failed)
		}
	}
	return p.err
}

func (rs results) ratioText(c cell, a, b string, value func(sample) float64) string {
	r, ok := rs.ratio(c, a, b, value)
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.2f", r)
}

// bytesOrNone leaves out what was not measured.
func bytesOrNone(n float64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", n)
}

func rate(s sample) float64      { return s.Rate }
func cpu(s sample) float64       { return s.CPU }
func allocated(s sample) float64 { return s.Allocated }

// A printer remembers the first error, so that a table is checked once.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
