package mcp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// The era without a handshake: each request says in its _meta who asks, in
// which revision and with which capabilities, and nothing is kept between two.

// Settle fills in a request of the era without a handshake from its _meta, and
// compares it with what came beside it. Nil headers are not compared. The error
// is a *jsonrpc.Error.
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

// declared is what a client said it can do, and what that means.
type declared struct {
	text         string
	capabilities ClientCapabilities
}

// readCapabilities reads what the client can do. A client says the same in every
// request, so the last one's is remembered.
func (s *Server) readCapabilities(raw json.RawMessage) (ClientCapabilities, error) {
	if last := s.lastClient.Load(); last != nil && last.text == string(raw) {
		return last.capabilities, nil
	}
	var c ClientCapabilities
	if err := object("_meta "+metaCapabilities, raw, &c); err != nil {
		return c, err
	}
	s.lastClient.Store(&declared{string(raw), c})
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

// roundTrips asks a client that holds the state itself: the answer to the
// request is the questions, and the client asks again with the answers.
type roundTrips struct{}

// sealed is what travels with the client between two rounds.
type sealed struct {
	Principal string                     `json:"p"`
	Expires   int64                      `json:"x"`
	Round     int                        `json:"r"`
	Digest    string                     `json:"d"`
	Answers   map[string]json.RawMessage `json:"a,omitzero"`
	Once      map[string]json.RawMessage `json:"o,omitzero"`
}

const (
	statePurpose = "requestState"
	stateLife    = 10 * time.Minute
	maxState     = 32 << 10
)

func (roundTrips) begin(c *Call) error {
	if !c.r.fields.again {
		return nil
	}
	if raw := c.r.param("requestState"); raw != nil {
		state, err := c.openState(raw)
		if err != nil {
			return err
		}
		c.rounds.n = state.Round
		c.rounds.answers, c.rounds.once = state.Answers, state.Once
	}
	answers, err := readAnswers(c.r.param("inputResponses"))
	if err != nil {
		return err
	}
	for key, raw := range answers {
		put(&c.rounds.answers, key, raw)
	}
	return nil
}

func (c *Call) openState(raw json.RawMessage) (*sealed, error) {
	refused := invalid("requestState is not one of ours for this request, or has expired")
	if len(raw) > 2*maxState {
		return nil, refused
	}
	s, err := text("requestState", raw)
	if err != nil {
		return nil, err
	}
	b, err := c.server.o.Seal.Open(statePurpose, s)
	if err != nil {
		return nil, refused
	}
	var state sealed
	if err := jsonv2.Unmarshal(b, &state); err != nil {
		return nil, refused
	}
	digest, err := c.digest()
	if err != nil {
		return nil, err
	}
	if state.Principal != c.r.Principal.ID || state.Digest != digest || time.Now().Unix() > state.Expires {
		return nil, refused
	}
	return &state, nil
}

// digest binds a state to its request: the method, what it is about and the
// arguments, in a form that survives being written anew by the client.
func (c *Call) digest() (string, error) {
	args := jsontext.Value(c.r.fields.arguments).Clone()
	if len(args) > 0 {
		// Numbers stay as they are written: two that differ only beyond the
		// precision of a float64 are not the same argument.
		if err := args.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
			return "", invalid("arguments: %s", plainError(err))
		}
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(c.r.Method), c.r.fields.name, c.r.param("uri"), args} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return base64.RawStdEncoding.EncodeToString(h.Sum(nil)), nil
}

type inputRequired struct {
	ResultType    string                  `json:"resultType"`
	InputRequests map[string]inputRequest `json:"inputRequests"`
	RequestState  string                  `json:"requestState"`
}

func (roundTrips) ask(c *Call, needs []need) (Result, error) {
	if n := c.lacks(needs); n != nil {
		return nil, c.r.lacks(n.method, n.requires)
	}
	digest, err := c.digest()
	if err != nil {
		return nil, err
	}
	b, err := jsonv2.Marshal(sealed{
		Principal: c.r.Principal.ID,
		Expires:   time.Now().Add(stateLife).Unix(),
		Round:     c.rounds.n,
		Digest:    digest,
		Answers:   c.rounds.used,
		Once:      c.rounds.once,
	}, jsonv2.Deterministic(true))
	if err != nil {
		return nil, err
	}
	if len(b) > maxState {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "the answers so far are more than %d bytes", maxState)
	}
	return inputRequired{"input_required", inputRequests(needs, c.r.Revision), c.server.o.Seal.Seal(statePurpose, b)}, nil
}
