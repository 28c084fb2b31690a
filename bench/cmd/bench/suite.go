package main

import (
	"fmt"
	"os"
)

// interleave takes every server through every cell, round after round. A failure is
// told and counted, and leaves a gap in the results.
func (o *options) interleave(suite string, cells []cell, servers []server, run func(server, cell) (sample, error)) (results, error) {
	var all results
	for round := range o.rounds {
		for _, c := range cells {
			for _, s := range servers {
				got, err := run(s, c)
				if err != nil {
					fmt.Fprintf(os.Stderr, "FAIL %s %s: %s, %s: %v\n", suite, c.Proto, s.name, c, err)
					o.failed++
					continue
				}
				got.Suite, got.Server, got.Cell, got.Round = suite, s.name, c, round
				if err := got.save(o.out); err != nil {
					return nil, err
				}
				all = append(all, got)
			}
		}
	}
	return all, nil
}

// grid returns the cells of a suite for one revision.
func grid(proto string, sizes, widths []int) []cell {
	var cells []cell
	for _, size := range sizes {
		for _, width := range widths {
			cells = append(cells, cell{Proto: proto, Size: size, Width: width})
		}
	}
	return cells
}
