package streamable

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/mcp"
)

func TestSessionless(t *testing.T) {
	url := serve(t, NewHandler(newFixture(t), &Options{Sessionless: true}))
	c := &client{t: t, url: url}
	const list = `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`
	for _, tt := range []struct {
		name, body string
		header     []string
		status     int
		want       string
	}{
		{"ping", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"list", list, nil, 200, `"id":"a","result":{"tools":[{"name":"ask"`},
		{"list, a form", list, []string{"Content-Type", "application/x-www-form-urlencoded"}, 200, `"tools":[`},
		{"list, no type", list, []string{"Content-Type", "-"}, 200, `"tools":[`},
		{"list, a foreign cursor", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"abc"}}`, nil, 200, `"name":"ask"`},
		{"call", legacyCall(2, "echo", "x", ""), nil, 200, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"x"}],"isError":false}}`},
		{"call, newer revision", legacyCall(2, "echo", "x", ""), []string{"Mcp-Protocol-Version", "2025-11-25"}, 200, `"text":"x"}]}}`},
		{"call, unknown revision", legacyCall(2, "echo", "x", ""), []string{"Mcp-Protocol-Version", "2020-01-01"}, 400, `"id":2,"error":{"code":-32022`},
		{"progress", legacyCall(3, "progress", "x", token), nil, 200, `"method":"notifications/progress"`},
		{"a question to nobody", legacyCall(4, "ask", "x", ""), nil, 200, `"isError":true`},
		{"unknown tool", legacyCall(5, "nope", "x", ""), nil, 200, `"id":5,"error":{"code":-32602,"message":"Unknown tool: nope"}`},
		{"unknown method", `{"jsonrpc":"2.0","id":6,"method":"nope"}`, nil, 200, `"id":6,"error":{"code":-32601,"message":"Method not found: nope"}`},
		{"nothing to set", `{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"debug"}}`, nil, 200, `"id":7,"error":{"code":-32600`},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ``},
		{"a session that is none", list, []string{"Mcp-Session-Id", "none"}, 404, `"id":"a","error"`},
		{"a batch", `[` + list + `]`, nil, 400, `Mcp-Session-Id is missing`},
		{"not JSON", `a=b`, nil, 400, `Parse error`},
	} {
		if status, text := c.post(tt.body, tt.header...); status != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, status, text, tt.status, tt.want)
		}
	}
	// Sessions work as ever.
	c.version = "2025-06-18"
	c.initialize("{}")
	if status, text := c.post(legacyCall(1, "whoami", "", "")); status != 200 || !strings.Contains(text, "local with tester") {
		t.Errorf("in a session: %d %s", status, text)
	}
}

// An error tells which request it is for, if that can be read.
func TestErrorsHaveIDs(t *testing.T) {
	url := serve(t, NewHandler(newFixture(t), &Options{Authenticate: func(r *http.Request) (mcp.Principal, error) {
		if r.Header.Get("Authorization") != "Bearer good" {
			return mcp.Principal{}, &AuthError{Text: "no"}
		}
		return mcp.Principal{ID: "p"}, nil
	}}))
	const call = `{"jsonrpc":"2.0","id":"seven","method":"tools/list"}`
	for _, tt := range []struct {
		name, token, body string
		header            []string
		status            int
		want              string
	}{
		{"no key", "bad", call, nil, 401, `"id":"seven","error":{`},
		{"no key, a large body", "bad", call + strings.Repeat(" ", maxPeek), nil, 401, `{"jsonrpc":"2.0","error":{`},
		{"no key, not JSON", "bad", "what", nil, 401, `{"jsonrpc":"2.0","error":{`},
		{"no session", "good", call, nil, 400, `"id":"seven","error":{"code":-32600`},
		{"no session, unknown method", "good", `{"jsonrpc":"2.0","id":7,"method":"nope"}`, nil, 400, `"id":7,"error":{"code":-32601`},
		{"unknown session", "good", call, []string{"Mcp-Session-Id", "x"}, 404, `"id":"seven","error":{`},
		{"unknown revision", "good", call, []string{"Mcp-Protocol-Version", "x"}, 400, `"id":"seven","error":{`},
		{"content type", "good", call, []string{"Content-Type", "text/plain"}, 415, `"id":"seven","error":{`},
		{"accept", "good", call, []string{"Accept", "text/html"}, 406, `"id":"seven","error":{`},
		{"not a request", "good", `{"jsonrpc":"2.0","id":7,"method":5}`, nil, 400, `"id":7,"error":{"code":-32600`},
	} {
		c := &client{t: t, url: url, token: tt.token}
		if status, text := c.post(tt.body, tt.header...); status != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, status, text, tt.status, tt.want)
		}
	}
}
