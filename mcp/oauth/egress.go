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
	maxDocument   = 64 << 10 // limit of a response
	egressTimeout = 10 * time.Second
	maxRedirects  = 3
)

var errForbidden = errors.New("oauth: address is not allowed")

// egress fetches URLs that servers name. It connects only to public addresses
// over TLS, whatever host names and redirects lead to. With local set it also
// connects to loopback and private addresses, but never to link-local ones,
// where cloud providers serve credentials.
type egress struct {
	http    *http.Client
	local   bool
	blocked atomic.Int64 // URLs that were refused
}

func newEgress(local bool) *egress {
	e := &egress{local: local}
	dialer := &net.Dialer{Timeout: egressTimeout, ControlContext: e.control}
	e.http = &http.Client{
		Timeout: egressTimeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, // no proxy: it would resolve the names
			TLSHandshakeTimeout: egressTimeout, ResponseHeaderTimeout: egressTimeout,
			MaxResponseHeaderBytes: maxDocument, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || r.Method != http.MethodGet {
				return e.forbid("too many redirects")
			}
			return e.check(r.URL.String())
		},
	}
	return e
}

// control checks the address after the name was resolved.
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

// forbid counts a refused URL and returns the error.
func (e *egress) forbid(address string) error {
	e.blocked.Add(1)
	return fmt.Errorf("%w: %.200q", errForbidden, address)
}

var nonPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("::/96"),
}

func isPublic(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, p := range nonPublic {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// check returns an error if a URL must not be used.
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

// isLocal reports whether a host is a loopback or private one.
func isLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return !isPublic(ip.Unmap()) && !ip.Unmap().IsLinkLocalUnicast()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// do sends a request and decodes the JSON response into v. A status other than
// success is a *statusError.
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
		return nil, fmt.Errorf("oauth: %s: the response is larger than %d bytes", r.URL.Redacted(), maxDocument)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return res.Header, &statusError{r.URL.Redacted(), res.StatusCode, body}
	}
	if err := jsonv2.Unmarshal(body, v); err != nil {
		return res.Header, fmt.Errorf("oauth: %s: the response is not valid JSON", r.URL.Redacted())
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
