//lint:file-ignore SA1019 what is deprecated must work, too

package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// nothing is the type of the arguments of a tool without any.
type nothing struct{}

// step is the time between messages that a client should see separately.
const step = 50 * time.Millisecond

// addTools adds the tools that do not ask the client.
func addTools(s *mcp.Server) {
	addTypes(s)
	// Lists are sorted by name. The suite calls the first tool without
	// arguments, so this one must sort before confirm_delete.
	mcp.AddTool(s, mcp.Tool{
		Name:        "call_with_header",
		Description: "Take an argument that is also sent as an HTTP header.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","description":"where to run","x-mcp-header":"Region"}}}`),
	}, callWithHeader)
	s.AddRawTool(mcp.Tool{
		Name:        "json_schema_2020_12_tool",
		Description: "Tool with JSON Schema 2020-12 features",
		InputSchema: json.RawMessage(schema2020),
	}, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) { return text("The arguments fit."), nil })

	fixed(s, "test_simple_text", "Answer with a text.", text("This is a simple text response for testing."))
	fixed(s, "test_image_content", "Answer with an image.", blocks(mcp.Image(png, "image/png")))
	fixed(s, "test_audio_content", "Answer with a sound.", blocks(mcp.Audio(wav, "audio/wav")))
	fixed(s, "test_embedded_resource", "Answer with the contents of a resource.", blocks(mcp.Embed(mcp.ResourceContents{
		URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content.",
	})))
	fixed(s, "test_multiple_content_types", "Answer with a text, an image and a resource.", blocks(
		mcp.Text("Multiple content types test:"),
		mcp.Image(png, "image/png"),
		mcp.Embed(mcp.ResourceContents{
			URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`,
		}),
	))
	mcp.AddTool(s, mcp.Tool{Name: "test_error_handling", Description: "Fail, and tell the model why."}, failing)
	mcp.AddTool(s, mcp.Tool{Name: "test_tool_with_progress", Description: "Report progress three times."}, progressing)
	mcp.AddTool(s, mcp.Tool{Name: "test_tool_with_logging", Description: "Log three messages to the client."}, logging)
	mcp.AddTool(s, mcp.Tool{Name: "test_logging_tool", Description: "Log to a client that asks for it."}, logging)
	mcp.AddTool(s, mcp.Tool{Name: "test_reconnection", Description: "Let the client go, and answer when it has come back."}, reconnecting)
	mcp.AddTool(s, mcp.Tool{Name: "test_trigger_tool_change", Description: "Change the list of tools."},
		func(context.Context, *mcp.Call, nothing) (string, error) {
			fixed(s, "test_passing_tool", "Here one moment, gone the next.", text(""))
			s.Remove(mcp.KindTool, "test_passing_tool")
			return "A tool came and went.", nil
		})
	mcp.AddTool(s, mcp.Tool{Name: "test_trigger_prompt_change", Description: "Change the list of prompts."},
		func(context.Context, *mcp.Call, nothing) (string, error) {
			addSimplePrompt(s, "test_passing_prompt")
			s.Remove(mcp.KindPrompt, "test_passing_prompt")
			return "A prompt came and went.", nil
		})
}

type region struct {
	Region string `json:"region"`
}

func callWithHeader(_ context.Context, _ *mcp.Call, in region) (string, error) {
	return "Region: " + in.Region, nil
}

func failing(context.Context, *mcp.Call, nothing) (string, error) {
	return "", &mcp.ToolError{Text: "This tool intentionally returns an error for testing"}
}

func progressing(ctx context.Context, c *mcp.Call, _ nothing) (string, error) {
	for _, done := range []float64{0, 50, 100} {
		c.Progress(done, 100, "")
		if err := sleep(ctx, step); err != nil {
			return "", err
		}
	}
	return "Progress was reported.", nil
}

func logging(ctx context.Context, c *mcp.Call, _ nothing) (string, error) {
	for _, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		c.Logger().Info(message)
		if err := sleep(ctx, step); err != nil {
			return "", err
		}
	}
	return "Messages were logged.", nil
}

func reconnecting(ctx context.Context, c *mcp.Call, _ nothing) (string, error) {
	c.CloseStream(2 * step)
	if err := sleep(ctx, 2*step); err != nil {
		return "", err
	}
	return "The client came back.", nil
}

// fixed adds a tool with a constant result.
func fixed(s *mcp.Server, name, description string, answer *mcp.ToolResult) {
	mcp.AddTool(s, mcp.Tool{Name: name, Description: description},
		func(context.Context, *mcp.Call, nothing) (*mcp.ToolResult, error) { return answer, nil })
}

func text(s string) *mcp.ToolResult { return blocks(mcp.Text(s)) }

func blocks(content ...mcp.Content) *mcp.ToolResult { return &mcp.ToolResult{Content: content} }

// sleep waits for d, or returns the cause if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// schema2020 is the suite's own schema; it checks whether a server lists all of
// it.
const schema2020 = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
    }
  },
  "properties": {
    "name": {"type": "string"},
    "address": {"$ref": "#/$defs/address"},
    "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    "phone": {"type": "string"},
    "email": {"type": "string"}
  },
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]},
  "additionalProperties": false
}`

var (
	// png is an image of one pixel.
	png = decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	// wav is an empty sound.
	wav = decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=")
)

func decode(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}
