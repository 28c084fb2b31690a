package mcp

import "encoding/json"

// The stateless era: each request states its sender, revision and capabilities
// in its _meta, and nothing is kept between requests.

// Settle prepares a request of the stateless era from its _meta, and checks
// that the headers match it. Headers may be nil. The error is a *jsonrpc.Error.
func (s *Server) Settle(r *Request, h Headers) error {
	if len(r.Params) > 0 && r.Params[0] != '{' {
		return invalid("params must be an object")
	}
	m := r.meta
	version, err := text("_meta "+metaVersion, m.version)
	if err != nil {
		return err
	}
	if r.Client, err = s.readCapabilities(m.capabilities); err != nil {
		return err
	}
	if h != nil {
		if err := checkVersion(h, version); err != nil {
			return err
		}
	}
	rev, ok := ParseRevision(version)
	if !ok || !rev.Stateless() {
		return UnsupportedVersion(version)
	}
	r.Revision = rev
	if h != nil && rev.RoutingHeader() {
		if err := checkRouting(h, r); err != nil {
			return err
		}
		m.headers = h
	}
	if m.logLevel != nil {
		name, err := text("_meta "+metaLogLevel, m.logLevel)
		if err != nil {
			return err
		}
		if r.LogLevel, ok = ParseLogLevel(name); !ok {
			return invalid("unknown log level %q", name)
		}
	}
	return nil
}

// parsedCapabilities caches the capabilities of a client with their JSON text.
type parsedCapabilities struct {
	text         string
	capabilities ClientCapabilities
}

// readCapabilities parses the capabilities of a client. A client sends the same
// ones with every request, so the last ones are cached.
func (s *Server) readCapabilities(raw json.RawMessage) (ClientCapabilities, error) {
	if last := s.lastCapabilities.Load(); last != nil && last.text == string(raw) {
		return last.capabilities, nil
	}
	var c ClientCapabilities
	if err := object("_meta "+metaCapabilities, raw, &c); err != nil {
		return c, err
	}
	s.lastCapabilities.Store(&parsedCapabilities{string(raw), c})
	return c, nil
}

type discoverResult struct {
	SupportedVersions []string           `json:"supportedVersions"`
	Capabilities      ServerCapabilities `json:"capabilities"`
	Instructions      string             `json:"instructions,omitzero"`
	TTL               int64              `json:"ttlMs"`
	CacheScope        string             `json:"cacheScope"`
}

func (s *Server) discover() Result {
	return discoverResult{
		SupportedVersions: supportedVersions(),
		Capabilities:      s.capabilities(Newest),
		Instructions:      s.o.Instructions,
		TTL:               s.o.ListTTL.Milliseconds(),
		CacheScope:        "public",
	}
}
