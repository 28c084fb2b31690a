package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/proc"
)

// A Store keeps what an upstream listed, and which definitions were approved.
type Store interface {
	// Load returns what is stored about an upstream; an empty Record if that is nothing.
	Load(ctx context.Context, upstream string) (*Record, error)
	// SaveCatalogue replaces the stored lists of an upstream.
	SaveCatalogue(ctx context.Context, upstream string, c *Catalogue) error
	// AddPins adds approved definitions. One that is pinned already stays as it is.
	AddPins(ctx context.Context, upstream string, pins ...Pin) error
}

// A Firster is a Store that several processes share. It chooses the one that reads the lists of an upstream for the first time.
type Firster interface {
	// First reports whether this process is the one. The others look again later. done must be called if ok.
	First(upstream string) (done func(), ok bool, err error)
}

// A Record is what is stored about an upstream.
type Record struct {
	Catalogue *Catalogue `json:"catalogue,omitzero"`
	Pins      []Pin      `json:"pins,omitzero"`
}

// A Catalogue is what an upstream listed last, as it was received.
type Catalogue struct {
	Tools     []json.RawMessage `json:"tools,omitzero"`
	Prompts   []json.RawMessage `json:"prompts,omitzero"`
	Resources []json.RawMessage `json:"resources,omitzero"`
	Templates []json.RawMessage `json:"templates,omitzero"`
	ListedAt  time.Time         `json:"listedAt,omitzero"`
	// TTLMs is how long the upstream's lists may be cached, zero if it does not say.
	TTLMs int64 `json:"ttlMs,omitzero"`
}

// A Pin is an approved definition.
type Pin struct {
	Kind       mcp.Kind        `json:"kind"` // tool or prompt
	Name       string          `json:"name"` // the upstream's own
	Hash       string          `json:"hash"`
	Definition json.RawMessage `json:"definition"`
	By         string          `json:"by,omitzero"` // empty: it was pinned when it was seen first
	At         time.Time       `json:"at"`
}

// A FileStore is a Store in a directory, which several processes share.
type FileStore struct{ dir string }

var (
	_ Store   = (*FileStore)(nil)
	_ Firster = (*FileStore)(nil)
)

// NewFileStore returns a store in a directory. The first write creates it.
func NewFileStore(dir string) *FileStore { return &FileStore{dir} }

func (s *FileStore) path(upstream string) string { return filepath.Join(s.dir, upstream+".json") }

// Load implements Store.
func (s *FileStore) Load(_ context.Context, upstream string) (*Record, error) {
	text, err := os.ReadFile(s.path(upstream))
	if errors.Is(err, fs.ErrNotExist) {
		return &Record{}, nil
	}
	r := &Record{}
	if err == nil {
		err = jsonv2.Unmarshal(text, r)
	}
	if err != nil {
		return nil, fmt.Errorf("read what is stored about the server %s: %w", upstream, err)
	}
	return r, nil
}

// SaveCatalogue implements Store.
func (s *FileStore) SaveCatalogue(ctx context.Context, upstream string, c *Catalogue) error {
	return s.change(ctx, upstream, func(r *Record) { r.Catalogue = c })
}

// AddPins implements Store.
func (s *FileStore) AddPins(ctx context.Context, upstream string, pins ...Pin) error {
	return s.change(ctx, upstream, func(r *Record) { r.Pins = mergePins(r.Pins, pins) })
}

// First implements Firster.
func (s *FileStore) First(upstream string) (done func(), ok bool, err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, false, err
	}
	return proc.TryLock(filepath.Join(s.dir, upstream+".first.lock"))
}

func mergePins(have, add []Pin) []Pin {
	at := map[pinKey]int{}
	for i, p := range have {
		at[p.key()] = i
	}
	for _, p := range add {
		i, known := at[p.key()]
		if !known {
			at[p.key()] = len(have)
			have = append(have, p)
		} else if have[i].By == "" {
			have[i] = p
		}
	}
	return have
}

// A pinKey is what a Pin approves.
type pinKey struct {
	kind       mcp.Kind
	name, hash string
}

func (p *Pin) key() pinKey { return pinKey{p.Kind, p.Name, p.Hash} }

// change changes a record under a lock, and replaces the file at once.
func (s *FileStore) change(ctx context.Context, upstream string, f func(*Record)) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Join(s.dir, upstream+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	r, err := s.Load(ctx, upstream)
	if err != nil {
		return err
	}
	f(r)
	text, err := jsonv2.Marshal(r)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(s.dir, upstream+".*.new")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), s.path(upstream))
	}
	return err
}

// lock waits for a lock file.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	for range 500 {
		unlock, ok, err := proc.TryLock(path)
		if ok || err != nil {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil, fmt.Errorf("%s is locked by another process", path)
}
