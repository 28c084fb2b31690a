package mcp_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// A person who agreed to visit a page is not asked again while they are there.
func TestClient_visitsOnce(t *testing.T) {
	const page = `{"mode":"url","message":"Log in","url":"https://a.example/login","elicitationId":"1"}`
	for _, r := range []mcp.Revision{mcp.R20251125, mcp.LatestRevision} {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				begun := time.Now()
				tr := play(t, func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
					switch {
					case m.Method == "initialize":
						return answer(m, initialized("2025-11-25"))
					case m.Method == "server/discover":
						return answer(m, discovered)
					case m.Method != "tools/call":
						return nil
					case time.Since(begun) > 10*time.Second: // they are back
						return answer(m, `{"resultType":"complete","content":[]}`)
					case r.Stateless():
						return answer(m, `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":`+page+`}}}`)
					}
					return fail(m, -32042, json.RawMessage(`{"elicitations":[`+page+`]}`))
				})
				c, err := mcp.Connect(t.Context(), tr, quiet(mcp.ClientOptions{Revision: r, Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					asked.Add(1)
					return &mcp.ElicitResult{Action: "accept"}, nil
				}}))
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if _, err := c.Call(t.Context(), "x", nil, nil); err != nil || asked.Load() != 1 {
					t.Errorf("Call = %v, after asking %d times", err, asked.Load())
				}
			})
		})
	}
}
