package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// The server that transcripts, the adversarial inputs and the fuzz tests talk
// to: a little of everything.

type numbers struct {
	A int `json:"a" jsonschema:"the first number"`
	B int `json:"b" jsonschema:"the second number"`
}

type sum struct {
	Sum int `json:"sum"`
}

type nothing struct{}

type colour string

func (colour) Enum() []string { return []string{"red", "green", "blue"} }

type person struct {
	Name   string `json:"name" jsonschema:"your name"`
	Age    int    `json:"age,omitzero" jsonschema:"your age"`
	Colour colour `json:"colour" jsonschema:"your favourite colour"`
}

// newFixture makes the server. onPanic is told of panics.
func newFixture(o ServerOptions, onPanic func(any)) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.PageSize == 0 {
		o.PageSize = 2
	}
	o.Instructions = "Try everything."
	o.Observer.Panicked = func(v any, _ []byte) { onPanic(v) }
	o.Extensions = map[string]any{"com.example/secret": map[string]any{"level": 3}}
	o.Complete = func(_ context.Context, _ *Call, p *CompleteParams) (*Completion, error) {
		var c Completion
		for _, v := range []string{"alpha", "alps", "beta"} {
			if strings.HasPrefix(v, p.Argument.Value) {
				c.Values = append(c.Values, v)
			}
		}
		return &c, nil
	}
	s := NewServer(Implementation{Name: "fixture", Title: "The fixture", Version: "1.2.3"}, &o)
	s.Use(forbid)
	addTools(s)
	addAskingTools(s)
	addPrompts(s)
	addResources(s)
	s.HandleMethod("example/echo", Method{NoHandshake: true, Handle: func(_ context.Context, r *Request) (Result, error) {
		return map[string]any{"said": r.Params(), "to": r.Principal.ID}, nil
	}})
	s.HandleMethod("example/secret", Method{Extension: "com.example/secret", Handle: func(context.Context, *Request) (Result, error) {
		return map[string]any{"secret": 42}, nil
	}})
	return s
}

// forbid is middleware: it refuses one tool to everybody, in every revision.
func forbid(next Handler) Handler {
	return func(ctx context.Context, r *Request) (Result, error) {
		if r.Method == "tools/call" && r.name == "forbidden" {
			return nil, jsonrpc.Errorf(-31403, "not for %s", r.Principal.ID)
		}
		return next(ctx, r)
	}
}

func addTools(s *Server) {
	AddTool(s, Tool{Name: "add", Title: "Add", Description: "Add two numbers."}, func(_ context.Context, _ *Call, n numbers) (sum, error) {
		return sum{n.A + n.B}, nil
	})
	AddTool(s, Tool{Name: "broken", Description: "Fail for a reason that is nobody's business."}, func(context.Context, *Call, nothing) (string, error) {
		return "", errors.New("the password is swordfish")
	})
	AddTool(s, Tool{Name: "countdown", Description: "Count down, a second each.", Tasks: TaskOptional}, countdown)
	AddTool(s, Tool{Name: "doomed", Description: "Be there until removed."}, func(context.Context, *Call, nothing) (string, error) {
		return "still here", nil
	})
	s.AddRawTool(Tool{Name: "echo", Description: "Give back the arguments.", InputSchema: json.RawMessage(`{"type":"object","properties":{"anything":true}}`)},
		func(_ context.Context, c *Call) (*ToolResult, error) {
			return &ToolResult{Content: []Content{Text(string(c.Arguments()))}, Meta: Meta{"com.example/echo": true}}, nil
		})
	AddTool(s, Tool{Name: "forbidden", Description: "Never run."}, func(context.Context, *Call, nothing) (string, error) {
		panic("middleware was passed by")
	})
	AddTool(s, Tool{Name: "list", Description: "List numbers below ten."}, func(context.Context, *Call, nothing) ([]int, error) {
		return []int{1, 2, 3}, nil
	})
	AddTool(s, Tool{Name: "log", Description: "Write three log messages."}, func(_ context.Context, c *Call, _ nothing) (string, error) {
		l := c.Logger()
		l.Debug("looking closely")
		l.Info("at work", "step", 1)
		l.With("who", "me").WithGroup("g").Error("failed", "err", errors.New("no luck"))
		return "logged", nil
	})
	s.AddRawTool(Tool{Name: "media", Description: "Show a picture, a sound, a link and a file."}, func(context.Context, *Call) (*ToolResult, error) {
		return &ToolResult{Content: []Content{
			Image([]byte("png"), "image/png"), Audio([]byte("wav"), "audio/wav"),
			Link(Resource{URI: "test://text", Name: "text"}), Embed(ResourceContents{URI: "test://text", MIMEType: "text/plain", Text: "inside"}),
		}}, nil
	})
	AddTool(s, Tool{Name: "must_task", Description: "Only ever run as a task.", Tasks: TaskRequired}, func(_ context.Context, c *Call, _ nothing) (string, error) {
		return AsTask(c, func(context.Context, *Call) (string, error) { return "done as a task", nil })
	})
	AddTool(s, Tool{Name: "panics", Description: "Panic."}, func(context.Context, *Call, nothing) (string, error) {
		panic("oh no")
	})
	AddTool(s, Tool{Name: "progress", Description: "Tell of progress."}, func(_ context.Context, c *Call, _ nothing) (string, error) {
		c.Progress(1, 3, "one")
		c.Progress(1, 3, "one again")
		c.Progress(2.5, 3, "nearly")
		return "moved", nil
	})
	AddTool(s, Tool{Name: "refuse", Description: "Fail in a way the model can act on."}, func(context.Context, *Call, nothing) (sum, error) {
		return sum{}, &ToolError{Text: "try a smaller number", Structured: map[string]int{"most": 9}}
	})
	AddTool(s, Tool{Name: "sleep", Description: "Sleep for a minute."}, func(ctx context.Context, _ *Call, _ nothing) (string, error) {
		select {
		case <-time.After(time.Minute):
			return "slept", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	AddTool(s, Tool{Name: "nap", Description: "Sleep for a second."}, func(context.Context, *Call, nothing) (string, error) {
		time.Sleep(time.Second)
		return "napped", nil
	})
}

type countFrom struct {
	From    int    `json:"from" jsonschema:"where to begin"`
	Confirm bool   `json:"confirm,omitzero" jsonschema:"ask before counting"`
	Fail    string `json:"fail,omitzero" jsonschema:"how to end: error, tool, code or panic"`
}

func countdown(_ context.Context, c *Call, in countFrom) (string, error) {
	return AsTask(c, func(ctx context.Context, c *Call) (string, error) {
		if in.Confirm {
			sure, err := Ask[bool](c, "sure", "Are you sure?")
			colour, err2 := Ask[colour](c, "colour", "Which colour?")
			if err := JoinAsks(err, err2); err != nil {
				return "", err
			}
			if !sure {
				return "never mind, " + string(colour), nil
			}
		}
		for range in.From {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		switch in.Fail {
		case "error":
			return "", errors.New("the password is swordfish")
		case "tool":
			return "", &ToolError{Text: "the rocket stays"}
		case "code":
			return "", jsonrpc.Errorf(-31000, "the rocket has a code")
		case "panic":
			panic("the rocket panics")
		}
		return "lift off", nil
	})
}

type withTools struct {
	Tools bool `json:"tools,omitzero" jsonschema:"let the model use tools"`
}

func addAskingTools(s *Server) {
	AddTool(s, Tool{Name: "ask_form", Description: "Ask who you are."}, func(_ context.Context, c *Call, _ nothing) (string, error) {
		p, err := Ask[person](c, "who", "Who are you?")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s likes %s", p.Name, p.Colour), nil
	})
	AddTool(s, Tool{Name: "ask_once", Description: "Ask twice, and draw lots once."}, func(_ context.Context, c *Call, _ nothing) (string, error) {
		lot, err := Once(c, "lot", func() (int64, error) { return time.Now().Unix(), nil })
		if err != nil {
			return "", err
		}
		first, err := Ask[string](c, "first", "First?")
		if err != nil {
			return "", err
		}
		second, err := Ask[int](c, "second", "Second?")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s, %d, lot %d", first, second, lot), nil
	})
	AddTool(s, Tool{Name: "ask_several", Description: "Ask a person, a model and for roots at once."}, func(_ context.Context, c *Call, _ nothing) (string, error) {
		name, err := Ask[string](c, "name", "What is your name?")
		said, err2 := c.Sample("poem", &SampleParams{MaxTokens: 10, Messages: []SampleMessage{
			{Role: "user", Content: Blocks{Text("A poem, please."), Image([]byte("png"), "image/png")}},
		}})
		roots, err3 := c.Roots("places")
		if err := JoinAsks(err, err2, err3); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s, %s, %d roots", name, said.Content[0].Text, len(roots)), nil
	})
	AddTool(s, Tool{Name: "ask_model", Description: "Ask a model and for roots, one after the other."}, func(_ context.Context, c *Call, in withTools) (string, error) {
		p := &SampleParams{MaxTokens: 10, Messages: []SampleMessage{{Role: "user", Content: Blocks{Text("Listen."), Audio([]byte("wav"), "audio/wav")}}}}
		if in.Tools {
			p.Tools = []Tool{{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}}
		}
		said, err := c.Sample("model", p)
		if err != nil {
			return "", err
		}
		roots, err := c.Roots("places")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s, %d roots", said.Content[0].Text, len(roots)), nil
	})
	AddTool(s, Tool{Name: "ask_then_task", Description: "Ask, and then ask again in a task.", Tasks: TaskOptional}, func(_ context.Context, c *Call, _ nothing) (string, error) {
		name, err := Ask[string](c, "name", "What is your name?")
		if err != nil {
			return "", err
		}
		return AsTask(c, func(_ context.Context, c *Call) (string, error) {
			age, err := Ask[int](c, "age", "How old are you, "+name+"?")
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%s is %d", name, age), nil
		})
	})
	AddTool(s, Tool{Name: "ask_url", Description: "Send you to a page."}, func(_ context.Context, c *Call, _ nothing) (string, error) {
		if err := c.AskURL("page", "Please sign in.", "https://example.com/sign-in"); err != nil {
			return "", err
		}
		return "on your way", nil
	})
	AddTool(s, Tool{Name: "ask_choices", Description: "Ask with a form of its own."}, func(_ context.Context, c *Call, _ nothing) (string, error) {
		res, err := c.Elicit("choices", &ElicitParams{Message: "Choose.", RequestedSchema: json.RawMessage(
			`{"type":"object","properties":{"one":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]},` +
				`"many":{"type":"array","items":{"type":"string","enum":["x","y"]}}},"required":["one"]}`)}, nil)
		if err != nil {
			return "", err
		}
		return res.Action + " " + string(res.Content), nil
	})
}

func addPrompts(s *Server) {
	s.AddPrompt(Prompt{Name: "hello", Description: "Say hello."}, func(context.Context, *Call) (*PromptResult, error) {
		return &PromptResult{Messages: []PromptMessage{
			{Role: "user", Content: Text("Hello.")}, {Role: "assistant", Content: Audio([]byte("wav"), "audio/wav")},
		}}, nil
	})
	letter := Prompt{Name: "letter", Title: "Letter", Arguments: []PromptArgument{{Name: "to", Required: true}, {Name: "from"}}}
	s.AddPrompt(letter, func(_ context.Context, c *Call) (*PromptResult, error) {
		return &PromptResult{Description: "a letter", Messages: []PromptMessage{
			{Role: "user", Content: Text("Write to " + c.Argument("to") + " from " + c.Argument("from"))},
		}}, nil
	})
	s.AddPrompt(Prompt{Name: "mood"}, func(_ context.Context, c *Call) (*PromptResult, error) {
		mood, err := Ask[string](c, "mood", "How are you?")
		if err != nil {
			return nil, err
		}
		return &PromptResult{Messages: []PromptMessage{{Role: "user", Content: Text("I am " + mood)}}}, nil
	})
}

func addResources(s *Server) {
	s.AddResource(Resource{URI: "test://text", Name: "text", MIMEType: "text/plain"}, func(context.Context, *Call) (*ResourceResult, error) {
		return &ResourceResult{Contents: []ResourceContents{{Text: "some text"}}}, nil
	})
	s.AddResource(Resource{URI: "test://blob", Name: "blob", MIMEType: "image/png", Size: new(int64(3))}, func(context.Context, *Call) (*ResourceResult, error) {
		return &ResourceResult{Contents: []ResourceContents{{Blob: []byte("png")}}}, nil
	})
	s.AddResource(Resource{URI: "test://private", Name: "private"}, func(_ context.Context, c *Call) (*ResourceResult, error) {
		word, err := Ask[string](c, "word", "What is the magic word?")
		if err != nil {
			return nil, err
		}
		return &ResourceResult{Contents: []ResourceContents{{Text: "you said " + word}}}, nil
	})
	s.AddResourceTemplate(ResourceTemplate{URITemplate: "test://item/{id}", Name: "item", MIMEType: "application/json"}, func(_ context.Context, c *Call) (*ResourceResult, error) {
		if !slices.Contains([]string{"1", "2", "a b"}, c.Argument("id")) {
			return nil, fmt.Errorf("item: %w", ErrNotFound)
		}
		return &ResourceResult{Contents: []ResourceContents{{Text: fmt.Sprintf(`{"id":%q}`, c.Argument("id"))}}}, nil
	})
}
