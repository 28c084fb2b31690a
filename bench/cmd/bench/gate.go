package main

import (
	"errors"
	"fmt"
	"io"
)

// A requirement bounds a ratio of server CPU per call.
type requirement struct {
	a, b  string             // a's CPU by b's
	limit func(cell) float64 // the bound
	least bool               // it is a lower bound
	aim   bool               // it is worth knowing, and does not fail the check
}

// ours is the server that has to meet the requirements.
const ours = "bossman"

// requirements hold in every one of the cells.
var requirements = []requirement{
	{a: ours, b: "bare", limit: func(c cell) float64 {
		if c.Size > 1024 {
			return 0.5
		}
		return 1.2
	}},
	{a: "go-sdk", b: ours, limit: always(15), least: true},
	{a: "mcp-go", b: ours, limit: always(4), least: true},
	{a: ours, b: "bare2", limit: always(2), aim: true},
}

func always(v float64) func(cell) float64 { return func(cell) float64 { return v } }

// gateSizes and gateWidths span the cells in which requirements hold.
var (
	gateSizes  = []int{32, 64 << 10}
	gateWidths = []int{1, 64}
)

var errMissed = errors.New("not all that is required was met")

// A verdict says whether a requirement was met in a cell.
type verdict struct {
	requirement
	cell     cell
	ratio    float64
	measured bool
	errors   int // our wrong answers
}

// judge compares the results of one revision with the requirements.
func judge(proto string, rs results) []verdict {
	var vs []verdict
	for _, c := range grid(proto, gateSizes, gateWidths) {
		for _, r := range requirements {
			v := verdict{requirement: r, cell: c}
			v.ratio, v.measured = rs.ratio(c, r.a, r.b, cpu)
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
		return v.ratio >= v.limit(v.cell)
	}
	return v.ratio <= v.limit(v.cell)
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
		figure = fmt.Sprintf("%.2f", v.ratio)
	}
	if v.errors > 0 {
		figure += fmt.Sprintf(", %d wrong answers", v.errors)
	}
	return fmt.Sprintf("%-6s  %s, %s: CPU %s / %s = %s (%s %s %g)", word, v.cell.Proto, v.cell, v.a, v.b, figure, want, sign, v.limit(v.cell))
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
