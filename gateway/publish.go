package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/mcp"
)

// maxReal is the number of tools up to which clients that load definitions on demand get all of them.
const maxReal = 150

// Names of what we add to a definition.
const (
	claimArgument = "bossman_claim"
	stepArgument  = "bossman_step"
	alwaysLoad    = "anthropic/alwaysLoad"
)

// An entry is a tool or prompt that an upstream lists.
type entry struct {
	upstream   *upstream
	kind       mcp.Kind
	name       string // the upstream's
	origin     string // the configured name of the upstream, here or at a relay
	published  string // empty if it is withheld
	hash       string
	definition json.RawMessage
	class      Class
	byHand     bool   // a person approved it
	pinned     bool   // it is listed for every client
	guarded    bool   // its arguments may have a claim and a step
	hidden     bool   // it cannot be listed, but called with call_tool
	withheld   string // why it is not published; empty if it is
	approvable bool   // it is withheld until a person approves it
}

// An offer is what is published.
type offer struct {
	entries   []*entry
	tools     map[string]*entry // by published name
	prompts   map[string]*entry
	resources map[string]*upstream // by URI
	templates map[string]*upstream // by template
	// texts are the definitions on the server, by kind and name.
	texts map[mcp.Kind]map[string]string
	index *index
}

// Attach publishes what the upstreams have on a server, now and whenever it changes. It installs
// middleware, so the server's own must be there already. The server must have been made with Visible.
func (g *Gateway) Attach(s *mcp.Server) {
	g.mu.Lock()
	g.server = s
	g.mu.Unlock()
	s.Use(g.middleware)
	g.addSearchTools(s)
	g.publish()
}

// publish publishes what is approved, and removes what is not any more.
func (g *Gateway) publish() {
	g.publishing.Lock()
	defer g.publishing.Unlock()
	g.mu.Lock()
	server, old := g.server, g.offer
	g.mu.Unlock()
	if server == nil {
		return
	}
	o := g.newOffer()
	err := server.Update(func(u *mcp.Update) error {
		for _, e := range o.entries {
			if e.withheld != "" {
				continue
			}
			if err := g.add(u, o, old, e); err != nil {
				e.withheld, e.approvable = err.Error(), !e.byHand
			}
		}
		g.addResources(u, o, old)
		for kind, texts := range old.texts {
			for name := range texts {
				if _, ok := o.texts[kind][name]; !ok {
					_ = u.Remove(kind, name) // the kinds are known
				}
			}
		}
		g.set(o) // before clients are notified
		return nil
	})
	if err != nil {
		g.log.Error("the tools of upstreams cannot be published", "err", err)
	}
}

// set makes an offer the current one.
func (g *Gateway) set(o *offer) {
	var tools []searchable
	for _, e := range o.entries {
		switch {
		case e.withheld != "":
			g.log.Warn("an item of an upstream is withheld", "upstream", e.upstream.Name, "kind", string(e.kind), "name", spellOut(e.name), "reason", e.withheld)
		case e.kind == mcp.KindTool:
			o.tools[e.published] = e
			tools = append(tools, searchable{e.published, e.origin, e.definition})
		default:
			o.prompts[e.published] = e
		}
	}
	o.index = newIndex(tools)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.offer = o
}

// newOffer returns what the upstreams list, and decides what is withheld.
func (g *Gateway) newOffer() *offer {
	o := &offer{
		tools: map[string]*entry{}, prompts: map[string]*entry{}, resources: map[string]*upstream{}, templates: map[string]*upstream{},
		texts: map[mcp.Kind]map[string]string{mcp.KindTool: {}, mcp.KindPrompt: {}, mcp.KindResource: {}, mcp.KindResourceTemplate: {}},
	}
	for _, kind := range []mcp.Kind{mcp.KindTool, mcp.KindPrompt} {
		lists := map[string][]string{}
		var entries []*entry
		for _, upstream := range g.names() {
			u := g.upstreams[upstream]
			u.mu.Lock()
			c := u.catalogue
			u.mu.Unlock()
			if c == nil {
				continue
			}
			hashes, list := c.hashes(u.VolatileMeta), c.pinned()[kind]
			if u.isRelay() {
				list = g.relayed(list)
			}
			for _, definition := range list {
				name := nameOf(definition)
				if kind == mcp.KindTool && !u.offers(name) {
					continue
				}
				e := &entry{upstream: u, kind: kind, name: name, origin: u.Name, hash: hashes[item{string(kind), name}], definition: definition}
				if kind == mcp.KindTool {
					e.class, e.pinned = u.classOf(name), matches(u.Pin, name)
				}
				if u.isRelay() {
					e.origin, e.class = markOf(definition, upstreamMeta), Class(markOf(definition, classMeta))
				}
				entries = append(entries, e)
				lists[u.prefix()] = append(lists[u.prefix()], name)
			}
		}
		names, refused := publish(lists, nil)
		pins := map[*upstream]*pinIndex{}
		for _, e := range entries {
			it := item{e.upstream.prefix(), e.name}
			if pins[e.upstream] == nil {
				pins[e.upstream] = e.upstream.indexPins()
			}
			var ok bool
			switch ok, e.byHand = pins[e.upstream].approved(pinKey{kind, e.name, e.hash}); {
			case refused[it] != "":
				e.withheld = refused[it]
			case len(e.definition) > maxDefinition:
				e.withheld = fmt.Sprintf("its definition has more than %d KiB", maxDefinition>>10)
			case !ok && !e.upstream.isRelay():
				e.withheld, e.approvable = pins[e.upstream].whyNot(e), true
			default:
				e.published = names[it]
			}
		}
		o.entries = append(o.entries, entries...)
	}
	return o
}

// add adds an entry to the server, unless it is there already.
func (g *Gateway) add(u *mcp.Update, o, old *offer, e *entry) error {
	text, err := g.publishedDefinition(e)
	if err != nil {
		return err
	}
	before, same := old.texts[e.kind][e.published]
	key := string(text)
	if e.kind == mcp.KindTool {
		key += "\n" + e.upstream.Name + "\n" + e.name
	}
	if !same || before != key {
		u.Unchecked, u.Tasks = e.byHand, mcp.TaskOptional
		err = u.Add(e.kind, text, func(ctx context.Context, c *mcp.Call) (json.RawMessage, error) {
			if e.kind == mcp.KindPrompt {
				return g.getPrompt(ctx, c, e.published)
			}
			return g.callTool(ctx, c, e.published)
		})
		if err != nil {
			return err
		}
	}
	o.texts[e.kind][e.published] = key
	return nil
}

// publishedDefinition returns a definition as clients see it.
func (g *Gateway) publishedDefinition(e *entry) (json.RawMessage, error) {
	text, err := editMember(e.definition, "name", func(json.RawMessage) (json.RawMessage, error) { return quote(e.published), nil })
	if err == nil && g.o.Shared {
		text, err = markDefinition(text, e)
	}
	if err != nil || e.kind != mcp.KindTool {
		return text, err
	}
	text, err = editMember(text, "outputSchema", func(json.RawMessage) (json.RawMessage, error) { return nil, nil })
	if err != nil {
		return nil, err
	}
	text, err = dropMeta(text, func(name string) bool { return name == alwaysLoad })
	if err == nil && e.pinned {
		text, err = setMeta(text, alwaysLoad, json.RawMessage("true"))
	}
	if err != nil {
		return nil, err
	}
	return editMember(text, "inputSchema", func(schema json.RawMessage) (json.RawMessage, error) {
		if len(schema) == 0 || schema[0] != '{' {
			return schema, nil // the server refuses it
		}
		if member(schema, "type") == nil && member(schema, "$ref") != nil {
			e.hidden = true // clients want the type; with it the schema means the same
			return editMember(schema, "type", func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`"object"`), nil })
		}
		if g.o.Guard == nil || e.class == ClassRead {
			return schema, nil
		}
		if e.upstream.isRelay() { // it has added them
			e.guarded = takesClaim(e.definition)
			e.hidden = !e.guarded
			return schema, nil
		}
		listed := guardSchema(schema)
		if listed == nil {
			e.hidden = true
			return schema, nil
		}
		e.guarded = true
		return listed, nil
	})
}

const guardProperties = `"bossman_claim":{"type":"string","description":"claim of the task that this call is for; omit if you hold one task"},` +
	`"bossman_step":{"type":"string","description":"name of a step that must run at most once for the task"}`

// guardSchema returns an input schema with the properties for a claim and a step, or nil if it cannot
// have them.
func guardSchema(schema json.RawMessage) json.RawMessage {
	if member(schema, "$ref") != nil {
		return nil
	}
	properties := member(schema, "properties")
	if properties == nil {
		properties = json.RawMessage("{}")
	}
	if properties[0] != '{' || member(properties, claimArgument) != nil || member(properties, stepArgument) != nil {
		return nil
	}
	joined := bytes.TrimSpace(properties[1:])
	added := []byte("{" + guardProperties)
	if joined[0] != '}' {
		added = append(added, ',')
	}
	out, err := editMember(schema, "properties", func(json.RawMessage) (json.RawMessage, error) { return append(added, joined...), nil })
	if err != nil {
		return nil
	}
	return out
}

// setMeta returns an object with a member of its _meta set.
func setMeta(object json.RawMessage, name string, v json.RawMessage) (json.RawMessage, error) {
	return editMember(object, "_meta", func(meta json.RawMessage) (json.RawMessage, error) {
		if len(meta) == 0 || meta[0] != '{' {
			meta = json.RawMessage("{}")
		}
		return editMember(meta, name, func(json.RawMessage) (json.RawMessage, error) { return v, nil })
	})
}

// Visible reports whether a request sees an item, as mcp.ServerOptions.Visible does. It is true of
// everything that is not the gateway's.
func (g *Gateway) Visible(ctx context.Context, r *mcp.Request, kind mcp.Kind, name string) bool {
	if kind != mcp.KindTool {
		return true
	}
	g.mu.Lock()
	o := g.offer
	g.mu.Unlock()
	listing := r.Method == "tools/list"
	if slices.Contains(searchTools, name) {
		return !listing || slices.ContainsFunc(o.entries, func(e *entry) bool { return e.withheld == "" && e.kind == mcp.KindTool && !g.listsByName(r, o, e) })
	}
	e := o.tools[name]
	switch {
	case e == nil:
		return !g.Owns(kind, name)
	case !g.allowed(ctx, e):
		return false
	}
	return !listing || g.listsByName(r, o, e)
}

// Owns reports whether an item of the server is the gateway's.
func (g *Gateway) Owns(kind mcp.Kind, name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if kind == mcp.KindTool && slices.Contains(searchTools, name) {
		return true
	}
	_, ok := g.offer.texts[kind][name]
	return ok
}

// listsByName reports whether a tool is in the list that a client gets, or only found by a search.
func (g *Gateway) listsByName(r *mcp.Request, o *offer, e *entry) bool {
	mode := e.upstream.List
	if g.o.List != "" && g.o.List != "auto" {
		mode = g.o.List
	}
	switch {
	case r.ClientInfo().Name == relayClient:
		return true
	case e.hidden:
		return false
	case e.pinned || mode == "real":
		return true
	case mode == "search":
		return false
	}
	return r.ClientInfo().Name == "claude-code" && len(o.tools) <= maxReal
}

func (g *Gateway) allowed(ctx context.Context, e *entry) bool {
	return g.o.Allowed == nil || g.o.Allowed(ctx, e.class)
}

// tool returns the entry of a published tool that the caller may call.
func (g *Gateway) tool(ctx context.Context, name string) *entry {
	g.mu.Lock()
	e := g.offer.tools[name]
	g.mu.Unlock()
	if e == nil || !g.allowed(ctx, e) {
		return nil
	}
	return e
}

// nameOf returns the name in a definition.
func nameOf(definition json.RawMessage) string {
	var d struct {
		Name string `json:"name"`
	}
	if jsonv2.Unmarshal(definition, &d) != nil {
		return ""
	}
	return d.Name
}

// member returns a member of an object, or nil.
func member(object json.RawMessage, name string) json.RawMessage {
	for n, v := range rawjson.Members(object) {
		if n == name {
			return v
		}
	}
	return nil
}

func quote(s string) json.RawMessage {
	b, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd"))
	if err != nil {
		return json.RawMessage(`""`)
	}
	return b
}

// number returns a JSON number as an integer, or 0.
func number(v json.RawMessage) int64 {
	var n int64
	if jsonv2.Unmarshal(v, &n) != nil {
		return 0
	}
	return n
}
