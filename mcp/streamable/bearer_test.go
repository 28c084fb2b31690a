package streamable_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

const toolsList = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

func postList(t *testing.T, url, authorization string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(toolsList))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "tools/list")
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// Tokens are verified by the program. What is refused says where to get a token.
func TestBearer(t *testing.T) {
	verify := func(_ context.Context, token string) (mcp.Principal, error) {
		switch token {
		case "good":
			return mcp.Principal{ID: "ada"}, nil
		case "nobody":
			return mcp.Principal{}, nil
		case "weak":
			return mcp.Principal{}, &streamable.ScopeError{Missing: []string{"draw:write"}}
		case "down":
			return mcp.Principal{}, &streamable.AuthError{Status: 503, Text: "no keys at the moment"}
		}
		return mcp.Principal{}, errors.New("expired")
	}
	auth := streamable.Bearer(verify, streamable.Resource{
		URL: "https://draw.example/v1/mcp", AuthorizationServers: []string{"https://login.example"}, Scopes: []string{"draw:read", "draw:write"}, Name: "Draw",
	})
	s := mcp.NewServer(mcp.Implementation{Name: "draw", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "t", Description: "A tool."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
	h := streamable.NewHandler(s, &streamable.Options{Authenticate: auth.Authenticate, Logger: slog.New(slog.DiscardHandler)})
	mux := http.NewServeMux()
	mux.Handle("/v1/mcp", h)
	mux.Handle(auth.MetadataPath(), auth)
	web := httptest.NewServer(mux)
	defer web.Close()
	defer h.Close()
	const metadata = `resource_metadata="https://draw.example/.well-known/oauth-protected-resource/v1/mcp"`
	for authorization, want := range map[string]struct {
		status    int
		challenge string
	}{
		"":                 {401, "Bearer " + metadata},
		"Basic YTpi":       {401, "Bearer " + metadata},
		"Bearer":           {400, ""},
		"Bearer a b":       {400, ""},
		"Bearer \"":        {400, ""},
		"Bearer expired":   {401, `Bearer error="invalid_token", ` + metadata},
		"Bearer nobody":    {401, "Bearer"},
		"Bearer weak":      {403, `Bearer error="insufficient_scope", ` + metadata + `, scope="draw:write"`},
		"Bearer down":      {503, ""},
		"Bearer good":      {200, ""},
		"bearer   good":    {200, ""},
		"Bearer expired==": {401, `Bearer error="invalid_token", ` + metadata},
	} {
		res := postList(t, web.URL+"/v1/mcp", authorization)
		if res.StatusCode != want.status || res.Header.Get("WWW-Authenticate") != want.challenge {
			t.Errorf("Authorization %q: %d, %s; want %d, %s", authorization, res.StatusCode, res.Header.Get("WWW-Authenticate"), want.status, want.challenge)
		}
	}
	res, err := http.Get(web.URL + "/.well-known/oauth-protected-resource/v1/mcp")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, _ := io.ReadAll(res.Body)
	const want = `{"resource":"https://draw.example/v1/mcp","authorization_servers":["https://login.example"],"scopes_supported":["draw:read","draw:write"],"bearer_methods_supported":["header"],"resource_name":"Draw"}`
	if string(got) != want || res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("metadata %s, want %s", got, want)
	}
	if res, err := http.Post(web.URL+auth.MetadataPath(), "text/plain", nil); err != nil || res.StatusCode != 405 {
		t.Errorf("POST of the metadata: %v, %v", res, err)
	}
	for _, bad := range []string{"", "/mcp", "ftp://x/mcp", "https://x/mcp#a", `https://x/"`} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Bearer with the URL %q does not panic", bad)
				}
			}()
			streamable.Bearer(verify, streamable.Resource{URL: bad})
		}()
	}
}

// A handler serves every path that it is mounted at.
func TestHandler_anyPath(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "t", Description: "A tool."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
	h := streamable.NewHandler(s, nil)
	mux := http.NewServeMux()
	mux.Handle("/a/b", h)
	mux.Handle("/c/{name}", h)
	web := httptest.NewServer(mux)
	defer web.Close()
	defer h.Close()
	for path, want := range map[string]int{"/a/b": 200, "/c/x": 200, "/mcp": 404} {
		if res := postList(t, web.URL+path, ""); res.StatusCode != want {
			t.Errorf("POST %s: %d, want %d", path, res.StatusCode, want)
		}
	}
}

// A server with clients that listen shuts down at once, with its own timeouts or with the
// program's, and so does a test's.
func TestHandler_shutdown(t *testing.T) {
	for _, r := range mcp.Revisions()[1:] {
		for _, how := range []string{"RegisterOnShutdown", "NewHTTPServer", "httptest"} {
			s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, nil)
			mcp.AddTool(s, mcp.Tool{Name: "t", Description: "A tool."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
			h := streamable.NewHandler(s, &streamable.Options{Logger: slog.New(slog.DiscardHandler)})
			web := httptest.NewUnstartedServer(h)
			if how == "NewHTTPServer" {
				web.Config = streamable.NewHTTPServer(h)
			} else if how == "RegisterOnShutdown" {
				web.Config.RegisterOnShutdown(h.Close)
			}
			web.Start()
			c, err := streamable.Connect(t.Context(), web.URL, nil, &mcp.ClientOptions{Revision: r, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			heard := make(chan struct{}, 9)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range c.Listen(ctx, mcp.EventFilter{Tools: true}) {
					heard <- struct{}{}
				}
			}()
			<-heard
			began := time.Now()
			if how == "httptest" {
				h.Close()
			} else {
				limited, stop := context.WithTimeout(t.Context(), time.Minute)
				if err := web.Config.Shutdown(limited); err != nil {
					t.Errorf("%s, %s: Shutdown = %v", r, how, err)
				}
				stop()
			}
			web.Close()
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("%s, %s: it took %v", r, how, took)
			}
			cancel()
			_ = c.Close()
			<-done
		}
	}
}
