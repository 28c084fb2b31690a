package server

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	for _, good := range []string{"https://bossman.example.org", "https://bossman.example.org/", "http://127.0.0.1:8181"} {
		if err := CheckURL(good); err != nil {
			t.Errorf("CheckURL(%q) = %v", good, err)
		}
	}
	for _, bad := range []string{"bossman.example.org", "ftp://x/", "https://", "https://a@b/", "https://b/path", "https://b/?q", "https://b/#f", "javascript:alert(1)"} {
		if err := CheckURL(bad); err == nil {
			t.Errorf("CheckURL(%q) = nil", bad)
		}
	}
}

// TestServer_publicURL: messages name the server as people know it.
func TestServer_publicURL(t *testing.T) {
	local, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer local.Close()
	open, err := net.Listen("tcp", ":0")
	check(t, err)
	defer open.Close()
	for _, c := range []struct {
		o    Options
		l    net.Listener
		want string
	}{
		{Options{}, local, "http://" + local.Addr().String()},
		{Options{TLS: &tls.Config{}}, local, "https://" + local.Addr().String()},
		{Options{Hosts: []string{"bossman.example.org", "other"}}, open, "https://bossman.example.org"},
		{Options{Hosts: []string{"other"}, Audience: "https://bossman.example.org/mcp"}, open, "https://bossman.example.org"},
		{Options{URL: "https://boss.example.org/", Audience: "https://bossman.example.org/mcp"}, open, "https://boss.example.org"},
	} {
		if got := (&Server{o: c.o, listener: c.l}).publicURL(); got != c.want {
			t.Errorf("publicURL with %+v = %s, want %s", c.o.Hosts, got, c.want)
		}
	}
	if got := (&Server{listener: open}).publicURL(); !strings.HasPrefix(got, "http://") || strings.Contains(got, "[::]") {
		t.Errorf("publicURL on every address = %s", got)
	}
}
