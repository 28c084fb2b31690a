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

// The statelessDriver asks a client that holds the state itself. The result of
// the request contains the questions, and the client retries with the answers.
type statelessDriver struct{}

// requestState is what the client carries from one round to the next.
type requestState struct {
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

func (statelessDriver) begin(c *Call) error {
	if !c.Request.isRetry {
		return nil
	}
	if raw := c.Request.param("requestState"); raw != nil {
		state, err := c.openRequestState(raw)
		if err != nil {
			return err
		}
		c.history().n = state.Round
		c.history().answers, c.history().once = state.Answers, state.Once
	}
	answers, err := parseAnswers(c.Request.param("inputResponses"))
	if err != nil {
		return err
	}
	for key, raw := range answers {
		put(&c.history().answers, key, raw)
	}
	return nil
}

func (c *Call) openRequestState(raw json.RawMessage) (*requestState, error) {
	refused := invalid("requestState is not valid for this request, or has expired")
	if len(raw) > 2*maxState {
		return nil, refused
	}
	s, err := text("requestState", raw)
	if err != nil {
		return nil, err
	}
	b, err := c.Request.server.o.Keyring.Open(statePurpose, s)
	if err != nil {
		return nil, refused
	}
	var state requestState
	if err := jsonv2.Unmarshal(b, &state); err != nil {
		return nil, refused
	}
	digest, err := c.digest()
	if err != nil {
		return nil, err
	}
	if state.Principal != c.Request.Principal.holder() || state.Digest != digest || time.Now().Unix() > state.Expires {
		return nil, refused
	}
	return &state, nil
}

// digest binds a state to its request: method, name or URI, and arguments, in
// canonical form so that the client may re-encode them.
func (c *Call) digest() (string, error) {
	sent := c.Request.asSent()
	args := jsontext.Value(sent.arguments).Clone()
	if len(args) > 0 {
		// Numbers stay as written: two that differ only beyond the precision of
		// a float64 are different arguments.
		if err := args.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
			return "", invalid("arguments: %s", plainError(err))
		}
	}
	var name []byte
	if sent.hasName {
		name = appendString(nil, sent.name)
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(c.Request.Method), name, sent.uri, args} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return base64.RawStdEncoding.EncodeToString(h.Sum(nil)), nil
}

func (statelessDriver) ask(c *Call, asks []pendingAsk) (Result, error) {
	if n := c.missingCapability(asks); n != nil {
		return nil, c.Request.capabilityError(n.method, n.requires)
	}
	digest, err := c.digest()
	if err != nil {
		return nil, err
	}
	b, err := jsonv2.Marshal(requestState{
		Principal: c.Request.Principal.holder(),
		Expires:   time.Now().Add(stateLife).Unix(),
		Round:     c.history().n,
		Digest:    digest,
		Answers:   c.history().used,
		Once:      c.history().once,
	}, jsonv2.Deterministic(true))
	if err != nil {
		return nil, err
	}
	if len(b) > maxState {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "answers so far exceed %d bytes", maxState)
	}
	requests, err := inputRequests(asks, c.Request.Revision)
	if err != nil {
		return nil, err
	}
	return &InputRequired{requests, c.Request.server.o.Keyring.Seal(statePurpose, b)}, nil
}
