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

// A catalog holds the things of one kind that a server has registered, in the
// order of their names. Reading it takes no lock.
type catalog[T any] struct {
	mu    sync.Mutex
	items map[string]T
	seen  atomic.Pointer[shelf[T]] // nil after a change
}

// A shelf is a catalog at one moment.
type shelf[T any] struct {
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
	c.seen.Store(nil)
}

// remove reports whether the name was there.
func (c *catalog[T]) remove(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.items[name]
	delete(c.items, name)
	c.seen.Store(nil)
	return ok
}

func (c *catalog[T]) shelf() *shelf[T] {
	if s := c.seen.Load(); s != nil {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &shelf[T]{slices.Sorted(maps.Keys(c.items)), maps.Clone(c.items)}
	c.seen.Store(s)
	return s
}

func (c *catalog[T]) get(name string) (T, bool) {
	item, ok := c.shelf().items[name]
	return item, ok
}

// used reports whether there is or was anything: what has been offered once
// stays declared.
func (c *catalog[T]) used() bool { return c.shelf().items != nil }

// page lists up to size items that come after the cursor and may be seen, and
// the cursor of the page behind them, if there is one.
func (c *catalog[T]) page(cursor json.RawMessage, size int, visible func(string) bool) (items []T, next string, err error) {
	s := c.shelf()
	start := 0
	if cursor != nil {
		after, err := readCursor(cursor)
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
			return items, makeCursor(last), nil
		}
		items = append(items, s.items[name])
		last = name
	}
	return items, "", nil
}

// A cursor is the last name on the page before it, so that it outlives changes
// to the list and needs no memory of ours. What may be seen is decided on the
// page, not by the cursor.

const cursorMark = "\x00after:"

func makeCursor(last string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorMark + last))
}

func readCursor(raw json.RawMessage) (after string, err error) {
	const most = 4096
	var s string
	if len(raw) > most || jsonv2.Unmarshal(raw, &s) != nil {
		return "", invalid("cursor is not one of ours")
	}
	if s == "" { // some clients send it to mean the beginning
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	after, ok := strings.CutPrefix(string(b), cursorMark)
	if err != nil || !ok || after == "" {
		return "", invalid("cursor is not one of ours")
	}
	return after, nil
}
