package gosdk

import (
	"bytes"
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Counts counts requests by method.
type Counts struct{ sync.Map }

// count counts all requests, and hides passwords in arguments.
func count(s *mcp.Server, counts *Counts) {
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			counts.Store(method, true)
			if call, ok := req.(*mcp.CallToolRequest); ok {
				call.Params.Arguments = bytes.ReplaceAll(call.Params.Arguments, []byte("hunter2"), []byte("***"))
			}
			return next(ctx, method, req)
		}
	})
}
