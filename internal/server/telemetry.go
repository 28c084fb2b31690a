package server

import (
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
