package gosdk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type drawing struct {
	Topic string `json:"topic" jsonschema:"what to draw"`
	Style string `json:"style,omitempty" jsonschema:"drawing style"`
	Steps int    `json:"steps,omitempty" jsonschema:"number of steps"`
}

type drawn struct {
	Summary string `json:"summary" jsonschema:"what was drawn"`
}

func addDraw(s *mcp.Server) {
	schema, err := jsonschema.For[drawing](nil)
	if err != nil {
		panic(err)
	}
	schema.Properties["topic"].MinLength = jsonschema.Ptr(1)
	schema.Properties["style"].Enum = []any{"ink", "oil"}
	schema.Properties["style"].Default = json.RawMessage(`"ink"`)
	schema.Properties["steps"].Minimum = jsonschema.Ptr(1.0)
	schema.Properties["steps"].Maximum = jsonschema.Ptr(50.0)
	schema.Properties["steps"].Default = json.RawMessage(`4`)
	mcp.AddTool(s, &mcp.Tool{Name: "draw", Description: "Draw something.", InputSchema: schema},
		func(_ context.Context, _ *mcp.CallToolRequest, in drawing) (*mcp.CallToolResult, drawn, error) {
			return nil, drawn{fmt.Sprintf("%s in %s, %d steps", in.Topic, in.Style, in.Steps)}, nil
		})
}
