package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

const (
	maxPages = 10_000         // of a list that does not end
	maxTTL   = 24 * time.Hour // how long a list is kept at most
)

// lists is what the client has kept of the server's lists, for as long as the
// server said. It is guarded by the client's mutex.
type lists struct {
	kept    map[Kind]*keptList
	changes int                      // counts what has made a list stale
	headers map[string][]paramHeader // by tool: arguments that go into headers as well
}

type keptList struct {
	items any // a []*T
	until time.Time
}

// forget drops a list, or with "" all of them.
func (l *lists) forget(kind Kind) {
	l.changes++
	if kind == "" {
		l.kept = nil
	}
	if delete(l.kept, kind); kind == "" || kind == KindTool {
		l.headers = nil
	}
}

// changed takes note of a notification that makes a list stale.
func (c *Client) changed(n Notification) {
	e, ok := eventOf(n)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Kind {
	case EventTools:
		c.lists.forget(KindTool)
	case EventPrompts:
		c.lists.forget(KindPrompt)
	case EventResources:
		c.lists.forget(KindResource)
		c.lists.forget(KindTemplate)
	}
	for in := range c.inboxes {
		in.put(e)
	}
}

// Tools lists the server's tools. A list that the server lets be kept is not
// asked for again while it is fresh. Over HTTP, a tool that cannot be called
// because its schema misuses headers is left out.
func (c *Client) Tools(ctx context.Context) iter.Seq2[*Tool, error] {
	return pages(ctx, c, KindTool, "tools/list", "tools", c.callable)
}

// Prompts lists the server's prompts.
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*Prompt, error] {
	return pages[Prompt](ctx, c, KindPrompt, "prompts/list", "prompts", nil)
}

// Resources lists the server's resources.
func (c *Client) Resources(ctx context.Context) iter.Seq2[*Resource, error] {
	return pages[Resource](ctx, c, KindResource, "resources/list", "resources", nil)
}

// Templates lists the server's resource templates.
func (c *Client) Templates(ctx context.Context) iter.Seq2[*Resource, error] {
	return pages[Resource](ctx, c, KindTemplate, "resources/templates/list", "resourceTemplates", nil)
}

// Tool finds a tool by its name. One that is not there is ErrNotFound.
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

// Refresh drops what has been kept of the server's lists.
func (c *Client) Refresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists.forget("")
}

// pages walks all items of a list, page by page, or as they were kept. Items that
// usable refuses are left out.
func pages[T any](ctx context.Context, c *Client, kind Kind, method, key string, usable func(*T) bool) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		c.mu.Lock()
		kept, changes := c.lists.kept[kind], c.lists.changes
		c.mu.Unlock()
		if kept != nil && time.Now().Before(kept.until) {
			for _, item := range kept.items.([]*T) {
				if !yield(new(*item), nil) {
					return
				}
			}
			return
		}
		var all []*T
		fresh := maxTTL
		q := &question{method: method}
		for range maxPages {
			began := time.Now()
			page, err := readPage[T](ctx, c, q, key)
			if err != nil {
				yield(nil, fmt.Errorf("%s: %w", method, err))
				return
			}
			fresh = min(fresh, page.ttl-time.Since(began))
			for _, item := range page.items {
				if item == nil || usable != nil && !usable(item) {
					continue
				}
				all = append(all, item)
				if !yield(new(*item), nil) {
					return
				}
			}
			if page.next == nil {
				c.keep(kind, all, fresh, changes)
				return
			}
			cursor := jsonrpc.Text(page.next)
			if len(q.params) > 0 && q.params[0].value == cursor {
				yield(nil, fmt.Errorf("%s: the server names the same page again", method))
				return
			}
			q = &question{method: method, params: []param{{"cursor", cursor}}}
		}
		yield(nil, fmt.Errorf("%s: the list does not end", method))
	}
}

// keep keeps a list, unless it has changed since the reading began.
func (c *Client) keep(kind Kind, items any, fresh time.Duration, changes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fresh <= 0 || c.lists.changes != changes {
		return
	}
	if c.lists.kept == nil {
		c.lists.kept = map[Kind]*keptList{}
	}
	c.lists.kept[kind] = &keptList{items, time.Now().Add(fresh)}
}

// A page is part of a list.
type page[T any] struct {
	items []*T
	next  json.RawMessage // the cursor of the next one; nil if there is none
	ttl   time.Duration
}

func readPage[T any](ctx context.Context, c *Client, q *question, key string) (p page[T], err error) {
	raw, err := c.ask(ctx, q)
	if err != nil {
		return p, err
	}
	found := false
	for name, v := range jsonrpc.Members(raw) {
		switch name {
		case key:
			found = true
			if err := jsonv2.Unmarshal(v, &p.items, checked); err != nil {
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
		return p, fmt.Errorf("the answer holds no %s", key)
	}
	if string(p.next) == `""` && (!c.Revision().Stateless() || len(q.params) > 0 && q.params[0].value == "") {
		// Before the newest revision nobody said that this is a cursor, and some
		// servers write it where there is none.
		p.next = nil
	}
	return p, nil
}

// callable reports whether a tool can be called over this transport, and takes
// note of the arguments that go into headers.
func (c *Client) callable(t *Tool) bool {
	if c.exchanger == nil || !c.Revision().RoutingHeader() {
		return true
	}
	headers, err := paramHeaders(t.InputSchema)
	if err == nil && strayHeader(t.InputSchema) {
		err = errors.New(headerKeyword + " stands where no argument is")
	}
	if err != nil {
		c.log.Warn("a tool cannot be called", "tool", t.Name, "err", err)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	put(&c.lists.headers, t.Name, headers)
	return true
}

// strayHeader reports whether a header is asked for somewhere else than at an
// argument, or a member of one.
func strayHeader(schema json.RawMessage) bool {
	for name, v := range jsonrpc.Members(schema) {
		switch name {
		case "properties":
			for _, property := range jsonrpc.Members(v) {
				if strayHeader(property) {
					return true
				}
			}
		case "const", "default", "enum", "examples", headerKeyword:
		default:
			if mentionsHeader(v) {
				return true
			}
		}
	}
	return false
}

func mentionsHeader(v json.RawMessage) bool {
	if !strings.Contains(string(v), headerKeyword) {
		return false
	}
	for name, m := range jsonrpc.Members(v) {
		if name == headerKeyword || mentionsHeader(m) {
			return true
		}
	}
	for e := range jsonrpc.Elements(v) {
		if mentionsHeader(e) {
			return true
		}
	}
	return false
}

// toolHeaders are the arguments of a tool that go into headers. A tool that has
// not been listed is looked for.
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
			// The server will say so, or it does not list all it has.
			c.mu.Lock()
			put(&c.lists.headers, tool, nil)
			c.mu.Unlock()
		}
	}
	return nil, nil
}
