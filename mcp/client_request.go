package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// ErrTimeout means that the server was silent for too long, or the request took
// too long in total. It wraps context.DeadlineExceeded.
var ErrTimeout = fmt.Errorf("mcp: no answer in time: %w", context.DeadlineExceeded)

// A clientRequest is a request to the server.
type clientRequest struct {
	method   string
	params   []param
	meta     Meta        // in addition to the _meta of every request
	rawMeta  []param     // likewise; values in meta take precedence
	eraMeta  []byte      // in place of the _meta of every request; nil: that of the era
	own      *answerers  // of this request; nil: those of the client
	era      *negotiated // of a handshake request; nil: that of the client
	progress func(context.Context, Progress)
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
		if p.name != "name" {
			continue
		}
		switch v := p.value.(type) {
		case string:
			return v
		case rawJSON:
			if len(v) > 0 && v[0] == '"' {
				return strings.Clone(rawjson.Text(json.RawMessage(v)))
			}
		}
	}
	return ""
}

// with returns a request with the caller's options.
func (c *Client) with(rq *clientRequest, o *CallOptions) *clientRequest {
	if o == nil {
		return rq
	}
	x := *rq
	x.progress, x.timeout, x.maxTime, x.meta = o.Progress, o.Timeout, o.MaxTime, o.Meta
	if x.own = c.ownAnswerers(o); x.own != nil {
		if r := c.Revision(); r.Stateless() {
			options := c.o
			options.Elicit, options.Sample, options.Roots = x.own.elicit, x.own.sample, x.own.roots
			x.eraMeta = c.statelessMeta(r, options.capabilities())
		}
	}
	return &x
}

// ownAnswerers returns the functions for one request, or nil if they are those of
// the client.
func (c *Client) ownAnswerers(o *CallOptions) *answerers {
	if o == nil || o.Elicit == nil && o.Sample == nil && o.Roots == nil && !o.NoInherit {
		return nil
	}
	own := &answerers{}
	if !o.NoInherit {
		own = c.answerers()
	}
	if o.Elicit != nil {
		own.elicit = o.Elicit
	}
	if o.Sample != nil {
		own.sample = o.Sample
	}
	if o.Roots != nil {
		own.roots = o.Roots
	}
	return own
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
	eraMeta := era.meta
	if rq.eraMeta != nil {
		eraMeta = rq.eraMeta
	}
	if eraMeta != nil || token != "" || len(rq.meta) > 0 || len(rq.rawMeta) > 0 {
		b = append(appendMember(b, "_meta"), '{')
		b = append(b, eraMeta...)
		if token != "" {
			b = append(appendMember(b, "progressToken"), token...)
		}
		for name, v := range rq.meta {
			value, err := encodeUser(v)
			if err != nil {
				return nil, err
			}
			b = append(appendName(b, name), value...)
		}
		for _, p := range rq.rawMeta {
			if _, ok := rq.meta[p.name]; !ok {
				b = append(appendName(b, p.name), p.value.(rawJSON)...)
			}
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
	if rq.own != nil {
		c.mu.Lock()
		if c.forwarding == nil {
			c.forwarding = map[*clientRequest]*answerers{}
		}
		c.forwarding[rq] = rq.own
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.forwarding, rq)
		}()
	}
	raw, err := c.send(ctx, rq, params, rq.onNotify)
	if rq.own != nil && ctx.Err() != nil && c.exchanger == nil && !c.Revision().Stateless() {
		c.settle() // a question that is still on its way is not that of another request
	}
	return raw, err
}
