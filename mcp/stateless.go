package mcp

import "encoding/json"

// The stateless era: each request states its sender, revision and capabilities
// in its _meta, and nothing is kept between requests.

// prepare prepares a request of the stateless era from its _meta, and checks
// that its headers, if it has any, match it. The error is a *jsonrpc.Error.
func (s *Server) prepare(r *Request) error {
	h := r.headers()
	if len(r.params) > 0 && r.params[0] != '{' {
		return invalid("params must be an object")
	}
	m := r.meta
	version, err := text("_meta "+metaVersion, m.part(m.version))
	if err != nil {
		return err
	}
	if r.Capabilities, err = s.readCapabilities(m.part(m.capabilities)); err != nil {
		return err
	}
	if h != nil {
		if err := checkVersion(h, version); err != nil {
			return err
		}
	}
	rev, ok := ParseRevision(version)
	if !ok || !rev.Stateless() {
		return unsupportedVersion(version)
	}
	r.Revision = rev
	if h != nil && rev.routingHeader() {
		if err := checkRouting(h, r); err != nil {
			return err
		}
		m.checkHeaders = true
	}
	if raw := m.part(m.logLevel); raw != nil {
		name, err := text("_meta "+metaLogLevel, raw)
		if err != nil {
			return err
		}
		if r.logLevel, ok = parseLogLevel(name); !ok {
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
		Capabilities:      s.capabilities(LatestRevision),
		Instructions:      s.o.Instructions,
		TTL:               s.o.ListTTL.Milliseconds(),
		CacheScope:        "public",
	}
}
