package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// Limits of what one upstream lists. Lists are stored, hashed, published and searched, so that their bytes count several times.
const (
	maxPages     = 200
	maxItems     = 10_000  // of one list
	maxListBytes = 4 << 20 // of all lists together
	// maxDefinition is the size of one definition. A larger one is withheld: a schema takes much more memory than its text.
	maxDefinition = 256 << 10
)

// readLists reads everything that the upstream lists, pins what is new, stores and publishes it.
func (i *instance) readLists(ctx context.Context, c *mcp.Client) error {
	i.relist.Lock()
	defer i.relist.Unlock()
	i.mu.Lock()
	changes := i.changes
	i.mu.Unlock()
	cat := &Catalogue{ListedAt: time.Now().UTC()}
	room := maxListBytes
	offers := c.ServerCapabilities()
	if i.u.isRelay() && offers.Extensions[Extension] == nil {
		offers = mcp.ServerCapabilities{} // there is only the board
	}
	for _, l := range []struct {
		method, member string
		offered        bool
		into           *[]json.RawMessage
	}{
		{"tools/list", "tools", offers.Tools != nil, &cat.Tools},
		{"prompts/list", "prompts", offers.Prompts != nil, &cat.Prompts},
		{"resources/list", "resources", offers.Resources != nil, &cat.Resources},
		{"resources/templates/list", "resourceTemplates", offers.Resources != nil, &cat.Templates},
	} {
		if !l.offered {
			continue
		}
		ttl, err := i.readList(ctx, c, l.method, l.member, l.into, &room)
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == jsonrpc.CodeMethodNotFound && l.member != "tools" {
			continue // some servers declare more than they have
		}
		if _, long := errors.AsType[*longListError](err); long && strings.HasPrefix(l.member, "resource") {
			i.g.log.Warn("not all resources of an upstream are listed", "upstream", i.u.Name, "listed", len(*l.into), "err", err) // it still reads them
			err = nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", l.method, err)
		}
		if ttl > 0 && (cat.TTLMs == 0 || ttl < cat.TTLMs) {
			cat.TTLMs = ttl
		}
	}
	hashes := cat.hashes(i.u.VolatileMeta)
	if err := i.u.listed(ctx, i.g, cat, hashes); err != nil {
		return err
	}
	i.mu.Lock()
	i.hashes, i.ttl = hashes, defaultTTL
	if i.listedAt = time.Now(); i.changes != changes {
		i.listedAt = time.Time{} // they have changed meanwhile
	}
	if cat.TTLMs > 0 {
		i.ttl = min(max(time.Duration(cat.TTLMs)*time.Millisecond, time.Second), time.Hour)
	}
	i.mu.Unlock()
	return nil
}

// readList reads all pages of a list. It takes what they need from room, the bytes that are left for the upstream's lists.
func (i *instance) readList(ctx context.Context, c *mcp.Client, method, member string, into *[]json.RawMessage, room *int) (ttl int64, err error) {
	cursor := ""
	for range maxPages {
		params := json.RawMessage(`{}`)
		if cursor != "" {
			params = append(appendMember([]byte{'{'}, "cursor", quote(cursor)), '}')
		}
		raw, err := c.Forward(ctx, method, params, unasked(c))
		if err != nil {
			return 0, err
		}
		if *room -= len(raw); *room < 0 {
			return 0, i.tooLong("its lists have more than %d MiB", maxListBytes>>20)
		}
		next := ""
		for name, v := range rawjson.Members(raw) {
			switch name {
			case member:
				if len(v) == 0 || v[0] != '[' {
					return 0, fmt.Errorf("%s is not an array", member)
				}
				for e := range rawjson.Elements(v) {
					if len(*into) == maxItems {
						return 0, i.tooLong("it has more than %d items", maxItems)
					}
					*into = append(*into, append(json.RawMessage(nil), e...))
				}
			case "nextCursor":
				next = rawjson.Text(v)
			case "ttlMs":
				ttl = number(v)
			}
		}
		if next == "" {
			return ttl, nil
		}
		if next == cursor {
			return 0, fmt.Errorf("the server %s names the same page again", i.u.Name)
		}
		cursor = strings.Clone(next)
	}
	return 0, i.tooLong("it has more than %d pages", maxPages)
}

// tooLong returns the error for a list that exceeds a limit.
func (i *instance) tooLong(format string, args ...any) error {
	return &longListError{fmt.Sprintf("the list of the server %s is too long: %s", i.u.Name, fmt.Sprintf(format, args...))}
}

// A longListError says that a list exceeds a limit.
type longListError struct{ text string }

func (e *longListError) Error() string { return e.text }

// fresh reads the lists again if they are older than the upstream allows.
func (i *instance) fresh(ctx context.Context, c *mcp.Client) error {
	i.mu.Lock()
	old := time.Since(i.listedAt) > i.ttl
	i.mu.Unlock()
	if !old {
		return nil
	}
	return i.readLists(ctx, c)
}

// hash returns the hash of a definition in this connection's last list.
func (i *instance) hash(kind mcp.Kind, name string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hashes[item{string(kind), name}]
}
