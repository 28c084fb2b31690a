package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/rogpeppe/go-internal/testscript"
)

// servers are two programs of this module that scripts talk to: add, and features, which is
// the server of the conformance suite.
type servers struct {
	dir   string
	built chan struct{}
	err   error // after built is closed
}

// buildServers starts to build the programs. Only a few scripts have to wait for them.
func buildServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{dir: t.TempDir(), built: make(chan struct{})}
	go func() {
		defer close(s.built)
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", s.dir+string(filepath.Separator), "../../examples/add", "../../internal/conformance/server")
		if out, err := build.CombinedOutput(); err != nil {
			s.err = fmt.Errorf("%v: %w\n%s", build.Args, err, out)
			return
		}
		s.err = os.Rename(filepath.Join(s.dir, "server"), filepath.Join(s.dir, "features"))
	}()
	t.Cleanup(func() { <-s.built })
	return s
}

// wait returns when the programs are there.
func (s *servers) wait() error {
	<-s.built
	return s.err
}

// freeAddress is one that nobody listens at.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// listening waits until a server listens at an address.
func listening(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listening ADDR")
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if c, err := net.DialTimeout("tcp", args[0], time.Second); err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond) // there is nothing to be told by
	}
	ts.Fatalf("nobody listens at %s", args[0])
}

// fixture is a server that misbehaves, each tool in its own way.
func fixture() int {
	addr := flag.String("http", "", "where to serve")
	key := flag.String("key", "", "what clients must know")
	endless := flag.Bool("endless", false, "list tools without end")
	flag.Parse()
	fmt.Fprintln(os.Stderr, "fixture begins")
	if *endless {
		return endlessList()
	}
	s := mcp.NewServer(mcp.Implementation{Name: "fixture\x1b[31m", Version: "1"}, nil)
	defer s.Close()
	tool := func(name, description, schema string, h func(context.Context, *mcp.Call) (*mcp.ToolResult, error)) {
		s.AddRawTool(mcp.Tool{Name: name, Description: description, InputSchema: []byte(schema)}, h)
	}
	const none = `{"type":"object"}`
	say := func(text string) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
	}
	tool("escape", "Red \x1b[31m and \u202ebackwards.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		return say("a\x1b]0;title\x07b\u202ec\r\nsecond")
	})
	tool("die", "End in the middle.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		fmt.Fprintln(os.Stderr, "fixture: no more memory")
		os.Exit(7)
		return nil, nil
	})
	tool("hang", "Wait to be cancelled.", none, func(ctx context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
		c.Progress(1, 2, "begun\x1b[2J")
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "fixture was cancelled")
		return nil, ctx.Err()
	})
	tool("ask", "Ask the person.", none, func(_ context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
		r, err := c.Elicit("q", &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: []byte(`{"type":"object","required":["name","colour"],"properties":{` +
			`"name":{"type":"string","description":"Your name"},"age":{"type":"integer"},"sure":{"type":"boolean","default":true},` +
			`"colour":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"b","title":"Blue"}]}}}`)}, nil)
		if err != nil {
			return nil, err
		}
		return say(r.Action + " " + string(r.Content))
	})
	tool("env", "Tell the environment.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		env := os.Environ()
		slices.Sort(env)
		return say(strings.Join(env, "\n") + "\n" + strings.Join(os.Args[1:], "|"))
	})
	tool("pid", "Tell the number of the process.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		return say(fmt.Sprint(os.Getpid()))
	})
	tool("dir", "Tell the directory.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		return say(dir)
	})
	tool("leave", "Leave a process that nobody sees.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		cmd := exec.Command("setsid", "sleep", "333")
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return say(fmt.Sprintf("left=%d", cmd.Process.Pid))
	})
	tool("large", "Answer with many lines.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		var b strings.Builder
		for n := range 20_000 {
			fmt.Fprintf(&b, "line %d of a long text\n", n+1)
		}
		return say(b.String())
	})
	tool("echo", "Say the arguments.", `{"type":"object","additionalProperties":false,"properties":{"text":{"type":"string"},"n":{"type":["integer","null"]},`+
		`"yes":{"type":"boolean"},"list":{"type":"array","items":{"type":"number"}},"any":{}}}`, func(_ context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
		return say(string(c.Arguments()))
	})
	tool("refuse", "Fail in two lines.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32000, Message: "no\nbossman: all is well"}
	})
	tool("save", "Send a file.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{Content: []mcp.Content{
			mcp.Embed(mcp.ResourceContents{URI: "file:///../../etc/evil.sh", MIMEType: "text/plain", Blob: []byte("x")}),
			mcp.Link(mcp.Resource{URI: "docs://a", Name: "A", Description: "The docs"}),
		}, StructuredContent: []byte(`{"b":1,"a":[]}`)}, nil
	})
	if *addr == "" {
		_ = s.Serve(context.Background(), mcp.Stdio(nil))
		return 0
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	h := streamable.NewHandler(s, &streamable.Options{Authenticate: func(r *http.Request) (mcp.Principal, error) {
		if *key != "" && r.Header.Get("X-Key") != *key {
			return mcp.Principal{}, &streamable.AuthError{Text: "no key"}
		}
		return mcp.Principal{ID: "local"}, nil
	}})
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	_ = streamable.Serve(context.Background(), l, h, mux)
	return 0
}

// endlessList is a server whose list of tools has no end.
func endlessList() int {
	pipe := jsonrpc.Lines(os.Stdin, os.Stdout, jsonrpc.Limits{})
	for n := 0; ; n++ {
		p, err := pipe.Receive(context.Background())
		if err != nil {
			return 0
		}
		m := p.Message
		if m == nil || !m.IsRequest() {
			continue
		}
		answer := &jsonrpc.Message{ID: m.ID, Error: jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "no")}
		switch m.Method {
		case "initialize":
			answer = &jsonrpc.Message{ID: m.ID, Result: []byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"for\u001b[31mever","version":"1"}}`)}
		case "tools/list":
			tool := fmt.Sprintf(`{"name":"t%d","description":"%s","inputSchema":{"type":"object"}}`, n, strings.Repeat("x", 1<<20))
			answer = &jsonrpc.Message{ID: m.ID, Result: fmt.Appendf(nil, `{"tools":[%s],"nextCursor":"%d"}`, tool, n)}
		}
		if pipe.Send(context.Background(), jsonrpc.One(answer)) != nil {
			return 0
		}
	}
}
