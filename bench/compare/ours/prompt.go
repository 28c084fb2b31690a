package ours

import (
	"context"

	"github.com/bossman-dev/bossman/mcp"
)

func addReview(s *mcp.Server) {
	s.AddPrompt(mcp.Prompt{Name: "review", Arguments: []mcp.PromptArgument{{Name: "file", Required: true}}},
		func(_ context.Context, c *mcp.Call) (*mcp.PromptResult, error) {
			return &mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: "user", Content: mcp.Text("Review " + c.Argument("file"))}}}, nil
		})
}
