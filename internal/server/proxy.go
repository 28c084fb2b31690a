package server

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies are the addresses of load balancers that tell in X-Forwarded-For whose
// request they pass on. Nobody else is believed: the header is easily written.
type proxies []netip.Prefix

// ParseProxies reads addresses and networks, such as 10.0.0.7 or 10.0.0.0/8.
func ParseProxies(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if ip, e := netip.ParseAddr(text); e == nil {
			ip = ip.Unmap()
			p, err = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", text)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// clientIP is where a request comes from: the last address on its way that is not one
// of ours. Failures to show a good key are counted by it.
func (p proxies) clientIP(r *http.Request) string {
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		from = r.RemoteAddr
	}
	way := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, hop := range slices.Backward(way) {
		ip, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil || !p.has(from) {
			break
		}
		from = ip.String()
	}
	return from
}

func (p proxies) has(text string) bool {
	ip, err := netip.ParseAddr(text)
	return err == nil && slices.ContainsFunc(p, func(net netip.Prefix) bool { return net.Contains(ip.Unmap()) })
}
