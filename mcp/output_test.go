package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

type picture struct {
	Width int `json:"width"`
}

// An Output has the schema and the structured content of its value, and more beside them.
func TestOutput(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "n", Version: "1"}, nil)
	type out = mcp.Output[picture]
	add(s, "full", out{Value: picture{3}, Content: []mcp.Content{mcp.Text("see"), mcp.Image([]byte("png"), "image/png")}, Meta: mcp.Meta{"k": "v"}})
	add(s, "bare", out{Value: picture{3}})
	add(s, "empty", out{Value: picture{3}, Content: []mcp.Content{}})
	add(s, "text", mcp.Output[string]{Value: "hi", Meta: mcp.Meta{"k": "v"}})
	add(s, "pointer", &out{Value: picture{3}})
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		structured := c.Revision() >= mcp.R20250618
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			const schema = `{"type":"object","properties":{"width":{"type":"integer"}},"required":["width"],"additionalProperties":false}`
			if want := schema; tool.Name != "text" && string(tool.OutputSchema) != want || tool.Name == "text" && tool.OutputSchema != nil {
				t.Errorf("%s has the output schema %s", tool.Name, tool.OutputSchema)
			}
			res, err := c.Call(t.Context(), tool.Name, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantText := map[string]string{"full": "see", "empty": "", "text": "hi"}
			want, ok := wantText[tool.Name]
			if !ok {
				want = `{"width":3}`
			}
			if res.Text() != want || tool.Name == "full" && (len(res.Content) != 2 || res.Content[1].Type != "image") {
				t.Errorf("%s = %+v", tool.Name, res)
			}
			if got := string(res.StructuredContent); structured && tool.Name != "text" && got != `{"width":3}` {
				t.Errorf("the structured content of %s is %s", tool.Name, got)
			}
			if want := tool.Name == "full" || tool.Name == "text"; want != (res.Meta["k"] == "v") {
				t.Errorf("the _meta of %s is %v", tool.Name, res.Meta)
			}
		}
	})
}

// A result is checked against an output schema that the program supplies; what does not match
// is a mistake of the server, which the log tells.
func TestAddTool_suppliedOutputSchema(t *testing.T) {
	var log bytes.Buffer
	s := mcp.NewServer(mcp.Implementation{Name: "n", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	schema := json.RawMessage(`{"type":"object","properties":{"width":{"type":"integer","minimum":1}},"required":["width"]}`)
	for name, out := range map[string]picture{"good": {1}, "bad": {0}} {
		mcp.AddTool(s, mcp.Tool{Name: name, Description: "Test.", OutputSchema: schema}, func(context.Context, *mcp.Call, struct{}) (picture, error) { return out, nil })
	}
	for name, res := range map[string]*mcp.ToolResult{
		"raw-good":    {StructuredContent: json.RawMessage(`{"width":2}`)},
		"raw-bad":     {StructuredContent: json.RawMessage(`{"width":"wide"}`)},
		"raw-missing": {Content: []mcp.Content{mcp.Text("wide")}},
		"raw-failed":  {Content: []mcp.Content{mcp.Text("no")}, IsError: true},
	} {
		s.AddRawTool(mcp.Tool{Name: name, Description: "Test.", OutputSchema: schema}, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) { return res, nil })
	}
	mcp.AddTool(s, mcp.Tool{Name: "nil", Description: "Test."}, func(context.Context, *mcp.Call, struct{}) (*picture, error) { return nil, nil })
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		for name, why := range map[string]string{
			"good": "", "raw-good": "",
			"bad":         "does not match its output schema: width: want at least 1",
			"raw-bad":     "does not match its output schema: width: want an integer, got a string",
			"raw-missing": "has no structured content",
			"raw-failed":  "-",
			"nil":         "the handler returned a nil *mcp_test.picture",
		} {
			log.Reset()
			res, err := c.Call(t.Context(), name, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			logged := why != "" && why != "-"
			if res.IsError != (why != "") || logged != strings.Contains(log.String(), why) && why != "" || logged != strings.HasPrefix(res.Text(), "Internal error: ref") {
				t.Errorf("%s = %s, and the log has %s", name, res.Text(), log.String())
			}
		}
	})
}

// A handler can read the revision and the _meta of its request.
func TestCall_request(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "n", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "look", Description: "Test."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return c.Revision().String() + string(c.Meta("com.example/trace")) + string(c.Meta("none")) + c.Header("X-Trace") + c.Principal().ID, nil
	})
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		res, err := c.Call(t.Context(), "look", nil, &mcp.CallOptions{Meta: mcp.Meta{"com.example/trace": []int{7}}})
		if want := c.Revision().String() + "[7]local"; err != nil || res.Text() != want {
			t.Errorf("look = %v, %v, want %s", res, err, want)
		}
	})
}
