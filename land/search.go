package land

import "context"

// A verdict is what a check says of a commit of a chain.
type verdict int

const (
	green verdict = iota
	red
	unknown // the check could not judge it
	ended   // nothing more is judged
)

// A finding is what a search in a chain has found.
type finding struct {
	// good is how many commits of the chain can land.
	good int
	// blamed is set if the commit after them was found red twice, on top of them.
	blamed bool
	// unjudged is set if the check could not judge the commit after them: nobody is blamed.
	unjudged bool
	// ended is set if the search was.
	ended bool
}

// search finds how much of a chain of n commits can land, of the last of which the verdict is last, which is not green. judge
// judges the commit at a place of the chain, from 1; the one at 0 is the target's own, and green. It
// halves what is in doubt, until a green commit is followed by one that is not, and judges that one again:
// a check that fails now and then blames nobody.
func search(ctx context.Context, n int, last verdict, judge func(ctx context.Context, place int) verdict) finding {
	low, high := 0, n
	for high-low > 1 {
		middle := (low + high) / 2
		switch v := judge(ctx, middle); v {
		case green:
			low = middle
		case ended:
			return finding{good: low, ended: true}
		default:
			high, last = middle, v
		}
	}
	for {
		v := judge(ctx, high)
		switch {
		case v == green:
			return finding{good: high}
		case v == unknown:
			return finding{good: low, unjudged: true}
		case v == ended:
			return finding{good: low, ended: true}
		case last == red:
			return finding{good: low, blamed: true}
		}
		last = v
	}
}
