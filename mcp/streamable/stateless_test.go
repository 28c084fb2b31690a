package streamable

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

const listenRequest = `{"jsonrpc":"2.0","id":"l1","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://r"]},` + modernMeta + `}}`

// An answer is plain JSON until there is something to say before it.
func TestAnswer_undecided(t *testing.T) {
	c := &client{t: t, url: serve(t, NewHandler(newFixture(t), nil)), version: "2026-07-28"}
	body, header := modernCall(7, "echo", "hi")
	res := c.do(t.Context(), "POST", body, header...)
	res.Body.Close()
	if ct := res.Header.Get("Content-Type"); ct != "application/json" || res.ContentLength <= 0 || res.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("echo: %v", res.Header)
	}
	body, header = modernCall(7, "progress", "hi")
	res = c.do(t.Context(), "POST", body, header...)
	e := newEvents(t, res)
	e.want(`"progress":1`, `"progress":2`, `"id":7,"result"`, "")
	if e.last != "" {
		t.Errorf("event id %q, want none in this revision", e.last)
	}
}

// A change reaches those who listen, whichever connection made it, and when the
// server ends they are told so.
func TestListen_acrossConnections(t *testing.T) {
	s := newFixture(t)
	h := NewHandler(s, nil)
	url := serve(t, h)
	var streams []*events
	for range 3 {
		c := &client{t: t, url: url, version: "2026-07-28", http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
		e := newEvents(t, c.do(t.Context(), "POST", listenRequest, "Mcp-Method", "subscriptions/listen"))
		defer e.body.Close()
		e.want("notifications/subscriptions/acknowledged")
		streams = append(streams, e)
	}
	mcp.AddTool(s, mcp.Tool{Name: "new", Description: "new"}, func(context.Context, *mcp.Call, words) (string, error) { return "", nil })
	for _, e := range streams {
		e.want("notifications/tools/list_changed")
	}
	s.ResourceUpdated("test://r")
	for _, e := range streams {
		e.want(`"uri":"test://r"`)
	}
	if n := h.inFlight.load(); n != 0 {
		t.Errorf("%d in flight: listening should not count", n)
	}
	h.Close()
	for _, e := range streams {
		e.want(`"id":"l1","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo"`, "")
	}
	c := &client{t: t, url: url, version: "2026-07-28"}
	if status, _ := c.post(listenRequest, "Mcp-Method", "subscriptions/listen"); status != 503 {
		t.Errorf("listen after the end: %d, want 503", status)
	}
}

// A client that only listens costs little. That includes the stack, which Go makes
// smaller when less than a quarter of it is in use.
func TestListen_memory(t *testing.T) {
	if raceEnabled {
		t.Skip("takes more with the race detector")
	}
	at, err := url.Parse(serve(t, NewHandler(newFixture(t), nil)))
	if err != nil {
		t.Fatal(err)
	}
	memory := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	const n = 500
	before := memory()
	for range n {
		conn, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: */*\r\n"+
			"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s",
			at.Host, len(listenRequest), listenRequest)
		if _, err := io.ReadFull(conn, make([]byte, 300)); err != nil { // the header and some of the first event
			t.Fatal(err)
		}
	}
	if each := (memory() - before) / n; each > 32<<10 {
		t.Errorf("a stream takes %d bytes, want 32 KiB at most", each)
	}
}

// A client that goes away has taken its request back.
func TestDisconnect_cancels(t *testing.T) {
	s := newFixture(t)
	ended := make(chan error, 1)
	mcp.AddTool(s, mcp.Tool{Name: "hang", Description: "hang"}, func(ctx context.Context, c *mcp.Call, _ words) (string, error) {
		c.Progress(1, 2, "")
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	})
	c := &client{t: t, url: serve(t, NewHandler(s, nil)), version: "2026-07-28"}
	ctx, cancel := context.WithCancel(t.Context())
	body, header := modernCall(1, "hang", "")
	e := newEvents(t, c.do(ctx, "POST", body, header...))
	e.want(`"progress":1`)
	cancel()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the call goes on")
	}
}

// inMemory serves h over a network in memory, within a synctest bubble. The
// function that it returns ends the server and waits.
func inMemory(t *testing.T, h *Handler) (l *pipeListener, c *client, stop func()) {
	t.Helper()
	l = newPipeListener()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, h, nil) }()
	transport := &http.Transport{DialContext: l.dial}
	c = &client{t: t, url: "http://test/mcp", version: "2026-07-28", http: &http.Client{Transport: transport}}
	return l, c, func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

// Connections on which nothing happens get closed by those on the way, so a call
// that takes long says so.
func TestQuietCall_becomesStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, stop := inMemory(t, NewHandler(newFixture(t), &Options{Hosts: []string{"test"}}))
		defer stop()
		body, header := modernCall(1, "slow", "200s")
		res := c.do(t.Context(), "POST", body, header...)
		if ct := res.Header.Get("Content-Type"); ct != "text/event-stream" {
			t.Errorf("Content-Type %q", ct)
		}
		var b strings.Builder
		e := newEvents(t, res)
		for {
			line, err := e.r.ReadString('\n')
			b.WriteString(line)
			if err != nil {
				break
			}
		}
		if got := b.String(); strings.Count(got, ":\n\n") != 13 || !strings.Contains(got, `"text":"done"`) {
			t.Errorf("stream %q, want 13 comments and the result", got)
		}
	})
}

// A client that sends its header or body a byte at a time is given up.
func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, stop := inMemory(t, NewHandler(newFixture(t), &Options{Hosts: []string{"test"}}))
		defer stop()
		for _, c := range []struct {
			name, begin string
			most        time.Duration
		}{
			{"header", "", 6 * time.Second},
			{"body", "POST /mcp HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nAccept: */*\r\nContent-Length: 1000\r\n\r\n", 12 * time.Second},
			{"body of a refused request", "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\n", 12 * time.Second},
			{"body elsewhere", "POST /x HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n", 12 * time.Second},
			{"body of another type", "POST /mcp HTTP/1.1\r\nHost: test\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n", 12 * time.Second},
			{"body of a GET", "GET /mcp HTTP/1.1\r\nHost: test\r\nAccept: */*\r\nContent-Length: 1000\r\n\r\n", 12 * time.Second},
			{"body with an expectation", "POST /mcp HTTP/1.1\r\nHost: test\r\nExpect: the unexpected\r\nContent-Length: 1000\r\n\r\n", 17 * time.Second},
			{"chunks", "POST /mcp HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nAccept: */*\r\nTransfer-Encoding: chunked\r\n\r\n", 80 * time.Second},
		} {
			conn, _ := l.dial(t.Context(), "", "")
			began := time.Now()
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := conn.Write([]byte(c.begin)); err != nil {
					return
				}
				for {
					time.Sleep(time.Second)
					text := "G"
					if c.name == "chunks" {
						text = "1\r\n \r\n"
					}
					if _, err := conn.Write([]byte(text)); err != nil {
						return
					}
				}
			})
			buf := make([]byte, 4096)
			for {
				if _, err := conn.Read(buf); err != nil {
					break
				}
			}
			took := time.Since(began)
			conn.Close()
			wg.Wait()
			if took > c.most {
				t.Errorf("slow %s: given up after %v, want %v at most", c.name, took, c.most)
			}
		}
	})
}

// A client that does not read its events is given up.
func TestDeafClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t)
		h := NewHandler(s, &Options{Hosts: []string{"test"}})
		l, _, stop := inMemory(t, h)
		defer stop()
		conn, _ := l.dial(t.Context(), "", "")
		defer conn.Close()
		go fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nAccept: */*\r\n"+
			"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s",
			len(listenRequest), listenRequest)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := h.streams.load(); n != 0 {
			t.Errorf("%d streams are open", n)
		}
	})
}

// A method that needs no handshake is served to whoever just calls it, once it is
// known who that is.
func TestMethod_withoutHandshake(t *testing.T) {
	s := newFixture(t)
	who := func(_ context.Context, r *mcp.Request) (mcp.Result, error) {
		return map[string]string{"who": r.Principal.ID}, nil
	}
	s.HandleMethod("example/who", mcp.Method{Handle: who, NoHandshake: true})
	s.HandleMethod("example/member", mcp.Method{Handle: who})
	c := &client{t: t, url: serve(t, NewHandler(s, &Options{Authenticate: func(r *http.Request) (mcp.Principal, error) {
		if r.Header.Get("Authorization") != "Bearer ada" {
			return mcp.Principal{}, &AuthError{}
		}
		return mcp.Principal{ID: "ada"}, nil
	}}))}
	const body = `{"jsonrpc":"2.0","id":1,"method":"example/who"}`
	if status, got := c.post(body); status != 401 {
		t.Errorf("unknown client: %d %s, want 401", status, got)
	}
	c.token = "ada"
	if status, got := c.post(body); status != 200 || got != `{"jsonrpc":"2.0","id":1,"result":{"who":"ada"}}` {
		t.Errorf("call: %d %s", status, got)
	}
	if status, got := c.post(strings.Replace(body, "who", "member", 1)); status != 400 {
		t.Errorf("a method that needs a handshake: %d %s, want 400", status, got)
	}
	if status, got := c.post(body, "Mcp-Session-Id", "nonsense"); status != 404 {
		t.Errorf("with an unknown session: %d %s, want 404", status, got)
	}
}

// The observer hears of streams, and of who is turned away.
func TestObserver(t *testing.T) {
	var opened, closed, refused atomic.Int64
	h := NewHandler(mcp.NewServer(mcp.Implementation{}, &mcp.ServerOptions{Observer: mcp.Observer{
		Connected:    func() { opened.Add(1) },
		Disconnected: func(error) { closed.Add(1) },
		Rejected:     func(error) { refused.Add(1) },
	}}), nil)
	c := &client{t: t, url: serve(t, h), version: "2026-07-28"}
	c.post(`{`)
	c.post(`{}`, "Origin", "https://evil.example")
	c.post(`{}`, "Content-Type", "text/plain")
	c.post(strings.Repeat(" ", 2<<20))
	if n := refused.Load(); n != 4 {
		t.Errorf("Refused told %d times, want 4", n)
	}
	old := &client{t: t, url: c.url, version: "2025-11-25"}
	old.initialize(`{}`)
	ctx, cancel := context.WithCancel(t.Context())
	newEvents(t, c.do(ctx, "POST", listenRequest, "Mcp-Method", "subscriptions/listen")).want("acknowledged")
	newEvents(t, old.do(ctx, "GET", ""))
	if n, m := opened.Load(), closed.Load(); n != 2 || m != 0 {
		t.Errorf("Opened told %d times, Closed %d, want 2 and 0", n, m)
	}
	cancel()
	waitFor(t, "both ends", func() bool { return closed.Load() == 2 })
}

// A call that is under way when the program ends is still answered.
func TestServe_drains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, stop := inMemory(t, NewHandler(newFixture(t), &Options{Hosts: []string{"test"}}))
		answer := make(chan string)
		go func() {
			body, header := modernCall(1, "slow", "5s")
			_, got := c.post(body, header...)
			answer <- got
		}()
		time.Sleep(time.Second)
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(stop)
		if got := <-answer; !strings.Contains(got, `"text":"done"`) {
			t.Errorf("the call was answered with %q", got)
		}
	})
}

// A client that never ends its request does not keep the program from ending.
func TestServe_endsWithSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newFixture(t), &Options{Hosts: []string{"test"}, Logger: slog.New(slog.DiscardHandler)})
		l, _, stop := inMemory(t, h)
		conn, _ := l.dial(t.Context(), "", "")
		defer conn.Close()
		go io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nAccept: */*\r\nContent-Length: 1000000\r\n\r\n{")
		time.Sleep(time.Second)
		began := time.Now()
		stop()
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("the end took %v", took)
		}
		time.Sleep(time.Second) // net/http lingers on the connection
	})
}

func TestServe_needsAuthentication(t *testing.T) {
	l := newPipeListener()
	err := Serve(t.Context(), elsewhere{l}, NewHandler(newFixture(t), nil), nil)
	if err == nil || !strings.Contains(err.Error(), "Authenticate") {
		t.Errorf("Serve for other machines without authentication: %v", err)
	}
}

// elsewhere is a listener that other machines can reach.
type elsewhere struct{ *pipeListener }

func (elsewhere) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 80} }
