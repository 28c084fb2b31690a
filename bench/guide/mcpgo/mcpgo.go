// Package mcpgo has the snippets of docs/from-mcp-go.md that use mcp-go.
package mcpgo

import (
	"context"
	"log"
	"log/slog"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func forecast(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	city, err := req.RequireString("city")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	if city == "Atlantis" {
		return mcp.NewToolResultErrorf("%s is under water; name another city", city), nil
	}
	return mcp.NewToolResultJSON(map[string]any{"highs": make([]int, req.GetInt("days", 3))})
}

func newServer(o ...server.ServerOption) *server.MCPServer {
	s := server.NewMCPServer("weather", "1.0.0", o...)
	s.AddTool(mcp.NewTool("forecast",
		mcp.WithDescription("Forecast the weather."),
		mcp.WithString("city", mcp.Required(), mcp.Description("name of the city")),
		mcp.WithNumber("days", mcp.Description("days to forecast"), mcp.Min(1), mcp.Max(10)),
	), forecast)
	return s
}

func main() {
	if err := server.ServeStdio(newServer()); err != nil {
		log.Fatal(err)
	}
}

func order(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var ask mcp.ElicitationRequest
	ask.Params.Message = "Which size?"
	ask.Params.RequestedSchema = sizeSchema
	res, err := server.ServerFromContext(ctx).RequestElicitation(ctx, ask)
	if err != nil {
		return nil, err
	}
	if res.Action != mcp.ElicitationResponseActionAccept {
		return mcp.NewToolResultText("nothing was ordered"), nil
	}
	size := res.Content.(map[string]any)["size"].(string)
	return mcp.NewToolResultText("ordered size " + size), nil
}

func copyFiles(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for i := range files {
		if req.Params.Meta != nil && req.Params.Meta.ProgressToken != nil {
			_ = server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": req.Params.Meta.ProgressToken, "progress": i, "total": len(files),
			})
		}
	}
	return mcp.NewToolResultText("done"), nil
}

func logCalls() server.ServerOption {
	return server.WithToolHandlerMiddleware(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res, err := next(ctx, req)
			slog.Info("call", "tool", req.Params.Name, "err", err)
			return res, err
		}
	})
}

func ServeHTTP() error {
	return server.NewStreamableHTTPServer(newServer()).Start(":8080")
}

func callChild(ctx context.Context) error {
	c, err := client.NewStdioMCPClient("weather-server", nil)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		return err
	}
	var req mcp.CallToolRequest
	req.Params.Name = "forecast"
	req.Params.Arguments = map[string]any{"city": "Oslo"}
	res, err := c.CallTool(ctx, req)
	log.Print(res, err)
	return err
}

func Main() {
	main()
	s := newServer(logCalls())
	s.AddTool(mcp.NewTool("order"), order)
	s.AddTool(mcp.NewTool("copy"), copyFiles)
	log.Print(callChild(context.Background()))
}

var (
	sizeSchema map[string]any
	files      []string
)
