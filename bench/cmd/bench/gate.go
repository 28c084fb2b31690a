package main

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// A requirement bounds a figure of server a, or its ratio to that of b.
type requirement struct {
	a, b  string // without b it is the figure itself
	what  string
	value func(sample) float64
	limit func(cell) float64 // the bound; infinite where there is none
	least bool               // it is a lower bound
	aim   bool               // it is worth knowing, and does not fail the check
}

// ours is the server that has to meet the requirements.
const ours = "bossman"

// A gate is a set of requirements, which hold in each of its cells.
type gate struct {
	sizes, widths []int
	requirements  []requirement
}

var stdioGate = gate{
	sizes: []int{32, 64 << 10}, widths: []int{1, 64},
	requirements: []requirement{
		{a: ours, b: "bare", what: "CPU", value: cpu, limit: bySize(1.1, 0.4)},
		{a: "go-sdk", b: ours, what: "CPU", value: cpu, limit: always(15), least: true},
		{a: "mcp-go", b: ours, what: "CPU", value: cpu, limit: always(4), least: true},
		{a: ours, b: "bare2", what: "CPU", value: cpu, limit: always(2), aim: true},
	},
}

var httpGate = gate{
	sizes: []int{32, 64 << 10}, widths: []int{16},
	requirements: []requirement{
		{a: ours, b: "bare", what: "CPU", value: cpu, limit: bySize(1.3, 0.4)},
		{a: "go-sdk", b: ours, what: "CPU", value: cpu, limit: always(10), least: true},
		{a: "mcp-go", b: ours, what: "CPU", value: cpu, limit: always(2.5), least: true},
		{a: ours, b: "bare2", what: "CPU", value: cpu, limit: always(2)},
		{a: ours, what: "allocated bytes per call", value: allocated, limit: bySize(4000, math.Inf(1))},
	},
}

// What bench board requires on PostgreSQL.
const (
	mostPages   = 1.3 // of a claim behind many tasks, by those behind few
	leastClaims = 0.5 // a second by Board.Next, by those of the statement alone
	mostCPU     = 1.8 // of PostgreSQL for a task's life, by that for the same rows in bare SQL
)

func always(v float64) func(cell) float64 { return func(cell) float64 { return v } }

// bySize is one bound for small messages and one for large.
func bySize(small, large float64) func(cell) float64 {
	return func(c cell) float64 {
		if c.Size > 1024 {
			return large
		}
		return small
	}
}

var errMissed = errors.New("not all that is required was met")

// A verdict says whether a requirement was met in a cell.
type verdict struct {
	requirement
	cell     cell
	figure   float64
	measured bool
	errors   int // our wrong answers
}

// judge compares the results of one revision with the requirements.
func (g gate) judge(proto string, rs results) []verdict {
	var vs []verdict
	for _, c := range grid(proto, g.sizes, g.widths) {
		for _, r := range g.requirements {
			if math.IsInf(r.limit(c), 0) {
				continue
			}
			v := verdict{requirement: r, cell: c}
			if r.b == "" {
				v.figure, v.measured = rs.figure(c, r.a, r.value)
			} else {
				v.figure, v.measured = rs.ratio(c, r.a, r.b, r.value)
			}
			for _, s := range rs {
				if s.Cell == c && s.Server == ours {
					v.errors += s.Errors
				}
			}
			vs = append(vs, v)
		}
	}
	return vs
}

// met reports whether the figure is there and within the bound. A server that
// answers wrongly has met nothing.
func (v verdict) met() bool {
	if !v.measured || v.errors > 0 {
		return false
	}
	if v.least {
		return v.figure >= v.limit(v.cell)
	}
	return v.figure <= v.limit(v.cell)
}

func (v verdict) String() string {
	word, want, sign := "MISSED", "required", "≤"
	switch {
	case v.aim:
		word, want = "info", "aim"
	case v.met():
		word = "ok"
	}
	if v.least {
		sign = "≥"
	}
	figure := "not measured"
	if v.measured {
		figure = fmt.Sprintf("%.2f", v.figure)
	}
	if v.errors > 0 {
		figure += fmt.Sprintf(", %d wrong answers", v.errors)
	}
	of := v.a
	if v.b != "" {
		of += " / " + v.b
	}
	return fmt.Sprintf("%-6s  %s, %s: %s %s = %s (%s %s %g)", word, v.cell.Proto, v.cell, v.what, of, figure, want, sign, v.limit(v.cell))
}

// report writes one line a verdict. It returns errMissed if one that counts was
// not met.
func report(w io.Writer, vs []verdict) error {
	p := printer{w: w}
	p.printf("\n")
	missed := false
	for _, v := range vs {
		p.printf("%s\n", v)
		missed = missed || !v.aim && !v.met()
	}
	if p.err == nil && missed {
		return errMissed
	}
	return p.err
}
