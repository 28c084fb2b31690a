package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	key = "the key of the test"

	oldCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"moonphase","arguments":{"datetime":"2024-04-08T18:21:00Z"}}}`
	call    = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"moonphase","arguments":{"datetime":"2024-04-08T18:21:00Z"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	answer = `"illumination":0}`
)

// routed are the headers of call.
var routed = []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "moonphase"}

// serve is the address of a server with the key.
func serve(t *testing.T) string {
	t.Helper()
	s := newServer()
	t.Cleanup(s.Close)
	srv := httptest.NewServer(newMux(newHandler(s, key)))
	t.Cleanup(srv.Close)
	return srv.URL
}

// post sends a message with headers, names and values in turn, and returns the
// response and its body.
func post(t *testing.T, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func TestServer_key(t *testing.T) {
	addr := serve(t)
	for _, tt := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"none", nil, 401},
		{"empty", []string{"X-Api-Token", ""}, 401},
		{"wrong", []string{"X-Api-Token", "another"}, 401},
		{"beginning", []string{"X-Api-Token", key[:5]}, 401},
		{"longer", []string{"X-Api-Token", key + "!"}, 401},
		{"wrong bearer", []string{"Authorization", "Bearer another"}, 401},
		{"bearer of nothing", []string{"Authorization", "Bearer "}, 401},
		{"another scheme", []string{"Authorization", "Basic " + key}, 401},
		{"no scheme", []string{"Authorization", key}, 401},
		{"own header", []string{"X-Api-Token", key}, 200},
		{"bearer", []string{"Authorization", "Bearer " + key}, 200},
		{"bearer in small letters", []string{"Authorization", "bearer " + key}, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, body := post(t, addr+"/mcp", call, append(tt.headers, routed...)...)
			if res.StatusCode != tt.want || strings.Contains(body, answer) != (tt.want == 200) {
				t.Errorf("status %d, body %s; want %d", res.StatusCode, body, tt.want)
			}
			if challenge := res.Header.Get("WWW-Authenticate"); (challenge == "Bearer") != (tt.want == 401) {
				t.Errorf("status %d with WWW-Authenticate %q", res.StatusCode, challenge)
			}
		})
	}
}

func TestServer_nothingElsewhere(t *testing.T) {
	addr := serve(t)
	for _, path := range []string{"", "/", "/mcp/", "/mcp/x", "/MCP", "/health", "/sse"} {
		for _, headers := range [][]string{nil, {"X-Api-Token", key}} {
			if res, body := post(t, addr+path, call, append(headers, routed...)...); res.StatusCode != 404 {
				t.Errorf("POST %q with %q: status %d, body %s; want 404", path, headers, res.StatusCode, body)
			}
		}
	}
}

// A client of revision 2025-06-18 begins with a handshake.
func TestServer_handshake(t *testing.T) {
	addr := serve(t) + "/mcp"
	res, body := post(t, addr, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`,
		"X-Api-Token", key)
	session := res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != 200 || session == "" || !strings.Contains(body, `"protocolVersion":"2025-06-18"`) {
		t.Fatalf("initialize: status %d, session %q, body %s", res.StatusCode, session, body)
	}
	headers := []string{"X-Api-Token", key, "Mcp-Session-Id", session, "Mcp-Protocol-Version", "2025-06-18"}
	if res, body := post(t, addr, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers...); res.StatusCode != 202 {
		t.Fatalf("initialized: status %d, body %s; want 202", res.StatusCode, body)
	}
	if res, body := post(t, addr, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, headers...); res.StatusCode != 200 || !strings.Contains(body, `"name":"moonphase"`) {
		t.Errorf("tools/list: status %d, body %s", res.StatusCode, body)
	}
	if res, body := post(t, addr, oldCall, headers...); res.StatusCode != 200 || !strings.Contains(body, answer) {
		t.Errorf("tools/call: status %d, body %s; want %s", res.StatusCode, body, answer)
	}
	// The session is no key.
	if res, body := post(t, addr, oldCall, headers[2:]...); res.StatusCode != 401 {
		t.Errorf("tools/call without the key: status %d, body %s; want 401", res.StatusCode, body)
	}
}

func TestServer_datetime(t *testing.T) {
	addr := serve(t) + "/mcp"
	for _, tt := range []struct{ arguments, want string }{
		{`{}`, `"structuredContent":{"age":`},
		{`{"datetime":""}`, `"structuredContent":{"age":`},
		{`{"datetime":"2018-07-27T22:20:00+02:00"}`, `"illumination":100}`},
		{`{"datetime":"tomorrow"}`, `such as 2024-04-08T18:21:00Z`},
		{`{"datetime":"2024-04-08"}`, `"isError":true`},
		{`{"datetime":"2024-02-30T00:00:00Z"}`, `"isError":true`},
		{`{"datetime":5}`, `datetime`},
		{`{"time":"2024-04-08T18:21:00Z"}`, `time`},
	} {
		body := strings.Replace(call, `{"datetime":"2024-04-08T18:21:00Z"}`, tt.arguments, 1)
		res, got := post(t, addr, body, append([]string{"X-Api-Token", key}, routed...)...)
		if res.StatusCode != 200 || !strings.Contains(got, tt.want) {
			t.Errorf("moonphase(%s): status %d, body %s; want %s", tt.arguments, res.StatusCode, got, tt.want)
		}
	}
}

// One header is enough: a message is answered without a handshake and whatever its
// Content-Type, as curl -d sends it.
func TestServer_oneHeader(t *testing.T) {
	addr := serve(t) + "/mcp"
	for _, kind := range []string{"application/x-www-form-urlencoded", "application/json"} {
		headers := []string{"X-Api-Token", key, "Content-Type", kind, "Accept", "*/*"}
		res, body := post(t, addr, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"optional-cursor-value"}}`, headers...)
		if res.StatusCode != 200 || !strings.Contains(body, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"moonphase"`) {
			t.Errorf("tools/list: status %d, body %s", res.StatusCode, body)
		}
		res, body = post(t, addr, oldCall, headers...)
		if want := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"age\":`; res.StatusCode != 200 || !strings.HasPrefix(body, want) || !strings.HasSuffix(body, `"isError":false}}`) {
			t.Errorf("tools/call: status %d, body %s; want %s", res.StatusCode, body, want)
		}
		// Without the key the answer still says which request it is for.
		if res, body := post(t, addr, oldCall, headers[2:]...); res.StatusCode != 401 || !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":1,"error":`) {
			t.Errorf("without the key: status %d, body %s; want 401", res.StatusCode, body)
		}
	}
}

// What crush.json says is where the server is, and is let in.
func TestCrush(t *testing.T) {
	text, err := os.ReadFile("crush.json")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		MCP map[string]struct {
			Type, URL string
			Headers   map[string]string
		}
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	c := config.MCP["moonphase"]
	u, err := url.Parse(c.URL)
	if err != nil || c.Type != "http" || u.Scheme != "http" || u.Host != defaultAddr {
		t.Fatalf("crush.json: type %q, url %q, %v; want http at %s", c.Type, c.URL, err, defaultAddr)
	}
	headers := routed
	for name, value := range c.Headers {
		headers = append(headers, name, os.Expand(value, func(name string) string {
			return map[string]string{"MOONPHASE_API_KEY": key}[name]
		}))
	}
	if res, body := post(t, serve(t)+u.Path, call, headers...); res.StatusCode != 200 {
		t.Errorf("with the headers of crush.json: status %d, body %s", res.StatusCode, body)
	}
}

func TestProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "moonphase.exe")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}

	t.Run("needs a key", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), program, "-addr", "127.0.0.1:0")
		cmd.Env = append(os.Environ(), "MOONPHASE_API_KEY=")
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "MOONPHASE_API_KEY is not set") {
			t.Errorf("exit %d, output %s; want 1 and the reason", code, out)
		}
	})

	for name, sig := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": os.Interrupt} {
		t.Run("ends on "+name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("there are no signals to send here")
			}
			cmd := exec.CommandContext(t.Context(), program, "-addr", "127.0.0.1:0")
			cmd.Env = append(os.Environ(), "MOONPHASE_API_KEY="+key)
			cmd.WaitDelay = 5 * time.Second
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })

			log := bufio.NewReader(stderr)
			line, err := log.ReadString('\n')
			_, addr, ok := strings.Cut(strings.TrimSpace(line), "serving ")
			if err != nil || !ok {
				t.Fatalf("first line %q, %v", line, err)
			}
			if res, body := post(t, addr, call, append([]string{"X-Api-Token", key}, routed...)...); !strings.Contains(body, answer) {
				t.Errorf("status %d, body %s", res.StatusCode, body)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(log)
			if err := cmd.Wait(); err != nil {
				t.Errorf("after %s: %v, log %q; want exit 0", name, err, rest)
			}
		})
	}
}
