package gateway

import (
	"context"
	"encoding/json"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/mcp"
)

// In the revision in which each request has the capabilities of its client, the gateway sends an upstream those of the caller.
func TestCapabilities(t *testing.T) {
	up := quietServer()
	raw(t, up, `{"name":"can","inputSchema":{"type":"object"}}`, func(_ context.Context, c *mcp.Call) (json.RawMessage, error) {
		have := c.ClientCapabilities()
		text, err := jsonv2.Marshal([]bool{have.Elicitation != nil, have.Sampling != nil, have.Roots != nil})
		return json.RawMessage(`{"content":[],"structuredContent":{"can":` + string(text) + `}}`), err
	})
	l := newLab(t, map[string]*mcp.Server{"up": up}, mcp.R20260728, nil)
	elicit := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	roots := func(context.Context) ([]mcp.Root, error) { return nil, nil }
	for want, o := range map[string]*mcp.ClientOptions{
		`[false,false,false]`: nil,
		`[true,false,false]`:  {Elicit: elicit},
		`[false,false,true]`:  {Roots: roots},
		`[true,false,true]`:   {Elicit: elicit, Roots: roots},
	} {
		eachRevision(t, l.server, o, func(t *testing.T, c *mcp.Client) {
			if o != nil && o.Elicit != nil && (c.Revision() == mcp.R20241105 || c.Revision() == mcp.R20250326) {
				t.Skip("it has no forms")
			}
			res, err := c.Call(t.Context(), "up__can", nil, nil)
			if err != nil || string(res.StructuredContent) != `{"can":`+want+`}` {
				t.Errorf("the upstream is told %+v, %v; want %s", res, err, want)
			}
		})
	}
}
