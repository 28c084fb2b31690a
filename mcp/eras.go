package mcp

import "sync"

// Eras caches which servers need initialize. The zero value is an empty cache.
// Entries are hints: a server that no longer behaves as cached is probed again.
type Eras struct {
	mu     sync.Mutex
	legacy map[string]bool
}

var defaultEras Eras

// maxEras limits the cache. When it is reached, the cache is cleared.
const maxEras = 4096

func (e *Eras) isLegacy(server string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return server != "" && e.legacy[server]
}

func (e *Eras) set(server string, old bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case server == "":
	case !old:
		delete(e.legacy, server)
	default:
		if e.legacy == nil || len(e.legacy) >= maxEras {
			e.legacy = map[string]bool{}
		}
		e.legacy[server] = true
	}
}
