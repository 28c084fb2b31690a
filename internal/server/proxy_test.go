package server

import (
	"net/http/httptest"
	"testing"
)

func TestProxies_clientIP(t *testing.T) {
	ours, err := ParseProxies([]string{"10.0.0.0/8", "192.0.2.7", "fd00::/8"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, from string
		forwarded  []string
		want       string
	}{
		{"no proxy", "203.0.113.5:4711", nil, "203.0.113.5"},
		{"a stranger says it is a proxy", "203.0.113.5:4711", []string{"198.51.100.1"}, "203.0.113.5"},
		{"a proxy", "10.1.2.3:80", []string{"203.0.113.5"}, "203.0.113.5"},
		{"mapped", "[::ffff:10.1.2.3]:80", []string{"203.0.113.5"}, "203.0.113.5"},
		{"one address", "192.0.2.7:80", []string{"203.0.113.5"}, "203.0.113.5"},
		{"its neighbour", "192.0.2.8:80", []string{"203.0.113.5"}, "192.0.2.8"},
		{"two proxies", "10.1.2.3:80", []string{"203.0.113.5, fd00::1"}, "203.0.113.5"},
		{"what the client itself wrote", "10.1.2.3:80", []string{"198.51.100.1, 203.0.113.5"}, "203.0.113.5"},
		{"two headers", "10.1.2.3:80", []string{"198.51.100.1", "203.0.113.5"}, "203.0.113.5"},
		{"nonsense", "10.1.2.3:80", []string{"203.0.113.5, nobody"}, "10.1.2.3"},
		{"nothing", "10.1.2.3:80", nil, "10.1.2.3"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"] = c.from, c.forwarded
		if got := proxies(ours).clientIP(r); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if _, err := ParseProxies([]string{"bossman.example.org"}); err == nil {
		t.Error("a name was taken for an address")
	}
}
