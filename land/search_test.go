package land

import (
	"context"
	"testing"
)

func TestSearch(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for bad := 1; bad <= n; bad++ {
			runs := 0
			got := search(t.Context(), n, red, func(_ context.Context, place int) verdict {
				runs++
				if place >= bad {
					return red
				}
				return green
			})
			if got != (finding{good: bad - 1, blamed: true}) {
				t.Errorf("%d commits, red from %d on: %+v", n, bad, got)
			}
			if runs > 5 { // the binary logarithm of 9, and once more
				t.Errorf("%d commits, red from %d on: judged %d times", n, bad, runs)
			}
		}
	}
}

// A check that has failed once for nothing blames nobody.
func TestSearch_flaky(t *testing.T) {
	got := search(t.Context(), 8, red, func(context.Context, int) verdict { return green })
	if got != (finding{good: 8}) {
		t.Errorf("all green the second time: %+v", got)
	}
	for flaky := 1; flaky <= 8; flaky++ {
		seen := map[int]bool{}
		got := search(t.Context(), 8, red, func(_ context.Context, place int) verdict {
			first := !seen[place]
			seen[place] = true
			if first && place >= flaky {
				return red
			}
			return green
		})
		if got.blamed && got.good < flaky-1 {
			t.Errorf("flaky from %d on: %+v", flaky, got)
		}
	}
}

func TestSearch_notJudged(t *testing.T) {
	for place := 1; place <= 8; place++ {
		got := search(t.Context(), 8, red, func(_ context.Context, p int) verdict {
			switch {
			case p == place:
				return unknown
			case p > place:
				return red
			default:
				return green
			}
		})
		if got.blamed || got.good >= place {
			t.Errorf("place %d cannot be judged: %+v", place, got)
		}
	}
}
