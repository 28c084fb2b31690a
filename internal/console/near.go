package console

import (
	"slices"
	"strings"
)

// Near returns up to three of the names that are similar to name, best first.
func Near(name string, names []string) []string {
	type guess struct {
		name string
		off  int
	}
	var out []guess
	for _, n := range names {
		off := distance(strings.ToLower(name), strings.ToLower(n))
		if off <= max(2, len(name)/3) || len(name) > 2 && strings.Contains(strings.ToLower(n), strings.ToLower(name)) {
			out = append(out, guess{n, off})
		}
	}
	slices.SortStableFunc(out, func(a, b guess) int { return a.off - b.off })
	var best []string
	for _, g := range out[:min(3, len(out))] {
		best = append(best, g.name)
	}
	return best
}

// distance is the edit distance of two names. Long names are not compared.
func distance(a, b string) int {
	const long = 100
	if len(a) > long || len(b) > long {
		return long
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := last
			if a[i] != b[j] {
				change++
			}
			last = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
