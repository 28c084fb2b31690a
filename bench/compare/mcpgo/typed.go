package mcpgo

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type drawn struct {
	Summary string `json:"summary" jsonschema_description:"what was drawn"`
}

func addDraw(s *server.MCPServer) {
	s.AddTool(mcp.NewTool("draw",
		mcp.WithDescription("Draw something."),
		mcp.WithString("topic", mcp.Required(), mcp.Description("what to draw"), mcp.MinLength(1)),
		mcp.WithString("style", mcp.Description("drawing style"), mcp.Enum("ink", "oil"), mcp.DefaultString("ink")),
		mcp.WithInteger("steps", mcp.Description("number of steps"), mcp.Min(1), mcp.Max(50), mcp.DefaultNumber(4)),
		mcp.WithOutputSchema[drawn](),
	), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		topic, err := req.RequireString("topic")
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultJSON(drawn{fmt.Sprintf("%s in %s, %d steps", topic, req.GetString("style", "ink"), req.GetInt("steps", 4))})
	})
}
