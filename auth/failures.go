package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// failures counts what was refused, by address and by the key's id. Only who is not
// known yet is held up by it: the count saves queries, not secrets, which nobody can
// guess.
type failures struct {
	mu      sync.Mutex
	buckets *lru[string, *rate.Limiter]
}

const (
	failureBurst  = 20
	failureEvery  = time.Second
	failuresSize  = 1 << 14
	failuresByKey = "id "
	failuresByIP  = "ip "
)

// full tells a *LimitError if there were too many failures from an address or with
// an id. Empty ones do not count.
func (f *failures) full(from, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range failureNames(from, id) {
		if b, ok := f.bucketsLocked().get(name); ok {
			if tokens := b.Tokens(); tokens < 1 {
				return &LimitError{After: time.Duration((1 - tokens) * float64(failureEvery))}
			}
		}
	}
	return nil
}

// add counts a failure, and gives the error for it.
func (f *failures) add(from, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := ErrUnauthenticated
	for _, name := range failureNames(from, id) {
		b, ok := f.bucketsLocked().get(name)
		if !ok {
			b = rate.NewLimiter(rate.Every(failureEvery), failureBurst)
			f.buckets.put(name, b)
		}
		if after, ok := take(b, 1); !ok {
			err = &LimitError{After: after}
		}
	}
	return err
}

func (f *failures) bucketsLocked() *lru[string, *rate.Limiter] {
	if f.buckets == nil {
		f.buckets = newLRU[string, *rate.Limiter](failuresSize, nil)
	}
	return f.buckets
}

// failureNames are the buckets of a failure. Of an IPv6 address the network counts,
// since whoever has one address there has all.
func failureNames(from, id string) []string {
	var names []string
	if from != "" {
		if ip, err := netip.ParseAddr(from); err == nil && ip.Unmap().Is6() {
			if net, err := ip.WithZone("").Prefix(64); err == nil {
				from = net.String()
			}
		}
		names = append(names, failuresByIP+from)
	}
	if id != "" {
		names = append(names, failuresByKey+id)
	}
	return names
}
