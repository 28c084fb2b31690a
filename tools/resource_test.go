package tools_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

func TestResources(t *testing.T) {
	for _, r := range mcp.Revisions() {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFixture(t, web, setup{Piped: true}, r)
				c := s.agent("a").client
				for _, title := range []string{"One", "Two"} {
					if _, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: title}, ""); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := c.Call(t.Context(), "get_next_task", nil, nil); err != nil {
					t.Fatal(err)
				}
				if _, err := s.b.Ask(t.Context(), board.Actor{Principal: "bo", Owner: "p-1"}, board.NewQuestion{Project: "web", Text: "Why?"}); err != nil {
					t.Fatal(err)
				}
				for uri, want := range map[string]string{
					"bossman://board":       "# web\n\n2 tasks: 1 in progress, 1 ready",
					"bossman://questions":   "# Open questions\n\n* q-1 open, blocking, asked by an agent a moment ago: \"Why?\"\n",
					"bossman://tasks/web-1": "# web-1: \"One\"\nin progress",
				} {
					got, err := c.Read(t.Context(), uri, nil)
					if err != nil || len(got.Contents) != 1 || !strings.HasPrefix(got.Text(), want) || got.Contents[0].MIMEType != "text/markdown" {
						t.Errorf("Read(%s) = %+v, %v; want %q", uri, got, err, want)
					}
				}
				for _, uri := range []string{"bossman://tasks/web-9", "bossman://tasks/api-1", "bossman://tasks/x"} {
					if _, err := c.Read(t.Context(), uri, nil); err == nil || !strings.Contains(err.Error(), "not found") {
						t.Errorf("Read(%s) = %v, want not found", uri, err)
					}
				}
				ref := mcp.CompleteRef{Type: "ref/resource", URI: "bossman://tasks/{id}"}
				for value, want := range map[string][]string{"": {"web-1", "web-2"}, "web-2": {"web-2"}, "2": {"web-2"}, "x": {}} {
					got, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteArgument{Name: "id", Value: value}}, nil)
					if err != nil || !slices.Equal(got.Values, want) {
						t.Errorf("Complete(%q) = %+v, %v; want %v", value, got, err, want)
					}
				}
			})
		})
	}
}

// TestResources_changes: a client that watches resources is notified of changes made by
// others, in another process too.
func TestResources_changes(t *testing.T) {
	for _, r := range []mcp.Revision{mcp.R20241105, mcp.R20251125, mcp.LatestRevision} {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFixture(t, web, setup{Piped: true}, r)
				task, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, "")
				if err != nil {
					t.Fatal(err)
				}
				var mu sync.Mutex
				heard := map[string]int{}
				w := s.watch(r, func(uri string) {
					mu.Lock()
					defer mu.Unlock()
					heard[uri]++
				}, "bossman://board", "bossman://questions", "bossman://tasks/web-1")
				defer w()
				time.Sleep(10 * time.Second)
				mu.Lock()
				if len(heard) != 0 {
					t.Errorf("heard %v before anything happened", heard)
				}
				mu.Unlock()
				if _, err := s.b.Update(t.Context(), ada, task.ID, board.Edit{Title: new("Uno")}); err != nil {
					t.Fatal(err)
				}
				if _, err := s.b.Ask(t.Context(), ada, board.NewQuestion{Project: "web", Text: "Why?"}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				for _, uri := range []string{"bossman://board", "bossman://questions", "bossman://tasks/web-1"} {
					if heard[uri] != 1 {
						t.Errorf("heard of %s %d times, want once", uri, heard[uri])
					}
				}
			})
		})
	}
}

// TestResources_atOnce: a client is notified of a change right after its subscription, also
// if the server has only just started, and of one made while the feed is read.
func TestResources_atOnce(t *testing.T) {
	for _, r := range []mcp.Revision{mcp.R20251125, mcp.LatestRevision} {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFixture(t, web, setup{Piped: true}, r)
				during := &duringLook{Board: s.b}
				s.watched, s.hold = during, make(chan struct{})
				var heard atomic.Int32
				w := s.watch(r, func(string) { heard.Add(1) }, "bossman://board")
				defer w()
				synctest.Wait()
				create := func(ctx context.Context) {
					if _, _, err := s.b.Create(ctx, ada, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
						t.Error(err)
					}
				}
				create(t.Context())
				close(s.hold)
				time.Sleep(time.Second)
				if heard.Load() != 1 {
					t.Errorf("heard of %d changes, want of the one before the server ran", heard.Load())
				}
				later := func(ctx context.Context) {
					time.Sleep(time.Millisecond) // else clients hear of both at once
					create(ctx)
				}
				during.do.Store(&later)
				create(t.Context())
				time.Sleep(time.Second)
				if heard.Load() != 3 {
					t.Errorf("heard of %d changes, want also of the one that was made while the feed was read", heard.Load())
				}
			})
		})
	}
}

// A duringLook is a board on which something is done once, just after its feed was read.
type duringLook struct {
	access.Board
	do atomic.Pointer[func(context.Context)]
}

func (b *duringLook) Questions(ctx context.Context, f board.QuestionFilter) ([]board.Question, error) {
	if do := b.do.Swap(nil); do != nil {
		(*do)(ctx)
	}
	return b.Board.Questions(ctx, f)
}

// watch subscribes to changes of resources in the way of the revision.
func (s *fixture) watch(r mcp.Revision, hear func(uri string), uris ...string) (stop func()) {
	s.t.Helper()
	server := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
	var b access.Board = s.b
	if s.watched != nil {
		b = s.watched
	}
	tl := register(server, b, setup{Project: "web"})
	near, far := jsonrpc.Pipe(jsonrpc.Limits{})
	peer := jsonrpc.NewPeer(near, &jsonrpc.PeerOptions{
		Handle: func(context.Context, *jsonrpc.Message) (json.RawMessage, error) { return nil, jsonrpc.ErrClosed },
		Notified: func(_ context.Context, n *jsonrpc.Message) {
			var p struct {
				URI string `json:"uri"`
			}
			if n.Method == "notifications/resources/updated" && jsonv2.Unmarshal(n.Params, &p) == nil {
				hear(p.URI)
			}
		},
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if s.hold != nil {
			<-s.hold
		}
		_ = tl.Run(ctx)
	})
	wg.Go(func() { _ = server.Serve(ctx, far) })
	wg.Go(func() { _ = peer.Run(ctx) })
	ask := func(method string, params map[string]any) {
		if _, err := peer.Call(ctx, method, params); err != nil && ctx.Err() == nil {
			s.t.Errorf("%s: %v", method, err)
		}
	}
	if r.Stateless() {
		wg.Go(func() {
			ask("subscriptions/listen", map[string]any{
				"notifications": map[string]any{"resourceSubscriptions": uris},
				"_meta": map[string]any{
					"io.modelcontextprotocol/protocolVersion":    r.String(),
					"io.modelcontextprotocol/clientCapabilities": map[string]any{},
				},
			})
		})
	} else {
		ask("initialize", map[string]any{
			"protocolVersion": r.String(), "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"},
		})
		if err := peer.Notify(ctx, "notifications/initialized", nil); err != nil {
			s.t.Error(err)
		}
		for _, uri := range uris {
			ask("resources/subscribe", map[string]any{"uri": uri})
		}
	}
	return func() {
		cancel()
		wg.Wait()
	}
}
