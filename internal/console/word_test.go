package console_test

import (
	"slices"
	"testing"

	"github.com/bossman-dev/bossman/internal/console"
)

// TestWords: nothing that a shell would evaluate is offered for completion.
func TestWords(t *testing.T) {
	good := []string{"web-1", "web-1/2.k7f2q", "src/käse", "a.b_c", "ada@example.org", "x:y", "a=b", "a+b,c", "web-2\tit costs $5"}
	bad := []string{"", "`./x`a", "$(x)", "$HOME", "a b", "a;b", "a|b", "a&b", "a>b", "a'b", `a"b`, `a\b`, "a\nb", "a*", "~/a", "{a,b}", "a!b", "a\u200bb", "a\x1bb", "#a", "\ta"}
	if got := console.Words(slices.Concat(good, bad)); !slices.Equal(got, good) {
		t.Errorf("got %q, want %q", got, good)
	}
}
