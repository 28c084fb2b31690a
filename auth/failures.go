package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// failures counts failed authentications: by address, by the id of the key, and all. It
// never stands between a caller and a check of its credential. Its purpose is to save
// queries; secrets are too long to be guessed.
type failures struct {
	mu      sync.Mutex
	buckets *lru[string, *rate.Limiter]
	all     *rate.Limiter
}

const (
	failureBurst = 20
	failureEvery = time.Second
	failuresSize = 1 << 14
	// The same for all addresses together.
	failuresBurst = 200
	failuresEvery = 100 * time.Millisecond
	failuresByKey = "id "
	failuresByIP  = "ip "
)

// full reports whether there were too many failures from an address, with an id, or in all.
// Address and id may be empty.
func (f *failures) full(from, id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range failureNames(from, id) {
		if b, ok := f.bucketsLocked().get(name); ok && b.Tokens() < 1 {
			return true
		}
	}
	return f.all != nil && f.all.Tokens() < 1
}

// add counts a failure and returns its error, a *LimitError if there were too many from its
// address or with its id.
func (f *failures) add(from, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = rate.NewLimiter(rate.Every(failuresEvery), failuresBurst)
	}
	f.all.Allow()
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
