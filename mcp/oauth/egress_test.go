package oauth

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// names makes this process look names up at a server of the test's: each name has a
// list of addresses, of which every question gets the next; the last stays.
func names(t *testing.T, table map[string][]string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(nameAnswer(buf[:n], table), from)
		}
	}()
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = old
		_ = conn.Close()
		<-done
	})
}

// nameAnswer answers a question for a name's IPv4 addresses, as RFC 1035 has it.
func nameAnswer(q []byte, table map[string][]string) []byte {
	name, i := "", 12
	for q[i] != 0 {
		name += string(q[i+1:i+1+int(q[i])]) + "."
		i += 1 + int(q[i])
	}
	end := i + 5
	a := append(slices.Clone(q[:2]), 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
	a = append(a, q[12:end]...)
	list := table[strings.TrimSuffix(name, ".")]
	if binary.BigEndian.Uint16(q[i+1:]) != 1 || len(list) == 0 {
		return a
	}
	if len(list) > 1 {
		table[strings.TrimSuffix(name, ".")] = list[1:]
	}
	a[7] = 1
	a = append(a, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
	ip := netip.MustParseAddr(list[0]).As4()
	return append(a, ip[:]...)
}

// What counts is the address that a connection would really be made to. Not one
// byte goes to a private one, by whatever name or way.
func TestEgress_connectsToNothingPrivate(t *testing.T) {
	var accepted, sent atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			n, _ := io.Copy(io.Discard, c)
			sent.Add(n)
			_ = c.Close()
		}
	}()
	defer func() {
		_ = l.Close()
		<-done
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	names(t, map[string][]string{
		"rebinds.example":  {"192.0.2.7", "127.0.0.1"},
		"private.example":  {"10.0.0.1"},
		"metadata.example": {"169.254.169.254"},
	})
	if ips, err := net.DefaultResolver.LookupHost(t.Context(), "rebinds.example"); err != nil || len(ips) != 1 || ips[0] != "192.0.2.7" {
		t.Fatalf("LookupHost = %v, %v: a check before connecting would see a public address", ips, err)
	}
	e := newEgress(false)
	for i, host := range []string{
		"rebinds.example", "private.example", "metadata.example", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]",
		"[fe80::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "169.254.169.254", "10.0.0.1", "192.168.0.1", "100.64.0.1", "0.0.0.0",
	} {
		if err := e.get(t.Context(), "https://"+host+":"+port+"/", new(any)); !errors.Is(err, errForbidden) {
			t.Errorf("%s: %v, want that it is not allowed", host, err)
		}
		if got := e.blocked.Load(); got < int64(i+1) {
			t.Errorf("%s: %d blocked so far, want at least %d", host, got, i+1)
		}
	}
	// These are no addresses to us, but names that nobody has.
	for _, host := range []string{"0x7f.1", "2130706433", "127.1", "0177.0.0.1"} {
		if err := e.get(t.Context(), "https://"+host+":"+port+"/", new(any)); err == nil {
			t.Errorf("%s was reached", host)
		}
	}
	if accepted.Load() != 0 || sent.Load() != 0 {
		t.Errorf("%d connections came through, with %d bytes", accepted.Load(), sent.Load())
	}
	// A server on this machine may name others here, but not where clouds keep secrets.
	local := newEgress(true)
	for _, to := range []string{"http://169.254.169.254/latest/meta-data", "https://169.254.169.254/", "https://metadata.example/", "https://[fe80::1]/", "http://[::ffff:169.254.169.254]/"} {
		r := httptest.NewServer(http.RedirectHandler(to, http.StatusFound))
		before := local.blocked.Load()
		if err := local.get(t.Context(), r.URL, new(any)); !errors.Is(err, errForbidden) || local.blocked.Load() == before {
			t.Errorf("redirected to %s: %v", to, err)
		}
		r.Close()
	}
	loop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }))
	defer loop.Close()
	if err := local.get(t.Context(), loop.URL+"/x", new(any)); !errors.Is(err, errForbidden) {
		t.Errorf("redirected for ever: %v", err)
	}
}

// A document is read up to its limit, also if it was small on the way.
func TestEgress_bomb(t *testing.T) {
	var packed bytes.Buffer // beforehand: the client does not wait long for an answer to begin
	z := gzip.NewWriter(&packed)
	for range 8 {
		_, _ = z.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	_ = z.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}))
	defer s.Close()
	if err := newEgress(true).get(t.Context(), s.URL, new(any)); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("get = %v, want that it is too large", err)
	}
}

// An address that is no place to go is refused wherever it stands, before anything
// is shown to the person or sent anywhere.
func TestTransport_namedAddresses(t *testing.T) {
	bad := []string{
		"javascript:alert(1)", "file:///etc/passwd", "$(reboot)", "a.exe", "https://a\r\nX-Evil: 1/", "http://x@y/", "https://x@127.0.0.1/",
		"http://example.com/", "https:///path", "https:opaque", "data:text/html,x", "//127.0.0.1/x", "ms-settings:x", " https://127.0.0.1/",
		"https://a b/", "http://169.254.169.254/latest", "ftp://127.0.0.1/", "https://127.0.0.1/\x00", "vscode://x",
	}
	places := map[string]func(w *world, address string){
		"authorization_endpoint": func(w *world, a string) { w.as[0].metadata["authorization_endpoint"] = a },
		"token_endpoint":         func(w *world, a string) { w.as[0].metadata["token_endpoint"] = a },
		"registration_endpoint":  func(w *world, a string) { w.as[0].metadata["registration_endpoint"] = a },
		"authorization_servers":  func(w *world, a string) { w.issuer = a },
		"resource_metadata":      func(w *world, a string) { w.header = a },
	}
	for place, put := range places {
		for _, address := range bad {
			if place == "resource_metadata" && strings.ContainsAny(address, "\r\n\x00") {
				continue // which a header cannot hold
			}
			w := newWorld(t)
			put(w, address)
			var mu sync.Mutex
			var shown []string
			c := w.client(Options{Authorize: func(ctx context.Context, address string) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				shown = append(shown, address)
				return agree(ctx, address)
			}})
			got := w.visit(c)
			if blocked := c.Transport.(*Transport).Blocked(); !strings.Contains(got, "not allowed") || len(shown) > 0 || len(w.as[0].forms) > 0 || blocked == 0 {
				t.Errorf("%s %q: %s, having shown %q and asked for %d tokens; %d blocked", place, address, got, shown, len(w.as[0].forms), blocked)
			}
		}
	}
	// What is safe for a program to ask is not always for a person to visit.
	for _, address := range []string{"http://10.1.2.3/authorize", "https://exаmple.com/authorize"} {
		w := newWorld(t)
		w.as[0].metadata["authorization_endpoint"] = address
		c := w.client(Options{Authorize: func(context.Context, string) (string, error) {
			return "", fmt.Errorf("%s was shown", address)
		}})
		if got := w.visit(c); !strings.Contains(got, "not allowed") {
			t.Errorf("authorize at %q: %s", address, got)
		}
	}
}
