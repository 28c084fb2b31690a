package ours

import (
	"context"
	"fmt"

	"github.com/bossman-dev/bossman/mcp"
)

type drawing struct {
	Topic string `json:"topic" jsonschema:"what to draw" minLength:"1"`
	Style string `json:"style" jsonschema:"drawing style" enum:"ink,oil" default:"ink"`
	Steps int    `json:"steps" jsonschema:"number of steps" minimum:"1" maximum:"50" default:"4"`
}

type drawn struct {
	Summary string `json:"summary" jsonschema:"what was drawn"`
}

func addDraw(s *mcp.Server) {
	mcp.AddTool(s, mcp.Tool{Name: "draw", Description: "Draw something."},
		func(_ context.Context, _ *mcp.Call, in drawing) (drawn, error) {
			return drawn{fmt.Sprintf("%s in %s, %d steps", in.Topic, in.Style, in.Steps)}, nil
		})
}
