package gateway

import (
	"slices"
	"testing"
)

// TestDiffLines: lines that are in both texts are kept in their order, also in texts too long to compare.
func TestDiffLines(t *testing.T) {
	for _, x := range []struct {
		before, after string
		want          []string
	}{
		{"", "a\nb", []string{"+ a", "+ b"}},
		{"a\nb\nc", "a\nx\nc", []string{"  a", "- b", "+ x", "  c"}},
		{"a", "a", []string{"  a"}},
	} {
		if got := diffLines(x.before, x.after); !slices.Equal(got, x.want) {
			t.Errorf("diffLines(%q, %q) = %q, want %q", x.before, x.after, got, x.want)
		}
	}
}
