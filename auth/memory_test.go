package auth

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// memory is a Store that counts, fails and waits as a test wants.
type memory struct {
	mu       sync.Mutex
	keys     map[string]Key
	people   map[string]Person
	keyAt    map[string]int64
	personAt map[string]int64
	version  int64
	down     error
	queries  int // of keys and people
	writes   []map[string]time.Time
	found    func() // runs between a look and its answer
}

func newMemory() *memory {
	return &memory{keys: map[string]Key{}, people: map[string]Person{}, keyAt: map[string]int64{}, personAt: map[string]int64{}}
}

var _ Store = (*memory)(nil)

var errDown = errors.New("no connection")

func (m *memory) setDown(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = err
}

func (m *memory) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.queries
}

func (m *memory) written() []map[string]time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.writes)
}

func (m *memory) Key(_ context.Context, id string) (Key, error) {
	m.mu.Lock()
	m.queries++
	k, ok := m.keys[id]
	k.OwnerDisabled = m.people[k.Owner].Disabled
	down, found := m.down, m.found
	m.mu.Unlock()
	if found != nil {
		found()
	}
	if down == nil && !ok {
		down = ErrNotFound
	}
	return k, down
}

func (m *memory) KeysByID(ctx context.Context, ids []string) (keys []Key, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queries++
	for _, id := range ids {
		if k, ok := m.keys[id]; ok {
			k.OwnerDisabled = m.people[k.Owner].Disabled
			keys = append(keys, k)
		}
	}
	return keys, m.down
}

func (m *memory) Keys(context.Context) ([]Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.keys)), m.down
}

func (m *memory) InsertKey(_ context.Context, k Key, allowed func(*Key, int) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	parent, machines := m.keys[k.Parent], 0
	for _, other := range m.keys {
		if other.Owner == k.Owner && other.Machine != "" && !other.Ended(k.Created) {
			machines++
		}
	}
	if err := allowed(&parent, machines); err != nil {
		return err
	}
	m.keys[k.ID] = k
	if _, ok := m.people[k.Owner]; !ok {
		m.people[k.Owner] = Person{Name: k.Owner, Created: k.Created}
	}
	return m.down
}

func (m *memory) RevokeKey(_ context.Context, id, by string, at time.Time) ([]string, error) {
	return m.lose(id, func(k *Key) { k.Revoked, k.RevokedBy = at, by })
}

func (m *memory) LowerKey(_ context.Context, id, project string, role Role, _ string, _ time.Time) ([]string, error) {
	return m.lose(id, func(k *Key) { k.Project, k.Role = project, min(k.Role, role) })
}

func (m *memory) RenewKey(_ context.Context, id string, expires time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.keys[id]
	if !ok || !k.Revoked.IsZero() {
		return ErrNotFound
	}
	k.Expires = expires
	m.keys[id] = k
	return m.down
}

// lose changes a key and those that were created from it.
func (m *memory) lose(id string, change func(*Key)) (ids []string, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.keys[id]; !ok {
		return nil, ErrNotFound
	}
	m.version++
	for _, k := range m.keys {
		if k.ID == id || k.Parent == id {
			change(&k)
			m.keys[k.ID], m.keyAt[k.ID] = k, m.version
			ids = append(ids, k.ID)
		}
	}
	return ids, m.down
}

func (m *memory) Used(_ context.Context, last map[string]time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down == nil {
		m.writes = append(m.writes, maps.Clone(last))
	}
	return m.down
}

func (m *memory) Person(_ context.Context, name string) (Person, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queries++
	p, ok := m.people[name]
	if m.down == nil && !ok {
		return p, ErrNotFound
	}
	return p, m.down
}

func (m *memory) People(context.Context) ([]Person, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.people)), m.down
}

func (m *memory) InsertPerson(_ context.Context, name string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.people[name]; !ok {
		m.people[name] = Person{Name: name, Created: at}
	}
	return m.down
}

func (m *memory) SetDisabled(_ context.Context, name string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.people[name]
	if !ok {
		return ErrNotFound
	}
	m.version++
	p.Disabled = at
	m.people[name], m.personAt[name] = p, m.version
	return m.down
}

func (m *memory) Changes(_ context.Context, after int64) (Changes, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := Changes{Version: m.version}
	if after >= 0 {
		for id, v := range m.keyAt {
			if v > after {
				c.Keys = append(c.Keys, id)
			}
		}
		for name, v := range m.personAt {
			if v > after && !m.people[name].Disabled.IsZero() {
				c.People = append(c.People, name)
			}
		}
	}
	return c, m.down
}
