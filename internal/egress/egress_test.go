package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
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
func TestClient_connectsToNothingPrivate(t *testing.T) {
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
	e := New(false)
	for i, host := range []string{
		"rebinds.example", "private.example", "metadata.example", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]",
		"[fe80::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "169.254.169.254", "10.0.0.1", "192.168.0.1", "100.64.0.1", "0.0.0.0",
	} {
		if err := get(t, e, "https://"+host+":"+port+"/"); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v, want that it is not allowed", host, err)
		}
		if got := e.Blocked(); got < int64(i+1) {
			t.Errorf("%s: %d blocked so far, want at least %d", host, got, i+1)
		}
	}
	// These are no addresses to us, but names that nobody has.
	for _, host := range []string{"0x7f.1", "2130706433", "127.1", "0177.0.0.1"} {
		if err := get(t, e, "https://"+host+":"+port+"/"); err == nil {
			t.Errorf("%s was reached", host)
		}
	}
	if accepted.Load() != 0 || sent.Load() != 0 {
		t.Errorf("%d connections came through, with %d bytes", accepted.Load(), sent.Load())
	}
	// A server on this machine may name others here, but not where clouds keep secrets.
	local := New(true)
	for _, to := range []string{"http://169.254.169.254/latest/meta-data", "https://169.254.169.254/", "https://metadata.example/", "https://[fe80::1]/", "http://[::ffff:169.254.169.254]/"} {
		r := httptest.NewServer(http.RedirectHandler(to, http.StatusFound))
		before := local.Blocked()
		if err := get(t, local, r.URL); !errors.Is(err, ErrForbidden) || local.Blocked() == before {
			t.Errorf("redirected to %s: %v", to, err)
		}
		r.Close()
	}
	loop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }))
	defer loop.Close()
	if err := get(t, local, loop.URL+"/x"); !errors.Is(err, ErrForbidden) {
		t.Errorf("redirected for ever: %v", err)
	}
}

func get(t *testing.T, c *Client, address string) error {
	t.Helper()
	return send(t, c, http.MethodGet, address)
}

func send(t *testing.T, c *Client, method, address string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err == nil {
		_ = res.Body.Close()
	}
	return err
}

// A redirect of a POST is not followed, neither as a POST nor as a GET.
func TestClient_redirectOfPost(t *testing.T) {
	var hits atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer target.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		s := httptest.NewServer(http.RedirectHandler(target.URL, status))
		if err := send(t, New(true), http.MethodPost, s.URL); !errors.Is(err, ErrForbidden) {
			t.Errorf("POST answered with %d: %v, want %v", status, err, ErrForbidden)
		}
		s.Close()
	}
	if hits.Load() != 0 {
		t.Errorf("%d redirects were followed", hits.Load())
	}
}

// Private addresses are not reached, by whatever name.
func TestClient_private(t *testing.T) {
	for _, ip := range []string{
		"127.0.0.1", "::1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "::",
		"::ffff:10.0.0.1", "::ffff:127.0.0.1", "fe80::1", "fc00::1", "fd00:ec2::254", "224.0.0.1", "255.255.255.255",
		"64:ff9b::a00:1", "2002:a00:1::1", "::127.0.0.1",
	} {
		if IsPublic(netip.MustParseAddr(ip).Unmap()) {
			t.Errorf("%s is taken for public", ip)
		}
	}
	for _, ip := range []string{"1.1.1.1", "2606:4700::1111"} {
		if !IsPublic(netip.MustParseAddr(ip)) {
			t.Errorf("%s is not taken for public", ip)
		}
	}
	var hits atomic.Int32
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer s.Close()
	e := New(false)
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "https://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "127.1"} {
		if err := get(t, e, "https://"+host+":"+port+"/"); err == nil {
			t.Errorf("%s was reached", host)
		}
	}
	// A redirect is looked at like any other address.
	open := New(true)
	for _, to := range []string{"http://example.com/", "file:///etc/passwd", "https://user@example.com/"} {
		r := httptest.NewServer(http.RedirectHandler(to, http.StatusFound))
		if err := get(t, open, r.URL); err == nil || !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("redirected to %s: %v", to, err)
		}
		r.Close()
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests came through", hits.Load())
	}
}
