package mcp_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

// The type of a result may be anything; a tool has an output schema only if its results are
// objects, because clients refuse a list of tools with any other one.
func TestAddTool_outputSchema(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "n", Version: "1"}, nil)
	add(s, "any", any(map[string]any{"a": 1.0}))
	add(s, "raw", json.RawMessage(`{"a":1}`))
	add(s, "array", []int{1})
	add(s, "number", 1)
	add(s, "object", struct {
		A int `json:"a"`
	}{1})
	add(s, "map", map[string]int{"a": 1})
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if want := tool.Name == "object" || tool.Name == "map"; want != (tool.OutputSchema != nil) {
				t.Errorf("the output schema of %s is %s", tool.Name, tool.OutputSchema)
			}
			res, err := c.Call(t.Context(), tool.Name, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[string]string{"array": "[1]", "number": "1"}[tool.Name]; res.Text() != want && (want != "" || res.Text() != `{"a":1}`) {
				t.Errorf("%s = %s", tool.Name, res.Text())
			}
		}
	})
}

func add[Out any](s *mcp.Server, name string, out Out) {
	mcp.AddTool(s, mcp.Tool{Name: name, Description: "Test."}, func(context.Context, *mcp.Call, struct{}) (Out, error) { return out, nil })
}
