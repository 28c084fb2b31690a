package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

const (
	maxPages     = 10_000         // limit of pages of one list
	maxListBytes = 32 << 20       // limit of the memory that one list takes, all pages together
	maxListed    = 100_000        // limit of tools whose headers are cached
	maxTTL       = 24 * time.Hour // limit of the time that a list is cached
)

// A listCache caches the server's lists for as long as the server allows. It is
// guarded by the client's mutex.
type listCache struct {
	cached  map[Kind]*cachedList
	changes int                      // number of invalidations
	headers map[string][]paramHeader // by tool: arguments that are repeated in headers
}

type cachedList struct {
	items   any // a []*T
	expires time.Time
}

// invalidate drops a list, or all lists if kind is "".
func (l *listCache) invalidate(kind Kind) {
	l.changes++
	if kind == "" {
		l.cached = nil
	}
	if delete(l.cached, kind); kind == "" || kind == KindTool {
		l.headers = nil
	}
}

// handleListChanged invalidates a list that has changed, and passes the event
// to listeners.
func (c *Client) handleListChanged(n Notification) {
	e, ok := eventOf(n)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Kind {
	case EventTools:
		c.lists.invalidate(KindTool)
	case EventPrompts:
		c.lists.invalidate(KindPrompt)
	case EventResources:
		c.lists.invalidate(KindResource)
		c.lists.invalidate(KindResourceTemplate)
	}
	for in := range c.inboxes {
		in.put(e)
	}
}

// Tools lists the server's tools. The list is cached for as long as the server
// allows. Over HTTP, tools whose schema misuses headers are omitted, because
// they cannot be called.
func (c *Client) Tools(ctx context.Context) iter.Seq2[*Tool, error] {
	return pages(ctx, c, KindTool, "tools/list", "tools", c.usableTool)
}

// Prompts lists the server's prompts.
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*Prompt, error] {
	return pages[Prompt](ctx, c, KindPrompt, "prompts/list", "prompts", nil)
}

// Resources lists the server's resources.
func (c *Client) Resources(ctx context.Context) iter.Seq2[*Resource, error] {
	return pages[Resource](ctx, c, KindResource, "resources/list", "resources", nil)
}

// ResourceTemplates lists the server's resource templates.
func (c *Client) ResourceTemplates(ctx context.Context) iter.Seq2[*ResourceTemplate, error] {
	return pages[ResourceTemplate](ctx, c, KindResourceTemplate, "resources/templates/list", "resourceTemplates", nil)
}

// Tool returns the tool with the given name, or ErrNotFound.
func (c *Client) Tool(ctx context.Context, name string) (*Tool, error) {
	for t, err := range c.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		if t.Name == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("tool %s: %w", name, ErrNotFound)
}

// ClearCache clears the cached lists.
func (c *Client) ClearCache() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists.invalidate("")
}

// pages iterates over all items of a list, from the cache or page by page.
// Items for which usable returns false are omitted. A list without end ends
// with a listError: it has a budget of pages, of bytes, and of the time that
// one request may take.
func pages[T any](ctx context.Context, c *Client, kind Kind, method, key string, usable func(*T) bool) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		c.mu.Lock()
		cached, changes := c.lists.cached[kind], c.lists.changes
		c.mu.Unlock()
		if cached != nil && time.Now().Before(cached.expires) {
			for _, item := range cached.items.([]*T) {
				if !yield(new(*item), nil) {
					return
				}
			}
			return
		}
		var all []*T
		fresh := maxTTL
		room, left := maxListBytes, c.o.MaxTime
		rq := &clientRequest{method: method}
		for range maxPages {
			began := time.Now()
			page, err := readPage[T](ctx, c, rq, key, &room)
			if left -= time.Since(began); err == nil && left < 0 {
				err = c.tooLong("it took more than %v", c.o.MaxTime)
			}
			if err != nil {
				yield(nil, fmt.Errorf("%s: %w", method, err))
				return
			}
			if fresh = min(fresh, page.ttl-time.Since(began)); fresh <= 0 {
				all = nil // it will not be cached
			}
			for _, item := range page.items {
				if item == nil || usable != nil && !usable(item) {
					continue
				}
				if fresh > 0 {
					all = append(all, item)
				}
				if !yield(new(*item), nil) {
					return
				}
			}
			if page.next == nil {
				c.cacheList(kind, all, fresh, changes)
				return
			}
			cursor := rawjson.Text(page.next)
			if len(rq.params) > 0 && rq.params[0].value == cursor {
				yield(nil, fmt.Errorf("%s: the server names the same page again", method))
				return
			}
			rq = &clientRequest{method: method, params: []param{{"cursor", cursor}}}
		}
		yield(nil, fmt.Errorf("%s: %w", method, c.tooLong("it has more than %d pages", maxPages)))
	}
}

// tooLong returns the error for a list that exceeds a limit. It says what the
// server calls itself, quoted, because the text is the server's.
func (c *Client) tooLong(format string, args ...any) error {
	name := "the server"
	if n := c.ServerInfo().Name; n != "" {
		name = fmt.Sprintf("server %.100q", n)
	}
	return listError(fmt.Sprintf("the list is too long: that of %s: %s", name, fmt.Sprintf(format, args...)))
}

// A listError is the error for a list that exceeds a limit. It is
// jsonrpc.ErrTooLong for errors.Is.
type listError string

func (e listError) Error() string      { return string(e) }
func (listError) Is(target error) bool { return target == jsonrpc.ErrTooLong }

// cacheList caches a list, unless it was invalidated since reading began.
func (c *Client) cacheList(kind Kind, items any, fresh time.Duration, changes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fresh <= 0 || c.lists.changes != changes {
		return
	}
	if c.lists.cached == nil {
		c.lists.cached = map[Kind]*cachedList{}
	}
	c.lists.cached[kind] = &cachedList{items, time.Now().Add(fresh)}
}

// A page is one page of a list.
type page[T any] struct {
	items []*T
	next  json.RawMessage // cursor of the next page, or nil
	ttl   time.Duration
}

// readPage reads one page. It takes what the page needs from room, the memory
// left for the list, before anything is decoded: a short text can be many items.
func readPage[T any](ctx context.Context, c *Client, rq *clientRequest, key string, room *int) (p page[T], err error) {
	raw, err := c.call(ctx, rq)
	if err != nil {
		return p, err
	}
	if *room -= weight(raw); *room < 0 {
		return p, c.tooLong("it takes more than %d MiB", maxListBytes>>20)
	}
	found := false
	for name, v := range rawjson.Members(raw) {
		switch name {
		case key:
			found = true
			n := 0
			for range rawjson.Elements(v) {
				n++
			}
			if *room -= n * int(reflect.TypeFor[T]().Size()); *room < 0 {
				return p, c.tooLong("it takes more than %d MiB", maxListBytes>>20)
			}
			if err := jsonv2.Unmarshal(v, &p.items, trusted); err != nil {
				return p, fmt.Errorf("%s: %s", key, plainError(err))
			}
		case "nextCursor":
			if len(v) > 0 && v[0] == 'n' {
				continue
			}
			if _, err := text(name, v); err != nil {
				return p, err
			}
			p.next = v
		case "ttlMs":
			var ms int64
			if jsonv2.Unmarshal(v, &ms) == nil && ms > 0 && c.Revision().Stateless() {
				p.ttl = time.Duration(min(ms, maxTTL.Milliseconds())) * time.Millisecond
			}
		}
	}
	if !found {
		return p, fmt.Errorf("the result has no %s", key)
	}
	if string(p.next) == `""` && (!c.Revision().Stateless() || len(rq.params) > 0 && rq.params[0].value == "") {
		// Before the stateless era an empty cursor was not defined, and some
		// servers send it on the last page.
		p.next = nil
	}
	return p, nil
}

// weight estimates the memory that a JSON text takes when it is decoded, besides
// the items of a list: an empty object becomes a struct.
func weight(raw json.RawMessage) int {
	return len(raw) + 96*bytes.Count(raw, []byte("{")) + 16*bytes.Count(raw, []byte(","))
}

// usableTool reports whether a tool can be called on this transport, and caches
// which arguments are repeated in headers.
func (c *Client) usableTool(t *Tool) bool {
	if c.exchanger == nil || !c.Revision().routingHeader() {
		return true
	}
	headers, err := paramHeaders(t.InputSchema)
	if err == nil && hasMisplacedHeader(t.InputSchema) {
		err = errors.New(headerKeyword + " is misplaced: it must be in the schema of an argument")
	}
	if err != nil {
		c.log.Warn("ignoring a tool that cannot be called", "tool", t.Name, "err", err)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.lists.headers) >= maxListed {
		c.lists.headers = nil // the names change with each list
	}
	put(&c.lists.headers, t.Name, headers)
	return true
}

// toolHeaders returns the arguments of a tool that are repeated in headers. It
// lists the tools if the tool is not in the cache.
func (c *Client) toolHeaders(ctx context.Context, tool string) ([]paramHeader, error) {
	for range 2 {
		c.mu.Lock()
		headers, ok := c.lists.headers[tool]
		c.mu.Unlock()
		if ok {
			return headers, nil
		}
		if _, err := c.Tool(ctx, tool); err != nil {
			if !errors.Is(err, ErrNotFound) {
				return nil, err
			}
			// The server will report it, or the tool is not listed.
			c.mu.Lock()
			put(&c.lists.headers, tool, nil)
			c.mu.Unlock()
		}
	}
	return nil, nil
}
