package streamable

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
)

var legacy = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

func TestSession_inEveryRevision(t *testing.T) {
	h := NewHandler(newFixture(t), nil)
	url := serve(t, h)
	for _, version := range legacy {
		t.Run(version, func(t *testing.T) {
			c := &client{t: t, url: url, version: version}
			c.initialize(`{}`)
			if status, got := c.post(legacyCall(1, "whoami", "", "")); status != 200 || !strings.Contains(got, "local with tester") {
				t.Errorf("call: %d %s", status, got)
			}
			if status, got := c.post(`{"jsonrpc":"2.0","id":"p","method":"ping"}`); status != 200 || got != `{"jsonrpc":"2.0","id":"p","result":{}}` {
				t.Errorf("ping: %d %s", status, got)
			}
			if status, got := c.post(`{"jsonrpc":"2.0","id":2,"method":"nope"}`); status != 200 || !strings.Contains(got, "-32601") {
				t.Errorf("unknown method: %d %s", status, got)
			}
			if status, got := c.post(`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"","version":""}}}`); status != 200 || !strings.Contains(got, "-32600") {
				t.Errorf("second initialize: %d %s", status, got)
			}
			if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Protocol-Version", "1999-01-01"); status != 400 {
				t.Errorf("unknown version header: %d, want 400", status)
			}
			if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", "-"); status != 400 {
				t.Errorf("no session: %d, want 400", status)
			}
			if status, got := c.post(`[` + legacyCall(1, "echo", "a", "") + `]`); (status == 200) != (version == "2025-03-26") {
				t.Errorf("batch: %d %s", status, got)
			}
			if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"result":{}}`); status != 202 {
				t.Errorf("answer that nobody waits for: %d, want 202", status)
			}
			e := newEvents(t, c.do(t.Context(), "POST", legacyCall(9, "progress", "hi", token)))
			e.want(`"progress":1`, `"progress":2`, `"id":9,"result"`, "")
			if (e.last != "") != (version > "2024-11-05") {
				t.Errorf("event id %q", e.last)
			}
			c.do(t.Context(), "DELETE", "").Body.Close()
		})
	}
	if held(h) != 0 || h.keptBytes.Load() != 0 {
		t.Errorf("%d sessions and %d bytes are held in memory", held(h), h.keptBytes.Load())
	}
}

// A session is its principal's, and nobody can tell another's from none.
func TestSession_stolen(t *testing.T) {
	h := NewHandler(newFixture(t), &Options{Authenticate: func(r *http.Request) (mcp.Principal, error) {
		return mcp.Principal{ID: r.Header.Get("Authorization")}, nil
	}})
	url := serve(t, h)
	for _, version := range legacy {
		owner := &client{t: t, url: url, version: version, token: "owner"}
		owner.initialize(`{}`)
		thief := *owner
		thief.token = "thief"
		none := thief
		none.session = strings.Repeat("A", len(owner.session))
		forged := *owner
		forged.session = changed(owner.session)
		ended := &client{t: t, url: url, version: version, token: "owner"}
		ended.initialize(`{}`)
		if res := ended.do(t.Context(), "DELETE", ""); res.StatusCode != 204 {
			t.Fatalf("DELETE: %s", res.Status)
		}
		for _, method := range []string{"POST", "GET", "DELETE"} {
			want := everything(&none, method)
			if !strings.HasPrefix(want, "404") {
				t.Errorf("%s, no such session: %s", method, want)
			}
			for name, c := range map[string]*client{"stolen": &thief, "changed": &forged, "ended": ended} {
				if got := everything(c, method, "Last-Event-ID", "1-1"); got != want {
					t.Errorf("%s %s, %s session:\n%s\nwant\n%s", version, method, name, got, want)
				}
			}
		}
		if status, _ := owner.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 200 {
			t.Errorf("the owner: %d", status)
		}
	}
}

// everything is the whole answer but for its date.
func everything(c *client, method string, header ...string) string {
	body := ""
	if method == "POST" {
		body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	}
	res := c.do(c.t.Context(), method, body, header...)
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	res.Header.Del("Date")
	return fmt.Sprint(res.Status, res.Header, string(b))
}

func TestSession_expires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, stop := inMemory(t, NewHandler(newFixture(t), &Options{Hosts: []string{"test"}}))
		defer stop()
		c.version = "2025-11-25"
		c.initialize(`{}`)
		time.Sleep(23 * time.Hour)
		if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 200 {
			t.Errorf("after 23 hours: %d", status)
		}
		time.Sleep(2 * time.Hour)
		if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 404 {
			t.Errorf("after 25 hours: %d, want 404", status)
		}
	})
}

// Two processes with the same keys serve each other's sessions.
func TestSession_onAnotherReplica(t *testing.T) {
	keys, err := replica.NewKeyring([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	store := newMemoryStore()
	var urls []string
	for range 2 {
		s := mcp.NewServer(mcp.Implementation{Name: "r", Version: "1"}, &mcp.ServerOptions{Keyring: keys})
		t.Cleanup(s.Close)
		urls = append(urls, serve(t, NewHandler(s, &Options{Sessions: store})))
	}
	c := &client{t: t, url: urls[0], version: "2025-06-18"}
	c.initialize(`{}`)
	c.url = urls[1]
	if status, got := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 200 {
		t.Errorf("on the other replica: %d %s", status, got)
	}
	c.do(t.Context(), "DELETE", "").Body.Close()
	c.url = urls[0]
	if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 404 {
		t.Errorf("ended on the other replica: %d, want 404", status)
	}
}

func TestSession_idleCostsNothing(t *testing.T) {
	h := NewHandler(newFixture(t), nil)
	c := &client{t: t, url: serve(t, h)}
	var before, after runtime.MemStats
	begin := func(n int) {
		for range n {
			c.session, c.version = "", "2025-11-25"
			c.initialize(`{}`)
		}
	}
	begin(10)
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin(500)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 500*1024 {
		t.Errorf("500 sessions take %d bytes", grown)
	}
	if n := held(h); n != 0 {
		t.Errorf("%d sessions are held", n)
	}
	if n := len(h.o.Sessions.(*memoryStore).items); n != 0 {
		t.Errorf("%d sessions are stored", n)
	}
}

// A tool that asks gets its answer by a POST of the client's.
func TestSession_asks(t *testing.T) {
	h := NewHandler(newFixture(t), nil)
	url := serve(t, h)
	for _, version := range []string{"2025-06-18", "2025-11-25"} {
		c := &client{t: t, url: url, version: version}
		c.initialize(`{"elicitation":{}}`)
		e, id := c.ask()
		waitFor(t, "a call that does not count while it waits", func() bool { return h.inFlight.load() == 0 })
		c.tell(id, "ada")
		e.want("Hello, ada!", "")
	}
}

// An answer that comes too late is not taken for the answer to another question.
func TestSession_lateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, stop := inMemory(t, NewHandler(newFixture(t), &Options{Hosts: []string{"test"}}))
		defer stop()
		c.version = "2025-11-25"
		c.initialize(`{"elicitation":{}}`)
		e, old := c.ask()
		c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		e.want("notifications/cancelled", "")
		time.Sleep(time.Minute)
		e, id := c.ask()
		c.tell(old, "eve")
		c.tell(id, "ada")
		e.want("Hello, ada!", "")
	})
}

// ask begins a call that asks the client, and returns the question's id.
func (c *client) ask() (*events, jsonrpc.ID) {
	c.t.Helper()
	e := newEvents(c.t, c.do(c.t.Context(), "POST", legacyCall(1, "ask", "", "")))
	p, err := jsonrpc.Decode([]byte(e.next()), jsonrpc.Limits{})
	if err != nil || p.Message.Method != "elicitation/create" {
		c.t.Fatalf("first event: %v, %v, want a question", p.Message, err)
	}
	return e, p.Message.ID
}

// tell answers it.
func (c *client) tell(id jsonrpc.ID, name string) {
	c.t.Helper()
	status, got := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":%q}}}`, id, name))
	if status != 202 || got != "" {
		c.t.Errorf("answer: %d %s", status, got)
	}
}

func TestSession_cancel(t *testing.T) {
	s := newFixture(t)
	begun, end := make(chan struct{}), make(chan struct{})
	mcp.AddTool(s, mcp.Tool{Name: "wait", Description: "wait"}, func(ctx context.Context, _ *mcp.Call, _ words) (string, error) {
		begun <- struct{}{}
		select {
		case <-end:
			return "done", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	c := &client{t: t, url: serve(t, NewHandler(s, nil)), version: "2025-11-25"}
	c.initialize(`{}`)
	other := &client{t: t, url: c.url, version: "2025-11-25"}
	other.initialize(`{}`)
	type result struct {
		status int
		text   string
	}
	call := func(c *client) <-chan result {
		done := make(chan result, 1)
		go func() {
			status, text := c.post(legacyCall(5, "wait", "", ""))
			done <- result{status, text}
		}()
		return done
	}
	mine, theirs := call(c), call(other)
	<-begun
	<-begun
	if status, got := c.post(legacyCall(5, "echo", "", "")); status != 200 || !strings.Contains(got, "still in flight") || strings.Contains(got, `"id"`) {
		t.Errorf("same id again: %d %s", status, got)
	}
	c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
	if got := <-mine; got.status != 202 || got.text != "" {
		t.Errorf("cancelled call: %v, want an empty 202", got)
	}
	close(end)
	if got := <-theirs; !strings.Contains(got.text, "done") {
		t.Errorf("another's call: %v", got)
	}
}

func TestSession_batch(t *testing.T) {
	c := &client{t: t, url: serve(t, NewHandler(newFixture(t), nil)), version: "2025-03-26"}
	c.initialize(`{}`)
	ping := `{"jsonrpc":"2.0","id":"p","method":"ping"}`
	note := `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
	for _, b := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"three", `[` + legacyCall(1, "echo", "one", "") + `,` + note + `,` + ping + `]`, 200, `[{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"one"}],"isError":false}},{"jsonrpc":"2.0","id":"p","result":{}}]`},
		{"no requests", `[` + note + `,{"jsonrpc":"2.0","id":9,"result":{}}]`, 202, ``},
		{"not messages", `[1,` + ping + `]`, 200, `[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: message must be an object"}},{"jsonrpc":"2.0","id":"p","result":{}}]`},
		{"same id twice", `[` + ping + `,` + ping + `]`, 200, `[{"jsonrpc":"2.0","id":"p","result":{}},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id \"p\" is still in flight"}}]`},
		{"empty", `[]`, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: batch is empty"}}`},
	} {
		if status, got := c.post(b.body); status != b.status || got != b.want {
			t.Errorf("%s: %d %s, want %d %s", b.name, status, got, b.status, b.want)
		}
	}
	e := newEvents(t, c.do(t.Context(), "POST", `[`+ping+`,`+legacyCall(1, "progress", "x", token)+`]`))
	e.want(`"progress":1`, `"progress":2`, `"id":"p"`, `"id":1,"result"`, "")
}

// Log level and subscriptions live in the store, and the GET stream follows them.
func TestSession_events(t *testing.T) {
	s := newFixture(t)
	h := NewHandler(s, nil)
	c := &client{t: t, url: serve(t, h), version: "2025-11-25"}
	c.initialize(`{}`)
	get := func(header ...string) (*events, context.CancelFunc) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		return newEvents(t, c.do(ctx, "GET", "", header...)), cancel
	}
	e, cancel := get()
	if res := c.do(t.Context(), "GET", ""); res.StatusCode != 409 {
		t.Errorf("second stream: %s, want 409", res.Status)
	}
	s.ResourceUpdated("test://r") // nobody has asked for it
	c.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://r"}}`)
	s.ResourceUpdated("test://r")
	e.want(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://r"}}`)
	mcp.AddTool(s, mcp.Tool{Name: "new", Description: "new"}, func(context.Context, *mcp.Call, words) (string, error) { return "", nil })
	e.want(`notifications/tools/list_changed`)
	seen := e.last
	cancel()
	waitFor(t, "the stream's end", func() bool { return h.streams.load() == 0 })
	s.ResourceUpdated("test://r")

	e, cancel = get("Last-Event-ID", seen)
	e.want(`test://r`)

	// The client has lost its connection, which we do not know.
	before := e
	e, cancel2 := get("Last-Event-ID", e.last)
	before.want("")
	cancel()
	cancel = cancel2
	c.post(`{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"test://r"}}`)
	s.ResourceUpdated("test://r")
	s.Remove(mcp.KindTool, "new")
	e.want(`notifications/tools/list_changed`)
	cancel()
	waitFor(t, "the stream's end", func() bool { return h.streams.load() == 0 })

	e, cancel = get()
	defer cancel()
	c.do(t.Context(), "DELETE", "").Body.Close()
	e.want("")
	waitFor(t, "an empty memory", func() bool { return held(h) == 0 })
}

// A store that does something after the next time it is asked.
type lateStore struct {
	replica.SessionStore
	after atomic.Pointer[func()]
}

func (s *lateStore) Load(ctx context.Context, session string) (*replica.SessionState, error) {
	st, err := s.SessionStore.Load(ctx, session)
	if f := s.after.Swap(nil); f != nil {
		(*f)()
	}
	return st, err
}

// What was about to begin when the session ended does not go on without it.
func TestSession_endsWhileSomethingBegins(t *testing.T) {
	store := &lateStore{SessionStore: newMemoryStore()}
	h := NewHandler(newFixture(t), &Options{Sessions: store})
	for _, begin := range []func(c *client) *http.Response{
		func(c *client) *http.Response { return c.do(t.Context(), "GET", "") },
		func(c *client) *http.Response {
			return c.do(t.Context(), "POST", legacyCall(1, "ask", "", ""))
		},
	} {
		c := &client{t: t, url: serve(t, h), version: "2025-11-25"}
		c.initialize(`{"elicitation":{}}`)
		store.after.Store(new(func() { c.do(t.Context(), "DELETE", "").Body.Close() }))
		res := begin(c)
		b, err := io.ReadAll(res.Body)
		if err != nil || strings.Contains(string(b), "elicitation") {
			t.Errorf("stream: %q, %v, want its end", b, err)
		}
	}
	waitFor(t, "an empty memory", func() bool { return held(h) == 0 && h.keptBytes.Load() == 0 })
}

// A client that ends a great many sessions does not keep others from using theirs.
func TestStore_full(t *testing.T) {
	m := newMemoryStore()
	later := time.Now().Add(time.Hour)
	end := func(s *replica.SessionState) error { s.Ended = true; return nil }
	for i := range maxStates {
		if err := m.Update(t.Context(), fmt.Sprint(i), later, end); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Update(t.Context(), "one more", later, end); err != nil {
		t.Fatal(err)
	}
	if st, _ := m.Load(t.Context(), "one more"); st == nil || !st.Ended || len(m.items) > maxStates {
		t.Errorf("state %v among %d", st, len(m.items))
	}
}

// held is how many sessions the handler holds something of.
// The stream of a client that has nothing to say stays open.
func TestSession_quietStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t)
		_, c, stop := inMemory(t, NewHandler(s, &Options{Hosts: []string{"test"}}))
		defer stop()
		c.version = "2025-06-18"
		c.initialize("{}")
		e := newEvents(t, c.do(t.Context(), "GET", ""))
		defer e.body.Close()
		time.AfterFunc(time.Hour, func() { s.Remove(mcp.KindTool, "echo") })
		e.want("tools/list_changed")
	})
}

func held(h *Handler) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.active)
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 6000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not come", what)
}

// A broken connection is not the end: the client comes back for the rest.
func TestResume(t *testing.T) {
	s := newFixture(t)
	more, told := make(chan struct{}), make(chan struct{})
	mcp.AddTool(s, mcp.Tool{Name: "steps", Description: "steps"}, func(ctx context.Context, c *mcp.Call, _ words) (string, error) {
		c.Progress(1, 3, "")
		<-more
		c.Progress(2, 3, "")
		close(told)
		<-more
		c.Progress(3, 3, "")
		return "all steps", ctx.Err()
	})
	h := NewHandler(s, nil)
	c := &client{t: t, url: serve(t, h), version: "2025-11-25"}
	c.initialize(`{}`)
	ctx, cancel := context.WithCancel(t.Context())
	e := newEvents(t, c.do(ctx, "POST", legacyCall(1, "steps", "", token)))
	e.want(`"progress":1`)
	cancel()
	waitFor(t, "the broken connection", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, l := range h.active {
			for _, st := range l.streams {
				st.mu.Lock()
				defer st.mu.Unlock()
				return st.out == nil
			}
		}
		return false
	})
	more <- struct{}{}
	<-told

	ctx, cancel = context.WithCancel(t.Context())
	again := newEvents(t, c.do(ctx, "GET", "", "Last-Event-ID", e.last))
	again.want(`"progress":2`)
	cancel() // and once more, with an older id
	third := newEvents(t, c.do(t.Context(), "GET", "", "Last-Event-ID", e.last))
	third.want(`"progress":2`)
	more <- struct{}{}
	third.want(`"progress":3`, `all steps`, "")
	// What is on the way when a connection breaks can be had once more.
	again = newEvents(t, c.do(t.Context(), "GET", "", "Last-Event-ID", e.last))
	again.want(`"progress":2`, `"progress":3`, `all steps`, "")
	c.do(t.Context(), "DELETE", "").Body.Close()
	waitFor(t, "an empty memory", func() bool { return held(h) == 0 && h.keptBytes.Load() == 0 })
}

// A call can let its client go, and the client comes back.
func TestPause(t *testing.T) {
	url := serve(t, NewHandler(newFixture(t), nil))
	for _, version := range legacy {
		c := &client{t: t, url: url, version: version}
		c.initialize(`{}`)
		e := newEvents(t, c.do(t.Context(), "POST", legacyCall(1, "pause", "", token)))
		e.want(`"progress":1`)
		if version == "2025-11-25" {
			e.want("")
			e = newEvents(t, c.do(t.Context(), "GET", "", "Last-Event-ID", e.last))
		}
		e.want(`"progress":2`, "after the pause", "")
	}
}

// Kept events do not stay for ever.
func TestResume_tooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newFixture(t), &Options{Hosts: []string{"test"}})
		_, c, stop := inMemory(t, h)
		defer stop()
		c.version = "2025-11-25"
		c.initialize(`{}`)
		e := newEvents(t, c.do(t.Context(), "POST", legacyCall(1, "pause", "", token)))
		e.want(`"progress":1`, "")
		if held(h) != 1 {
			t.Errorf("%d sessions are held", held(h))
		}
		time.Sleep(resumeTimeout + time.Second)
		if held(h) != 0 || h.keptBytes.Load() != 0 {
			t.Errorf("%d sessions and %d bytes are held", held(h), h.keptBytes.Load())
		}
	})
}

// However much streams have to say, what is kept of them has a limit.
func TestReplay_bounded(t *testing.T) {
	var total atomic.Int64
	message := []byte(strings.Repeat("x", 100<<10))
	var streams []*stream
	for range 100 {
		s := newStream("s", nil, &total, func() {})
		for range 20 {
			if err := s.send(message); err != nil {
				t.Fatal(err)
			}
		}
		if s.size > maxKept {
			t.Fatalf("a stream keeps %d bytes", s.size)
		}
		streams = append(streams, s)
	}
	if n := total.Load(); n > maxKeptTotal {
		t.Errorf("all streams keep %d bytes", n)
	}
	for _, s := range streams {
		s.forget()
		if err := s.send(message); err == nil {
			t.Error("a stream that is forgotten takes a message")
		}
	}
	if n := total.Load(); n != 0 {
		t.Errorf("%d bytes are still counted", n)
	}
}

// A stream that has ended is kept for a short while, as long as there is room.
func TestReplay_afterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var total, dropped atomic.Int64
		end := func() {
			s := newStream("s", newConn(httptest.NewRecorder()), &total, func() { dropped.Add(1) })
			if err := s.send([]byte("{}")); err != nil {
				t.Error(err)
			}
			s.close()
		}
		end()
		if n := total.Load(); n < streamCost || dropped.Load() != 0 {
			t.Errorf("%d bytes are kept and %d streams dropped, want one that is kept", n, dropped.Load())
		}
		time.Sleep(lingerTimeout + time.Second)
		if n := total.Load(); n != 0 || dropped.Load() != 1 {
			t.Errorf("later: %d bytes are kept, %d streams dropped", n, dropped.Load())
		}
		total.Store(maxKeptTotal / 2)
		end()
		if n := total.Load(); n != maxKeptTotal/2 || dropped.Load() != 2 {
			t.Errorf("without room: %d bytes are kept, %d streams dropped", n, dropped.Load())
		}
	})
}

// A response that nobody was connected for is lost once the stream is forgotten, unless the
// client has fetched it before.
func TestReplay_unread(t *testing.T) {
	for _, fetched := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var total, lost atomic.Int64
			own := newConn(httptest.NewRecorder())
			s := newStream("s", own, &total, func() {})
			s.detach(own)
			if err := s.send([]byte("{}")); err != nil {
				t.Error(err)
			}
			if s.unread(func() { lost.Add(1) }) {
				t.Error("it is lost at once, though it is kept")
			}
			s.close()
			if fetched {
				s.attach(newConn(httptest.NewRecorder()), 0)
			}
			time.Sleep(resumeTimeout + time.Second)
			if got := lost.Load() == 1; got == fetched {
				t.Errorf("fetched: %v, lost %d times", fetched, lost.Load())
			}
		})
	}
	var total atomic.Int64
	if s := newStream("s", newConn(httptest.NewRecorder()), &total, func() {}); s.unread(func() {}) {
		t.Error("it is lost though somebody is connected")
	}
	if s := newStream("", nil, &total, func() {}); !s.unread(func() {}) {
		t.Error("a stream that is not kept and has no connection loses nothing")
	}
}
