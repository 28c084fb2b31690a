package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/telemetry"
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

// audit writes what somebody did at a page to the audit stream.
func (s *Server) audit(ctx context.Context, a web.Act) {
	x := telemetry.Act{Method: a.Form, Verb: a.Verb, Project: a.Project, Task: a.Task, Via: a.Via, CreatedKey: a.Key, Status: a.Status, Took: a.Took, Stranger: a.Caller == nil}
	switch {
	case a.Caller != nil:
		id, _ := strings.CutPrefix(a.Caller.Principal, auth.KeyPrincipal(""))
		x.Principal, x.Who = a.Caller.Principal, telemetry.Who{Owner: a.Caller.Name, Kind: "person", Key: id}
	case a.Refused != nil:
		x.Principal, x.Who = a.Refused.ID, Who(mcp.Principal{Value: a.Refused})
	}
	s.tel.Act(ctx, x)
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
