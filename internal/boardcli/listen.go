package boardcli

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/loopback"
)

// maxListens is how often listen looks for a port that is free at both addresses of localhost.
const maxListens = 20

// listen listens at an address of this machine for itself: whoever has the link is its person. It also returns the
// only host by which the dashboard may be named.
//
// Cookies know hosts and not ports, so a browser shows the session of 127.0.0.1 to every other program that listens there.
// The host is therefore a name below localhost that no other program knows, unless byAddress is set. A browser takes such
// a name for 127.0.0.1 or for ::1, as it likes, so listen takes the port at both: another user who has it at one of
// them would get the link.
func listen(ctx context.Context, address string, byAddress bool) (ls []net.Listener, host string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", console.Usagef("--http: %w", err)
	}
	ip, err := netip.ParseAddr(host)
	if host != "localhost" && err != nil || !loopback.Host(host) {
		return nil, "", console.Usagef("--http %s: the dashboard of one person is for this machine alone, as at 127.0.0.1:8182; for others there is bossman serve", address)
	}
	if host != "localhost" {
		ip = ip.Unmap()
		host = ip.String()
	}
	if host != "localhost" && ip != localhost4 && ip != localhost6 { // names do not lead there
		l, err := listenOne(ctx, ip, port)
		if err != nil {
			return nil, "", err
		}
		return []net.Listener{l}, host, nil
	}
	if ls, err = listenBoth(ctx, port); err != nil {
		return nil, "", err
	}
	if !byAddress {
		host = "bossman-" + strings.ToLower(rand.Text()) + ".localhost"
	}
	return ls, host, nil
}

var localhost4, localhost6 = netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()

// listenBoth listens at the same port of 127.0.0.1 and of ::1, or at the former alone if there is no ::1.
func listenBoth(ctx context.Context, port string) ([]net.Listener, error) {
	var failed error
	for range maxListens {
		l4, err := listenOne(ctx, localhost4, port)
		if err != nil {
			return nil, err
		}
		_, chosen, _ := net.SplitHostPort(l4.Addr().String())
		l6, err := listenOne(ctx, localhost6, chosen)
		if err == nil {
			return []net.Listener{l4, l6}, nil
		}
		any, none := listenOne(ctx, localhost6, "0")
		if none != nil {
			return []net.Listener{l4}, nil
		}
		failed = errors.Join(err, any.Close(), l4.Close())
		if port == chosen {
			break
		}
	}
	return nil, failed
}

func listenOne(ctx context.Context, ip netip.Addr, port string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(ip.String(), port))
	if err != nil {
		return nil, console.Errorf(console.Unavailable, "choose another address with --http, such as 127.0.0.1:0", "%w", err)
	}
	return l, nil
}

func closeAll(ls []net.Listener) {
	for _, l := range ls {
		l.Close()
	}
}
