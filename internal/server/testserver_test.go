package server

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/bossman-dev/bossman/telemetry"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// revisions are the protocol's, the oldest first.
var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

const (
	newest        = "2026-07-28"
	firstInHeader = "2025-06-18"
)

// A testServer is a server in this process, on a real socket, with a board of the projects
// web and api.
type testServer struct {
	*Server
	t   testing.TB
	url string
	// stop tells the server to end.
	stop context.CancelFunc
	// waits receives whenever a worker begins to wait.
	waits chan struct{}
}

func newTestServer(t testing.TB, o Options) *testServer {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	waits := make(chan struct{}, 1000)
	var home *board.Project
	if o.Project != "" {
		home = &board.Project{Slug: o.Project, Policy: board.PolicyTrust}
	}
	b := board.New(store, &board.Options{Home: home, Unanswered: time.Millisecond, Observer: board.Observer{Waiting: func() {
		select {
		case waits <- struct{}{}:
		default:
		}
	}}})
	for _, slug := range []string{"web", "api"} {
		if err := b.SetProject(ctx, board.Project{Slug: slug, Policy: board.PolicyTrust}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if o.Telemetry == nil {
		if o.Telemetry, err = telemetry.New(&telemetry.Options{Logger: log}); err != nil {
			t.Fatal(err)
		}
	}
	o.Logger = log
	s, err := New(ctx, b, store, l, &o)
	if err != nil {
		t.Fatal(err)
	}
	// These tests do not test the rate limits.
	s.limiter.Rates = map[auth.Bucket]auth.Rate{}
	for _, b := range []auth.Bucket{auth.Calls, auth.Creations, auth.Questions, auth.Streams} {
		s.limiter.Rates[b] = auth.Rate{Each: time.Microsecond, Burst: 1 << 20}
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return &testServer{s, t, "http://" + l.Addr().String(), stop, waits}
}

// key creates a key.
func (s *testServer) key(project string, role auth.Role, person bool) string {
	s.t.Helper()
	_, secret, err := s.keys.CreateKey(s.t.Context(), auth.NewKey{Owner: "ada", Person: person, Project: project, Role: role})
	if err != nil {
		s.t.Fatal(err)
	}
	return secret.Reveal()
}

// A testClient sends requests in a revision, with a key.
type testClient struct {
	t                           testing.TB
	url, key, revision, session string
	capabilities                string
	id                          int // of its requests; 0 means 7
}

// client returns a client, after the handshake if the revision has one.
func (s *testServer) client(key, revision string) *testClient {
	s.t.Helper()
	k := &testClient{t: s.t, url: s.url + "/mcp", key: key, revision: revision, capabilities: "{}"}
	k.begin()
	return k
}

func (k *testClient) begin() {
	k.t.Helper()
	if k.revision == newest || k.key == "" {
		return
	}
	res := k.send(k.t.Context(), "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+k.revision+`","capabilities":`+k.capabilities+`,"clientInfo":{"name":"tester","version":"1"}}}`, nil)
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if k.session = res.Header.Get("Mcp-Session-Id"); k.session == "" || !strings.Contains(string(text), k.revision) {
		k.t.Fatalf("initialize: %s %s", res.Status, text)
	}
	k.send(k.t.Context(), "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil).Body.Close()
}

func (k *testClient) send(ctx context.Context, method, body string, header http.Header) *http.Response {
	k.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, k.url, strings.NewReader(body))
	if err != nil {
		k.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if k.key != "" {
		r.Header.Set("X-Api-Token", k.key)
	}
	if k.session != "" {
		r.Header.Set("Mcp-Session-Id", k.session)
	}
	if k.revision == newest || k.session != "" && k.revision >= firstInHeader {
		r.Header.Set("Mcp-Protocol-Version", k.revision)
	}
	for name, v := range header {
		r.Header[name] = v
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		k.t.Fatalf("%s %s: %v", method, body, err)
	}
	return res
}

// A reply is an answer to a request.
type reply struct {
	status int
	code   int64  // of an error; 0 for a result
	kind   string // of an error of the board, or a tool's refusal
	text   string // all of it
	result jsontext.Value
}

// notThere reports whether the reply says that the caller may not, or that there is no such
// thing.
func (r reply) notThere() bool {
	return r.status == 401 || r.status == 403 || r.kind == "not_found" || r.kind == "denied" || r.kind == "not_allowed" || strings.Contains(r.text, "Unknown tool: ")
}

// ask sends a request whose params are an object, and waits for its answer.
func (k *testClient) ask(method, params string) reply {
	k.t.Helper()
	header := http.Header{}
	if k.revision == newest {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + newest + `","io.modelcontextprotocol/clientInfo":{"name":"tester","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + k.capabilities + `}`
		var names struct {
			Name   string `json:"name"`
			URI    string `json:"uri"`
			TaskID string `json:"taskId"`
		}
		if err := json.Unmarshal([]byte(params), &names); err != nil {
			k.t.Fatalf("%s: %v", params, err)
		}
		header.Set("Mcp-Method", method)
		if name := names.Name + names.URI + names.TaskID; name != "" {
			header.Set("Mcp-Name", name)
		}
		params = strings.TrimSuffix(params, "}")
		if params != "{" {
			params += ","
		}
		params += meta + "}"
	}
	ctx, cancel := context.WithTimeout(k.t.Context(), 20*time.Second)
	defer cancel()
	res := k.send(ctx, "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, cmp.Or(k.id, 7), method, params), header)
	defer res.Body.Close()
	out := reply{status: res.StatusCode}
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadBytes('\n')
		line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data: "))
		if out.take(line) || err != nil {
			return out
		}
	}
}

// take reads a message, and reports whether it is the answer.
func (r *reply) take(line []byte) bool {
	var m struct {
		ID     jsontext.Value `json:"id"`
		Result jsontext.Value `json:"result"`
		Method string         `json:"method"`
		Error  *struct {
			Code int64 `json:"code"`
			Data struct {
				Kind string `json:"kind"`
			} `json:"data"`
		} `json:"error"`
	}
	if len(line) == 0 || json.Unmarshal(line, &m) != nil && m.Error == nil && m.Result == nil || m.Method != "" {
		return false
	}
	r.text, r.result = string(line), m.Result
	if strings.Contains(r.text, `"subscriptions/acknowledged"`) {
		return true
	}
	if m.Error != nil {
		r.code, r.kind = m.Error.Code, m.Error.Data.Kind
	}
	var tool struct {
		Meta struct {
			Result struct {
				Error string `json:"error"`
			} `json:"dev.bossman/result"`
		} `json:"_meta"`
	}
	if m.Result != nil && json.Unmarshal(m.Result, &tool) == nil {
		r.kind = tool.Meta.Result.Error
	}
	return true
}

// tool calls a tool.
func (k *testClient) tool(name, args string) reply {
	k.t.Helper()
	return k.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
}

// names lists what a list has: tools, prompts, resources or resourceTemplates.
func (k *testClient) names(method, list, name string) map[string]bool {
	k.t.Helper()
	r := k.ask(method, "{}")
	var all map[string]jsontext.Value
	var rows []map[string]jsontext.Value
	if err := json.Unmarshal(r.result, &all); err != nil {
		k.t.Fatalf("%s: %s", method, r.text)
	}
	if err := json.Unmarshal(all[list], &rows); err != nil {
		k.t.Fatalf("%s: %s", method, r.text)
	}
	out := map[string]bool{}
	for _, row := range rows {
		var s string
		_ = json.Unmarshal(row[name], &s)
		out[s] = true
	}
	return out
}
