package streamable

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

type words struct {
	Text string `json:"text" jsonschema:"what to say"`
}

// newFixture is a server with a tool for each way to answer.
func newFixture(t *testing.T) *mcp.Server {
	t.Helper()
	return newFixtureWith(t, mcp.ServerOptions{})
}

func newFixtureWith(t *testing.T, o mcp.ServerOptions) *mcp.Server {
	t.Helper()
	o.Logger = slog.New(slog.NewTextHandler(testLog{t}, nil))
	o.Observer.Panicked = func(v any, stack []byte) {
		if v != "expected" {
			t.Errorf("panic: %v\n%s", v, stack)
		}
	}
	s := mcp.NewServer(mcp.Implementation{Name: "fixture", Version: "1"}, &o)
	t.Cleanup(s.Close)
	add := func(name string, h func(ctx context.Context, c *mcp.Call, in words) (string, error)) {
		mcp.AddTool(s, mcp.Tool{Name: name, Description: name}, h)
	}
	add("long", func(context.Context, *mcp.Call, words) (string, error) { return strings.Repeat("x", longAnswer), nil })
	add("echo", func(_ context.Context, _ *mcp.Call, in words) (string, error) { return in.Text, nil })
	add("panic", func(context.Context, *mcp.Call, words) (string, error) { panic("expected") })
	add("whoami", func(_ context.Context, c *mcp.Call, _ words) (string, error) {
		return c.Principal().ID + " with " + c.ClientInfo().Name, nil
	})
	add("progress", func(_ context.Context, c *mcp.Call, in words) (string, error) {
		c.Progress(1, 2, "half")
		c.Progress(2, 2, "whole")
		return in.Text, nil
	})
	add("ask", func(_ context.Context, c *mcp.Call, _ words) (string, error) {
		name, err := mcp.Ask[string](c, "name", "What is your name?")
		return "Hello, " + name + "!", err
	})
	add("slow", func(ctx context.Context, c *mcp.Call, in words) (string, error) {
		d, _ := time.ParseDuration(in.Text)
		select {
		case <-time.After(d):
			return "done", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	add("pause", func(ctx context.Context, c *mcp.Call, _ words) (string, error) {
		c.Progress(1, 2, "")
		c.CloseStream(10 * time.Millisecond)
		c.Progress(2, 2, "")
		return "after the pause", nil
	})
	s.AddResource(mcp.Resource{URI: "test://r", Name: "r"}, func(context.Context, *mcp.Call) (*mcp.ResourceResult, error) {
		return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{URI: "test://r", Text: "r"}}}, nil
	})
	return s
}

type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	if !strings.Contains(string(b), "handler panicked") && !strings.Contains(string(b), "err=panic") {
		l.t.Errorf("log: %s", b)
	}
	return len(b), nil
}

// serve serves h on a real socket and returns its URL.
func serve(t *testing.T, h *Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, h, nil) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + l.Addr().String() + "/mcp"
}

// A client sends requests with the headers of a revision.
type client struct {
	t       *testing.T
	url     string
	version string
	session string
	token   string
	http    *http.Client
}

func (c *client) do(ctx context.Context, method, body string, header ...string) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	set := func(name, v string) {
		if v != "" {
			r.Header.Set(name, v)
		}
	}
	set("Mcp-Protocol-Version", c.version)
	set("Mcp-Session-Id", c.session)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i+1] == "-" {
			r.Header.Del(header[i])
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	hc := c.http
	if hc == nil {
		hc = http.DefaultClient
	}
	res, err := hc.Do(r)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, body, err)
	}
	return res
}

// post sends a message and returns the answer's status and text.
func (c *client) post(body string, header ...string) (int, string) {
	c.t.Helper()
	res := c.do(c.t.Context(), "POST", body, header...)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Errorf("read the answer to %s: %v", body, err)
	}
	return res.StatusCode, string(b)
}

// initialize begins a session.
func (c *client) initialize(capabilities string) {
	c.t.Helper()
	version := c.version
	c.version = ""
	res := c.do(c.t.Context(), "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":`+capabilities+`,"clientInfo":{"name":"tester","version":"1"}}}`)
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	if res.StatusCode != 200 || !strings.Contains(string(b), `"protocolVersion":"`+version+`"`) {
		c.t.Fatalf("initialize: %s %s", res.Status, b)
	}
	c.session = res.Header.Get("Mcp-Session-Id")
	if c.session == "" || len(c.session) > 512 {
		c.t.Fatalf("session id %q", c.session)
	}
	c.version = version
	if version < "2025-06-18" {
		c.version = ""
	}
	if status, _ := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != 202 {
		c.t.Fatalf("initialized: %d", status)
	}
}

func legacyCall(id any, tool, text, meta string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q}%s}}`, id, tool, text, meta)
}

const token = `,"_meta":{"progressToken":"t"}`

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"progressToken":"t"}`

func modernCall(id any, tool, text string) (body string, header []string) {
	body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q},%s}}`, id, tool, text, modernMeta)
	return body, []string{"Mcp-Method", "tools/call", "Mcp-Name", tool}
}

// events reads the events of a stream.
type events struct {
	t    *testing.T
	body io.ReadCloser
	r    *bufio.Reader
	last string // id
}

func newEvents(t *testing.T, res *http.Response) *events {
	t.Helper()
	if ct := res.Header.Get("Content-Type"); res.StatusCode != 200 || ct != "text/event-stream" {
		b, _ := io.ReadAll(res.Body)
		t.Fatalf("answer is %s %s %s, want an event stream", res.Status, ct, b)
	}
	return &events{t: t, body: res.Body, r: bufio.NewReader(res.Body)}
}

// next returns the data of the next event with any, or "" at the end.
func (e *events) next() string {
	e.t.Helper()
	data := ""
	for {
		line, err := e.r.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
				e.t.Logf("stream: %v", err)
			}
			return ""
		}
		line = strings.TrimSuffix(line, "\n")
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			e.last = v
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			data = v
		}
		if line == "" && data != "" {
			return data
		}
	}
}

func (e *events) want(parts ...string) {
	e.t.Helper()
	for _, p := range parts {
		if got := e.next(); !strings.Contains(got, p) || p == "" && got != "" {
			e.t.Fatalf("event %q, want %q", got, p)
		}
	}
}

// A pipeListener is a network in memory, for tests with a clock of their own.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Net: "unix", Name: "pipe"} }

func (l *pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case l.conns <- b:
		return a, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
