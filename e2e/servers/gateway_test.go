package servers

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

// The reference servers do through the gateway what they do directly, for clients of every revision.
func TestGateway(t *testing.T) {
	path := map[string]auth.Secret{"PATH": auth.Secret(harness.Dir("servers", "node_modules", ".bin") + string(filepath.ListSeparator) + os.Getenv("PATH"))}
	log := slog.New(slog.DiscardHandler)
	every := gateway.Upstream{Name: "every", Command: []string{"mcp-server-everything"}, Env: path, Max: 4, Timeout: time.Minute, Idle: time.Minute, List: "real"}
	g, err := gateway.New(t.Context(), []gateway.Upstream{every}, &gateway.Options{Logger: log, TrustFirst: true})
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer(mcp.Implementation{Name: "gateway", Version: "1"}, &mcp.ServerOptions{Visible: g.Visible, Logger: log})
	g.Attach(s)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	if err := g.Refresh(t.Context(), "every"); err != nil {
		t.Fatal(err)
	}
	// It lists more tools once it knows its client.
	last := func(it gateway.Item) bool { return it.Published == "every__trigger-elicitation-request" }
	for late := time.Now().Add(30 * time.Second); !slices.ContainsFunc(g.Items(), last); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("it lists no tool that asks")
		}
	}
	for _, r := range mcp.Revisions() {
		t.Run(r.String(), func(t *testing.T) {
			o := options()
			o.Revision = r
			c := mcptest.Connect(t, s, &mcptest.Options{Revision: r, Client: *o})
			text := func(tool string, args any, o *mcp.CallOptions) string {
				t.Helper()
				res, err := c.Call(t.Context(), "every__"+tool, args, o)
				if err != nil || len(res.Content) == 0 {
					t.Errorf("%s = %+v, %v", tool, res, err)
					return ""
				}
				return res.Content[0].Text
			}
			if got := text("get-sum", map[string]int{"a": 2, "b": 3}, nil); !strings.Contains(got, "5") {
				t.Errorf("get-sum = %q", got)
			}
			steps := 0
			text("trigger-long-running-operation", map[string]int{"duration": 1, "steps": 3}, &mcp.CallOptions{Progress: func(context.Context, mcp.Progress) { steps++ }})
			if steps < 2 {
				t.Errorf("progress %d times", steps)
			}
			if got := text("trigger-sampling-request", map[string]any{"prompt": "hello", "maxTokens": 10}, nil); !strings.Contains(got, "as a model would say") {
				t.Errorf("sampling = %q", got)
			}
			if r >= mcp.R20250618 {
				if got := text("trigger-elicitation-request", nil, nil); !strings.Contains(got, "provided") && !strings.Contains(got, "accept") && !strings.Contains(got, "declin") {
					t.Errorf("elicitation = %q", got)
				}
			}
			p, err := c.Prompt(t.Context(), "every__args-prompt", map[string]string{"city": "Ulm"}, nil)
			if err != nil || len(p.Messages) == 0 || !strings.Contains(p.Messages[0].Content.Text, "Ulm") {
				t.Errorf("prompt = %+v, %v", p, err)
			}
			for res, err := range c.Resources(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if got, err := c.Read(t.Context(), res.URI, nil); err != nil || len(got.Contents) == 0 {
					t.Errorf("read %s = %+v, %v", res.URI, got, err)
				}
				break
			}
		})
	}
}
