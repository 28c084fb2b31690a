package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

const (
	maxDocument  = 64 << 10 // of metadata or a token
	egressWithin = 10 * time.Second
	maxRedirects = 3
)

var errForbidden = errors.New("oauth: address is not allowed")

// egress fetches what servers name. It reaches only public addresses over TLS,
// whatever names and redirects lead there; with local set also those of this
// machine and its networks, but never link-local ones, where clouds keep secrets.
type egress struct {
	http    *http.Client
	local   bool
	blocked atomic.Int64 // addresses that were refused
}

func newEgress(local bool) *egress {
	e := &egress{local: local}
	dialer := &net.Dialer{Timeout: egressWithin, ControlContext: e.control}
	e.http = &http.Client{
		Timeout: egressWithin,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, // no proxy: it would look names up for us
			TLSHandshakeTimeout: egressWithin, ResponseHeaderTimeout: egressWithin,
			MaxResponseHeaderBytes: maxDocument, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || r.Method != http.MethodGet {
				return e.forbid("a redirect too many")
			}
			return e.check(r.URL.String())
		},
	}
	return e
}

// control looks at the address itself, when the name has been looked up.
func (e *egress) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	if ip = ip.Unmap().WithZone(""); ip.IsLinkLocalUnicast() || !e.local && !isPublic(ip) {
		return e.forbid(ip.String())
	}
	return nil
}

// forbid is the error for an address that is not to be used, and counts it.
func (e *egress) forbid(address string) error {
	e.blocked.Add(1)
	return fmt.Errorf("%w: %.200q", errForbidden, address)
}

var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("::/96"),
}

func isPublic(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, p := range special {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// check reports why an address that somebody named is not to be used.
func (e *egress) check(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(address, " \t\r\n"):
		return e.forbid(address)
	case u.Scheme == "https", u.Scheme == "http" && e.local && isLocal(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%w is not https", e.forbid(address))
}

// isLocal reports whether a host's name says that it is this machine, or one of a
// private network.
func isLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return !isPublic(ip.Unmap()) && !ip.Unmap().IsLinkLocalUnicast()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// do sends a request and reads the JSON of its answer into v. A status that is
// none of success is a *statusError.
func (e *egress) do(r *http.Request, v any) (http.Header, error) {
	if err := e.check(r.URL.String()); err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	res, err := e.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, err
	case len(body) > maxDocument:
		return nil, fmt.Errorf("oauth: %s: the answer is larger than %d bytes", r.URL.Redacted(), maxDocument)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return res.Header, &statusError{r.URL.Redacted(), res.StatusCode, body}
	}
	if err := jsonv2.Unmarshal(body, v); err != nil {
		return res.Header, fmt.Errorf("oauth: %s: the answer cannot be read", r.URL.Redacted())
	}
	return res.Header, nil
}

func (e *egress) get(ctx context.Context, address string, v any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return e.forbid(address)
	}
	_, err = e.do(r, v)
	return err
}

type statusError struct {
	url  string
	code int
	body []byte
}

func (e *statusError) Error() string { return fmt.Sprintf("oauth: %s: status %d", e.url, e.code) }
