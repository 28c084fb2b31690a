package origins

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/clientconfig"
)

// The fourth design: the phase of the moon over HTTP, with a key.
func TestMoonphase(t *testing.T) {
	cmd := command(t, t.TempDir(), "moonphase", "-addr", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "MOONPHASE_API_KEY=secret")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	log := bufio.NewReader(stderr)
	first, err := log.ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(first), "serving ")
	if err != nil || !ok {
		t.Fatalf("the first line is %q, %v", first, err)
	}
	// post sends a body with the one header, and more if there are any.
	post := func(url, body string, headers ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(oneLine(t, body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Api-Token", "secret")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
		}
		return res.StatusCode, string(b)
	}
	ask := func(body, want string, headers ...string) string {
		t.Helper()
		status, got := post(url, body, headers...)
		if status != 200 {
			t.Errorf("%s: status %d", body, status)
		}
		match(t, body, got, want)
		return got
	}
	const list = `{
		"jsonrpc": "2.0",
		"id": 1,
		"method": "tools/list",
		"params": {"cursor": "optional-cursor-value"}
	}`
	ask(list, `{
		"jsonrpc": "2.0",
		"id": 1,
		"result": {"tools": [{"name": "moonphase", "description": "…", "inputSchema": {"type": "object", "properties": {"datetime": {"type": "string", "description": "…"}}}}]}
	}`)
	// The example's tool is not this server's; its own is called in the same way.
	ask(`{
		"jsonrpc": "2.0",
		"id": 2,
		"method": "tools/call",
		"params": {"name": "get_weather", "arguments": {"location": "New York"}}
	}`, `{"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "Unknown tool: get_weather"}}`)
	got := ask(`{
		"jsonrpc": "2.0",
		"id": 2,
		"method": "tools/call",
		"params": {"name": "moonphase", "arguments": {"datetime": "2018-07-27T20:20:00Z"}}
	}`, `{"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "…"}], "isError": false}}`)
	if text := textOf(t, got); !strings.HasPrefix(text, `{"age":14`) || !strings.HasSuffix(text, `,"illumination":100}`) {
		t.Errorf("moonphase = %s, want the age and the illumination", text)
	}
	for _, arguments := range []string{`{}`, `{"datetime": ""}`} { // now
		ask(`{"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "moonphase", "arguments": `+arguments+`}}`,
			`{"jsonrpc": "2.0", "id": "x", "result": {"isError": false}}`, "MCP-Protocol-Version", "2025-06-18")
	}

	// The lifecycle, with and without the session that initialize gives.
	const initialize = `{
		"jsonrpc": "2.0",
		"id": 1,
		"method": "initialize",
		"params": {
			"protocolVersion": "2024-11-05",
			"capabilities": {"roots": {"listChanged": true}, "sampling": {}, "elicitation": {}},
			"clientInfo": {"name": "ExampleClient", "title": "Example Client Display Name", "version": "1.0.0"}
		}
	}`
	ask(initialize, `{
		"jsonrpc": "2.0",
		"id": 1,
		"result": {
			"protocolVersion": "2024-11-05",
			"capabilities": {"logging": {}, "tools": {"listChanged": true}},
			"serverInfo": {"name": "moonphase", "version": "1.0.0"}
		}
	}`)
	if status, got := post(url, `{"jsonrpc": "2.0", "method": "notifications/initialized"}`); status != 202 || got != "" {
		t.Errorf("initialized: status %d, %s; want 202", status, got)
	}
	ask(list, `{"jsonrpc": "2.0", "id": 1, "result": {"tools": ["…"]}}`, "MCP-Protocol-Version", "2024-11-05")
	// A version that the server does not have is answered with one that it has.
	ask(strings.Replace(initialize, "2024-11-05", "1.0.0", 1), `{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}}`)
	ask(strings.Replace(initialize, "2024-11-05", "2025-06-18", 1), `{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18"}}`)

	// Errors have the request's id. Without the key nothing is answered, and elsewhere nothing is.
	if status, got := post(url, list, "X-Api-Token", "wrong"); status != 401 {
		t.Errorf("with a wrong key: status %d, %s", status, got)
	} else {
		match(t, "with a wrong key", got, `{"jsonrpc": "2.0", "id": 1, "error": {"message": "…"}}`)
	}
	if status, got := post(strings.TrimSuffix(url, "/mcp")+"/other", list); status != 404 {
		t.Errorf("elsewhere: status %d, %s", status, got)
	}

	// Shutdown.
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(log)
	if err := cmd.Wait(); err != nil {
		t.Errorf("after an interrupt: %v, %s", err, rest)
	}
}

// A configuration file for Crush, with all that the design uses in one.
func TestMoonphase_crush(t *testing.T) {
	const text = `{
  "$schema": "https://charm.land/crush.json",
  "mcp": {
    "filesystem": {
      "type": "stdio",
      "command": "node",
      "args": ["/path/to/mcp-server.js"],
      "env": {"NODE_ENV": "production"}
    },
    "github": {
      "type": "http",
      "url": "https://example.com/mcp/",
      "headers": {"Authorization": "$(echo Bearer $EXAMPLE_MCP_TOKEN)"}
    },
    "streaming-service": {
      "type": "sse",
      "url": "https://example.com/mcp/sse",
      "headers": {"API-Key": "$(echo $API_KEY)"}
    }
  }
}`
	crush, _ := clientconfig.Find("crush")
	servers, err := crush.Parse([]byte(text), clientconfig.File{Path: "crush.json", Scope: clientconfig.User}, "")
	if err != nil || len(servers) != 3 {
		t.Fatalf("Parse = %+v, %v", servers, err)
	}
	values := clientconfig.Values{Getenv: func(name string) (string, bool) {
		v, ok := map[string]string{"EXAMPLE_MCP_TOKEN": "token", "API_KEY": "key"}[name]
		return v, ok
	}}
	for i, want := range []string{"node /path/to/mcp-server.js", "https://example.com/mcp/ Bearer token", "https://example.com/mcp/sse key"} {
		s, err := servers[i].Expand(values)
		if err != nil {
			t.Errorf("%s: %v", servers[i].Name, err)
			continue
		}
		got := strings.Join(s.Args, " ")
		if s.URL != "" {
			got = s.URL + " " + s.Headers["Authorization"] + s.Headers["API-Key"]
		}
		if got != want {
			t.Errorf("%s is %s, want %s", s.Name, got, want)
		}
	}
}
