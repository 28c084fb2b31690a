package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// The tools of search mode.
const (
	searchTool   = "search_tools"
	callReadTool = "call_read_tool"
	callTool     = "call_tool"
)

var searchTools = []string{searchTool, callReadTool, callTool}

const (
	maxHits    = 5
	maxSchemas = 6 << 10 // bytes of all schemas in one answer
)

// addSearchTools adds the tools by which clients reach what they do not list.
func (g *Gateway) addSearchTools(s *mcp.Server) {
	load := mcp.Meta{alwaysLoad: true}
	s.AddRawTool(mcp.Tool{
		Name: searchTool, Description: "Find tools of the connected servers, such as GitHub or a browser. Say what you want to do.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"what to do, in a few words"},"upstream":{"type":"string","description":"search only this server"}},"required":["query"],"additionalProperties":false}`),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, Meta: load,
	}, g.search)
	const properties = `"name":{"type":"string","description":"name of the tool, as found"},"arguments":{"type":"object","description":"arguments of the tool, as its inputSchema says"}`
	unreachable := func(context.Context, *mcp.Call) (*mcp.ToolResult, error) { // middleware replaces the call
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "the call was not replaced")
	}
	s.AddRawTool(mcp.Tool{
		Name: callReadTool, Description: "Call a tool that search_tools found with \"call\": \"call_read_tool\". It changes nothing.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":["name"],"additionalProperties":false}`),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, Meta: load,
	}, unreachable)
	s.AddRawTool(mcp.Tool{
		Name: callTool, Description: "Call any tool that search_tools found.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{` + properties + `,"claim":{"type":"string","description":"claim of the task that the call is for; omit if you hold one task"},"step":{"type":"string","description":"name of a step that must run at most once for the task"}},"required":["name"],"additionalProperties":false}`),
		Meta:        load,
	}, unreachable)
}

// A hit is a tool that was found.
type hit struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitzero"`
	Call        string          `json:"call"` // the tool to call it with
	InputSchema json.RawMessage `json:"inputSchema,omitzero"`
	Note        string          `json:"note,omitzero"`
}

func (g *Gateway) search(ctx context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
	var in struct {
		Query    string `json:"query"`
		Upstream string `json:"upstream"`
	}
	if err := jsonv2.Unmarshal(c.Arguments(), &in); err != nil {
		return nil, err
	}
	g.mu.Lock()
	o := g.offer
	g.mu.Unlock()
	hits, left := []hit{}, maxSchemas
	for _, name := range g.find(ctx, o, in.Query, in.Upstream, maxHits) {
		e := o.tools[name]
		h := hit{Name: name, Description: descriptionOf(e.definition), Call: callTool}
		if e.class == ClassRead {
			h.Call = callReadTool
		}
		if schema := bytes.TrimSpace(member(e.definition, "inputSchema")); len(schema) <= left {
			h.InputSchema, left = schema, left-len(schema)
		} else {
			h.Note = "inputSchema is omitted because it is long: search for this tool alone, or call it and read the error"
		}
		hits = append(hits, h)
	}
	if len(hits) == 0 {
		return &mcp.ToolResult{Content: []mcp.Content{mcp.Text(g.nothingFound(ctx, o))}}, nil
	}
	text, err := jsonv2.Marshal(hits)
	if err != nil {
		return nil, err
	}
	return &mcp.ToolResult{Content: []mcp.Content{mcp.Text(string(text))}}, nil
}

func (g *Gateway) find(ctx context.Context, o *offer, query, upstream string, n int) []string {
	if o.index == nil {
		return nil
	}
	return o.index.search(query, n, func(name string) bool {
		e := o.tools[name]
		return e != nil && g.allowed(ctx, e) && (upstream == "" || e.origin == upstream)
	})
}

// nothingFound tells the model what there is.
func (g *Gateway) nothingFound(ctx context.Context, o *offer) string {
	count := map[string]int{}
	for _, e := range o.tools {
		if g.allowed(ctx, e) {
			count[e.origin]++
		}
	}
	for name, u := range g.upstreams {
		if !u.isRelay() && count[name] == 0 {
			count[name] = 0 // it is there
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s (%d tools)", name, count[name]))
	}
	return "Nothing was found. Servers: " + strings.Join(parts, ", ") + ". Search with other words."
}

// descriptionOf returns the first sentence of a tool's description.
func descriptionOf(definition json.RawMessage) string {
	var d struct {
		Description string `json:"description"`
	}
	_ = jsonv2.Unmarshal(definition, &d)
	return firstSentence(d.Description)
}

// middleware replaces calls of call_tool by calls of the tool that is meant, and keeps for the
// handlers what they do not see.
func (g *Gateway) middleware(next mcp.Handler) mcp.Handler {
	return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
		switch r.Method {
		case "tools/call", "prompts/get", "resources/read":
			info := callInfo{meta: member(r.Params(), "_meta")}
			if r.Method == "tools/call" {
				if name := r.Target().Name; name == callTool || name == callReadTool {
					if refused := g.redirect(ctx, r, name, &info); refused != nil {
						return refused, nil
					}
				}
			}
			ctx = context.WithValue(ctx, callInfoKey{}, info)
			if r.Method == "resources/read" {
				if res, ok, err := g.readArtifactResource(ctx, r); ok {
					return res, err
				}
				res, err := next(ctx, r)
				if isUnknownResource(err) {
					if named, ok, err := g.readNamed(ctx, r); ok {
						return named, err
					}
				}
				return res, err
			}
		case "tools/list":
			res, err := next(ctx, r)
			g.mu.Lock()
			empty := len(g.offer.entries) == 0
			g.mu.Unlock()
			if l, ok := res.(*mcp.ListResult[mcp.Tool]); ok && !empty {
				l.Private = true // lists depend on the client
				l.TTL = min(l.TTL, g.ttl())
			}
			return res, err
		}
		return next(ctx, r)
	}
}

// ttl is how long a list may be cached that has the tools of all upstreams.
func (g *Gateway) ttl() time.Duration {
	shortest := defaultTTL
	for _, u := range g.upstreams {
		u.mu.Lock()
		if u.catalogue != nil && u.catalogue.TTLMs > 0 {
			shortest = min(shortest, time.Duration(u.catalogue.TTLMs)*time.Millisecond)
		}
		u.mu.Unlock()
	}
	return shortest
}

// redirect replaces a call of call_tool by one of the tool that is meant. If there is none, it returns
// the result that says so.
func (g *Gateway) redirect(ctx context.Context, r *mcp.Request, by string, info *callInfo) *mcp.ToolResult {
	var in struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Claim     string          `json:"claim"`
		Step      string          `json:"step"`
	}
	if args := r.Arguments(); args == nil || jsonv2.Unmarshal(args, &in) != nil {
		return refusal("invalid arguments: want {\"name\": …, \"arguments\": {…}}")
	}
	if in.Name == artifactTool && g.o.Artifact != nil {
		return g.readArtifact(ctx, in.Arguments)
	}
	e := g.tool(ctx, in.Name)
	switch {
	case e == nil:
		text := fmt.Sprintf("there is no tool %.200q", in.Name)
		g.mu.Lock()
		o := g.offer
		g.mu.Unlock()
		if why := o.withheldReason(in.Name); why != "" {
			text += ": " + why
		} else if near := g.find(ctx, o, strings.ReplaceAll(in.Name, "_", " "), "", 3); len(near) > 0 {
			text += "; did you mean " + strings.Join(near, ", ") + "?"
		}
		return refusal("%s. search_tools finds tools.", text)
	case by == callReadTool && e.class != ClassRead:
		return refusal("%s may change something: call it with call_tool", in.Name)
	}
	args := in.Arguments
	if len(args) > 0 && args[0] == '"' { // some models send an object as text
		args = json.RawMessage(rawjson.Text(args))
	}
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	info.claim, info.step = in.Claim, in.Step
	params := appendMember(appendMember([]byte{'{'}, "name", quote(e.published)), "arguments", args)
	for name, v := range rawjson.Members(r.Params()) {
		if name != "name" && name != "arguments" {
			params = appendMember(params, name, v)
		}
	}
	if err := r.SetParams(append(params, '}')); err != nil {
		return refusal("invalid arguments: arguments must be an object")
	}
	return nil
}

// withheldReason says why a tool is not published under a name that it would have.
func (o *offer) withheldReason(published string) string {
	for _, e := range o.entries {
		if name, ok := publishedName(e.upstream.prefix(), e.name); ok && name == published && e.kind == mcp.KindTool {
			return e.withheld
		}
	}
	return ""
}

func refusal(format string, args ...any) *mcp.ToolResult {
	return &mcp.ToolResult{IsError: true, Content: []mcp.Content{mcp.Text(fmt.Sprintf(format, args...))}}
}
