package streamable

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// A web page can make its visitor's browser send us requests, and can let its own
// name resolve to our address. So the name that a request is addressed to must be
// one of ours, and if a page has sent it, the page too.

// ours reports whether a request is addressed to us, and not by another's page.
func (h *Handler) ours(r *http.Request) bool {
	header := ""
	if !h.hostAllowed(r) {
		header = "Host"
	} else if !h.originAllowed(r) {
		header = "Origin"
	}
	if header != "" && h.o.Foreign != nil {
		h.o.Foreign(r, header)
	}
	return header == ""
}

// hostAllowed reports whether the request is addressed to one of our names. Unless
// the program has given them, these are the names of this machine for itself, and
// only on connections that come from it.
func (h *Handler) hostAllowed(r *http.Request) bool {
	if len(h.o.Hosts) > 0 {
		host := hostname(r.Host)
		return slices.ContainsFunc(h.o.Hosts, func(allowed string) bool {
			return strings.EqualFold(allowed, host) || strings.EqualFold(allowed, r.Host)
		})
	}
	if last := h.loopback.Load(); last == nil || *last != r.Host {
		if !isLoopback(hostname(r.Host)) {
			return false
		}
		h.loopback.Store(new(r.Host)) // the next request's is mostly the same
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return local == nil || isLoopbackAddr(local)
}

// originAllowed reports whether the page that has sent the request, if one has,
// is ours or one that the program has named. The Host has been checked.
func (h *Handler) originAllowed(r *http.Request) bool {
	origins := r.Header["Origin"]
	if len(origins) > 1 {
		return false
	}
	if len(origins) == 1 {
		if slices.Contains(h.o.Origins, origins[0]) {
			return true
		}
		u, err := url.Parse(origins[0])
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(u.Host, r.Host) {
			return false
		}
	}
	for _, site := range r.Header["Sec-Fetch-Site"] {
		if site != "same-origin" && site != "none" {
			return false
		}
	}
	return true
}

// crossOrigin tells the browser of a page that the program has named that the page
// may use us. It reports whether that was all the browser wanted to know. Nobody
// else is told, whatever they may do.
func (h *Handler) crossOrigin(w http.ResponseWriter, r *http.Request) bool {
	header := w.Header()
	header.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(h.o.Origins, origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Www-Authenticate, Retry-After")
	if r.Method != http.MethodOptions || r.Header["Access-Control-Request-Method"] == nil {
		return false
	}
	header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	// Which headers there are depends on the tools and on the program's credentials.
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		header.Set("Access-Control-Allow-Headers", asked)
	}
	header.Set("Access-Control-Max-Age", "600")
	hurry(w)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// hostname is a Host header without the port and the brackets of an address.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func isLoopbackAddr(a net.Addr) bool {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.IP.IsLoopback()
	}
	if a.Network() == "unix" {
		return true
	}
	return isLoopback(hostname(a.String()))
}
