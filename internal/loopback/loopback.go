// Package loopback tells the names and addresses by which a machine reaches itself.
package loopback

import (
	"net"
	"net/netip"
	"strings"
)

// Host reports whether a host, without a port, is localhost or a loopback address. An IPv6 address may have brackets.
func Host(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
		host = strings.TrimSuffix(inner, "]")
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Addr reports whether only this machine can connect to the address of a listener.
func Addr(a net.Addr) bool {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	host, _, err := net.SplitHostPort(a.String())
	return err == nil && Host(host)
}
