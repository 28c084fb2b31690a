package streamable

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

var calls = flag.Int("calls", 12_800, "how many calls TestManyClients_sameID makes")

// A table of what is answered with which status.
func TestStatuses(t *testing.T) {
	h := NewHandler(newFixture(t), &Options{Limits: jsonrpc.Limits{Bytes: 4000}})
	url := serve(t, h)
	const v = "2026-07-28"
	discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`
	call, callHeader := modernCall(1, "echo", "hi")
	method := func(name, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + name + `","params":{` + params + modernMeta + `}}`
	}
	with := func(more ...string) []string { return append(append([]string(nil), callHeader...), more...) }
	pad := func(n int) string { // a call of n bytes
		b, _ := modernCall(1, "echo", "")
		b, _ = modernCall(1, "echo", strings.Repeat("x", n-len(b)))
		return b
	}
	for _, c := range []struct {
		name    string
		body    string
		header  []string
		status  int
		want    string
		version string
	}{
		{"discover", discover, []string{"Mcp-Method", "server/discover"}, 200, `"supportedVersions"`, v},
		{"call", call, callHeader, 200, `"text":"hi"`, v},
		{"padded name", call, with("Mcp-Name", " echo\t"), 200, `"text":"hi"`, v},
		{"name in base64", call, with("Mcp-Name", "=?base64?ZWNobw==?="), 200, `"text":"hi"`, v},
		{"panic", method("tools/call", `"name":"panic","arguments":{"text":""},`), with("Mcp-Name", "panic"), 200, `"isError":true`, v},

		{"not JSON", `{`, callHeader, 400, `"code":-32700`, v},
		{"empty", ``, callHeader, 400, `"code":-32700`, v},
		{"batch", `[` + call + `]`, callHeader, 400, `"code":-32600`, v},
		{"response", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 400, `"code":-32600`, v},
		{"response in an unknown version", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 400, `{"jsonrpc":"2.0","error":{"code":-32022`, "1999-01-01"},
		{"twice a member", `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, nil, 400, `"id":1,"error":{"code":-32600`, v},
		{"no _meta", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"Mcp-Method", "tools/list"}, 400, `"code":-32602`, v},
		{"no _meta, no header", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, nil, 400, `"code":-32602`, ""},
		{"no version header", call, callHeader, 400, `"code":-32020`, ""},
		{"other version header", call, callHeader, 400, `"code":-32020`, "2025-11-25"},
		{"unknown version", strings.ReplaceAll(call, v, "2099-01-01"), callHeader, 400, `"code":-32022`, "2099-01-01"},
		{"unknown version, other header", strings.ReplaceAll(call, v, "2099-01-01"), callHeader, 400, `"code":-32020`, v},
		{"unknown version header alone", legacyCall(1, "echo", "", ""), nil, 400, `"code":-32022`, "2099-01-01"},
		{"old version in _meta", strings.ReplaceAll(call, v, "2025-11-25"), callHeader, 400, `"code":-32022`, "2025-11-25"},
		{"no method header", call, []string{"Mcp-Name", "echo"}, 400, `"code":-32020`, v},
		{"wrong method header", call, with("Mcp-Method", "Tools/call"), 400, `"code":-32020`, v},
		{"no name header", call, []string{"Mcp-Method", "tools/call"}, 400, `"code":-32020`, v},
		{"wrong name header", call, with("Mcp-Name", "panic"), 400, `"code":-32020`, v},
		{"name header in bad base64", call, with("Mcp-Name", "=?base64?ZWNobw?="), 400, `"code":-32020`, v},
		{"unknown method", method("nope", ""), []string{"Mcp-Method", "nope"}, 404, `"code":-32601`, v},
		{"initialize", method("initialize", ""), []string{"Mcp-Method", "initialize"}, 404, `"code":-32601`, v},
		{"ping", method("ping", ""), []string{"Mcp-Method", "ping"}, 404, `"code":-32601`, v},
		{"missing capability", strings.Replace(method("tools/call", `"name":"ask","arguments":{"text":""},`), `{"elicitation":{}}`, `{}`, 1), with("Mcp-Name", "ask"), 400, `"code":-32021`, v},
		{"unknown tool", method("tools/call", `"name":"nope",`), with("Mcp-Name", "nope"), 200, `"code":-32602`, v},

		{"notification", `{"jsonrpc":"2.0","method":"notifications/nope"}`, nil, 202, ``, v},
		{"request without id", `{"jsonrpc":"2.0","method":"tools/call"}`, nil, 400, ``, v},

		{"text", call, with("Content-Type", "text/plain"), 415, ``, v},
		{"form", call, with("Content-Type", "application/x-www-form-urlencoded"), 415, ``, v},
		{"multipart", call, with("Content-Type", "multipart/form-data; boundary=x"), 415, ``, v},
		{"no content type", call, with("Content-Type", "-"), 415, ``, v},
		{"UTF-16", call, with("Content-Type", "application/json; charset=utf-16"), 415, ``, v},
		{"UTF-8", call, with("Content-Type", "Application/JSON; charset=UTF-8"), 200, ``, v},
		{"compressed", call, with("Content-Encoding", "gzip"), 415, ``, v},
		{"not compressed", call, with("Content-Encoding", "identity"), 200, ``, v},
		{"accepts all", call, with("Accept", "*/*"), 200, ``, v},
		{"accepts JSON", call, with("Accept", "application/json"), 406, ``, v},
		{"accepts events", call, with("Accept", "text/event-stream"), 406, ``, v},
		{"accepts no events", call, with("Accept", "application/json, text/event-stream;q=0"), 406, ``, v},
		{"as large as may be", pad(4000), callHeader, 200, ``, v},
		{"larger", pad(4001), callHeader, 413, ``, v},
		{"cross-site", call, with("Sec-Fetch-Site", "cross-site"), 403, ``, v},
		{"same origin", call, with("Sec-Fetch-Site", "same-origin"), 200, ``, v},
		{"evil origin", call, with("Origin", "http://evil.example"), 403, ``, v},
		{"no origin", call, with("Origin", "null"), 403, ``, v},
		{"own origin", call, with("Origin", strings.TrimSuffix(url, "/mcp")), 200, ``, v},
	} {
		cl := &client{t: t, url: url, version: c.version}
		status, body := cl.post(c.body, c.header...)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, body, c.status, c.want)
		}
	}
	for _, c := range []struct {
		method, version string
		status          int
		allow           string
	}{
		{"GET", v, 405, "POST"},
		{"DELETE", v, 405, "POST"},
		{"PUT", v, 405, "GET, POST, DELETE"},
		{"OPTIONS", "", 405, "GET, POST, DELETE"},
		{"GET", "", 400, ""},
		{"DELETE", "2025-11-25", 400, ""},
	} {
		cl := &client{t: t, url: url, version: c.version}
		res := cl.do(t.Context(), c.method, "")
		res.Body.Close()
		if res.StatusCode != c.status || res.Header.Get("Allow") != c.allow {
			t.Errorf("%s: %s, Allow %q, want %d, %q", c.method, res.Status, res.Header.Get("Allow"), c.status, c.allow)
		}
	}
}

// Whatever clients say about themselves, each is asked who it is.
func TestAuthenticate(t *testing.T) {
	h := NewHandler(newFixture(t), &Options{Authenticate: func(r *http.Request) (mcp.Principal, error) {
		switch r.Header.Get("Authorization") {
		case "Bearer good":
			return mcp.Principal{ID: "good"}, nil
		case "Bearer poor":
			return mcp.Principal{}, &AuthError{Status: 403, Challenge: `Bearer error="insufficient_scope"`, Text: "not you"}
		case "Bearer hasty":
			return mcp.Principal{}, &AuthError{Status: 429, Text: "later", RetryAfter: 1500 * time.Millisecond}
		case "":
			return mcp.Principal{}, &AuthError{Challenge: `Bearer resource_metadata="x"`}
		}
		return mcp.Principal{}, fmt.Errorf("secret details")
	}})
	url := serve(t, h)
	body, header := modernCall(1, "whoami", "")
	for _, c := range []struct {
		token, challenge, retry string
		status                  int
	}{
		{"good", "", "", 200},
		{"poor", `Bearer error="insufficient_scope"`, "", 403},
		{"hasty", "", "2", 429},
		{"", `Bearer resource_metadata="x"`, "", 401},
		{"bad", "Bearer", "", 401},
	} {
		for _, method := range []string{"POST", "GET", "DELETE", "PUT"} {
			if c.status == 200 && method != "POST" {
				continue
			}
			cl := &client{t: t, url: url, version: "2026-07-28", token: c.token}
			res := cl.do(t.Context(), method, body, header...)
			b, _ := io.ReadAll(res.Body)
			if res.Header.Get("Retry-After") != c.retry {
				t.Errorf("%s with token %q: Retry-After %q, want %q", method, c.token, res.Header.Get("Retry-After"), c.retry)
			}
			if res.StatusCode != c.status || res.Header.Get("Www-Authenticate") != c.challenge || strings.Contains(string(b), "secret") {
				t.Errorf("%s with token %q: %s %q %s, want %d %q", method, c.token, res.Status, res.Header.Get("Www-Authenticate"), b, c.status, c.challenge)
			}
		}
	}
}

// Browsers are told of the pages that may use us, and of no others.
func TestCrossOrigin(t *testing.T) {
	refuse := func(*http.Request) (mcp.Principal, error) { return mcp.Principal{}, &AuthError{} }
	named := &Options{Origins: []string{"https://app.example"}, Authenticate: refuse}
	for _, c := range []struct {
		name           string
		o              *Options
		method, origin string
		status         int
		allow          string // the page that may read the answer
	}{
		{"preflight", named, "OPTIONS", "https://app.example", 204, "https://app.example"},
		{"the request", named, "POST", "https://app.example", 401, "https://app.example"},
		{"another page", named, "OPTIONS", "https://evil.example", 403, ""},
		{"another scheme", named, "OPTIONS", "http://app.example", 403, ""},
		{"no page", named, "OPTIONS", "", 401, ""},
		{"our own page", named, "OPTIONS", "http://localhost", 401, ""},
		{"nobody is named", &Options{Authenticate: refuse}, "OPTIONS", "https://app.example", 403, ""},
		{"nobody is named, our own page", &Options{Authenticate: refuse}, "OPTIONS", "http://localhost", 401, ""},
	} {
		r := httptest.NewRequest(c.method, "http://localhost/mcp", nil)
		r.Header.Set("Access-Control-Request-Method", "POST")
		r.Header.Set("Access-Control-Request-Headers", "content-type,mcp-param-region")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}
		if c.origin == "http://localhost" {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
		w := httptest.NewRecorder()
		NewHandler(newFixture(t), c.o).ServeHTTP(w, r)
		if got := w.Header().Get("Access-Control-Allow-Origin"); w.Code != c.status || got != c.allow {
			t.Errorf("%s: %d for %q, want %d for %q", c.name, w.Code, got, c.status, c.allow)
		}
		if exposed := w.Header().Get("Access-Control-Expose-Headers"); (exposed != "") != (c.allow != "") {
			t.Errorf("%s: the page sees %q", c.name, exposed)
		}
		if headers := w.Header().Get("Access-Control-Allow-Headers"); (headers == "content-type,mcp-param-region") != (c.status == 204) {
			t.Errorf("%s: the page may send %q", c.name, headers)
		}
	}
}

// Bytes that no client would send, on every route.
func TestForeign(t *testing.T) {
	var told []string
	h := NewHandler(newFixture(t), &Options{
		Hosts:     []string{"bossman.example"},
		OnForeign: func(r *http.Request, header string) { told = append(told, header+" "+r.Host) },
	})
	for _, c := range [][2]string{
		{"bossman.example", ""},
		{"evil.example", ""},
		{"bossman.example:8181", "https://evil.example"},
	} {
		r := httptest.NewRequest("POST", "http://"+c[0]+"/mcp", nil)
		if c[1] != "" {
			r.Header.Set("Origin", c[1])
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	if want := []string{"Host evil.example", "Origin bossman.example:8181"}; !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
}

func TestHostileHeaders(t *testing.T) {
	h := NewHandler(newFixture(t), nil)
	at, err := url.Parse(serve(t, h))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := modernCall(1, "echo", "hi")
	good := "Host: " + at.Host + "\r\n" +
		"Content-Type: application/json\r\nAccept: */*\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	for _, path := range []string{"/mcp", "/any/other"} {
		for _, c := range []struct {
			name, header string
			status       string
		}{
			{"good", good + length, "200"},
			{"evil Host", strings.Replace(good, at.Host, "evil.example", 1) + length, "403"},
			{"evil Host and Origin", strings.Replace(good, at.Host, "evil.example", 1) + length + "Origin: http://evil.example\r\n", "403"},
			{"Host that begins like ours", strings.Replace(good, at.Host, "localhost.evil.example", 1) + length, "403"},
			{"localhost", strings.Replace(good, at.Host, "LOCALHOST:1", 1) + length, "200"},
			{"IPv6", strings.Replace(good, at.Host, "[::1]", 1) + length, "200"},
			{"evil Origin", good + length + "Origin: http://evil.example\r\n", "403"},
			{"Origin null", good + length + "Origin: null\r\n", "403"},
			{"two Origins", good + length + "Origin: http://" + at.Host + "\r\nOrigin: http://" + at.Host + "\r\n", "403"},
			{"other port's Origin", good + length + "Origin: http://127.0.0.1:1\r\n", "403"},
			{"two Hosts", good + length + "Host: evil.example\r\n", "400"},
			{"no Host", strings.Replace(good, "Host", "X-Host", 1) + length, "400"},
			{"two content types", good + length + "Content-Type: text/plain\r\n", "400"},
			{"two names", good + length + "Mcp-Name: panic\r\n", "400"},
			{"two equal names", good + length + "mcp-name: echo\r\n", "400"},
			{"two versions", good + length + "MCP-Protocol-Version: 2025-11-25\r\n", "400"},
			{"two sessions", good + length + "Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\n", "400"},
			{"two params", good + length + "Mcp-Param-A: a\r\nMcp-Param-A: b\r\n", "400"},
			{"two authorizations", good + length + "Authorization: a\r\nAuthorization: b\r\n", "400"},
			{"two lengths", good + length + "Content-Length: 1\r\n", "400"},
			{"space before colon", good + length + "Mcp-Param-X : a\r\n", "400"},
			{"NUL", good + length + "Mcp-Param-X: a\x00b\r\n", "400"},
			{"bad transfer encoding", good + "Transfer-Encoding: x\r\n", "501"},
			{"text", strings.Replace(good, "application/json", "text/plain", 1) + length, "415"},
			{"header too long", good + length + "X-Long: " + strings.Repeat("x", 64<<10) + "\r\n", "431"},
		} {
			if got := raw(t, at.Host, "POST "+path+" HTTP/1.1\r\n"+c.header+"\r\n"+body); got != c.status {
				t.Errorf("%s, %s: %s, want %s", path, c.name, got, c.status)
			}
		}
		// net/http takes the transfer encoding and ignores the length. A proxy in
		// front must refuse such requests; the test is here to see it change.
		chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
		if got := raw(t, at.Host, "POST "+path+" HTTP/1.1\r\n"+good+length+"Transfer-Encoding: chunked\r\n\r\n"+chunked); got != "200" {
			t.Errorf("%s, length and transfer encoding: %s, want 200", path, got)
		}
	}
}

// raw sends bytes and returns the status of the answer.
func raw(t *testing.T, host, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go io.WriteString(c, request)
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.Fields(line)[1]
}

// Ids mean nothing between two clients: each gets its own answer.
func TestManyClients_sameID(t *testing.T) {
	url := serve(t, NewHandler(newFixture(t), nil))
	const clients = 64
	total := *calls
	if raceEnabled {
		total /= 4
	}
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() {
			c := &client{t: t, url: url, version: "2026-07-28", http: &http.Client{Transport: &http.Transport{}}}
			defer c.http.CloseIdleConnections()
			if n%2 == 1 {
				c.version = "2025-11-25"
				c.initialize(`{}`)
			}
			for i := range total / clients {
				text := fmt.Sprintf("client %d call %d.", n, i)
				tool := "echo"
				if i%8 == 0 {
					tool = "progress"
				}
				body, header := modernCall(1, tool, text)
				if n%2 == 1 {
					body, header = legacyCall(1, tool, text, token), nil
				}
				if status, got := c.post(body, header...); status != 200 || !strings.Contains(got, `"text":"`+text+`"`) || strings.Count(got, "client ") != 1 {
					t.Errorf("%s: %d %s", text, status, got)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestHandler_busy(t *testing.T) {
	h := NewHandler(newFixture(t), &Options{MaxInFlight: 1, MaxStreams: 1})
	c := &client{t: t, url: serve(t, h), version: "2026-07-28"}
	h.inFlight.reacquire("local", 1)
	body, header := modernCall(1, "echo", "hi")
	res := c.do(t.Context(), "POST", body, header...)
	res.Body.Close()
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Errorf("one more call: %s, want 503", res.Status)
	}
	h.inFlight.release("local", 1)
	h.streams.reacquire("local", 1)
	if status, got := c.post(strings.Replace(body, "echo", "progress", 1), "Mcp-Method", "tools/call", "Mcp-Name", "progress"); status != 200 || !strings.HasPrefix(got, `{"jsonrpc"`) {
		t.Errorf("a call with progress and no place for a stream: %d %s, want plain JSON", status, got)
	}
	if status, _ := c.post(listenRequest, "Mcp-Method", "subscriptions/listen"); status != 503 {
		t.Errorf("one more stream: %d, want 503", status)
	}
	h.streams.release("local", 1)
}

// TestHandler_waiting: who only waits keeps nobody from being served.
func TestHandler_waiting(t *testing.T) {
	s := newFixture(t)
	waiting, news := make(chan bool, 2), make(chan bool)
	s.AddRawTool(mcp.Tool{Name: "wait", Description: "waits", InputSchema: []byte(`{"type":"object"}`)}, func(_ context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
		resume := c.Idle()
		waiting <- true
		<-news
		resume()
		return &mcp.ToolResult{Content: []mcp.Content{mcp.Text("at last")}}, nil
	})
	h := NewHandler(s, &Options{MaxInFlight: 1, MaxStreams: 2})
	c := &client{t: t, url: serve(t, h), version: "2026-07-28"}
	body, header := modernCall(1, "wait", "x")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if status, got := c.post(body, header...); status != 200 || !strings.Contains(got, "at last") {
				t.Errorf("waiting: %d %s", status, got)
			}
		})
		<-waiting
	}
	echo, header := modernCall(2, "echo", "hi")
	if status, got := c.post(echo, header...); status != 200 || !strings.Contains(got, "hi") {
		t.Errorf("a call beside two that wait: %d %s", status, got)
	}
	close(news)
	wg.Wait()
	if n, m := h.inFlight.load(), h.streams.load(); n != 0 || m != 0 {
		t.Errorf("%d in flight and %d streams are left", n, m)
	}
}

// One who takes all that he may leaves enough for the others.
func TestHandler_busyForOne(t *testing.T) {
	h := NewHandler(newFixture(t), &Options{
		Authenticate: func(r *http.Request) (mcp.Principal, error) {
			return mcp.Principal{ID: r.Header.Get("Authorization")}, nil
		},
		MaxInFlightPerPrincipal: 2, MaxStreamsPerPrincipal: 2,
	})
	url := serve(t, h)
	ada := &client{t: t, url: url, version: "2026-07-28", token: "ada"}
	eve := &client{t: t, url: url, version: "2026-07-28", token: "eve"}
	slow, slowHeader := modernCall(1, "slow", "1m")
	body, header := modernCall(1, "echo", "hi")
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		e := newEvents(t, eve.do(ctx, "POST", listenRequest, "Mcp-Method", "subscriptions/listen"))
		e.want("acknowledged")
	}
	if status, _ := eve.post(listenRequest, "Mcp-Method", "subscriptions/listen"); status != 429 {
		t.Errorf("third stream of one principal: %d, want 429", status)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			r, _ := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(slow))
			r.Header = http.Header{
				"Authorization": {"Bearer eve"}, "Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"},
				slowHeader[0]: {slowHeader[1]}, slowHeader[2]: {slowHeader[3]},
			}
			if res, err := http.DefaultClient.Do(r); err == nil {
				t.Errorf("slow call: %s", res.Status)
			}
		})
	}
	waitFor(t, "two calls", func() bool { return h.inFlight.load() == 2 })
	if status, _ := eve.post(body, header...); status != 429 {
		t.Errorf("third call of one principal: %d, want 429", status)
	}
	if status, got := ada.post(body, header...); status != 200 {
		t.Errorf("first call of another: %d %s", status, got)
	}
	cancel()
	wg.Wait()
	waitFor(t, "an empty memory", func() bool {
		h.inFlight.mu.Lock()
		defer h.inFlight.mu.Unlock()
		h.streams.mu.Lock()
		defer h.streams.mu.Unlock()
		return len(h.inFlight.perOwner)+len(h.streams.perOwner) == 0
	})
	if status, _ := eve.post(body, header...); status != 200 {
		t.Errorf("after the others: %d", status)
	}
}

func TestMemory_ofLargeBodies(t *testing.T) {
	h := NewHandler(newFixture(t), &Options{MaxBytes: 256 << 10})
	c := &client{t: t, url: serve(t, h), version: "2026-07-28"}
	body, header := modernCall(1, "echo", strings.Repeat("x", 300<<10))
	if status, _ := c.post(body, header...); status != 503 {
		t.Errorf("a body larger than all memory for bodies: %d, want 503", status)
	}
	body, header = modernCall(1, "echo", strings.Repeat("x", 100<<10))
	if status, _ := c.post(body, header...); status != 200 {
		t.Errorf("a smaller one: %d, want 200", status)
	}
	waitFor(t, "free memory", func() bool { return h.bodies.load() == 0 })
}

func TestAccepts(t *testing.T) {
	for _, c := range []struct {
		accept string
		want   bool
	}{
		{"text/event-stream", true},
		{"TEXT/*", true},
		{"*/*;q=0.1", true},
		{"text/event-stream;q=0", false},
		{"text/event-stream; charset=x; q=0.000", false},
		{"text/html, application/json", false},
		{"", false},
	} {
		if got := accepts([]string{c.accept}, "text/event-stream"); got != c.want {
			t.Errorf("accepts(%q) = %t, want %t", c.accept, got, c.want)
		}
	}
}
