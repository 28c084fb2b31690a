package mcp

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"
)

// A catalog holds the registered items of one kind, ordered by name. Reads take
// no lock.
type catalog[T any] struct {
	mu     sync.Mutex
	items  map[string]T
	cached atomic.Pointer[snapshot[T]] // nil after a change
}

// A snapshot is an immutable copy of a catalog.
type snapshot[T any] struct {
	names []string
	items map[string]T
}

func (c *catalog[T]) set(name string, item T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items == nil {
		c.items = map[string]T{}
	}
	c.items[name] = item
	c.cached.Store(nil)
}

// remove removes an item and reports whether it was present.
func (c *catalog[T]) remove(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.items[name]
	delete(c.items, name)
	c.cached.Store(nil)
	return ok
}

func (c *catalog[T]) snapshot() *snapshot[T] {
	if s := c.cached.Load(); s != nil {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &snapshot[T]{slices.Sorted(maps.Keys(c.items)), maps.Clone(c.items)}
	c.cached.Store(s)
	return s
}

func (c *catalog[T]) get(name string) (T, bool) {
	item, ok := c.snapshot().items[name]
	return item, ok
}

// everUsed reports whether the catalog has or had any item. A capability that
// was offered once stays declared.
func (c *catalog[T]) everUsed() bool { return c.snapshot().items != nil }

// page returns up to size visible items after the cursor, and the cursor of the
// next page, if there is one.
func (c *catalog[T]) page(cursor json.RawMessage, size int, visible func(string) bool) (items []T, next string, err error) {
	s := c.snapshot()
	start := 0
	if cursor != nil {
		after, err := parseCursor(cursor)
		if err != nil {
			return nil, "", err
		}
		var found bool
		if start, found = slices.BinarySearch(s.names, after); found {
			start++
		}
	}
	last := ""
	for _, name := range s.names[start:] {
		if !visible(name) {
			continue
		}
		if len(items) == size {
			return items, newCursor(last), nil
		}
		items = append(items, s.items[name])
		last = name
	}
	return items, "", nil
}

// A cursor is the last name of the previous page, so it stays valid when the
// list changes and needs no server state. Visibility is checked for each page,
// not encoded in the cursor.

const cursorPrefix = "\x00after:"

func newCursor(last string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorPrefix + last))
}

func parseCursor(raw json.RawMessage) (after string, err error) {
	const maxCursor = 4096
	var s string
	if len(raw) > maxCursor || jsonv2.Unmarshal(raw, &s) != nil {
		return "", invalid("invalid cursor")
	}
	if s == "" { // some clients send it for the first page
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	after, ok := strings.CutPrefix(string(b), cursorPrefix)
	if err != nil || !ok || after == "" {
		return "", invalid("invalid cursor")
	}
	return after, nil
}
