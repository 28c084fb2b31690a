package streamable

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/mcp"
)

// owned is a handler whose principals are "owner/key".
func owned(t *testing.T, o Options) (*Handler, string) {
	o.Authenticate = func(r *http.Request) (mcp.Principal, error) {
		id := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		owner, _, _ := strings.Cut(id, "/")
		return mcp.Principal{ID: id, Owner: owner}, nil
	}
	h := NewHandler(newFixture(t), &o)
	return h, serve(t, h)
}

// postSlowly sends the header of a POST and the first byte of its body.
func postSlowly(t *testing.T, url, token string, length string) net.Conn {
	t.Helper()
	addr, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "POST /%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %s\r\n\r\n{",
		path, addr, token, length)
	return c
}

// A request takes its slot when its body has arrived: bodies that do not arrive keep
// nobody from being served.
func TestHandler_slowBodies(t *testing.T) {
	h, url := owned(t, Options{MaxInFlight: 4})
	for i := range 20 {
		postSlowly(t, url, fmt.Sprintf("eve/%d", i%5), "2000")
	}
	waitFor(t, "twenty bodies", func() bool { return h.bodies.load() >= 20*leastBody })
	body, header := modernCall(1, "echo", "hi")
	for _, token := range []string{"ada/1", "eve/9"} {
		c := &client{t: t, url: url, version: "2026-07-28", token: token}
		if status, got := c.post(body, header...); status != 200 {
			t.Errorf("a call of %s beside twenty bodies that do not arrive: %d %s, want 200", token, status, got)
		}
	}
}

// The memory for bodies is limited for each owner, also for bodies that announce much and
// send little.
func TestHandler_bodiesOfOne(t *testing.T) {
	h, url := owned(t, Options{MaxBytes: 16 * smallBody})
	h.bodies.maxEach = 4 * smallBody
	for i := range 4 {
		postSlowly(t, url, fmt.Sprintf("eve/%d", i), "1000000")
	}
	waitFor(t, "four bodies", func() bool { return h.bodies.load() == 4*smallBody })
	body, header := modernCall(1, "echo", "hi")
	eve := &client{t: t, url: url, version: "2026-07-28", token: "eve/5"}
	if status, got := eve.post(body, header...); status != 429 || !strings.Contains(got, "bytes of requests in transfer are at the limit for one owner, 131072") {
		t.Errorf("a fifth body of one owner: %d %s, want 429 and the limit", status, got)
	}
	ada := &client{t: t, url: url, version: "2026-07-28", token: "ada/1"}
	if status, got := ada.post(body, header...); status != 200 {
		t.Errorf("another's body: %d %s, want 200", status, got)
	}
}

// longAnswer is the size of an answer that no buffer of a connection takes whole.
const longAnswer = 16 << 20

// The memory for answers that are not read is limited for each owner.
func TestHandler_unreadAnswers(t *testing.T) {
	h, url := owned(t, Options{MaxBytes: 10 * longAnswer})
	body, header := modernCall(1, "long", "")
	addr, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	for i := range 2 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "POST /%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer eve/%d\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n%s: %s\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s",
			path, addr, i, header[0], header[1], header[2], header[3], len(body), body)
		waitFor(t, "an answer that is not read", func() bool { return h.answers.load() > int64(i+1)*longAnswer })
	}
	eve := &client{t: t, url: url, version: "2026-07-28", token: "eve/5"}
	if status, got := eve.post(body, header...); status != 429 || !strings.Contains(got, "bytes of answers that were not read yet are at the limit for one owner") {
		t.Errorf("a third answer of one owner: %d %.200s, want 429 and the limit", status, got)
	}
	ada := &client{t: t, url: url, version: "2026-07-28", token: "ada/1"}
	if status, _ := ada.post(body, header...); status != 200 {
		t.Errorf("another's answer: %d, want 200", status)
	}
	body, header = modernCall(1, "echo", "hi")
	if status, _ := eve.post(body, header...); status != 200 {
		t.Errorf("a short answer of the same owner: %d, want 200", status)
	}
}

// Slots are counted by owner, not by key.
func TestHandler_slotsOfOwner(t *testing.T) {
	h, url := owned(t, Options{MaxInFlightPerPrincipal: 2, MaxStreamsPerPrincipal: 2})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	slow, slowHeader := modernCall(1, "slow", "1m")
	for i := range 2 {
		eve := &client{t: t, url: url, version: "2026-07-28", token: fmt.Sprintf("eve/%d", i)}
		newEvents(t, eve.do(ctx, "POST", listenRequest, "Mcp-Method", "subscriptions/listen")).want("acknowledged")
		go func() {
			r, _ := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(slow))
			r.Header = http.Header{
				"Authorization": {"Bearer " + eve.token}, "Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"},
				slowHeader[0]: {slowHeader[1]}, slowHeader[2]: {slowHeader[3]},
			}
			if res, err := http.DefaultClient.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		}()
	}
	waitFor(t, "two calls", func() bool { return h.inFlight.load() == 2 })
	third := &client{t: t, url: url, version: "2026-07-28", token: "eve/3"}
	body, header := modernCall(7, "echo", "hi")
	if status, got := third.post(body, header...); status != 429 || !strings.Contains(got, `"id":7`) || !strings.Contains(got, "requests at once are at the limit for one owner, 2") {
		t.Errorf("a call with a third key of one owner: %d %s, want 429 with its id and the limit", status, got)
	}
	if status, got := third.post(listenRequest, "Mcp-Method", "subscriptions/listen"); status != 429 {
		t.Errorf("a stream with a third key: %d %s, want 429", status, got)
	}
	ada := &client{t: t, url: url, version: "2026-07-28", token: "ada/1"}
	if status, got := ada.post(body, header...); status != 200 {
		t.Errorf("another owner's call: %d %s, want 200", status, got)
	}
}
