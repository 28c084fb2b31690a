package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// A lab is a gateway to servers in this process.
type lab struct {
	*Gateway
	server *mcp.Server
	mu     sync.Mutex
	starts map[string]int
	fail   map[string]error
}

// newLab returns a gateway to upstreams, which are connected in a revision; zero: the latest.
func newLab(t testing.TB, upstreams map[string]*mcp.Server, revision mcp.Revision, o *Options, configure ...func(*Upstream)) *lab {
	t.Helper()
	return newReplica(t, upstreams, revision, o, nil, nil, configure...)
}

// newReplica is newLab for one of several gateways that serve the same clients.
func newReplica(t testing.TB, upstreams map[string]*mcp.Server, revision mcp.Revision, o *Options, keys *replica.Keyring, relay Relay, configure ...func(*Upstream)) *lab {
	t.Helper()
	l := &lab{starts: map[string]int{}, fail: map[string]error{}}
	options := Options{TrustFirst: true}
	if o != nil {
		options = *o
	}
	options.Logger = slog.New(slog.DiscardHandler)
	var wg sync.WaitGroup
	options.Start = func(ctx context.Context, c *mcp.Command, o *mcp.ClientOptions) (*mcp.Client, error) {
		name := c.Args[0]
		l.mu.Lock()
		l.starts[name]++
		err := l.fail[name]
		l.mu.Unlock()
		if err != nil {
			return nil, err
		}
		one, two := jsonrpc.Pipe(jsonrpc.Limits{})
		wg.Go(func() { _ = upstreams[name].Serve(context.Background(), two) })
		o.Revision = revision
		return mcp.Connect(ctx, one, o)
	}
	var list []Upstream
	for name := range upstreams {
		u := Upstream{Name: name, Command: []string{name}, Max: 16, Timeout: time.Minute, Idle: time.Minute, List: "auto"}
		for _, f := range configure {
			f(&u)
		}
		list = append(list, u)
	}
	g, err := New(t.Context(), list, &options)
	if err != nil {
		t.Fatal(err)
	}
	l.Gateway = g
	l.server = mcp.NewServer(mcp.Implementation{Name: "gateway", Version: "1"}, &mcp.ServerOptions{
		Visible: g.Visible, Keyring: keys, Logger: options.Logger, Extensions: map[string]any{Extension: struct{}{}},
		Complete: func(ctx context.Context, c *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error) {
			res, _, err := g.Complete(ctx, c, p)
			return res, err
		},
	})
	if relay != nil {
		g.Join(relay)
	}
	g.Attach(l.server)
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() { _ = g.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		for _, s := range upstreams {
			s.Close()
		}
		wg.Wait()
	})
	for name, u := range g.upstreams {
		eventually(t, "the lists of "+name, func() bool {
			u.mu.Lock()
			defer u.mu.Unlock()
			return u.catalogue != nil || l.fail[name] != nil
		})
	}
	eventually(t, "publication", func() bool {
		g.publishing.Lock() // the offer is there before the server has its tools
		defer g.publishing.Unlock()
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.offer.entries) > 0 || len(l.fail) > 0
	})
	return l
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 12_000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s: not in time", what)
}

func quietServer() *mcp.Server {
	return mcp.NewServer(mcp.Implementation{Name: "up", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
}

// raw adds a tool that answers with JSON.
func raw(t testing.TB, s *mcp.Server, definition string, h func(context.Context, *mcp.Call) (json.RawMessage, error)) {
	t.Helper()
	err := s.Update(func(u *mcp.Update) error { return u.Add(mcp.KindTool, json.RawMessage(definition), h) })
	if err != nil {
		t.Fatal(err)
	}
}

const oddResult = `{"content":[{"type":"hologram","data":"no base64!","depth":1.0}],"extra":{"b":123456789012345678901234567890,"a":[1e400]},"_meta":{"example.com/k":1.50}}`

// A call has the same result through the gateway as directly, from clients of every revision to servers
// of every revision.
func TestForward(t *testing.T) {
	up := quietServer()
	var got json.RawMessage
	raw(t, up, `{"name":"odd","inputSchema":{"type":"object","properties":{"p":{"type":"string"}}},"unknown":{"x":1}}`, func(_ context.Context, c *mcp.Call) (json.RawMessage, error) {
		got = c.Arguments()
		return json.RawMessage(oddResult), nil
	})
	raw(t, up, `{"name":"refuses","inputSchema":{"type":"object"}}`, func(context.Context, *mcp.Call) (json.RawMessage, error) {
		return nil, jsonrpc.Errorf(-32077, "not today").With(map[string]int{"retry": 5})
	})
	for _, revision := range mcp.Revisions() {
		t.Run("upstream "+revision.String(), func(t *testing.T) {
			l := newLab(t, map[string]*mcp.Server{"up": up}, revision, &Options{TrustFirst: true, List: "real"})
			eachRevision(t, l.server, nil, func(t *testing.T, c *mcp.Client) {
				for _, call := range []string{`{"name":"up__odd","arguments":{"z":1e2,"n":12345678901234567890}}`, `{"name":"call_tool","arguments":{"name":"up__odd","arguments":{"z":1e2,"n":12345678901234567890}}}`} {
					res, err := c.Forward(t.Context(), "tools/call", json.RawMessage(call), nil)
					if err != nil {
						t.Fatal(err)
					}
					for _, name := range []string{"content", "extra"} {
						if want := member(json.RawMessage(oddResult), name); string(member(res, name)) != string(want) {
							t.Errorf("%s = %s, want %s", name, member(res, name), want)
						}
					}
					if string(member(member(res, "_meta"), "example.com/k")) != "1.50" {
						t.Errorf("result = %s", res)
					}
					if string(got) != `{"z":1e2,"n":12345678901234567890}` {
						t.Errorf("the upstream got %s", got)
					}
				}
				_, err := c.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"up__refuses"}`), nil)
				if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != -32077 || string(e.Data) != `{"retry":5}` {
					t.Errorf("an error of the upstream = %v", err)
				}
				list, err := c.Forward(t.Context(), "tools/list", nil, nil)
				if err != nil || !strings.Contains(string(list), `"unknown":{"x":1}`) || !strings.Contains(string(list), `"name":"up__odd"`) {
					t.Errorf("tools/list = %s, %v", list, err)
				}
			})
		})
	}
}

// What a caller gets is the same JSON value as from the upstream, except for what belongs to a hop.
func FuzzForward(f *testing.F) {
	f.Add(`{"content":[{"type":"x"}],"n":1e999}`, `{"a":[1.0,{"b":null}]}`)
	up := quietServer()
	var mu sync.Mutex
	var result, got json.RawMessage
	err := up.Update(func(u *mcp.Update) error {
		return u.Add(mcp.KindTool, json.RawMessage(`{"name":"x","inputSchema":{"type":"object"}}`), func(_ context.Context, c *mcp.Call) (json.RawMessage, error) {
			mu.Lock()
			defer mu.Unlock()
			got = c.Arguments()
			return result, nil
		})
	})
	if err != nil {
		f.Fatal(err)
	}
	l := newLab(f, map[string]*mcp.Server{"up": up}, 0, nil)
	client := connect(f, l.server, mcp.R20260728, nil)
	direct := connect(f, up, mcp.R20260728, nil)
	f.Fuzz(func(t *testing.T, res, args string) {
		if v := jsontext.Value(res); !v.IsValid() || v.Kind() != '{' || member(json.RawMessage(res), "resultType") != nil || len(res) > 10_000 {
			return
		}
		if v := jsontext.Value(args); !v.IsValid() || v.Kind() != '{' {
			return
		}
		mu.Lock()
		result = json.RawMessage(res)
		mu.Unlock()
		params := func(name string) json.RawMessage {
			return json.RawMessage(`{"name":"` + name + `","arguments":` + args + `}`)
		}
		want, errWant := direct.Forward(t.Context(), "tools/call", params("x"), nil)
		sent := got
		have, err := client.Forward(t.Context(), "tools/call", params("up__x"), nil)
		if (err == nil) != (errWant == nil) {
			t.Fatalf("through the gateway %v, directly %v", err, errWant)
		}
		if err != nil {
			return
		}
		if string(sent) != string(got) {
			t.Errorf("the upstream got %s, directly %s", got, sent)
		}
		// The connection's own members differ.
		drop := func(v json.RawMessage) string {
			v, err := dropMeta(v, reserved)
			if err != nil {
				t.Fatal(err)
			}
			c, err := canonical(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(c)
		}
		if drop(have) != drop(want) {
			t.Errorf("through the gateway:\n%s\ndirectly:\n%s", have, want)
		}
	})
}

// Questions, progress and cancellation pass through, from every revision to every revision.
func TestForward_questions(t *testing.T) {
	up := quietServer()
	cancelled := make(chan struct{}, 1)
	started := make(chan struct{}, 1)
	mcp.AddTool(up, mcp.Tool{Name: "greet", Description: "Greet."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		name, err := mcp.Ask[string](c, "name", "Who?")
		if err != nil {
			return "", err
		}
		age, err := mcp.Ask[int](c, "age", "How old?")
		c.Progress(1, 2, "half")
		return fmt.Sprintf("%s is %d", name, age), err
	})
	mcp.AddTool(up, mcp.Tool{Name: "hang", Description: "Hang."}, func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		started <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return "", ctx.Err()
	})
	client := &mcp.ClientOptions{Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		if p.Message == "The server up asks this, not Bossman, for its tool greet:\n> Who?" {
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"Ada"}`)}, nil
		}
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"age":36}`)}, nil
	}}
	for _, revision := range []mcp.Revision{mcp.R20250618, mcp.R20251125, mcp.R20260728} {
		t.Run("upstream "+revision.String(), func(t *testing.T) {
			l := newLab(t, map[string]*mcp.Server{"up": up}, revision, nil)
			eachRevision(t, l.server, client, func(t *testing.T, c *mcp.Client) {
				if c.Revision() >= mcp.R20250618 { // which has such questions
					steps := 0
					res, err := c.Call(t.Context(), "up__greet", nil, &mcp.CallOptions{Progress: func(context.Context, mcp.Progress) { steps++ }})
					if err != nil || len(res.Content) == 0 || res.Content[0].Text != "Ada is 36" {
						t.Errorf("Call = %+v, %v", res, err)
					}
					if steps == 0 {
						t.Error("no progress")
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					<-started
					cancel()
				}()
				if _, err := c.Call(ctx, "up__hang", nil, nil); !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled call = %v", err)
				}
				select {
				case <-cancelled:
				case <-time.After(time.Minute):
					t.Error("the upstream's call was not cancelled")
				}
				i := l.instance(l.upstreams["up"], "")
				eventually(t, "the call gives up its turn", func() bool { // a question meanwhile may be its question
					i.queue.mu.Lock()
					defer i.queue.mu.Unlock()
					return i.queue.running == 0
				})
			})
			eventually(t, "calls are forgotten", func() bool {
				l.Gateway.mu.Lock()
				defer l.Gateway.mu.Unlock()
				for _, f := range l.pending {
					f.mu.Lock()
					open := !f.finished
					f.mu.Unlock()
					if open {
						return false
					}
				}
				return true
			})
		})
	}
}

// connect is mcptest.Connect for a server whose lists may change while the client leaves.
func connect(t testing.TB, s *mcp.Server, r mcp.Revision, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	one, two := jsonrpc.Pipe(jsonrpc.Limits{})
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(context.Background(), two) })
	options := mcp.ClientOptions{}
	if o != nil {
		options = *o
	}
	options.Revision = r
	c, err := mcp.Connect(t.Context(), one, &options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		wg.Wait()
	})
	return c
}

// eachRevision runs a test with a client of each revision.
func eachRevision(t *testing.T, s *mcp.Server, o *mcp.ClientOptions, test func(t *testing.T, c *mcp.Client)) {
	for _, r := range mcp.Revisions() {
		t.Run(r.String(), func(t *testing.T) { test(t, connect(t, s, r, o)) })
	}
}
