package land

import "context"

// A verdict is what a check says of a commit of a chain.
type verdict int

const (
	green verdict = iota
	red
	unknown // the check could not judge it
)

// A finding is what a search in a chain has found.
type finding struct {
	// good is how many commits of the chain can land.
	good int
	// blamed is set if the commit after them was found red twice, on top of them.
	blamed bool
	// unknown is set if the check could not judge a commit: nobody is blamed.
	unknown bool
}

// search finds how much of a chain of n commits can land, the last of which was found red. judge
// judges the commit at a place of the chain, from 1; the one at 0 is the target's own, and green. It
// halves what is in doubt, until a green commit is followed by a red one, and judges that one again:
// a check that fails now and then blames nobody.
func search(ctx context.Context, n int, judge func(ctx context.Context, place int) verdict) finding {
	low, high := 0, n
	for high-low > 1 {
		middle := (low + high) / 2
		switch judge(ctx, middle) {
		case green:
			low = middle
		case red:
			high = middle
		default:
			return finding{good: low, unknown: true}
		}
	}
	switch judge(ctx, high) {
	case green:
		return finding{good: high}
	case red:
		return finding{good: low, blamed: true}
	default:
		return finding{good: low, unknown: true}
	}
}
