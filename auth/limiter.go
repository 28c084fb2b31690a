package auth

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A Bucket is a kind of action whose rate is limited.
type Bucket uint8

const (
	// Calls are requests of any kind.
	Calls Bucket = iota
	// Creations are new tasks.
	Creations
	// Questions are questions to people.
	Questions
	// Streams are new event streams.
	Streams
)

// A Rate allows a burst of actions, and then one each so often.
type Rate struct {
	Each  time.Duration
	Burst int
}

// defaultRates are sufficient for 200 agents of one owner: they make about 20 calls a
// second, and 2,000 at once when all of them start.
var defaultRates = map[Bucket]Rate{
	Calls:     {5 * time.Millisecond, 2000},
	Creations: {200 * time.Millisecond, 500},
	Questions: {10 * time.Second, 20},
	Streams:   {200 * time.Millisecond, 300},
}

// A Limiter limits the rates of owners, all keys of one together, so that one cannot starve the
// others. The zero
// value uses the default rates. It is safe for concurrent use.
type Limiter struct {
	// Rates override the default rates.
	Rates map[Bucket]Rate
	// Size is the maximum number of buckets in memory; default 65,536. The least recently
	// used ones are dropped, which are full again anyway.
	Size int

	mu      sync.Mutex
	buckets *lru[bucketKey, *rate.Limiter]
}

type bucketKey struct {
	owner string
	what  Bucket
}

const limiterSize = 1 << 16

// Allow takes a token from an owner's bucket. If the bucket is empty, it returns false
// and when to retry.
func (l *Limiter) Allow(owner string, what Bucket) (retryAfter time.Duration, ok bool) {
	return l.AllowN(owner, what, 1)
}

// AllowN takes n tokens, or a full bucket if that holds fewer.
func (l *Limiter) AllowN(owner string, what Bucket, n int) (retryAfter time.Duration, ok bool) {
	return take(l.bucket(bucketKey{owner, what}), n)
}

func (l *Limiter) bucket(k bucketKey) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buckets == nil {
		size := l.Size
		if size <= 0 {
			size = limiterSize
		}
		l.buckets = newLRU[bucketKey, *rate.Limiter](size, nil)
	}
	if b, ok := l.buckets.get(k); ok {
		return b
	}
	r, ok := l.Rates[k.what]
	if !ok {
		r = defaultRates[k.what]
	}
	b := rate.NewLimiter(rate.Every(r.Each), max(1, r.Burst))
	l.buckets.put(k, b)
	return b
}

// take takes n tokens, or none and returns when they will be available.
func take(b *rate.Limiter, n int) (retryAfter time.Duration, ok bool) {
	now := time.Now()
	r := b.ReserveN(now, min(n, b.Burst()))
	if d := r.DelayFrom(now); d > 0 {
		r.CancelAt(now)
		return d, false
	}
	return 0, true
}
