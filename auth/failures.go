package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// failures counts failed authentications, by address and by the id of the key. It limits
// only callers that are not cached. Its purpose is to save queries; secrets are too long
// to be guessed.
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

// full returns a *LimitError if there were too many failures from an address or with an id.
// Either may be empty.
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

// add counts a failure and returns its error.
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

// failureNames returns the buckets of a failure. IPv6 addresses are counted by their /64
// network, because a client usually controls all of it.
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
