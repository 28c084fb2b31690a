package main

import (
	"strings"
	"testing"
)

// The table says which operations grow with the history, and which are slow.
func TestPrintYears(t *testing.T) {
	board := func(finished int, scale float64) *oldBoard {
		b := &oldBoard{finished: finished, p50: map[string][]float64{}, p99: map[string][]float64{}}
		for _, op := range yearOps {
			b.p50[op.name], b.p99[op.name] = []float64{1}, []float64{2}
		}
		b.p50["next"], b.p99["note"] = []float64{scale}, []float64{51 * scale}
		return b
	}
	var out strings.Builder
	if !printYears(&printer{w: &out}, &options{rounds: 1}, []*oldBoard{board(10, 1), board(20, 1.6)}) {
		t.Error("nothing was missed")
	}
	for _, line := range strings.Split(out.String(), "\n") {
		want := strings.HasPrefix(line, "| next |") || strings.HasPrefix(line, "| note |")
		if strings.Contains(line, "MISSED") != want {
			t.Errorf("MISSED is wrong in %q", line)
		}
	}
}
