package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/telemetry"
	"github.com/bossman-dev/bossman/tools"
)

// A collector takes spans as they come over the wire.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	got      strings.Builder
}

func newCollector(t *testing.T, status int) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		c.requests++
		fmt.Fprintf(&c.got, "%s %v\n%s\n", r.URL.Path, r.Header, body)
		c.mu.Unlock()
		w.WriteHeader(status)
		fmt.Fprint(w, "what a collector says: canary-collector")
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got.String()
}

// TestNoSecrets serves a board over HTTP in every revision, has secrets in everything
// that a client and a handler can say, and looks for them in all that is written.
func TestNoSecrets(t *testing.T) {
	c := newCollector(t, http.StatusOK)
	var log, audit lockedBuffer
	logger := telemetry.Logger(&log, nil)
	tel, err := telemetry.New(&telemetry.Options{Logger: logger, Traces: c.URL, Version: "1", Audit: &audit})
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Logger: logger, Observer: tel.Observer()})
	s.Use(tel.Middleware())
	b := openBoard(t, nil)
	s.Use(tools.AuthorizeAs(access.Local(auth.Lead, "web")))
	tools.Register(s, b, &tools.Options{Logger: logger})
	type args struct {
		Project string `json:"project" jsonschema:"a project"`
		Task    string `json:"task" jsonschema:"a task"`
		Secret  string `json:"secret" jsonschema:"a secret"`
	}
	for name, failure := range map[string]error{
		"tool_error": &mcp.ToolError{Text: "canary-tool-error"},
		"rpc_error":  jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "canary-rpc-error").With("canary-data"),
		"internal":   errors.New("operator-only"),
	} {
		mcp.AddTool(s, mcp.Tool{Name: name, Description: "A tool."}, func(context.Context, *mcp.Call, args) (string, error) {
			return "canary-result", failure
		})
	}
	h := streamable.NewHandler(s, &streamable.Options{Authenticate: func(r *http.Request) (mcp.Principal, error) {
		if r.Header.Get("Authorization") != "Bearer canary-key" {
			return mcp.Principal{}, errors.New("canary-authenticate")
		}
		return mcp.Principal{ID: "ada", Value: "canary-value"}, nil
	}})
	server := httptest.NewServer(tel.HTTP(h, func(*http.Request) telemetry.Sender { return telemetry.Sender{} }))
	defer server.Close()

	for _, r := range mcp.Revisions() {
		transport, err := streamable.NewTransport(server.URL+"/mcp", &streamable.ClientOptions{Header: http.Header{
			"Authorization": {"Bearer canary-key"}, "X-Api-Token": {"canary-header"}, "Cookie": {"canary=cookie"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		client, err := mcp.Connect(t.Context(), transport, &mcp.ClientOptions{
			Revision: r, Info: mcp.Implementation{Name: "canary-client", Version: "1"}, Logger: logger,
		})
		if err != nil {
			t.Fatal(err)
		}
		meta := mcp.Meta{"baggage": "secret=canary-baggage", "x": "canary-meta", "traceparent": "canary-parent", "tracestate": "canary=state"}
		for _, tool := range []string{"tool_error", "rpc_error", "internal", "canary-tool", "create_task"} {
			_, _ = client.Call(t.Context(), tool, map[string]any{
				"project": "canary-project", "task": "canary-task", "secret": "canary-argument", "canary-name": 1,
			}, &mcp.CallOptions{Meta: meta})
		}
		_, _ = client.Call(t.Context(), "create_task", map[string]any{"description": "canary-description"}, nil)
		_, _ = client.CallMethod(t.Context(), "canary/method", map[string]any{"taskId": "canary-id"}, nil)
		_, _ = client.Prompt(t.Context(), "canary-prompt", map[string]string{"canary": "canary"}, nil)
		_, _ = client.Read(t.Context(), "canary://canary", nil)
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	res, err := http.Post(server.URL+"/mcp?canary", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":"canary-id","method":"canary"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()

	w := httptest.NewRecorder()
	tel.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := c.text()
	for where, text := range map[string]string{"the log": log.String(), "the metrics": w.Body.String(), "the spans": spans, "the audit stream": audit.String()} {
		for line := range strings.Lines(text) {
			if i := strings.Index(line, "canary"); i >= 0 {
				t.Errorf("%s: …%q…", where, line[max(0, i-80):min(len(line), i+80)])
			}
		}
		if where != "the log" && strings.Contains(text, "operator-only") {
			t.Errorf("%s: the text of an error", where)
		}
		if len(text) == 0 && where != "the log" {
			t.Errorf("%s: nothing there", where)
		}
	}
	// And what should be there is.
	for _, want := range []string{"/v1/traces", "tools/call create_task", "network.transport", "tcp", "bossman.task", "web-1"} {
		if !strings.Contains(spans, want) {
			t.Errorf("the spans have no %q", want)
		}
	}
	var denied, created bool
	for _, l := range auditLines(t, audit.String()) {
		denied = denied || l.Method == "http" && l.Outcome == "denied" && l.Code == 401
		created = created || l.Tool == "create_task" && l.Task == "web-1" && l.Principal == "ada" && l.Outcome == "ok"
	}
	if !denied || !created {
		t.Errorf("the audit stream lacks lines (denied: %v, created: %v):\n%s", denied, created, audit.String())
	}
}

// TestTraces_collectorFails has a collector that refuses: it is counted, and what it
// says is not repeated.
func TestTraces_collectorFails(t *testing.T) {
	c := newCollector(t, http.StatusBadRequest)
	var log lockedBuffer
	tel, err := telemetry.New(&telemetry.Options{Logger: telemetry.Logger(&log, nil), Traces: c.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, done := tel.ClientObserver()(t.Context(), "ping", "")
	done(nil)
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSeries(t, scrape(t, tel), "bossman_trace_spans_lost_total", 1)
	if text := log.String(); !strings.Contains(text, "cannot send spans") || strings.Contains(text, "canary") {
		t.Errorf("log: %s", text)
	}
}

func TestTraces_environment(t *testing.T) {
	for _, c := range []struct {
		name, option string
		env          map[string]string
		traces       bool
		err, warns   string
	}{
		{name: "off"},
		{name: "the option", option: "COLLECTOR", traces: true},
		{name: "for all", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "COLLECTOR"}, traces: true},
		{name: "for traces", env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "COLLECTOR/v1/traces"}, traces: true},
		{name: "disabled", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "COLLECTOR", "OTEL_SDK_DISABLED": "true"}},
		{name: "none", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "COLLECTOR", "OTEL_TRACES_EXPORTER": "none"}},
		{name: "grpc", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "COLLECTOR", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, warns: "http/protobuf"},
		{name: "a password", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://u:canary@127.0.0.1:1"}, warns: "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{name: "a password in the option", option: "http://u:canary@127.0.0.1:1", err: "OTEL_EXPORTER_OTLP_HEADERS"},
		{name: "not a URL", option: "canary 127.0.0.1:4318", err: "http"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sink := newCollector(t, http.StatusOK)
			for k, v := range c.env {
				t.Setenv(k, strings.Replace(v, "COLLECTOR", sink.URL, 1))
			}
			var log lockedBuffer
			tel, err := telemetry.New(&telemetry.Options{Logger: telemetry.Logger(&log, nil), Traces: strings.Replace(c.option, "COLLECTOR", sink.URL, 1)})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "canary") {
					t.Errorf("New = %v, want an error with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_, done := tel.ClientObserver()(t.Context(), "ping", "")
			done(nil)
			if err := tel.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(sink.text(), "/v1/traces"); got != c.traces {
				t.Errorf("spans were sent: %v, want %v", got, c.traces)
			}
			if text := log.String(); strings.Contains(text, "canary") || c.warns == "" && text != "" || !strings.Contains(text, c.warns) {
				t.Errorf("log: %q, want %q", text, c.warns)
			}
		})
	}
}
