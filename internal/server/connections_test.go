package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// A door is a listener in memory. Whoever knocks says from where.
type door struct{ knocks chan net.Conn }

func (d *door) Accept() (net.Conn, error) {
	c, ok := <-d.knocks
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (d *door) Close() error   { return nil }
func (d *door) Addr() net.Addr { return &net.TCPAddr{} }

type fromConn struct {
	net.Conn
	from string
}

func (c fromConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.from))
}

// A house is a listener with limits, and clients before it.
type house struct {
	*connections
	t      *testing.T
	port   int
	guests []*guest
}

// newHouse has 128 connections, of which 64 are for pending ones.
func newHouse(t *testing.T, trusted ...netip.Prefix) *house {
	d := &door{make(chan net.Conn)}
	h := &house{connections: newConnections(d, limitsOf(128), trusted, slog.New(slog.DiscardHandler)), t: t, port: 1024}
	h.perAddress = 8
	go func() {
		for {
			c, err := h.Accept()
			if err != nil {
				return
			}
			go func() { // as net/http does
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}()
		}
	}()
	t.Cleanup(func() {
		close(d.knocks)
		for _, g := range h.guests {
			g.Close()
		}
		synctest.Wait()
	})
	return h
}

// A guest is the client's end of a connection.
type guest struct {
	net.Conn
	remote string
}

func (h *house) knock(address string) *guest {
	h.t.Helper()
	near, far := net.Pipe()
	h.port++
	g := &guest{near, netip.AddrPortFrom(netip.MustParseAddr(address), uint16(h.port)).String()}
	h.guests = append(h.guests, g)
	h.Listener.(*door).knocks <- fromConn{far, g.remote}
	synctest.Wait()
	return g
}

func (h *house) authenticate(g *guest, owner string) error {
	return h.authenticated(&http.Request{RemoteAddr: g.remote}, owner)
}

// isOpen reports whether the server has not closed the connection.
func (g *guest) isOpen() bool {
	_ = g.SetReadDeadline(time.Now().Add(time.Nanosecond))
	_, err := g.Read(make([]byte, 1))
	return !errors.Is(err, io.EOF)
}

func count(gs []*guest) (open int) {
	for _, g := range gs {
		if g.isOpen() {
			open++
		}
	}
	return open
}

func TestConnections_pending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		var flood []*guest
		for range 20 {
			flood = append(flood, h.knock("192.0.2.66"))
		}
		if n := count(flood); n != 8 {
			t.Errorf("%d of 20 connections from one address are open, want 8", n)
		}
		time.Sleep(idleTime)
		late := h.knock("192.0.2.66")
		if !late.isOpen() || flood[0].isOpen() || !flood[1].isOpen() {
			t.Error("a new connection from there does not take the place of the oldest one")
		}
		if err := h.authenticate(late, "ada"); err != nil {
			t.Errorf("its good key: %v", err)
		}
		// As many addresses as one likes.
		for i := range 100 {
			flood = append(flood, h.knock(fmt.Sprintf("198.51.100.%d", i)))
		}
		if n := h.connections.pending.Len(); n != 64 {
			t.Errorf("%d connections without a key, want 64", n)
		}
		time.Sleep(idleTime)
		good := h.knock("203.0.113.1")
		if !good.isOpen() || h.authenticate(good, "bob") != nil {
			t.Error("a good client does not get in")
		}
		time.Sleep(pendingTime)
		synctest.Wait()
		if n := count(flood); n != 0 || !good.isOpen() || !late.isOpen() {
			t.Errorf("after %v %d connections without a key are open, want none, and those with one", pendingTime, n)
		}
		_, _ = good.Close(), late.Close()
		synctest.Wait()
		if h.known != 0 || h.connections.pending.Len() != 0 || len(h.from) != 0 || len(h.owned) != 0 {
			t.Errorf("%d known, %d pending, %d addresses, %d owners are left", h.known, h.connections.pending.Len(), len(h.from), len(h.owned))
		}
	})
}

// Whoever keeps talking without a good key is not cut off in a request, but ends too.
func TestConnections_talker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		g := h.knock("192.0.2.66")
		begun := time.Now()
		for {
			if _, err := g.Write([]byte("x")); err != nil {
				break
			}
			time.Sleep(idleTime / 5)
		}
		if lasted := time.Since(begun); lasted < maxPendingTime-idleTime || lasted > maxPendingTime+idleTime {
			t.Errorf("a connection without a good key lasted %v, want %v", lasted, maxPendingTime)
		}
	})
}

// Networks of IPv6 are one client.
func TestConnections_networks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		var flood []*guest
		for i := range 20 {
			flood = append(flood, h.knock(fmt.Sprintf("2001:db8::%x", i+1)))
		}
		if n := count(flood); n != 8 {
			t.Errorf("%d of 20 connections from one network are open, want 8", n)
		}
		if !h.knock("2001:db8:0:1::1").isOpen() {
			t.Error("a connection from another network is refused")
		}
	})
}

func TestConnections_ofOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		var mine []*guest
		enter := func(owner string) error {
			g := h.knock("192.0.2.66")
			err := h.authenticate(g, owner)
			if err == nil {
				mine = append(mine, g)
			} else {
				g.Close()
				synctest.Wait()
			}
			return err
		}
		for range h.perOwner {
			if err := enter("eve"); err != nil {
				t.Fatal(err)
			}
		}
		err := enter("eve")
		if e, ok := errors.AsType[*streamable.AuthError](err); !ok || e.Status != 429 || !strings.Contains(e.Text, "at the limit for one owner, 32") || !strings.Contains(e.Text, "--max-connections") {
			t.Errorf("one more connection of eve: %v, want 429 with the limit and how to raise it", err)
		}
		for i := 0; h.known < h.max-h.connectionLimits.pending; i++ {
			if err := enter(fmt.Sprintf("p%d", i)); err != nil {
				t.Fatalf("a connection of another: %v", err)
			}
		}
		err = enter("ada")
		if e, ok := errors.AsType[*streamable.AuthError](err); !ok || e.Status != 503 || !strings.Contains(e.Text, "128") {
			t.Errorf("a connection beyond the limit: %v, want 503 with the limit", err)
		}
		mine[0].Close()
		synctest.Wait()
		if err := enter("ada"); err != nil {
			t.Errorf("when another has ended: %v", err)
		}
	})
}

// The connections of a proxy are those of many clients.
func TestConnections_proxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, netip.MustParsePrefix("10.0.0.0/8"))
		var all []*guest
		for range 60 {
			all = append(all, h.knock("10.0.0.7"))
		}
		for _, g := range all {
			if err := h.authenticate(g, "ada"); err != nil {
				t.Fatalf("a request over a proxy: %v", err)
			}
		}
		time.Sleep(2 * pendingTime)
		if n := count(all); n != 60 {
			t.Errorf("%d of 60 connections of a proxy are open", n)
		}
	})
}

func TestMaxConnections(t *testing.T) {
	for _, c := range []struct {
		asked int
		files uint64
		want  int
	}{
		{0, 0, 32768},
		{0, 1 << 20, 32768},
		{0, 20_000, 19_375},
		{0, 1024, 896},
		{0, 100, 128},
		{100_000, 1 << 20, 100_000},
		{500, 1024, 500},
		{1000, 1024, 0},
		{3, 1024, 0},
		{100, 100, 0},
		{100_000, 0, 100_000},
	} {
		got, err := maxConnections(c.asked, c.files)
		if got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("maxConnections(%d, %d) = %d, %v, want %d", c.asked, c.files, got, err, c.want)
		}
	}
}

// TestServer_idleConnections: connections without a key, silent or not, do not keep a good
// client out, and end soon.
func TestServer_idleConnections(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{MaxConnections: 16})
	key := s.key("web", auth.Worker, false)
	var idle []net.Conn
	for i := range 60 {
		c, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			fmt.Fprintf(c, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
		idle = append(idle, c)
	}
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", s.url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		r.Header = http.Header{"X-Api-Token": {key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		res, err := fresh.Do(r)
		if err == nil {
			res.Body.Close()
			break // whatever a ping is answered without a session, the key was good
		}
		if time.Now().After(deadline) {
			t.Fatalf("a good client does not get in: %v", err)
		}
	}
	open := 0
	for _, c := range idle {
		_ = c.SetReadDeadline(time.Now().Add(pendingTime + 3*time.Second))
		_, err := io.Copy(io.Discard, c)
		if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
			open++
		}
	}
	if open > 0 {
		t.Errorf("%d connections without a key are open after %v", open, pendingTime+3*time.Second)
	}
}

// TestServer_connectionMetrics: operators see how many connections there are, and may be.
func TestServer_connectionMetrics(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{MaxConnections: 40})
	c, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.client(s.key("web", auth.Worker, false), newest).names("tools/list", "tools", "name")
	want := []string{`bossman_http_connections{state="known"} 1`, `bossman_http_connections{state="pending"} 1`, `bossman_http_connections_max 40`}
	text := ""
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		w := httptest.NewRecorder()
		s.tel.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		text = w.Body.String()
		if !slices.ContainsFunc(want, func(line string) bool { return !strings.Contains(text, line+"\n") }) {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("want %q in\n%s", want, text)
		}
	}
}
