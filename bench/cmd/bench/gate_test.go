package main

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

// figures are results in which each server uses the given CPU in every cell of
// the gate, in each of three rounds; a round is slower than the one before.
func figures(g gate, cpus map[string]float64) results {
	var rs results
	for round := range 3 {
		for _, c := range grid(legacy, g.sizes, g.widths) {
			for name, cpu := range cpus {
				rs = append(rs, sample{Server: name, Cell: c, Round: round, CPU: cpu * float64(round+1)})
			}
		}
	}
	return rs
}

func TestReport(t *testing.T) {
	good := map[string]float64{"bare": 12.5, "bare2": 3, "bossman": 5, "go-sdk": 100, "mcp-go": 40}
	with := func(name string, cpu float64) map[string]float64 {
		m := map[string]float64{}
		maps.Copy(m, good)
		if m[name] = cpu; cpu == 0 {
			delete(m, name)
		}
		return m
	}
	for _, test := range []struct {
		name   string
		cpus   map[string]float64
		missed int
	}{
		{"all is met", good, 0},
		{"slower than two fifths of bare at 64 KiB", with("bare", 12), 2},
		{"slower than bare allows anywhere", with("bare", 4), 4},
		{"too near to go-sdk", with("go-sdk", 70), 4},
		{"too near to mcp-go", with("mcp-go", 19), 4},
		{"an aim does not count", with("bare2", 1), 0},
		{"mcp-go was not measured", with("mcp-go", 0), 4},
		{"we were not measured", with("bossman", 0), 12},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			err := report(&out, stdioGate.judge(legacy, figures(stdioGate, test.cpus)))
			if got := strings.Count(out.String(), "MISSED"); got != test.missed {
				t.Errorf("%d lines say MISSED, want %d:\n%s", got, test.missed, out.String())
			}
			if got := errors.Is(err, errMissed); got != (test.missed > 0) {
				t.Errorf("report = %v with %d missed", err, test.missed)
			}
		})
	}
}

func TestReport_wrongAnswers(t *testing.T) {
	rs := figures(stdioGate, map[string]float64{"bare": 12.5, "bare2": 3, "bossman": 5, "go-sdk": 100, "mcp-go": 40})
	for i := range rs {
		if rs[i].Server == "bossman" {
			rs[i].Errors = 1
		}
	}
	if err := report(&strings.Builder{}, stdioGate.judge(legacy, rs)); !errors.Is(err, errMissed) {
		t.Errorf("report = %v, want %v", err, errMissed)
	}
}

func TestReport_http(t *testing.T) {
	for allocated, want := range map[float64]error{0: errMissed, 4000: nil, 4001: errMissed} {
		rs := figures(httpGate, map[string]float64{"bare": 12.5, "bare2": 3, "bossman": 5, "go-sdk": 60, "mcp-go": 20})
		for i := range rs {
			rs[i].Allocated = allocated
			if rs[i].Cell.Size > 1024 {
				rs[i].Allocated *= 1000 // not bounded
			}
		}
		var out strings.Builder
		if err := report(&out, httpGate.judge(legacy, rs)); !errors.Is(err, want) {
			t.Errorf("with %v bytes allocated: report = %v, want %v:\n%s", allocated, err, want, out.String())
		}
	}
}

func TestRatio_pairsRounds(t *testing.T) {
	c := cell{Proto: legacy, Size: 32, Width: 1}
	rs := results{
		{Server: "a", Cell: c, Round: 0, CPU: 2},
		{Server: "b", Cell: c, Round: 0, CPU: 1},
		{Server: "a", Cell: c, Round: 1, CPU: 900}, // b failed in this round
		{Server: "a", Cell: c, Round: 2, CPU: 20},
		{Server: "b", Cell: c, Round: 2, CPU: 10},
	}
	if got, ok := rs.ratio(c, "a", "b", cpu); got != 2 || !ok {
		t.Errorf("ratio = %v, %v, want 2, true", got, ok)
	}
	if _, ok := rs.ratio(c, "a", "nobody", cpu); ok {
		t.Error("ratio to a server without samples is reported as measured")
	}
}
