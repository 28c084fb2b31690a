package loopback

import (
	"net"
	"testing"
)

func TestHost(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.8.8.8": true, "::1": true, "[::1]": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.example.org": false, "evil.localhost": false, "127.0.0.1.example.org": false, "0.0.0.0": false, "::": false,
		"10.0.0.1": false, "127.1": false, "2130706433": false, "[::1": false, "[127.0.0.1]]": false, "localhost:80": false, "::ffff:10.0.0.1": false,
	} {
		if got := Host(host); got != want {
			t.Errorf("Host(%q) = %v, want %v", host, got, want)
		}
	}
}

type otherAddr string

func (a otherAddr) Network() string { return "other" }
func (a otherAddr) String() string  { return string(a) }

func TestAddr(t *testing.T) {
	for addr, want := range map[net.Addr]bool{
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}: true, &net.TCPAddr{IP: net.IPv6loopback}: true, &net.UnixAddr{Name: "/run/x", Net: "unix"}: true,
		&net.TCPAddr{IP: net.IPv4zero}: false, &net.TCPAddr{}: false, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}: false,
		otherAddr("127.0.0.1:80"): true, otherAddr("[::1]:80"): true, otherAddr("10.0.0.1:80"): false, otherAddr("pipe"): false,
	} {
		if got := Addr(addr); got != want {
			t.Errorf("Addr(%v) = %v, want %v", addr, got, want)
		}
	}
}
