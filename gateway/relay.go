package gateway

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// A relay is an upstream that is itself a gateway: the server that has the board, seen from a laptop. What its
// upstreams have is published under the names that it has there. The server decides about
// definitions and claims; this process tells it which claim a call is made under.

// Extension is what a server declares that has a gateway.
const Extension = "dev.bossman/gateway"

// relayClient is the name of a gateway as a client of another one, which lists all tools for it.
const relayClient = "bossman-gateway"

// Members of _meta by which a gateway tells another one about a definition.
const (
	upstreamMeta = "dev.bossman/upstream"
	classMeta    = "dev.bossman/class"
)

// NewRelay returns the upstream for a server that has a gateway. Its Dial must be set.
func NewRelay(name string) Upstream {
	return Upstream{Name: name, List: "auto", Max: maxOverHTTP, Timeout: 10 * time.Minute, Idle: defaultIdle}
}

func (u *Upstream) isRelay() bool { return u.Dial != nil }

// prefix is what the published names of an upstream's items begin with.
func (u *Upstream) prefix() string {
	if u.isRelay() {
		return ""
	}
	return u.Name
}

// markDefinition returns a published definition with what other gateways need to know about it. Marks of the upstream itself
// are removed.
func markDefinition(definition json.RawMessage, e *entry) (json.RawMessage, error) {
	text, err := dropMeta(definition, func(name string) bool { return strings.HasPrefix(name, "dev.bossman/") })
	if err == nil {
		text, err = setMeta(text, upstreamMeta, quote(e.upstream.Name))
	}
	if err == nil && e.class != ClassUnset {
		text, err = setMeta(text, classMeta, quote(string(e.class)))
	}
	return text, err
}

// relayed returns the definitions of a relay that are other servers', and not ours as well: those of
// a board's own tools have no mark.
func (g *Gateway) relayed(list []json.RawMessage) []json.RawMessage {
	return slices.DeleteFunc(slices.Clone(list), func(definition json.RawMessage) bool {
		origin := markOf(definition, upstreamMeta)
		_, ours := g.upstreams[origin]
		return origin == "" || ours
	})
}

// markOf returns a mark of a definition, or "".
func markOf(definition json.RawMessage, name string) string {
	v := member(member(definition, "_meta"), name)
	if len(v) == 0 || v[0] != '"' {
		return ""
	}
	return rawjson.Text(v)
}

// takesClaim reports whether an input schema has the property for a claim.
func takesClaim(definition json.RawMessage) bool {
	properties := bytes.TrimSpace(member(member(definition, "inputSchema"), "properties"))
	return len(properties) > 0 && properties[0] == '{' && member(properties, claimArgument) != nil
}

// relayParams returns the parameters of a call at a relay. Tools that cannot have a property for the claim are called
// by the one that has it, too.
func relayParams(r *request, claim string) (json.RawMessage, error) {
	return jsonv2.Marshal(map[string]any{"name": callTool, "arguments": struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Claim     string          `json:"claim,omitzero"`
		Step      string          `json:"step,omitzero"`
	}{r.entry.name, r.args, claim, r.step}})
}
