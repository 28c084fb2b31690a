package server

import (
	"net/http"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/telemetry"
)

// Who identifies a caller for telemetry.Options.
func Who(mp mcp.Principal) telemetry.Who {
	p, ok := mp.Value.(*auth.Principal)
	if !ok {
		return telemetry.Who{}
	}
	kind := "agent"
	if p.Person {
		kind = "person"
	}
	return telemetry.Who{Name: p.Name, Owner: p.Owner, Kind: kind, Key: p.Key}
}

// sender tells the audit stream who sent a request that was refused.
func (s *Server) sender(r *http.Request) telemetry.Sender {
	return telemetry.Sender{Address: proxies(s.o.Proxies).clientIP(r), Key: auth.KeyID(r)}
}
