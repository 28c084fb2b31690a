package oauth

import (
	"context"
	"sync"
)

// A Store stores records by issuer, for one user: anyone who can read it has
// the user's tokens. It may be used concurrently, by several transports.
type Store interface {
	// Load returns the record of an issuer, or nil if there is none.
	Load(ctx context.Context, issuer string) (*Record, error)
	Save(ctx context.Context, r *Record) error
}

// Memory stores records in memory. The zero value is an empty store.
type Memory struct {
	mu      sync.Mutex
	records map[string]*Record
}

var _ Store = (*Memory)(nil)

// Load returns the record of an issuer.
func (m *Memory) Load(_ context.Context, issuer string) (*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.records[issuer]; r != nil {
		return r.clone(), nil
	}
	return nil, nil
}

// Save stores a record, replacing an older one.
func (m *Memory) Save(_ context.Context, r *Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = map[string]*Record{}
	}
	m.records[r.Issuer] = r.clone()
	return nil
}
