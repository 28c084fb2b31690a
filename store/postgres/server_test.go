package postgres_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
	"github.com/bossman-dev/bossman/mcp/replica"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/store/postgres"
)

// serverOn makes a server with all that it shares with others in s.
func serverOn(t *testing.T, s *postgres.Store) *mcp.Server {
	t.Helper()
	secrets, err := s.SealKeys().Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ring, err := replica.NewKeyring(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	server := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Keyring: ring, Tasks: s.DurableCalls(), Bus: s.Bus()})
	t.Cleanup(server.Close)
	mcp.AddTool(server, mcp.Tool{Name: "greet", Description: "Greet.", Tasks: mcp.TaskOptional}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return mcp.AsTask(c, func(_ context.Context, c *mcp.Call) (string, error) {
			name, err := mcp.Ask[string](c, "name", "Who?")
			return "Hello " + name, err
		})
	})
	return server
}

// A call that one replica runs is followed, and its question answered, at another.
func TestServer_durableCall(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	options := &mcp.ClientOptions{Tasks: true, Elicit: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		<-ctx.Done() // nobody answers here
		return nil, ctx.Err()
	}}
	first := mcptest.Connect(t, serverOn(t, openReplica(t, c, db)), &mcptest.Options{Client: *options})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	id := make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = first.Call(ctx, "greet", nil, &mcp.CallOptions{OnTask: func(s string) { id <- s }})
	}()
	task := <-id
	cancel()
	<-ended
	answers := &mcp.ClientOptions{Tasks: true, Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"Ada"}`)}, nil
	}}
	second := mcptest.Connect(t, serverOn(t, openReplica(t, c, db)), &mcptest.Options{Client: *answers})
	res, err := second.WaitTask(t.Context(), task, nil)
	if err != nil || res.Text() != "Hello Ada" {
		t.Errorf("Task at the other replica = %v, %v, want Hello Ada", res, err)
	}
}

// A session that one replica opened is served by another, until it is ended at either.
func TestServer_session(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	var urls []string
	for range 2 {
		s := openReplica(t, c, db)
		h := httptest.NewServer(streamable.NewHandler(serverOn(t, s), &streamable.Options{Sessions: s.Sessions()}))
		t.Cleanup(h.Close)
		urls = append(urls, h.URL+"/mcp")
	}
	do := func(method string, at int, session, body string) (int, string, string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, method, urls[at], strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text), resp.Header.Get("Mcp-Session-Id")
	}
	const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	status, text, session := do("POST", 0, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if status != http.StatusOK || session == "" {
		t.Fatalf("initialize = %d %s", status, text)
	}
	if status, text, _ := do("POST", 1, session, ping); status != http.StatusOK {
		t.Errorf("ping at the other replica = %d %s", status, text)
	}
	if status, text, _ := do("DELETE", 1, session, ""); status/100 != 2 {
		t.Errorf("DELETE at the other replica = %d %s", status, text)
	}
	for at := range urls {
		if status, text, _ := do("POST", at, session, ping); status != http.StatusNotFound {
			t.Errorf("ping at %d after DELETE = %d %s, want 404", at, status, text)
		}
	}
}
