package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// connect serves s to a client in this process, for the examples. Programs use Start,
// Command.Connect or streamable.Connect.
func connect(s *mcp.Server, o *mcp.ClientOptions) *mcp.Client {
	here, there := jsonrpc.Pipe(jsonrpc.Limits{})
	go func() { _ = s.Serve(context.Background(), there) }()
	c, err := mcp.Connect(context.Background(), here, o)
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// A tool's arguments and results are Go types. Struct tags describe them to the model;
// defaults are filled in, and arguments that do not match never reach the handler.
func ExampleAddTool() {
	type args struct {
		City string `json:"city" jsonschema:"name of the city" minLength:"1"`
		Days int    `json:"days,omitempty" jsonschema:"days to forecast" default:"3" maximum:"10"`
		Unit string `json:"unit,omitempty" jsonschema:"unit of temperature" enum:"C,F" default:"C"`
	}
	type forecast struct {
		City  string   `json:"city"`
		Highs []string `json:"highs"`
	}
	s := mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "forecast", Description: "Forecast the weather."},
		func(_ context.Context, _ *mcp.Call, in args) (forecast, error) {
			f := forecast{City: in.City}
			for day := range in.Days {
				f.Highs = append(f.Highs, fmt.Sprint(20+day, in.Unit))
			}
			return f, nil
		})

	ctx := context.Background()
	c := connect(s, nil)
	defer c.Close()
	f, err := mcp.CallAs[forecast](ctx, c, "forecast", map[string]any{"city": "Oslo"}, nil)
	fmt.Println(f, err)
	res, err := c.Call(ctx, "forecast", map[string]any{"city": "Oslo", "days": 11}, nil)
	fmt.Println(res.IsError, err)
	// Output:
	// {Oslo [20C 21C 22C]} <nil>
	// true <nil>
}

// A result with an image beside its value.
func ExampleOutput() {
	type drawing struct {
		ID string `json:"id"`
	}
	s := mcp.NewServer(mcp.Implementation{Name: "draw", Version: "1.0.0"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "draw", Description: "Draw a cat."},
		func(context.Context, *mcp.Call, struct{}) (mcp.Output[drawing], error) {
			return mcp.Output[drawing]{
				Value:   drawing{ID: "d-1"},
				Content: []mcp.Content{mcp.Text("a cat"), mcp.Image([]byte("\x89PNG"), "image/png")},
			}, nil
		})

	c := connect(s, nil)
	defer c.Close()
	res, err := c.Call(context.Background(), "draw", nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(res.StructuredContent))
	for _, block := range res.Content {
		fmt.Println(block.Type, block.Text, len(block.Data))
	}
	// Output:
	// {"id":"d-1"}
	// text a cat 0
	// image  4
}

// The model sees the text of an error made by Errorf, and no other.
func ExampleErrorf() {
	errQuota := errors.New("quota exceeded")
	s := mcp.NewServer(mcp.Implementation{Name: "files", Version: "1.0.0"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "save", Description: "Save a file."},
		func(context.Context, *mcp.Call, struct{}) (string, error) {
			return "", mcp.Errorf("delete something first: %w", errQuota)
		})

	c := connect(s, nil)
	defer c.Close()
	_, err := mcp.CallAs[string](context.Background(), c, "save", nil, nil)
	if e, ok := errors.AsType[*mcp.ToolError](err); ok {
		fmt.Println("the tool says:", e.Text)
	}
	// Output:
	// the tool says: delete something first: quota exceeded
}

// A tool that checks its own arguments by a schema of its own.
func ExampleServer_AddRawTool() {
	s := mcp.NewServer(mcp.Implementation{Name: "raw", Version: "1.0.0"}, nil)
	s.AddRawTool(mcp.Tool{
		Name: "echo", Description: "Return the arguments.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
	}, func(_ context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{Content: []mcp.Content{mcp.Text(string(c.Arguments()))}}, nil
	})

	c := connect(s, nil)
	defer c.Close()
	res, err := c.Call(context.Background(), "echo", json.RawMessage(`{"n":1}`), nil)
	fmt.Println(res.Text(), err)
	// Output:
	// {"n":1} <nil>
}

// A family of resources, and completions for the variable in their URIs.
func ExampleServer_AddResourceTemplate() {
	notes := map[string]string{"monday": "buy milk", "morning": "run"}
	s := mcp.NewServer(mcp.Implementation{Name: "notes", Version: "1.0.0"}, &mcp.ServerOptions{
		Complete: func(_ context.Context, _ *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error) {
			var found mcp.Completion
			for name := range notes {
				if strings.HasPrefix(name, p.Argument.Value) {
					found.Values = append(found.Values, name)
				}
			}
			return &found, nil
		},
	})
	s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "note://{name}", Name: "note", MIMEType: "text/plain"},
		func(_ context.Context, c *mcp.Call) (*mcp.ResourceResult, error) {
			text, ok := notes[c.Argument("name")]
			if !ok {
				return nil, mcp.ErrNotFound
			}
			return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: text}}}, nil
		})

	ctx := context.Background()
	c := connect(s, nil)
	defer c.Close()
	note, err := c.Read(ctx, "note://monday", nil)
	fmt.Println(note.Text(), err)
	names, err := c.Complete(ctx, &mcp.CompleteParams{
		Ref:      mcp.CompleteRef{Type: "ref/resource", URI: "note://{name}"},
		Argument: mcp.CompleteArgument{Name: "name", Value: "mor"},
	}, nil)
	fmt.Println(names.Values, err)
	// Output:
	// buy milk <nil>
	// [morning] <nil>
}

func ExampleServer_AddPrompt() {
	s := mcp.NewServer(mcp.Implementation{Name: "review", Version: "1.0.0"}, nil)
	s.AddPrompt(mcp.Prompt{
		Name: "review", Description: "Review code.",
		Arguments: []mcp.PromptArgument{{Name: "language", Description: "language of the code", Required: true}},
	}, func(_ context.Context, c *mcp.Call) (*mcp.PromptResult, error) {
		text := "Review this " + c.Argument("language") + " code."
		return &mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: "user", Content: mcp.Text(text)}}}, nil
	})

	c := connect(s, nil)
	defer c.Close()
	p, err := c.Prompt(context.Background(), "review", map[string]string{"language": "Go"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Messages[0].Role+":", p.Messages[0].Content.Text)
	// Output:
	// user: Review this Go code.
}

// Definitions that are JSON already, such as those of another server, are listed as
// they are.
func ExampleServer_Update() {
	s := mcp.NewServer(mcp.Implementation{Name: "proxy", Version: "1.0.0"}, nil)
	err := s.Update(func(u *mcp.Update) error {
		definition := json.RawMessage(`{"name":"ping","description":"Ping.","inputSchema":{"type":"object"}}`)
		return u.Add(mcp.KindTool, definition, func(context.Context, *mcp.Call) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[{"type":"text","text":"pong"}]}`), nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}

	c := connect(s, nil)
	defer c.Close()
	got, err := mcp.CallAs[string](context.Background(), c, "ping", nil, nil)
	fmt.Println(got, err)
	// Output:
	// pong <nil>
}
