package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/internal/gatewaycli"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/remote"
)

// A shared upstream is started once for all keys, any other one once for each, and workers need a claim.
func TestGateway(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	var mu sync.Mutex
	starts := map[string]int{}
	up := mcp.NewServer(mcp.Implementation{Name: "up", Version: "1"}, &mcp.ServerOptions{Logger: log})
	mcp.AddTool(up, mcp.Tool{Name: "hello", Description: "Say hello."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "hello", nil })
	var upstreams []gateway.Upstream
	for name, share := range map[string]gateway.Share{"common": gateway.ShareAll, "single": gateway.ShareOwn} {
		upstreams = append(upstreams, gateway.Upstream{Name: name, Command: []string{name}, Share: share, TrustFirst: true, Max: 4, Timeout: time.Minute, Idle: time.Minute})
	}
	var b *board.Board
	var journal *board.Journal
	g, err := gateway.New(t.Context(), upstreams, &gateway.Options{
		Logger: log, Shared: true, Allowed: gatewaycli.Allowed,
		Guard: &gatewaycli.Guard{Board: func() (gatewaycli.Board, *board.Journal) { return b, journal }},
		Start: func(ctx context.Context, c *mcp.Command, o *mcp.ClientOptions) (*mcp.Client, error) {
			mu.Lock()
			starts[c.Args[0]]++
			mu.Unlock()
			one, two := jsonrpc.Pipe(jsonrpc.Limits{})
			go func() { _ = up.Serve(context.Background(), two) }()
			return mcp.Connect(ctx, one, o)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	journal = board.NewJournal(ledger{&b}, nil)
	s := newTestServer(t, Options{Gateway: g, Journal: journal})
	b = s.board
	for len(g.Items()) < 2 {
		time.Sleep(5 * time.Millisecond)
	}
	call := func(role auth.Role, tool string) string {
		t.Helper()
		c, err := streamable.Connect(t.Context(), s.url+"/mcp", &streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + s.key("web", role, false)}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		res, err := c.Call(t.Context(), "call_tool", map[string]any{"name": tool, "arguments": json.RawMessage("{}")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].Text
	}
	for range 3 {
		for _, tool := range []string{"common__hello", "single__hello"} {
			if got := call(auth.Lead, tool); got != "hello" {
				t.Errorf("%s = %q", tool, got)
			}
		}
	}
	// The one without a key read the lists.
	if mu.Lock(); starts["common"] != 1 || starts["single"] != 4 {
		t.Errorf("starts = %v", starts)
	}
	mu.Unlock()
	if got := call(auth.Worker, "common__hello"); !strings.Contains(got, "you hold no task") {
		t.Errorf("a worker without a claim = %q", got)
	}
	if got := call(auth.Viewer, "common__hello"); !strings.Contains(got, "there is no tool") {
		t.Errorf("a viewer = %q", got)
	}
}

// A ledger is a board that is made later.
type ledger struct{ b **board.Board }

func (l ledger) EndCalls(ctx context.Context, ends []board.EndedCall) error {
	return (*l.b).EndCalls(ctx, ends)
}

func (l ledger) Touch(ctx context.Context, list []board.Touched) error {
	return (*l.b).Touch(ctx, list)
}

// Calls alone keep a claim for three leases, on the board itself and at a laptop that uses it, whether they need a claim or not.
func TestGateway_keepsClaim(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	s := newTestServer(t, Options{})
	if err := s.board.SetProject(t.Context(), board.Project{Slug: "web", Policy: board.PolicyTrust, Lease: lease}); err != nil {
		t.Fatal(err)
	}
	key := s.key("web", auth.Worker, false)
	laptop := remote.New(func(ctx context.Context) (*mcp.Client, error) {
		return streamable.Connect(ctx, s.url+"/mcp", &streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + key}}}, nil)
	})
	t.Cleanup(func() { laptop.Close() })
	me, err := laptop.Whoami(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]access.Board{"file": s.board, "laptop": laptop} {
		for _, class := range []gateway.Class{gateway.ClassRead, gateway.ClassClaim, "none"} {
			t.Run(name+" "+string(class), func(t *testing.T) {
				t.Parallel()
				caller := access.Local(auth.Worker, "web")
				if name == "laptop" {
					caller.Principal = me.ID
				}
				task, _, err := s.board.Create(t.Context(), board.Actor{Principal: "p"}, board.NewTask{Project: "web", Title: name + string(class)}, "")
				if err != nil {
					t.Fatal(err)
				}
				h, err := b.Next(t.Context(), caller.Actor, board.Wish{Projects: []string{"web"}, Task: task.ID})
				if err != nil {
					t.Fatal(err)
				}
				journal := board.NewJournal(b, func(err error) { t.Error(err) })
				ctx, stop := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				wg.Go(func() { _ = journal.Run(ctx) })
				defer wg.Wait() // it writes for a last time
				defer stop()
				guard := &gatewaycli.Guard{Board: func() (gatewaycli.Board, *board.Journal) { return b, journal }, Caller: func() *access.Caller { return caller }}
				for end := time.Now().Add(3*lease + time.Second); time.Now().Before(end); time.Sleep(lease / 10) {
					if class == "none" {
						continue
					}
					a, err := guard.Admit(t.Context(), gateway.GuardedCall{Upstream: "up", Tool: "x", Class: class, Arguments: json.RawMessage("{}"), Limit: time.Second})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := a.Done(t.Context(), gateway.CallEnd{Outcome: gateway.OutcomeOK}); err != nil {
						t.Fatal(err)
					}
				}
				claims, err := s.board.Claims(t.Context(), board.ClaimFilter{Task: task.ID})
				if err != nil {
					t.Fatal(err)
				}
				if kept := len(claims) == 1 && claims[0].Handle == h.Claim.Handle; kept != (class != "none") {
					t.Errorf("after three leases the claim is kept: %v", kept)
				}
			})
		}
	}
}
