package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
)

// raw sends bytes to an address and gives the status of the answer.
func raw(t *testing.T, address, request string) (int, http.Header) {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	defer res.Body.Close()
	return res.StatusCode, res.Header
}

// TestRoutes_pages sends to every route what a web page could make a browser send.
func TestRoutes_pages(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withTokens)
	address := strings.TrimPrefix(s.url, "http://")
	key := "X-Api-Token: " + s.key("web", auth.Admin, true) + "\r\n"
	own := "Host: " + address + "\r\n"
	for _, r := range s.routes {
		fine := http.StatusOK
		if r.path == "/mcp" {
			fine = http.StatusBadRequest // a GET without a session
		}
		elsewhere := http.StatusForbidden
		if strings.HasSuffix(r.path, "z") { // a load balancer asks by the address that it has
			elsewhere = http.StatusOK
		}
		for _, c := range []struct {
			name, header string
			want         int
		}{
			{"as it should be", own, fine},
			{"its own page", own + "Origin: http://" + address + "\r\nSec-Fetch-Site: same-origin\r\n", fine},
			{"typed by a person", own + "Sec-Fetch-Site: none\r\n", fine},
			{"another Host", "Host: evil.example\r\n", elsewhere},
			{"a page whose name leads here", "Host: evil.example\r\nOrigin: http://evil.example\r\n", http.StatusForbidden},
			{"the same, newer browser", "Host: evil.example\r\nSec-Fetch-Site: same-origin\r\n", http.StatusForbidden},
			{"another page", own + "Origin: http://evil.example\r\n", http.StatusForbidden},
			{"a page from a file", own + "Origin: null\r\n", http.StatusForbidden},
			{"two Origins", own + "Origin: http://" + address + "\r\nOrigin: http://evil.example\r\n", http.StatusForbidden},
			{"a link on another page", own + "Sec-Fetch-Site: cross-site\r\n", http.StatusForbidden},
			{"another page of the same site", own + "Sec-Fetch-Site: same-site\r\n", http.StatusForbidden},
			{"no Host", "", http.StatusBadRequest},
			{"two Hosts", own + "Host: evil.example\r\n", http.StatusBadRequest},
		} {
			got, header := raw(t, address, "GET "+r.path+" HTTP/1.1\r\n"+c.header+key+"Accept: text/event-stream\r\nConnection: close\r\n\r\n")
			if got != c.want {
				t.Errorf("%s, %s: %d, want %d", r.path, c.name, got, c.want)
			}
			if header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s, %s: a page is told that it may", r.path, c.name)
			}
		}
		// A form needs no leave to be sent to another site.
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
			want := http.StatusUnsupportedMediaType
			if r.open {
				want = http.StatusMethodNotAllowed
			}
			body := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
			got, _ := raw(t, address, fmt.Sprintf("POST %s HTTP/1.1\r\n%s%sAccept: application/json, text/event-stream\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", r.path, own, key, kind, len(body), body))
			if got != want {
				t.Errorf("POST %s of %q = %d, want %d", r.path, kind, got, want)
			}
		}
	}
	if got, _ := raw(t, address, "GET /metrics HTTP/1.1\r\n"+own+key+"Connection: close\r\n\r\n"); got != http.StatusNotFound {
		t.Errorf("/metrics = %d: it is for the second address alone", got)
	}
}

// TestAdmin_pages: no key is needed there, so web pages are refused.
func TestAdmin_pages(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for _, c := range []struct {
		host, header, value string
		thisMachine, anyone int
	}{
		{"127.0.0.1:9090", "", "", 200, 200},
		{"[::1]:9090", "", "", 200, 200},
		{"localhost", "Sec-Fetch-Site", "none", 200, 200},
		{"10.1.2.3:9090", "", "", 403, 200},
		{"evil.example", "", "", 403, 200},
		{"localhost:9090", "Origin", "http://localhost:9090", 403, 403},
		{"127.0.0.1:9090", "Sec-Fetch-Site", "cross-site", 403, 403},
	} {
		for thisMachine, want := range map[bool]int{true: c.thisMachine, false: c.anyone} {
			r := httptest.NewRequest("GET", "/metrics", nil)
			if r.Host = c.host; c.header != "" {
				r.Header.Set(c.header, c.value)
			}
			w := httptest.NewRecorder()
			if refusePages(ok, thisMachine).ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s, %s: %s, this machine only: %v = %d, want %d", c.host, c.header, c.value, thisMachine, w.Code, want)
			}
		}
	}
}

// TestLimit_batch: a batch costs what its messages cost, so that no revision has
// another rate.
func TestLimit_batch(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{})
	s.limiter.Rates[auth.Calls] = auth.Rate{Each: time.Hour, Burst: 100}
	k := s.client(s.key("web", auth.Lead, false), "2025-03-26")
	send := func(n int) *http.Response {
		one := `{"jsonrpc":"2.0","id":%d,"method":"ping"}`
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(one, i+1))
		}
		res := k.send(context.Background(), "POST", "["+strings.Join(all, ",")+"]", nil)
		res.Body.Close()
		return res
	}
	if res := send(60); res.StatusCode != 200 {
		t.Errorf("the first batch = %s", res.Status)
	}
	if res := send(60); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("the second batch = %s, %v, want 429", res.Status, res.Header)
	}
	if res := send(20); res.StatusCode != 200 {
		t.Errorf("a small batch after it = %s", res.Status)
	}
}
