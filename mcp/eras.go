package mcp

import "sync"

// eras caches which servers need initialize. The zero value is an empty cache.
// Entries are hints: a server that no longer behaves as cached is probed again.
type eras struct {
	mu     sync.Mutex
	legacy map[string]bool
}

// knownEras is the cache of the program.
var knownEras eras

// maxEras limits the cache. When it is reached, the cache is cleared.
const maxEras = 4096

func (e *eras) isLegacy(server string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return server != "" && e.legacy[server]
}

func (e *eras) set(server string, old bool) {
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
