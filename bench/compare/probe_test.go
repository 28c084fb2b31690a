//lint:file-ignore SA1019 sampling is one of the tasks

package compare

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/bench/compare/gosdk"
	"github.com/bossman-dev/bossman/bench/compare/mcpgo"
	"github.com/bossman-dev/bossman/bench/compare/ours"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

var users = map[string]string{"token-of-ann": "ann"}

// A library does the tasks.
type library struct {
	name, dir string
	counts    *sync.Map
	cancelled chan struct{}
	serve     func(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error
	handler   http.Handler
	summarize func(ctx context.Context, r io.ReadCloser, w io.WriteCloser) (string, error)
}

// libraries make servers of their own, so that one does not see what another one was asked.
var libraries = []func() *library{
	func() *library {
		l := &library{name: "ours", dir: "ours", cancelled: make(chan struct{}, 10), summarize: ours.Summarize}
		counts := new(ours.Counts)
		s := ours.New(l.cancelled, counts)
		l.counts, l.handler = &counts.Map, ours.Handler(s, users)
		l.serve = func(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error { return ours.Serve(ctx, s, r, w) }
		return l
	},
	func() *library {
		l := &library{name: "go-sdk", dir: "gosdk", cancelled: make(chan struct{}, 10), summarize: gosdk.Summarize}
		counts := new(gosdk.Counts)
		s := gosdk.New(l.cancelled, counts)
		l.counts, l.handler = &counts.Map, gosdk.Handler(s, users)
		l.serve = func(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error { return gosdk.Serve(ctx, s, r, w) }
		return l
	},
	func() *library {
		l := &library{name: "mcp-go", dir: "mcpgo", cancelled: make(chan struct{}, 10), summarize: mcpgo.Summarize}
		counts := new(mcpgo.Counts)
		s := mcpgo.New(l.cancelled, counts)
		l.counts, l.handler = &counts.Map, mcpgo.Handler(s, users)
		l.serve = func(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error { return mcpgo.Serve(ctx, s, r, w) }
		return l
	},
}

// probes say what it means that a task works.
var probes = map[string]func(ctx context.Context, l *library, c *mcp.Client) error{
	"server.go": func(ctx context.Context, _ *library, c *mcp.Client) error {
		_, err := c.Tool(ctx, "draw")
		return err
	},
	"typed.go": func(ctx context.Context, _ *library, c *mcp.Client) error {
		tool, err := c.Tool(ctx, "draw")
		if err != nil {
			return err
		}
		for _, want := range []string{`"enum":["ink","oil"]`, `"default":"ink"`, `"maximum":50`} {
			if !strings.Contains(string(tool.InputSchema), want) {
				return fmt.Errorf("the schema lacks %s: %s", want, tool.InputSchema)
			}
		}
		if err := text(c.Call(ctx, "draw", map[string]any{"topic": "a cat"}, nil))("a cat in ink, 4 steps"); err != nil {
			return err
		}
		for _, bad := range []map[string]any{{"topic": "a cat", "style": "chalk"}, {"topic": ""}, {"style": "ink"}, {"topic": "a cat", "steps": 51}} {
			if res, err := c.Call(ctx, "draw", bad, nil); err == nil && !res.IsError {
				return fmt.Errorf("%v is accepted", bad)
			}
		}
		return nil
	},
	"image.go": func(ctx context.Context, _ *library, c *mcp.Client) error {
		res, err := c.Call(ctx, "chart", nil, nil)
		if err != nil {
			return err
		}
		if len(res.Content) != 2 || string(res.Content[1].Data) != "png" {
			return fmt.Errorf("the content is %v", res.Content)
		}
		if c.Revision() >= mcp.R20250618 && !strings.Contains(string(res.StructuredContent), "rising") {
			return errors.New("there is no structured content")
		}
		return nil
	},
	"progress.go": func(ctx context.Context, _ *library, c *mcp.Client) error {
		var seen []float64
		o := &mcp.CallOptions{Progress: func(_ context.Context, p mcp.Progress) { seen = append(seen, p.Progress) }}
		if err := text(c.Call(ctx, "copy", nil, o))("copied"); err != nil {
			return err
		}
		if !slices.Equal(seen, []float64{1, 2, 3}) {
			return fmt.Errorf("progress was %v", seen)
		}
		return nil
	},
	"ask.go": func(ctx context.Context, _ *library, c *mcp.Client) error {
		return text(c.Call(ctx, "order", nil, nil))("ordered size M")
	},
	"asktwice.go": func(ctx context.Context, _ *library, c *mcp.Client) error {
		return text(c.Call(ctx, "gift", nil, nil))("Ada: hello")
	},
	"cancel.go": func(ctx context.Context, l *library, c *mcp.Client) error {
		ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		if _, err := c.Call(ctx, "wait", nil, nil); err == nil {
			return errors.New("the call succeeded")
		}
		select {
		case <-l.cancelled:
			return nil
		case <-time.After(2 * time.Second):
			return errors.New("the handler does not notice")
		}
	},
	"resource.go": func(ctx context.Context, _ *library, c *mcp.Client) error {
		res, err := c.Read(ctx, "note://beans", nil)
		if err != nil || res.Text() != "about beans" {
			return fmt.Errorf("read %v, %w", res, err)
		}
		done, err := c.Complete(ctx, &mcp.CompleteParams{
			Ref: mcp.CompleteRef{Type: "ref/resource", URI: "note://{name}"}, Argument: mcp.CompleteArgument{Name: "name", Value: "ap"},
		}, nil)
		if err != nil || !slices.Equal(done.Values, []string{"apples", "apricots"}) {
			return fmt.Errorf("complete %v, %w", done, err)
		}
		return nil
	},
	"prompt.go": func(ctx context.Context, _ *library, c *mcp.Client) error {
		res, err := c.Prompt(ctx, "review", map[string]string{"file": "a.go"}, nil)
		if err != nil || res.Messages[0].Content.Text != "Review a.go" {
			return fmt.Errorf("%v, %w", res, err)
		}
		return nil
	},
	"http.go": func(ctx context.Context, l *library, c *mcp.Client) error {
		srv := httptest.NewServer(l.handler)
		defer srv.CloseClientConnections()
		for path, want := range map[string]int{"/healthz": 200, "/mcp": 401} {
			res, err := http.Get(srv.URL + path)
			if err != nil {
				return err
			}
			res.Body.Close()
			if res.StatusCode != want {
				return fmt.Errorf("%s without a token: %s", path, res.Status)
			}
		}
		web, err := streamable.Connect(ctx, srv.URL+"/mcp", &streamable.ClientOptions{
			Header: http.Header{"Authorization": {"Bearer token-of-ann"}},
		}, &mcp.ClientOptions{Revision: c.Revision(), Elicit: answer})
		if err != nil {
			return err
		}
		defer web.Close()
		if err := text(web.Call(ctx, "whoami", nil, nil))("ann"); err != nil || c.Revision() < mcp.R20250618 {
			return err
		}
		return text(web.Call(ctx, "order", nil, nil))("ordered size M")
	},
	"middleware.go": func(ctx context.Context, l *library, c *mcp.Client) error {
		if err := text(c.Call(ctx, "draw", map[string]any{"topic": "hunter2"}, nil))("*** in ink, 4 steps"); err != nil {
			return err
		}
		for range c.Prompts(ctx) {
		}
		for _, method := range []string{"tools/call", "prompts/list"} {
			if _, ok := l.counts.Load(method); !ok {
				return fmt.Errorf("%s was not counted", method)
			}
		}
		return nil
	},
	"client.go": func(ctx context.Context, l *library, c *mcp.Client) error {
		got, err := summarize(ctx, l, c.Revision())
		if err != nil {
			return err
		}
		if got != "short: long" {
			return fmt.Errorf("got %q", got)
		}
		return nil
	},
}

// text checks the text of a result.
func text(res *mcp.ToolResult, err error) func(want string) error {
	return func(want string) error {
		switch {
		case err != nil:
			return err
		case len(res.Content) == 0 || !strings.Contains(res.Content[0].Text, want):
			return fmt.Errorf("got %v, want %s", res.Content, want)
		}
		return nil
	}
}

// connect connects a client of one revision to the server of a library.
func connect(ctx context.Context, t *testing.T, l *library, revision mcp.Revision) (*mcp.Client, error) {
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = l.serve(ctx, toServer, fromServer)
		fromServer.Close()
	}()
	t.Cleanup(func() {
		cancel()
		fromClient.Close()
		toClient.Close()
		select {
		case <-served:
		case <-time.After(3 * time.Second):
			t.Logf("%s: the server does not end", l.name)
		}
	})
	return mcp.Connect(ctx, jsonrpc.Lines(toClient, fromClient, jsonrpc.Limits{}), &mcp.ClientOptions{
		Revision: revision, Timeout: 5 * time.Second,
		Elicit: answer,
	})
}

// answer is what the user answers.
func answer(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	answers := map[string]string{"Which size?": `{"size":"M"}`, "For whom?": `{"name":"Ada"}`, "What shall we write to Ada?": `{"note":"hello"}`}
	return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(answers[p.Message])}, nil
}

// summarize lets the client of a library call a server that speaks only one revision.
func summarize(ctx context.Context, l *library, revision mcp.Revision) (string, error) {
	s := mcp.NewServer(mcp.Implementation{Name: "model", Version: "1"}, nil)
	defer s.Close()
	type args struct {
		Text string `json:"text" jsonschema:"the text"`
	}
	mcp.AddTool(s, mcp.Tool{Name: "summarize", Description: "Summarize."}, func(_ context.Context, c *mcp.Call, in args) (string, error) {
		res, err := c.Sample("summary", &mcp.SampleParams{MaxTokens: 9, Messages: []mcp.SampleMessage{{Role: "user", Content: mcp.Blocks{mcp.Text(in.Text)}}}})
		if err != nil {
			return "", err
		}
		return res.Content[0].Text, nil
	})
	toServer, fromProxy := io.Pipe()
	toProxy, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	defer fromClient.Close()
	defer toClient.Close()
	go func() { _ = s.Serve(ctx, jsonrpc.Lines(toServer, fromServer, jsonrpc.Limits{})) }()
	go pin(revision, toProxy, fromProxy, fromServer)
	return l.summarize(ctx, toClient, fromClient)
}

var version = regexp.MustCompile(`"protocolVersion":"[0-9-]*"`)

// pin passes messages of a client on, so that the server speaks one revision: a client that
// offers another one in initialize gets that one, and what the revision does not have is refused.
func pin(revision mcp.Revision, from io.Reader, to io.WriteCloser, back io.Writer) {
	defer to.Close()
	in := bufio.NewScanner(from)
	for in.Scan() {
		line := in.Bytes()
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(line, &m)
		refused := "server/discover"
		if revision.Stateless() {
			refused = "initialize"
		}
		if m.Method == refused {
			_, _ = fmt.Fprintf(back, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`+"\n", m.ID)
			continue
		}
		if m.Method == "initialize" {
			line = version.ReplaceAll(line, []byte(`"protocolVersion":"`+revision.String()+`"`))
		}
		if _, err := fmt.Fprintf(to, "%s\n", line); err != nil {
			return
		}
	}
}
