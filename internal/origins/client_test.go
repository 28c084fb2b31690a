package origins

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// The third design: a client for several servers that it starts as child processes, over
// a JSON-RPC client of its own.

// The JSON-RPC client: a transport with Send, Receive and Close, a listener, calls,
// notifications, and handlers for those of the server.
func TestClient_jsonrpc(t *testing.T) {
	ours, theirs := jsonrpc.Pipe(jsonrpc.Limits{})
	hello := make(chan string, 1)
	client := jsonrpc.NewPeer(ours, &jsonrpc.PeerOptions{Notified: func(_ context.Context, n *jsonrpc.Message) {
		if n.Method == "server/hello" {
			hello <- string(n.Params)
		}
	}})
	listening := make(chan error, 1)
	go func() { listening <- client.Run(t.Context()) }()

	// The server side is played by hand, from the messages themselves.
	served := make(chan struct{})
	go func() {
		defer close(served)
		receive := func() string {
			p, err := theirs.Receive(t.Context())
			if err != nil {
				t.Error(err)
			}
			return string(p.Append(nil))
		}
		if got, want := receive(), `{"jsonrpc":"2.0","id":1,"method":"myMethod/echo","params":{"name":"World"}}`; got != want {
			t.Errorf("the call is %s, want %s", got, want)
		}
		send := func(text string) {
			p, err := jsonrpc.Decode([]byte(text), jsonrpc.Limits{})
			if err == nil {
				err = theirs.Send(t.Context(), p)
			}
			if err != nil {
				t.Error(err)
			}
		}
		send(`{"jsonrpc":"2.0","method":"server/hello","params":{"from":"server"}}`)
		send(`{"jsonrpc":"2.0","id":1,"result":{"message":"Hello, World!"}}`)
		if got, want := receive(), `{"jsonrpc":"2.0","method":"client/initialized","params":{"status":"ClientInitialized"}}`; got != want {
			t.Errorf("the notification is %s, want %s", got, want)
		}
	}()
	result, err := client.Call(t.Context(), "myMethod/echo", map[string]string{"name": "World"})
	if err != nil || string(result) != `{"message":"Hello, World!"}` {
		t.Errorf("Call = %s, %v", result, err)
	}
	if got := <-hello; got != `{"from":"server"}` {
		t.Errorf("server/hello has %s", got)
	}
	if err := client.Notify(t.Context(), "client/initialized", map[string]string{"status": "ClientInitialized"}); err != nil {
		t.Error(err)
	}
	<-served
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	if err := <-listening; err != nil {
		t.Errorf("Run = %v", err)
	}
}

// The MCP client, message by message: what it sends is compared as text.
func TestClient_messages(t *testing.T) {
	ours, theirs := jsonrpc.Pipe(jsonrpc.Limits{})
	served := make(chan struct{})
	go func() {
		defer close(served)
		for _, step := range []struct{ want, answer string }{
			{
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"smolcode","version":"1.0.0"}}}`,
				`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"weather","version":"1"}}}`,
			},
			{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``},
			{
				`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
				`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"get_weather","description":"Get current weather information for a location","inputSchema":{"type":"object","properties":{"location":{"type":"string","description":"City name or zip code"}},"required":["location"]}}],"nextCursor":"next-page-cursor"}}`,
			},
			{
				`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"next-page-cursor"}}`,
				`{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"radar","description":"A picture","inputSchema":{"type":"object"}}]}}`,
			},
			{
				`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get_weather","arguments":{"location":"New York"}}}`,
				`{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"Current weather in New York:\nTemperature: 72°F\nConditions: Partly cloudy"}],"isError":false}}`,
			},
			{
				`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"radar","arguments":{}}}`,
				`{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"image","data":"cG5n","mimeType":"image/png"}],"isError":false}}`,
			},
		} {
			p, err := theirs.Receive(t.Context())
			if err != nil {
				t.Errorf("%v, want %s", err, step.want)
				return
			}
			if got := string(p.Append(nil)); got != step.want {
				t.Errorf("the client sends\n%s, want\n%s", got, step.want)
			}
			if step.answer == "" {
				continue
			}
			answer, err := jsonrpc.Decode([]byte(step.answer), jsonrpc.Limits{})
			if err == nil {
				err = theirs.Send(t.Context(), answer)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}()
	c, err := mcp.Connect(t.Context(), ours, &mcp.ClientOptions{
		Info: mcp.Implementation{Name: "smolcode", Version: "1.0.0"}, Revision: mcp.R20241105,
	})
	if err != nil {
		t.Fatal(err)
	}
	var tools []*mcp.Tool
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	if len(tools) != 2 || tools[0].Name != "get_weather" || tools[0].Description != "Get current weather information for a location" ||
		string(tools[0].InputSchema) != `{"type":"object","properties":{"location":{"type":"string","description":"City name or zip code"}},"required":["location"]}` {
		t.Errorf("the tools are %+v", tools)
	}
	res, err := c.Call(t.Context(), "get_weather", map[string]any{"location": "New York"}, nil)
	if err != nil || res.IsError || res.Content[0].Type != "text" || !strings.HasPrefix(res.Content[0].Text, "Current weather in New York:\n") {
		t.Errorf("get_weather = %+v, %v", res, err)
	}
	res, err = c.Call(t.Context(), "radar", map[string]any{}, nil)
	if err != nil || res.Content[0].Type != "image" || res.Content[0].MIMEType != "image/png" || string(res.Content[0].Data) != "png" {
		t.Errorf("radar = %+v, %v", res, err)
	}
	<-served
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A server as a child process: start, list, find by name, call, close.
func TestClient_process(t *testing.T) {
	c, err := mcp.Start(t.Context(), filepath.Join(bin, "add"))
	if err != nil {
		t.Fatal(err)
	}
	tool, err := c.Tool(t.Context(), "add")
	if err != nil || tool.Name != "add" || tool.Description == "" || !json.Valid(tool.InputSchema) {
		t.Errorf("Tool(add) = %+v, %v", tool, err)
	}
	if _, err := c.Tool(t.Context(), "subtract"); err == nil {
		t.Error("Tool(subtract) is found")
	}
	res, err := c.Call(t.Context(), "add", map[string]any{"a": 2, "b": 3}, nil)
	if err != nil || res.Content[0].Text != `{"result":5}` {
		t.Errorf("add = %+v, %v", res, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// The design's purpose as a program: several servers from a file, their tools merged.
func TestClient_agent(t *testing.T) {
	dir := project(t)
	config := `{"mcpServers": {"board": {"command": "bossman", "args": ["mcp"]}, "math": {"command": "add"}}}`
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "board/create_task\t"},
		{nil, "math/add\tAdd two numbers together\n"},
		{[]string{"add", `{"a":2,"b":3}`}, "{\"result\":5}\n"},
		{[]string{"create_task", `{"description":"Fix parser bug"}`}, `"description":"Fix parser bug","status":"pending"}`},
	} {
		out, err := command(t, dir, "agent", tt.args...).Output()
		if err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("agent %q = %s, %v; want %s", tt.args, out, err, tt.want)
		}
	}
}
