package auth

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A Bucket is something that a principal may do so often.
type Bucket uint8

const (
	// Calls are requests of any kind.
	Calls Bucket = iota
	// Creations are new tasks.
	Creations
	// Questions are questions to people.
	Questions
	// Streams are event streams that are opened.
	Streams
)

// A Rate allows Burst at once, and Each so often after that.
type Rate struct {
	Each  time.Duration
	Burst int
}

// usualRates are for a fleet of 200 agents with one key: it makes some 20 calls a
// second, and 2,000 at once when all of them start.
var usualRates = map[Bucket]Rate{
	Calls:     {5 * time.Millisecond, 2000},
	Creations: {200 * time.Millisecond, 500},
	Questions: {10 * time.Second, 20},
	Streams:   {200 * time.Millisecond, 300},
}

// A Limiter keeps one principal's flood from the others. The zero value has the
// usual rates.
type Limiter struct {
	// Rates replaces the usual ones, by bucket.
	Rates map[Bucket]Rate
	// Size bounds how many buckets are kept, 65,536 if zero. One that was not used
	// for long is full again anyway, so little is lost with it.
	Size int

	mu      sync.Mutex
	buckets *lru[bucketKey, *rate.Limiter]
}

type bucketKey struct {
	principal string
	what      Bucket
}

const limiterSize = 1 << 16

// Allow takes one from a principal's bucket. If it is empty, it tells when to come
// again.
func (l *Limiter) Allow(principal string, what Bucket) (retryAfter time.Duration, ok bool) {
	return l.AllowN(principal, what, 1)
}

// AllowN takes n, or all of a full bucket if it holds fewer.
func (l *Limiter) AllowN(principal string, what Bucket, n int) (retryAfter time.Duration, ok bool) {
	return take(l.bucket(bucketKey{principal, what}), n)
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
		r = usualRates[k.what]
	}
	b := rate.NewLimiter(rate.Every(r.Each), max(1, r.Burst))
	l.buckets.put(k, b)
	return b
}

// take takes n tokens, or none and the time until they are there.
func take(b *rate.Limiter, n int) (retryAfter time.Duration, ok bool) {
	now := time.Now()
	r := b.ReserveN(now, min(n, b.Burst()))
	if d := r.DelayFrom(now); d > 0 {
		r.CancelAt(now)
		return d, false
	}
	return 0, true
}
