package server

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/web"
)

// admit applies the limits of the server to somebody who is signed in: their connection counts among those
// of their keys, and a request among their calls.
func (s *Server) admit(r *http.Request, c *access.Caller) error {
	err := s.conns.authenticated(r, c.Name)
	if err == nil {
		err = s.count(c.Name, 1)
	}
	if refused, ok := errors.AsType[*streamable.AuthError](err); ok {
		return &web.BusyError{Why: "This server refuses it for now: " + refused.Text + ".", After: refused.RetryAfter}
	}
	return err
}

// hostOf returns what says whether a page may be asked for by a host's name: nil, for the names of this
// machine for itself, if no hosts are listed.
func hostOf(hosts []string) func(name string) bool {
	if len(hosts) == 0 {
		return nil
	}
	return func(name string) bool {
		return slices.ContainsFunc(hosts, func(allowed string) bool {
			if host, _, err := net.SplitHostPort(allowed); err == nil {
				allowed = host
			}
			return strings.EqualFold(strings.Trim(allowed, "[]"), name)
		})
	}
}
