package auth

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Rates: map[Bucket]Rate{Calls: {100 * time.Millisecond, 5}}}
		for i := range 5 {
			if _, ok := l.Allow("ada", Calls); !ok {
				t.Fatalf("call %d is refused", i)
			}
		}
		after, ok := l.Allow("ada", Calls)
		if ok || after <= 0 || after > 100*time.Millisecond {
			t.Errorf("Allow() = %v, %t, want to wait up to 100ms", after, ok)
		}
		if _, ok := l.Allow("bob", Calls); !ok {
			t.Error("another's flood reaches bob")
		}
		if _, ok := l.Allow("ada", Questions); !ok {
			t.Error("calls count as questions")
		}
		// What was refused cost nothing: the time it named is enough.
		time.Sleep(after)
		if _, ok := l.Allow("ada", Calls); !ok {
			t.Error("refused after the time that was named")
		}
	})
}

// TestLimiter_flood: however fast, it is the rate that gets through.
func TestLimiter_flood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		got := 0
		for range 10_000 { // ten thousand a second, for ten seconds
			for range 10 {
				if _, ok := l.Allow("ada", Calls); ok {
					got++
				}
			}
			time.Sleep(time.Millisecond)
		}
		if got < 3900 || got > 4100 {
			t.Errorf("%d of 100,000 calls in 10 s, want about 2,000 + 10 s of 200", got)
		}
	})
}

func TestLimiter_many(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Rates: map[Bucket]Rate{Creations: {time.Second, 10}}}
		if _, ok := l.AllowN("ada", Creations, 8); !ok {
			t.Error("8 of 10 are refused")
		}
		if after, ok := l.AllowN("ada", Creations, 8); ok || after != 6*time.Second {
			t.Errorf("AllowN(8 of 2) = %v, %t, want 6s", after, ok)
		}
		time.Sleep(8 * time.Second)
		if _, ok := l.AllowN("ada", Creations, 1000); !ok {
			t.Error("more than a bucket holds is never allowed")
		}
	})
}

func TestLimiter_bounded(t *testing.T) {
	l := &Limiter{Size: 100}
	for i := range 10_000 {
		l.Allow(fmt.Sprint(i), Calls)
	}
	if n := l.buckets.len(); n != 100 {
		t.Errorf("%d buckets", n)
	}
}
