package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// endless answers tools/list with pages that never end, and everything else as a server of an older revision does.
func endless(t *testing.T, transport jsonrpc.Transport, page func(n int) string) {
	n := 0
	for {
		p, err := transport.Receive(t.Context())
		if err != nil {
			return
		}
		if p.Message == nil || !p.Message.IsRequest() {
			continue
		}
		answer := &jsonrpc.Message{ID: p.Message.ID}
		switch p.Message.Method {
		case "initialize":
			answer.Result = json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
		case "tools/list":
			n++
			answer.Result = json.RawMessage(page(n))
		default:
			answer.Error = jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "no")
		}
		if transport.Send(t.Context(), jsonrpc.One(answer)) != nil {
			return
		}
	}
}

// A list without end, or of too many items or bytes, ends with an error that names the upstream.
func TestReadList_limits(t *testing.T) {
	tool := func(n int, text string) string {
		return fmt.Sprintf(`{"name":"t%d","description":%q,"inputSchema":{"type":"object"}}`, n, text)
	}
	for _, c := range []struct {
		name, want string
		page       func(n int) string
	}{
		{"bytes", "the list of the server up is too long: its lists have more than 4 MiB", func(n int) string {
			return fmt.Sprintf(`{"tools":[%s],"nextCursor":"c%d"}`, tool(n, strings.Repeat("x", 1<<19)), n)
		}},
		{"bytes beside the list", "its lists have more than 4 MiB", func(n int) string {
			return fmt.Sprintf(`{"tools":[],"nextCursor":"c%d","_meta":{"x":%q}}`, n, strings.Repeat("x", 1<<19))
		}},
		{"items", "the list of the server up is too long: it has more than 10000 items", func(n int) string {
			return fmt.Sprintf(`{"tools":[%s1],"nextCursor":"c%d"}`, strings.Repeat("1,", 9000), n)
		}},
		{"pages", "the list of the server up is too long: it has more than 200 pages", func(n int) string {
			return fmt.Sprintf(`{"tools":[%s],"nextCursor":"c%d"}`, tool(n, "x"), n)
		}},
		{"one page", "the server up names the same page again", func(n int) string { return fmt.Sprintf(`{"tools":[%s],"nextCursor":"c"}`, tool(n, "x")) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := New(t.Context(), []Upstream{{Name: "up", Command: []string{"up"}, Max: 1}}, &Options{
				TrustFirst: true, Logger: slog.New(slog.DiscardHandler), Scratch: func() (string, error) { return t.TempDir(), nil },
				Start: func(ctx context.Context, _ *mcp.Command, o *mcp.ClientOptions) (*mcp.Client, error) {
					one, two := jsonrpc.Pipe(jsonrpc.Limits{})
					go endless(t, two, c.page)
					o.Revision = mcp.R20250618
					return mcp.Connect(ctx, one, o)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			err = g.Refresh(t.Context(), "up")
			if _, ok := errors.AsType[*startError](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Refresh = %v", err)
			}
		})
	}
}

// A definition that is too large is withheld, and the others are not.
func TestDefinition_tooLarge(t *testing.T) {
	up := echo(t)
	raw(t, up, fmt.Sprintf(`{"name":"large","description":%q,"inputSchema":{"type":"object"}}`, strings.Repeat("x ", maxDefinition/2)), nil)
	l := newLab(t, map[string]*mcp.Server{"up": up}, 0, nil)
	for _, it := range l.Items() {
		if large := it.Name == "large"; large != (it.Withheld == "its definition has more than 256 KiB") {
			t.Errorf("%s is withheld because %q", it.Name, it.Withheld)
		}
	}
	l.upstreams["up"].mu.Lock()
	defer l.upstreams["up"].mu.Unlock()
	if n := len(l.upstreams["up"].pins); n != 1 {
		t.Errorf("%d definitions are pinned", n)
	}
}

// Of too many resources the first are listed, and the tools are there.
func TestReadList_resources(t *testing.T) {
	up := echo(t)
	must(t, up.Update(func(u *mcp.Update) error {
		for n := range maxItems + 50 {
			if err := u.Add(mcp.KindResource, fmt.Appendf(nil, `{"uri":"mem://%d","name":"r"}`, n), nil); err != nil {
				return err
			}
		}
		return nil
	}))
	l := newLab(t, map[string]*mcp.Server{"up": up}, 0, nil)
	l.upstreams["up"].mu.Lock()
	defer l.upstreams["up"].mu.Unlock()
	if c := l.upstreams["up"].catalogue; len(c.Tools) != 1 || len(c.Resources) != maxItems {
		t.Errorf("it lists %d tools and %d resources", len(c.Tools), len(c.Resources))
	}
}

// A server that says all the time that its lists have changed has them read once a second, and by each call.
func TestWatch_flood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := echo(t)
		var lists atomic.Int32
		up.Use(func(next mcp.Handler) mcp.Handler {
			return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
				if r.Method == "tools/list" {
					lists.Add(1)
				}
				return next(ctx, r)
			}
		})
		l := newLab(t, map[string]*mcp.Server{"up": up}, mcp.R20251125, nil)
		synctest.Wait()
		before := lists.Load()
		for n := range 100 {
			raw(t, up, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, n), nil)
			time.Sleep(50 * time.Millisecond)
		}
		if n := lists.Load() - before; n < 3 || n > 8 {
			t.Errorf("its lists were read %d times in five seconds", n)
		}
		time.Sleep(2 * time.Second)
		if n := len(l.Items()); n != 101 {
			t.Errorf("%d tools are known", n)
		}
		c := connect(t, l.server, mcp.R20251125, nil)
		raw(t, up, `{"name":"echo","description":"Changed.","inputSchema":{"type":"object"}}`, nil)
		synctest.Wait() // it was told
		raw(t, up, `{"name":"echo","description":"Changed again.","inputSchema":{"type":"object"}}`, nil)
		synctest.Wait() // within the pause
		if res, err := c.Call(t.Context(), "up__echo", nil, nil); err == nil && !res.IsError {
			t.Errorf("a definition that nobody has approved was called: %+v", res)
		}
	})
}
