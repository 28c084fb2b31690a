package streamable_test

import (
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

type greeting struct {
	Name string `json:"name" jsonschema:"whom to greet"`
}

// A server with one tool and one key.
func Example() {
	s := mcp.NewServer(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	defer s.Close()
	mcp.AddTool(s, mcp.Tool{Name: "greet", Description: "Greet somebody."},
		func(_ context.Context, _ *mcp.Call, g greeting) (string, error) { return "Hello, " + g.Name + "!", nil })

	h := streamable.NewHandler(s, &streamable.Options{
		Authenticate: func(r *http.Request) (mcp.Principal, error) {
			if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer key")) != 1 {
				return mcp.Principal{}, &streamable.AuthError{Text: "a key is needed"}
			}
			return mcp.Principal{ID: "the holder of the key"}, nil
		},
	})
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- streamable.Serve(ctx, l, h, nil) }()

	for _, key := range []string{"wrong", "key"} {
		fmt.Println(call(l.Addr().String(), key))
	}
	stop()
	fmt.Println(<-done)
	// Output:
	// 401 {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a key is needed"}}
	// 200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"Hello, Ada!"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"greeter","version":"1.0.0"}}}}
	// <nil>
}

func call(addr, key string) string {
	r, err := http.NewRequest("POST", "http://"+addr+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call",
		"params":{"name":"greet","arguments":{"name":"Ada"},"_meta":{
			"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		return err.Error()
	}
	for name, v := range map[string]string{
		"Authorization": "Bearer " + key, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "greet",
	} {
		r.Header.Set(name, v)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return fmt.Sprint(res.StatusCode, " ", string(b))
}

// A client of a server over HTTP, with a key.
func ExampleConnect() {
	s := mcp.NewServer(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	defer s.Close()
	mcp.AddTool(s, mcp.Tool{Name: "greet", Description: "Greet somebody."},
		func(_ context.Context, _ *mcp.Call, g greeting) (string, error) { return "Hello, " + g.Name + "!", nil })
	h := streamable.NewHandler(s, nil)
	web := httptest.NewServer(h)
	defer web.Close()
	defer h.Close()

	ctx := context.Background()
	c, err := streamable.Connect(ctx, web.URL+"/mcp", &streamable.ClientOptions{
		Header: http.Header{"Authorization": {"Bearer key"}},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	greeted, err := mcp.CallAs[string](ctx, c, "greet", greeting{"Ada"}, nil)
	fmt.Println(greeted, err)
	// Output:
	// Hello, Ada! <nil>
}

// A server that takes OAuth tokens, and tells clients where to get them.
func ExampleBearer() {
	s := mcp.NewServer(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	defer s.Close()
	auth := streamable.Bearer(func(_ context.Context, token string) (mcp.Principal, error) {
		if token != "good" { // a program checks signature, expiry and audience
			return mcp.Principal{}, fmt.Errorf("unknown token")
		}
		return mcp.Principal{ID: "ada"}, nil
	}, streamable.Resource{URL: "https://example.com/mcp", AuthorizationServers: []string{"https://login.example.com"}})
	h := streamable.NewHandler(s, &streamable.Options{Authenticate: auth.Authenticate, Hosts: []string{"example.com"}})
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.Handle(auth.MetadataPath(), auth)

	r := httptest.NewRequest("POST", "https://example.com/mcp", strings.NewReader("{}"))
	r.Header.Set("Authorization", "Bearer bad")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code, auth.MetadataPath())
	// Output:
	// 401 /.well-known/oauth-protected-resource/mcp
}
