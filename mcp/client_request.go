package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// ErrTimeout means that the server was silent for too long, or the request took
// too long in total. It wraps context.DeadlineExceeded.
var ErrTimeout = fmt.Errorf("mcp: no answer in time: %w", context.DeadlineExceeded)

// A clientRequest is a request to the server.
type clientRequest struct {
	method   string
	params   []param
	meta     Meta        // in addition to the _meta of every request
	era      *negotiated // of a handshake request; nil: that of the client
	progress func(ProgressParams)
	onNotify func(Notification) // for its notifications; nil: the client handles them
	timeout  time.Duration      // zero: that of the client
	maxTime  time.Duration      // zero: that of the client; negative: no limits at all
}

// A param is a member of a request's params.
type param struct {
	name  string
	value any
}

// target returns the tool or prompt that the request names.
func (rq *clientRequest) target() string {
	for _, p := range rq.params {
		if s, ok := p.value.(string); ok && p.name == "name" {
			return s
		}
	}
	return ""
}

// withMeta returns the request with additional _meta.
func (rq *clientRequest) withMeta(meta Meta) *clientRequest {
	if len(meta) == 0 {
		return rq
	}
	x := *rq
	x.meta = maps.Clone(meta)
	maps.Copy(x.meta, rq.meta)
	return &x
}

// rawJSON is JSON that was encoded or validated by this module.
type rawJSON []byte

// appendName is appendMember for a name that may need escaping.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(appendString(b, name), ':')
}

func (c *Client) eraOf(rq *clientRequest) *negotiated {
	if rq.era != nil {
		return rq.era
	}
	return c.era.Load()
}

// encode encodes the params. An empty token means none.
func (rq *clientRequest) encode(era *negotiated, token string) (json.RawMessage, error) {
	b := append(make([]byte, 0, 256), '{')
	var err error
	for _, p := range rq.params {
		switch v := p.value.(type) {
		case string:
			b = appendString(appendMember(b, p.name), v)
		case rawJSON:
			b = append(appendName(b, p.name), v...)
		case json.RawMessage:
			b, err = appendRaw(b, p.name, v)
		default:
			b, err = appendValue(b, p.name, v)
		}
		if err != nil {
			return nil, err
		}
	}
	if era.meta != nil || token != "" || len(rq.meta) > 0 {
		b = append(appendMember(b, "_meta"), '{')
		b = append(b, era.meta...)
		if token != "" {
			b = append(appendMember(b, "progressToken"), token...)
		}
		for name, v := range rq.meta {
			value, err := jsonv2.Marshal(v, jsonv2.Deterministic(true))
			if err != nil {
				return nil, err
			}
			b = append(appendName(b, name), value...)
		}
		b = append(b, '}')
	}
	if len(b) == 1 {
		return nil, nil
	}
	return append(b, '}'), nil
}

// call sends a request and waits for the response, within its time limits.
func (c *Client) call(ctx context.Context, rq *clientRequest) (_ json.RawMessage, err error) {
	if c.o.Observe != nil {
		meta, done := c.o.Observe(ctx, rq.method, rq.target())
		defer func() { done(err) }()
		rq = rq.withMeta(meta)
	}
	token := ""
	timer := &requestTimer{client: c, progress: rq.progress}
	if rq.progress != nil {
		token = c.trackProgress(timer)
		defer c.untrackProgress(token)
	}
	params, err := rq.encode(c.eraOf(rq), token)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rq.method, err)
	}
	if rq.maxTime >= 0 {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		timer.start(rq, cancel)
		defer timer.stop()
	}
	return c.send(ctx, rq, params, rq.onNotify)
}
