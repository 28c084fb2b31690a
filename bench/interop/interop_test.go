// Package interop lets our client speak to the servers of the other Go packages.
package interop

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

type words struct {
	Text string `json:"text"`
}

// form asks for a name.
var form = map[string]any{
	"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string", "default": "Ada"}},
}

// goSDK is a server of modelcontextprotocol/go-sdk. It tells when a call was given up.
func goSDK(gaveUp chan<- struct{}) *gosdk.Server {
	s := gosdk.NewServer(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil)
	say := func(text string) *gosdk.CallToolResult {
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: text}}}
	}
	gosdk.AddTool(s, &gosdk.Tool{Name: "echo", Description: "echo"},
		func(_ context.Context, _ *gosdk.CallToolRequest, in words) (*gosdk.CallToolResult, any, error) {
			return say(in.Text), nil, nil
		})
	gosdk.AddTool(s, &gosdk.Tool{Name: "count", Description: "count"},
		func(ctx context.Context, r *gosdk.CallToolRequest, _ words) (*gosdk.CallToolResult, any, error) {
			for i := range 3 {
				p := &gosdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3}
				if err := r.Session.NotifyProgress(ctx, p); err != nil {
					return nil, nil, err
				}
			}
			return say("three"), nil, nil
		})
	gosdk.AddTool(s, &gosdk.Tool{Name: "ask", Description: "ask"},
		func(ctx context.Context, r *gosdk.CallToolRequest, _ words) (*gosdk.CallToolResult, any, error) {
			res, err := r.Session.Elicit(ctx, &gosdk.ElicitParams{Message: "Who?", RequestedSchema: form})
			if err != nil {
				return nil, nil, err
			}
			return say("Hello, " + res.Content["name"].(string)), nil, nil
		})
	gosdk.AddTool(s, &gosdk.Tool{Name: "ask again", Description: "ask in the result"},
		func(_ context.Context, r *gosdk.CallToolRequest, _ words) (*gosdk.CallToolResult, any, error) {
			if res, ok := r.Params.InputResponses["who"].(*gosdk.ElicitResult); ok {
				return say("Hello, " + res.Content["name"].(string)), nil, nil
			}
			return &gosdk.CallToolResult{InputRequests: gosdk.InputRequestMap{"who": &gosdk.ElicitParams{Message: "Who?", RequestedSchema: form}}}, nil, nil
		})
	gosdk.AddTool(s, &gosdk.Tool{Name: "wait", Description: "wait"},
		func(ctx context.Context, _ *gosdk.CallToolRequest, _ words) (*gosdk.CallToolResult, any, error) {
			<-ctx.Done()
			gaveUp <- struct{}{}
			return nil, nil, ctx.Err()
		})
	s.AddPrompt(&gosdk.Prompt{Name: "hello"}, func(context.Context, *gosdk.GetPromptRequest) (*gosdk.GetPromptResult, error) {
		return &gosdk.GetPromptResult{Messages: []*gosdk.PromptMessage{{Role: "user", Content: &gosdk.TextContent{Text: "hello"}}}}, nil
	})
	s.AddResource(&gosdk.Resource{Name: "note", URI: "note://1"}, func(_ context.Context, r *gosdk.ReadResourceRequest) (*gosdk.ReadResourceResult, error) {
		return &gosdk.ReadResourceResult{Contents: []*gosdk.ResourceContents{{URI: r.Params.URI, Text: "a note"}}}, nil
	})
	return s
}

// mcpGo is the same with mark3labs/mcp-go.
func mcpGo(gaveUp chan<- struct{}) *mcpgoserver.MCPServer {
	s := mcpgoserver.NewMCPServer("mcp-go", "1", mcpgoserver.WithElicitation())
	s.AddTool(mcpgo.NewTool("echo", mcpgo.WithString("text")), func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultText(r.GetString("text", "")), nil
	})
	s.AddTool(mcpgo.NewTool("count"), func(ctx context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		for i := range 3 {
			if err := mcpgoserver.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": r.Params.Meta.ProgressToken, "progress": i + 1, "total": 3,
			}); err != nil {
				return nil, err
			}
		}
		time.Sleep(50 * time.Millisecond) // it sends what it is told in a goroutine of its own
		return mcpgo.NewToolResultText("three"), nil
	})
	s.AddTool(mcpgo.NewTool("ask"), func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		res, err := s.RequestElicitation(ctx, mcpgo.ElicitationRequest{Params: mcpgo.ElicitationParams{Message: "Who?", RequestedSchema: form}})
		if err != nil {
			return nil, err
		}
		return mcpgo.NewToolResultText("Hello, " + res.Content.(map[string]any)["name"].(string)), nil
	})
	s.AddTool(mcpgo.NewTool("ask again"), func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		if res := mcpgoserver.ElicitationResponse(r.Params.InputResponses, "who"); res != nil {
			return mcpgo.NewToolResultText("Hello, " + res.Content.(map[string]any)["name"].(string)), nil
		}
		return mcpgoserver.NewInputRequestBuilder("state").Elicit("who", mcpgo.ElicitationParams{Message: "Who?", RequestedSchema: form}).ToolResult(), nil
	})
	s.AddTool(mcpgo.NewTool("wait"), func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		<-ctx.Done()
		gaveUp <- struct{}{}
		return nil, ctx.Err()
	})
	s.AddPrompt(mcpgo.NewPrompt("hello"), func(context.Context, mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) {
		return mcpgo.NewGetPromptResult("", []mcpgo.PromptMessage{mcpgo.NewPromptMessage("user", mcpgo.NewTextContent("hello"))}), nil
	})
	s.AddResource(mcpgo.NewResource("note://1", "note"), func(_ context.Context, r mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
		return []mcpgo.ResourceContents{mcpgo.TextResourceContents{URI: r.Params.URI, Text: "a note"}}, nil
	})
	return s
}

func options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Logger: slog.New(slog.DiscardHandler),
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept"}, nil // with the default
		},
	}
}

func check(t *testing.T, c *mcp.Client, gaveUp <-chan struct{}) {
	t.Helper()
	t.Logf("speaks %s", c.Revision())
	n := 0
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if got, err := mcp.CallAs[string](t.Context(), c, "echo", words{"héllo"}, nil); err != nil || got != "héllo" || n != 5 {
		t.Errorf("echo = %q, %v of %d tools", got, err, n)
	}
	steps := 0
	if _, err := c.Call(t.Context(), "count", words{}, &mcp.CallOptions{Progress: func(context.Context, mcp.Progress) { steps++ }}); err != nil || steps != 3 {
		t.Errorf("count: %v after %d steps", err, steps)
	}
	asking := []string{"ask", "ask again"}
	if c.Revision().Stateless() {
		asking = asking[1:] // there a server can only ask in its result
	}
	for _, tool := range asking {
		if got, err := mcp.CallAs[string](t.Context(), c, tool, words{}, nil); err != nil || got != "Hello, Ada" {
			t.Errorf("%s = %q, %v", tool, got, err)
		}
	}
	if got, err := c.Read(t.Context(), "note://1", nil); err != nil || got.Text() != "a note" {
		t.Errorf("Read = %v, %v", got, err)
	}
	if _, err := c.Read(t.Context(), "note://2", nil); !errors.Is(err, mcp.ErrNotFound) && c.ServerInfo().Name != "mcp-go" { // which does not say
		t.Errorf("Read of nothing = %v, want ErrNotFound", err)
	}
	if got, err := c.Prompt(t.Context(), "hello", nil, nil); err != nil || got.Messages[0].Content.Text != "hello" {
		t.Errorf("Prompt = %v, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Call(ctx, "wait", words{}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait = %v, want the deadline", err)
	}
	select {
	case <-gaveUp:
	case <-time.After(5 * time.Second):
		t.Error("the server was not told that nobody waits")
	}
}

// pipe is the two ends of a pair of pipes: ours, and what the server reads and
// writes.
func pipe() (jsonrpc.Transport, io.ReadCloser, io.WriteCloser) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	return jsonrpc.Lines(inR, outW, jsonrpc.Limits{}), outR, inW
}

func connect(t *testing.T, tr jsonrpc.Transport, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	c, err := mcp.Connect(t.Context(), tr, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestGoSDK(t *testing.T) {
	for _, r := range []mcp.Revision{0, mcp.R20251125} {
		o := options()
		o.Revision = r
		t.Run("pipe "+r.String(), func(t *testing.T) {
			gaveUp := make(chan struct{}, 1)
			near, in, out := pipe()
			go func() { _ = goSDK(gaveUp).Run(context.Background(), &gosdk.IOTransport{Reader: in, Writer: out}) }()
			check(t, connect(t, near, o), gaveUp)
		})
		t.Run("HTTP "+r.String(), func(t *testing.T) {
			gaveUp := make(chan struct{}, 1)
			s := goSDK(gaveUp)
			// Only without sessions it speaks the newest revision over HTTP.
			h := &gosdk.StreamableHTTPOptions{Stateless: r == 0, PropagateRequestCancellation: true}
			web := httptest.NewServer(gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return s }, h))
			t.Cleanup(web.Close)
			tr, err := streamable.NewTransport(web.URL, &streamable.ClientOptions{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			check(t, connect(t, tr, o), gaveUp)
		})
	}
}

func TestMCPGo(t *testing.T) {
	for _, r := range []mcp.Revision{0, mcp.R20251125} {
		o := options()
		o.Revision = r
		t.Run("pipe "+r.String(), func(t *testing.T) {
			gaveUp := make(chan struct{}, 1)
			near, in, out := pipe()
			s := mcpgoserver.NewStdioServer(mcpGo(gaveUp))
			go func() { _ = s.Listen(context.Background(), in, out) }()
			check(t, connect(t, near, o), gaveUp)
		})
		t.Run("HTTP "+r.String(), func(t *testing.T) {
			gaveUp := make(chan struct{}, 1)
			web := httptest.NewServer(mcpgoserver.NewStreamableHTTPServer(mcpGo(gaveUp), mcpgoserver.WithStateful(true)))
			t.Cleanup(web.Close)
			tr, err := streamable.NewTransport(strings.TrimSuffix(web.URL, "/")+"/mcp", &streamable.ClientOptions{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			check(t, connect(t, tr, o), gaveUp)
		})
	}
}
