package mcpcli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
)

// near are up to three of the names that are similar to name, best first.
func near(name string, names []string) []string {
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

// unknown is the error for a name that the server does not have, with similar ones.
func unknown(kind, name string, names []string, list string) error {
	next := list + " lists them"
	if best := near(name, names); len(best) > 0 {
		next = "did you mean " + strings.Join(best, " or ") + "? " + next
	} else if len(names) == 0 {
		next = fmt.Sprintf("the server has no %ss", kind)
	}
	return console.Errorf(console.NotFound, next, "the server has no %s %q", kind, name)
}
