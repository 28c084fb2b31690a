package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	timeout      = 10 * time.Second
	maxHeader    = 64 << 10
	maxRedirects = 3
)

// ErrForbidden means that a URL or the address behind it must not be used.
var ErrForbidden = errors.New("address is not allowed")

// A Client sends requests to URLs that others name. It connects only to public addresses
// over TLS, whatever host names and redirects lead to. It follows redirects of GET requests
// only.
type Client struct {
	// HTTP sends the requests. It may be replaced before the first one, and then checks
	// addresses itself.
	HTTP *http.Client

	local   bool
	blocked atomic.Int64
}

// New returns a Client. With local set it also connects to loopback and private addresses,
// but never to link-local ones, where cloud providers serve credentials.
func New(local bool) *Client {
	c := &Client{local: local}
	dialer := &net.Dialer{Timeout: timeout, ControlContext: c.control}
	c.HTTP = &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, // no proxy: it would resolve the names
			TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
			MaxResponseHeaderBytes: maxHeader, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || via[0].Method != http.MethodGet {
				return c.Forbid("a redirect to " + r.URL.Redacted())
			}
			return c.Check(r.URL.String())
		},
	}
	return c
}

// Blocked returns how many URLs were refused.
func (c *Client) Blocked() int64 { return c.blocked.Load() }

// Do sends a request if its URL is allowed. The caller bounds how much of the response it reads.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	if err := c.Check(r.URL.String()); err != nil {
		return nil, err
	}
	return c.HTTP.Do(r)
}

// control checks the address after the name was resolved.
func (c *Client) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	if ip = ip.Unmap().WithZone(""); ip.IsLinkLocalUnicast() || !c.local && !IsPublic(ip) {
		return c.Forbid(ip.String())
	}
	return nil
}

// Forbid counts a refused URL and returns the error.
func (c *Client) Forbid(address string) error {
	c.blocked.Add(1)
	return fmt.Errorf("%w: %.200q", ErrForbidden, address)
}

var nonPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("::/96"),
}

// IsPublic reports whether an address is one of the public internet.
func IsPublic(ip netip.Addr) bool {
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

// Check returns an ErrForbidden if a URL must not be used.
func (c *Client) Check(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(address, " \t\r\n"):
		return c.Forbid(address)
	case u.Scheme == "https", u.Scheme == "http" && c.local && IsLocal(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%w is not https", c.Forbid(address))
}

// IsLocal reports whether a host is a loopback or private one.
func IsLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return !IsPublic(ip.Unmap()) && !ip.Unmap().IsLinkLocalUnicast()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
