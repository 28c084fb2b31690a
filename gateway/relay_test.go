package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// A claimer admits everything, and remembers what was asked of it.
type claimer struct {
	calls chan GuardedCall
	claim string
}

func (c *claimer) Admit(_ context.Context, call GuardedCall) (*Admitted, error) {
	c.calls <- call
	return &Admitted{Claim: c.claim}, nil
}

func (c *claimer) Person(context.Context) bool { return true }

// A gateway behind another one: its tools keep their names, classes and results, and get the claim that the first one knows.
func TestRelay(t *testing.T) {
	far := &claimer{calls: make(chan GuardedCall, 10)}
	up := echo(t)
	raw(t, up, `{"name":"refers","inputSchema":{"type":"object","$ref":"#/$defs/x","$defs":{"x":{"type":"object"}}},"_meta":{"dev.bossman/upstream":"forged"}}`, func(_ context.Context, c *mcp.Call) (json.RawMessage, error) {
		return json.RawMessage(`{"content":[{"type":"odd"}]}`), nil
	})
	server := newLab(t, map[string]*mcp.Server{"up": up, "both": echo(t)}, 0, &Options{TrustFirst: true, Shared: true, Guard: far}, func(u *Upstream) { u.Read = []string{"nothing"} })
	server.server.AddRawTool(mcp.Tool{Name: "of_the_board", Description: "No upstream's.", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) { return &mcp.ToolResult{}, nil })
	near := &claimer{calls: make(chan GuardedCall, 10), claim: "web-1/1.abcde"}
	relay := NewRelay("https://boss.example.com")
	log := slog.New(slog.DiscardHandler)
	relay.Dial = func(ctx context.Context, o *mcp.ClientOptions) (*mcp.Client, error) {
		one, two := jsonrpc.Pipe(jsonrpc.Limits{})
		go func() { _ = server.server.Serve(context.Background(), two) }()
		return mcp.Connect(ctx, one, o)
	}
	own := Upstream{Name: "both", Command: []string{"both"}, Max: 4, Timeout: time.Minute, Idle: time.Minute, List: "auto"}
	l := newLab(t, map[string]*mcp.Server{"both": echo(t)}, 0, &Options{TrustFirst: true, Guard: near}, func(u *Upstream) { *u = own })
	l2, err := New(t.Context(), []Upstream{own, relay}, &Options{Logger: log, TrustFirst: true, Guard: near, List: "real", Start: l.o.Start})
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer(mcp.Implementation{Name: "laptop", Version: "1"}, &mcp.ServerOptions{Visible: l2.Visible, Logger: log})
	l2.Attach(s)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { _ = l2.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended; server.server.Close() })
	eventually(t, "the tools", func() bool { return len(l2.Items()) == 3 })
	var names []string
	for _, it := range l2.Items() {
		names = append(names, it.Published)
	}
	if got := strings.Join(names, " "); got != "both__echo up__echo up__refers" {
		t.Errorf("tools = %s", got)
	}
	c := connect(t, s, mcp.R20251125, nil)
	res, err := c.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"up__echo","arguments":{"a":1.0,"bossman_step":"one"}}`), nil)
	if err != nil || string(member(res, "structuredContent")) != `{"a":1.0}` {
		t.Errorf("up__echo = %s, %v", res, err)
	}
	if got := <-near.calls; !got.Relayed || got.Upstream != "up" || got.Tool != "echo" || got.Step != "one" {
		t.Errorf("here: %+v", got)
	}
	if got := <-far.calls; got.Relayed || got.Upstream != "up" || got.Tool != "echo" || got.Step != "one" || got.Claim != "web-1/1.abcde" || string(got.Arguments) != `{"a":1.0}` {
		t.Errorf("there: %+v", got)
	}
	res, err = c.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"call_tool","arguments":{"name":"up__refers"}}`), nil)
	if err != nil || string(member(res, "content")) != `[{"type":"odd"}]` {
		t.Errorf("up__refers = %s, %v", res, err)
	}
	<-near.calls
	<-far.calls
	if _, err := c.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"both__echo","arguments":{}}`), nil); err != nil {
		t.Error(err)
	}
	if got := <-near.calls; got.Relayed || len(far.calls) != 0 {
		t.Errorf("an upstream of the same name here: %+v", got)
	}
}
