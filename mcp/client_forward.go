package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// Forward sends a request that came from elsewhere as JSON, and returns the
// result as JSON: members that this package does not know are kept in both. An
// error of the server is the *jsonrpc.Error that it sent. Otherwise Forward is
// like Call: it answers the server's questions, follows tasks and repeats what
// must be in headers. params is an object or empty. Members of its _meta are
// sent, except those that belong to the connection, such as the revision, the
// capabilities and the progress token.
func (c *Client) Forward(ctx context.Context, method string, params json.RawMessage, o *CallOptions) (json.RawMessage, error) {
	rq := &clientRequest{method: method}
	if len(params) > 0 {
		v := jsontext.Value(slices.Clone(params))
		if !v.IsValid() || v.Kind() != '{' || v.Compact() != nil { // on a pipe a message is a line
			return nil, fmt.Errorf("forward %s: params must be a JSON object", method)
		}
		params = json.RawMessage(v)
	}
	for name, v := range rawjson.Members(params) {
		if name != "_meta" || v[0] != '{' {
			rq.params = append(rq.params, param{strings.Clone(name), rawJSON(v)})
			continue
		}
		for name, v := range rawjson.Members(v) {
			if !belongsToConnection(name) {
				rq.rawMeta = append(rq.rawMeta, param{strings.Clone(name), rawJSON(v)})
			}
		}
	}
	return c.resolve(ctx, rq, o)
}

// belongsToConnection reports whether a member of a request's _meta is about the
// connection that the request came on.
func belongsToConnection(name string) bool {
	switch name {
	case "progressToken", metaVersion, metaCapabilities, metaClientInfo, metaLogLevel, metaSubscription:
		return true
	}
	return false
}
