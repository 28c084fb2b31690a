package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/mcp"
)

// An Item is a tool or prompt of an upstream, for the operator.
type Item struct {
	Upstream   string
	Kind       mcp.Kind
	Name       string // the upstream's own
	Published  string // the name that clients see; empty if it is withheld
	Class      Class
	Hash       string
	Definition json.RawMessage
	Withheld   string // why it is not published; empty if it is
	Approvable bool   // it is withheld until a person approves it
}

// Items returns what the upstreams list, in order, and what of it is published.
func (g *Gateway) Items() []Item {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []Item
	for _, e := range g.offer.entries {
		it := Item{Upstream: e.upstream.Name, Kind: e.kind, Name: e.name, Class: e.class, Hash: e.hash, Definition: e.definition, Withheld: e.withheld, Approvable: e.approvable}
		if e.withheld == "" {
			it.Published = e.published
		}
		list = append(list, it)
	}
	return list
}

// A Status is how an upstream is, for the operator.
type Status struct {
	Upstream  string
	Remote    bool // it is reached over HTTP; else it is a child process
	Share     Share
	State     string // asleep, starting, up or failed; empty if this gateway does not run
	Err       string // of the last start, if that failed
	RetryAt   time.Time
	Listed    time.Time
	Instances int
}

// Statuses returns how the upstreams are.
func (g *Gateway) Statuses() []Status {
	var list []Status
	g.mu.Lock()
	asleep := ""
	if g.running {
		asleep = "asleep"
	}
	g.mu.Unlock()
	for _, name := range g.names() {
		u := g.upstreams[name]
		s := Status{Upstream: name, Remote: u.URL != "" || u.isRelay(), Share: u.Share, State: asleep}
		u.mu.Lock()
		if u.catalogue != nil {
			s.Listed = u.catalogue.ListedAt
		}
		instances := make([]*instance, 0, len(u.instances))
		for _, i := range u.instances {
			instances = append(instances, i)
		}
		u.mu.Unlock()
		for _, i := range instances {
			i.mu.Lock()
			switch {
			case i.client != nil:
				s.State, s.Instances = "up", s.Instances+1
			case i.starting != nil && s.State != "up":
				s.State = "starting"
			case i.err != nil && s.State == asleep:
				s.State, s.Err, s.RetryAt = "failed", i.err.Error(), i.retryAt
			}
			i.mu.Unlock()
		}
		list = append(list, s)
	}
	return list
}

// Refresh starts an upstream if it is asleep, reads its lists, and publishes them.
func (g *Gateway) Refresh(ctx context.Context, name string) error {
	u := g.upstreams[name]
	if u == nil {
		return fmt.Errorf("there is no upstream %s", name)
	}
	i := g.instance(u, "")
	client, done, err := i.connect(ctx)
	if err != nil {
		return err
	}
	defer done()
	return i.readLists(ctx, client)
}

// Probe connects to an upstream, and ends the connection at once. It reads no lists, and changes nothing that is stored.
func (g *Gateway) Probe(ctx context.Context, name string) error {
	u := g.upstreams[name]
	if u == nil {
		return fmt.Errorf("there is no upstream %s", name)
	}
	u.mu.Lock()
	i := u.newInstanceLocked(g, "")
	u.mu.Unlock()
	c, err := i.dial(ctx)
	if err != nil {
		return errors.New(u.redact(err.Error()))
	}
	return c.Close()
}

// Upstreams returns the names of the upstreams, in order.
func (g *Gateway) Upstreams() []string { return g.names() }

// Approved returns the approved definition of an item that was approved last, or nil.
func (g *Gateway) Approved(it Item) *Pin {
	u := g.upstreams[it.Upstream]
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	var last *Pin
	for _, p := range u.pins {
		if p.Kind == it.Kind && p.Name == it.Name {
			last = &p
		}
	}
	return last
}

// Approve pins the definitions of items as they are, on behalf of a person.
func (g *Gateway) Approve(ctx context.Context, by string, items ...Item) error {
	pins := map[string][]Pin{}
	for _, it := range items {
		pins[it.Upstream] = append(pins[it.Upstream], Pin{Kind: it.Kind, Name: it.Name, Hash: it.Hash, Definition: it.Definition, By: by, At: time.Now().UTC()})
	}
	for upstream, list := range pins {
		if err := g.o.Store.AddPins(ctx, upstream, list...); err != nil {
			return err
		}
	}
	g.Reload(ctx)
	return nil
}

// ReadableText returns a definition as lines, with everything spelled out that cannot be seen.
func ReadableText(definition json.RawMessage) string {
	v := jsontext.Value(definition).Clone()
	if v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) != nil || v.Indent(jsontext.WithIndent("  ")) != nil {
		return spellOut(string(definition))
	}
	return spellOut(string(v))
}
