package mcpgo

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Counts counts requests by method.
type Counts struct{ sync.Map }

// counting counts all requests.
func counting(counts *Counts) *server.Hooks {
	hooks := &server.Hooks{}
	hooks.AddBeforeAny(func(_ context.Context, _ any, method mcp.MCPMethod, _ any) {
		counts.Store(string(method), true)
	})
	return hooks
}

// hide hides passwords in arguments.
func hide(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if raw := req.Params.RawArguments; len(raw) > 0 {
			var args map[string]any
			req.Params.RawArguments = bytes.ReplaceAll(raw, []byte("hunter2"), []byte("***"))
			if err := json.Unmarshal(req.Params.RawArguments, &args); err != nil {
				return nil, err
			}
			req.Params.Arguments = args
		}
		return next(ctx, req)
	}
}
