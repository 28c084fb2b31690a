package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Record is what one authorization server has given us.
type Record struct {
	Issuer string           `json:"issuer"`
	Client *Registration    `json:"client,omitzero"`
	Tokens map[string]Token `json:"tokens,omitzero"` // by resource
}

// A Store keeps records, each by its issuer, for one person: whoever has it has
// their tokens. It may be used by several transports and goroutines at once.
type Store interface {
	// Load finds the record of an issuer; nil if there is none.
	Load(ctx context.Context, issuer string) (*Record, error)
	Save(ctx context.Context, r *Record) error
}

func (r *Record) clone() *Record {
	c := *r
	c.Tokens = maps.Clone(r.Tokens)
	if r.Client != nil {
		c.Client = new(*r.Client)
	}
	return &c
}

// put keeps a token for a resource.
func (r *Record) put(resource string, tok *Token) {
	if r.Tokens == nil {
		r.Tokens = map[string]Token{}
	}
	r.Tokens[resource] = *tok
}

// keeping is held while a record is changed: transports may share a store.
var keeping sync.Mutex

// keep changes the record of an issuer. What others have put there meanwhile stays.
func keep(ctx context.Context, s Store, issuer string, change func(*Record)) error {
	keeping.Lock()
	defer keeping.Unlock()
	r, err := s.Load(ctx, issuer)
	if err != nil {
		return err
	}
	if r == nil {
		r = &Record{Issuer: issuer}
	}
	change(r)
	return s.Save(ctx, r)
}

// Memory keeps records as long as the program runs. The zero value is ready.
type Memory struct {
	mu      sync.Mutex
	records map[string]*Record
}

var _ Store = (*Memory)(nil)

// Load finds the record of an issuer.
func (m *Memory) Load(_ context.Context, issuer string) (*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.records[issuer]; r != nil {
		return r.clone(), nil
	}
	return nil, nil
}

// Save keeps a record in place of an older one.
func (m *Memory) Save(_ context.Context, r *Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = map[string]*Record{}
	}
	m.records[r.Issuer] = r.clone()
	return nil
}

// Files keeps records in a folder that only its owner can read, one file for each
// issuer.
type Files struct {
	root *os.Root
}

var _ Store = (*Files)(nil)

// OpenFiles opens a folder for records, and makes it if it is not there.
func OpenFiles(dir string) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	return &Files{root}, nil
}

// Close gives the folder up.
func (f *Files) Close() error { return f.root.Close() }

func fileName(issuer string) string {
	sum := sha256.Sum256([]byte(issuer))
	return hex.EncodeToString(sum[:]) + ".json"
}

// Load finds the record of an issuer. A file that others can read is refused: what
// is in it is no longer a secret.
func (f *Files) Load(_ context.Context, issuer string) (*Record, error) {
	name := fileName(issuer)
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("oauth: %w", err)
	case !info.Mode().IsRegular() || !private(info.Mode()):
		return nil, fmt.Errorf("oauth: %s has mode %v, and others can read it", name, info.Mode())
	}
	b, err := f.root.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	var r Record
	if err := jsonv2.Unmarshal(b, &r); err != nil || r.Issuer != issuer {
		return nil, fmt.Errorf("oauth: %s is not the record of %s", name, issuer)
	}
	return &r, nil
}

// Save keeps a record in place of an older one. Readers see the one or the other.
func (f *Files) Save(_ context.Context, r *Record) error {
	b, err := jsonv2.Marshal(r, jsontext.Multiline(true), jsonv2.Deterministic(true))
	if err != nil {
		return fmt.Errorf("oauth: %w", err)
	}
	name := fileName(r.Issuer)
	fresh := name + "." + rand.Text()
	file, err := f.root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("oauth: %w", err)
	}
	_, err = file.Write(b)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = f.root.Rename(fresh, name)
	}
	if err != nil {
		_ = f.root.Remove(fresh)
		return fmt.Errorf("oauth: %w", err)
	}
	return nil
}
