package mcp

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// The era with a handshake: initialize settles revision and capabilities for
// all that follows.

// maxSubscriptions is how many resources one session may watch.
const maxSubscriptions = 1000

// A Session is what a handshake has settled. What the client sets afterwards is
// in its state.
type Session struct {
	revision Revision
	client   ClientCapabilities
	info     Implementation
	state    SessionState

	ready atomic.Bool // on a pipe: the client has said notifications/initialized
}

// A SessionState keeps what a client sets after its handshake. Its methods may be
// called at the same time.
type SessionState interface {
	// SetLevel is what the client wants to be told from now on; see Settle.
	SetLevel(ctx context.Context, l LogLevel) error
	// Watching reports whether the client wants to hear of a resource's changes.
	Watching(uri string) bool
	// Watch begins or ends that. ErrTooMany means there is no room for more.
	Watch(ctx context.Context, uri string, on bool, most int) error
}

// ErrTooMany means that a client watches as many resources as it may.
var ErrTooMany = errors.New("too many subscriptions")

// memoryState is the state of a session that ends with its pipe.
type memoryState struct {
	level    atomic.Uint32 // a LogLevel
	mu       sync.Mutex
	watching map[string]bool
}

func (m *memoryState) SetLevel(_ context.Context, l LogLevel) error {
	m.level.Store(uint32(l))
	return nil
}

func (m *memoryState) Watching(uri string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.watching[uri]
}

func (m *memoryState) Watch(_ context.Context, uri string, on bool, most int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !on:
		delete(m.watching, uri)
	case len(m.watching) >= most && !m.watching[uri]:
		return ErrTooMany
	default:
		put(&m.watching, uri, true)
	}
	return nil
}

type initializeParams struct {
	Capabilities ClientCapabilities `json:"capabilities"`
	ClientInfo   Implementation     `json:"clientInfo"`
}

type initializeResult struct {
	ProtocolVersion string             `json:"protocolVersion"`
	Capabilities    ServerCapabilities `json:"capabilities"`
	ServerInfo      Implementation     `json:"serverInfo"`
	Instructions    string             `json:"instructions,omitzero"`
}

// newSession reads what initialize offers. A revision that we do not know, or
// that has no handshake, is answered with the newest that has one.
func newSession(r *Request, state SessionState) (*Session, error) {
	var p initializeParams
	if err := object("params", r.Params, &p); err != nil {
		return nil, err
	}
	x := &Session{revision: newestLegacy, client: p.Capabilities, info: p.ClientInfo, state: state}
	for name, v := range jsonrpc.Members(r.Params) {
		if name != "protocolVersion" {
			continue
		}
		if offered, err := text(name, v); err == nil {
			if rev, ok := ParseRevision(offered); ok && !rev.Stateless() {
				x.revision = rev
			}
		}
	}
	if !vocabulary["elicitation/create"].fromServer(x.revision) {
		x.client.Elicitation = nil // whatever it says: there are no words for it
	}
	return x, nil
}

// Revision is what the handshake has settled on.
func (x *Session) Revision() Revision { return x.revision }

// Settle fills in a request from the session it belongs to. Level is what the
// client has set last; zero if it has not.
func (x *Session) Settle(r *Request, level LogLevel) {
	r.Revision, r.Client = x.revision, x.client
	r.session = x
	r.LogLevel = cmp.Or(level, LogInfo)
}

// The capabilities of a client that a packed session remembers, one bit each.
const (
	canRoots = 1 << iota
	canRootsChanged
	canSample
	canSampleContext
	canSampleTools
	canElicit
	canElicitForm
	canElicitURL
)

const (
	maxInfo       = 64  // how much of a client's name, and of its version, is packed
	maxExtensions = 160 // how much of the extensions that it has declared
)

// AppendBinary packs what the handshake has settled into at most 300 bytes: the
// revision, the capabilities that the protocol knows, the beginning of the client's
// name and version, and the extensions. If these take too much, their settings
// are left out, and then those that come last.
func (x *Session) AppendBinary(b []byte) ([]byte, error) {
	c := &x.client
	var can uint16
	set := func(bit uint16, on bool) {
		if on {
			can |= bit
		}
	}
	if c.Roots != nil {
		set(canRoots, true)
		set(canRootsChanged, c.Roots.ListChanged)
	}
	if c.Sampling != nil {
		set(canSample, true)
		set(canSampleContext, c.Sampling.Context != nil)
		set(canSampleTools, c.Sampling.Tools != nil)
	}
	if c.Elicitation != nil {
		set(canElicit, true)
		set(canElicitForm, c.Elicitation.Form != nil)
		set(canElicitURL, c.Elicitation.URL != nil)
	}
	b = binary.BigEndian.AppendUint16(append(b, byte(x.revision)), can)
	for _, s := range []string{x.info.Name, x.info.Version} {
		s = strings.ToValidUTF8(s[:min(len(s), maxInfo)], "") // whole characters
		b = append(append(b, byte(len(s))), s...)
	}
	ext, err := packExtensions(c.Extensions)
	return append(append(b, byte(len(ext))), ext...), err
}

// packExtensions writes as much of a client's extensions as is packed.
func packExtensions(all map[string]json.RawMessage) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	b, err := jsonv2.Marshal(all, jsonv2.Deterministic(true))
	if err != nil || len(b) <= maxExtensions {
		return b, err
	}
	some := map[string]struct{}{}
	b = nil
	for _, id := range slices.Sorted(maps.Keys(all)) {
		some[id] = struct{}{}
		more, err := jsonv2.Marshal(some, jsonv2.Deterministic(true))
		if err != nil || len(more) > maxExtensions {
			break
		}
		b = more
	}
	return b, nil
}

var errPacked = errors.New("mcp: not a packed session")

// OpenSession unpacks a session that AppendBinary has packed. What its client has
// set since is in state.
func OpenSession(packed []byte, state SessionState) (*Session, error) {
	if len(packed) < 3 {
		return nil, errPacked
	}
	x := &Session{revision: Revision(packed[0]), state: state}
	if x.revision < R20241105 || x.revision > newestLegacy {
		return nil, errPacked
	}
	can := binary.BigEndian.Uint16(packed[1:])
	flag := func(bit uint16) *struct{} {
		if can&bit == 0 {
			return nil
		}
		return &struct{}{}
	}
	if can&canRoots != 0 {
		x.client.Roots = &RootsCapability{ListChanged: can&canRootsChanged != 0}
	}
	if can&canSample != 0 {
		x.client.Sampling = &SamplingCapability{Context: flag(canSampleContext), Tools: flag(canSampleTools)}
	}
	if can&canElicit != 0 {
		x.client.Elicitation = &ElicitationCapability{Form: flag(canElicitForm), URL: flag(canElicitURL)}
	}
	rest := packed[3:]
	var extensions string
	for _, s := range []*string{&x.info.Name, &x.info.Version, &extensions} {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return nil, errPacked
		}
		*s = string(rest[1 : 1+rest[0]])
		rest = rest[1+rest[0]:]
	}
	if len(rest) > 0 || extensions != "" && jsonv2.Unmarshal([]byte(extensions), &x.client.Extensions) != nil {
		return nil, errPacked
	}
	return x, nil
}

// set does what the client wants of its session.
func (x *Session) set(ctx context.Context, server *Server, r *Request) (Result, error) {
	switch r.Method {
	case "logging/setLevel":
		return x.setLevel(ctx, r)
	case "resources/subscribe":
		return x.watch(ctx, server, r, true)
	default:
		return x.watch(ctx, server, r, false)
	}
}

func (x *Session) setLevel(ctx context.Context, r *Request) (Result, error) {
	name, err := text("level", r.param("level"))
	if err != nil {
		return nil, err
	}
	level, ok := ParseLogLevel(name)
	if !ok {
		return nil, invalid("unknown log level %q", name)
	}
	return nil, x.state.SetLevel(ctx, level)
}

func (x *Session) watch(ctx context.Context, server *Server, r *Request, on bool) (Result, error) {
	if !server.hasResources() {
		return nil, unknownMethod(r.Method)
	}
	uri, err := text("uri", r.param("uri"))
	if err != nil {
		return nil, err
	}
	if res, _ := server.findResource(ctx, r, uri); on && res == nil {
		return nil, resourceNotFound(r, uri)
	}
	err = x.state.Watch(ctx, uri, on, maxSubscriptions)
	if errors.Is(err, ErrTooMany) {
		return nil, invalid("more than %d subscriptions", maxSubscriptions)
	}
	return nil, err
}

// wants reports whether the client is to hear of an event.
func (x *Session) wants(e Event) bool {
	switch e.Kind {
	case EventTools, EventPrompts, EventResources:
		return true
	case EventResource:
		return x.state.Watching(e.Name)
	}
	return false
}

func (s *Server) initialize(r *Request) (Result, error) {
	return initializeResult{
		ProtocolVersion: r.Revision.String(),
		Capabilities:    s.capabilities(r.Revision),
		ServerInfo:      s.info,
		Instructions:    s.o.Instructions,
	}, nil
}
