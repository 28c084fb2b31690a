package streamable

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/loopback"
)

// A web page can make its visitor's browser send requests to this server, and
// can make its own host name resolve to this server's address (DNS rebinding).
// Therefore the Host of a request must be allowed, and if a page has sent it,
// its Origin too.

// addressAllowed reports whether the Host and Origin of a request are allowed.
func (h *Handler) addressAllowed(r *http.Request) bool {
	header := ""
	if !h.hostAllowed(r) {
		header = "Host"
	} else if !h.originAllowed(r) {
		header = "Origin"
	}
	if header != "" && h.o.OnForeign != nil {
		h.o.OnForeign(r, header)
	}
	return header == ""
}

// hostAllowed reports whether the Host of a request is allowed. Unless the
// program lists hosts, these are the loopback names, on loopback connections
// only.
func (h *Handler) hostAllowed(r *http.Request) bool {
	if len(h.o.Hosts) > 0 {
		host := hostname(r.Host)
		return slices.ContainsFunc(h.o.Hosts, func(allowed string) bool {
			return strings.EqualFold(allowed, host) || strings.EqualFold(allowed, r.Host)
		})
	}
	if last := h.loopback.Load(); last == nil || *last != r.Host {
		if !loopback.Host(hostname(r.Host)) {
			return false
		}
		h.loopback.Store(new(r.Host)) // the next request usually has the same
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return local == nil || loopback.Addr(local)
}

// originAllowed reports whether the Origin of a request, if any, is this
// server's own or allowed. The Host was checked before.
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

// crossOrigin writes the CORS headers for an allowed origin. It reports whether
// the request was a preflight and is done.
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
	// The headers depend on the tools and on the program's credentials.
	if requested := r.Header.Get("Access-Control-Request-Headers"); requested != "" {
		header.Set("Access-Control-Allow-Headers", requested)
	}
	header.Set("Access-Control-Max-Age", "600")
	limitDrain(w)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// hostname returns a Host header without port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
