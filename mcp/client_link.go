package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// An Exchanger is a transport on which each request has a stream of its own, as
// over HTTP. What belongs to no request still goes through Send and Receive. The
// client prefers it.
type Exchanger interface {
	jsonrpc.Transport
	// Exchange sends one request, with headers beside it, and yields what comes of
	// it: notifications and questions that belong to it, and at last the answer. An
	// error ends it; a status that is none of success is a *StatusError. Leaving
	// the loop, or the end of ctx, gives the request up.
	Exchange(ctx context.Context, m *jsonrpc.Message, header map[string][]string) iter.Seq2[*jsonrpc.Message, error]
	// Agreed tells the revision that the conversation is held in from now on.
	Agreed(r Revision)
}

// A Lossy transport is an Exchanger that keeps a stream open for what belongs to
// no request. What a server tells while that is broken may be lost.
type Lossy interface {
	// OnGap names what to call when that has happened. It is called before the
	// transport goes on.
	OnGap(func(Gap))
}

// A Gap is how something may have been missed.
type Gap uint8

// The kinds of gaps.
const (
	GapStream  Gap = iota + 1 // the stream broke, and was taken up again
	GapSession                // the server may have forgotten the session
	GapForGood                // the stream broke, and nobody tries any more to take it up
)

// A StatusError is the answer of something that refused a request before the
// protocol was spoken, or the reason why it did.
type StatusError struct {
	Code   int // of HTTP
	Header map[string][]string
	Body   []byte         // its beginning
	Err    *jsonrpc.Error // what the body says, if it is an error of the protocol
}

func (e *StatusError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("HTTP status %d: %v", e.Code, e.Err)
	}
	return fmt.Sprintf("HTTP status %d: %.200q", e.Code, bytes.TrimSpace(e.Body))
}

func (e *StatusError) Unwrap() error {
	if e.Err == nil {
		return nil
	}
	return e.Err
}

// send sends a request and waits for its answer. What the server says about it
// meanwhile is told to hear, if it is not nil, and otherwise to the client.
func (c *Client) send(ctx context.Context, q *question, params json.RawMessage, hear func(Notification)) (json.RawMessage, error) {
	if c.exchanger == nil {
		raw, err := c.sendOnPipe(ctx, q.method, params, hear)
		switch _, refused := errors.AsType[*jsonrpc.Error](err); {
		case errors.Is(err, jsonrpc.ErrClosed):
			return nil, c.lost(q, err)
		case err == nil, refused:
			c.spoke()
		}
		return raw, err
	}
	c.mu.Lock()
	epoch := c.epoch
	c.mu.Unlock()
	raw, err := c.exchange(ctx, q, params, hear)
	if q.era != nil || c.Revision().Stateless() || !isStatus(err, 404) && !(isStatus(err, 400) && c.forgotten(ctx, epoch)) {
		return raw, err
	}
	if err := c.renew(ctx, epoch); err != nil { // the session is forgotten
		return nil, err
	}
	return c.exchange(ctx, q, params, hear)
}

// forgotten reports whether the server no longer knows the session that was begun
// as the epoch's. It should say 404, but many say 400, which they say of other
// things too: so it is asked whether it takes a ping.
func (c *Client) forgotten(ctx context.Context, epoch int) bool {
	_, err := c.ask(ctx, &question{method: "ping", era: c.era.Load()})
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch != epoch || isStatus(err, 404) || isStatus(err, 400)
}

func isStatus(err error, code int) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && e.Code == code
}

func (c *Client) sendOnPipe(ctx context.Context, method string, params json.RawMessage, hear func(Notification)) (json.RawMessage, error) {
	if hear == nil {
		return c.peer.Call(ctx, method, params)
	}
	key := ""
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.hearing, key)
	}()
	return c.peer.CallWithID(ctx, method, params, func(id jsonrpc.ID) {
		c.mu.Lock()
		defer c.mu.Unlock()
		key = id.String()
		c.hearing[key] = hear
	})
}

// exchange is send over a transport on which each request has its own stream.
func (c *Client) exchange(ctx context.Context, q *question, params json.RawMessage, hear func(Notification)) (json.RawMessage, error) {
	m := &jsonrpc.Message{ID: jsonrpc.IntID(c.lastID.Add(1)), Method: q.method, Params: params}
	era := c.eraOf(q)
	header, err := c.header(ctx, era.revision, q, params)
	if err != nil {
		return nil, err
	}
	answered := false
	defer func() {
		if !answered {
			c.dropAsides(m.ID)
		}
	}()
	for answer, err := range c.exchanger.Exchange(ctx, m, header) {
		switch {
		case err != nil && ctx.Err() != nil:
			if !era.revision.Stateless() {
				c.abandoned(m.ID, q.method, context.Cause(ctx))
			}
			return nil, context.Cause(ctx)
		case err != nil && c.life.Err() != nil:
			return nil, jsonrpc.ErrClosed
		case err != nil:
			return nil, fmt.Errorf("%s: %w", q.method, err)
		case answer.IsResponse() && answer.ID == m.ID, answer.IsResponse() && answer.ID.IsZero() && answer.Error != nil:
			c.spoke()
			answered = true
			if answer.Error != nil {
				return nil, answer.Error
			}
			return answer.Result, nil
		case answer.IsResponse():
			c.refuse(fmt.Errorf("response to id %s, which was not asked here", answer.ID))
		case answer.IsNotification():
			c.told(ctx, answer, hear)
		case era.revision.Stateless():
			c.refuse(fmt.Errorf("request %s, which a server of this revision does not send", answer.Method))
		default:
			c.askedAside(answer, m.ID)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("%s: %w", q.method, errNoAnswer)
}

var errNoAnswer = errors.New("the server ended the stream without an answer")

// farewell is how long it may take to tell the server something that nobody waits
// for.
const farewell = 2 * time.Second

// abandoned tells the server that nobody waits for an answer any more.
func (c *Client) abandoned(id jsonrpc.ID, method string, cause error) {
	if method == "initialize" || method == "server/discover" {
		return // which are not taken back
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.farewells.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		_ = c.notify(ctx, "notifications/cancelled", cancelledParams{id, cause.Error()})
	})
}

// notify tells the server something.
func (c *Client) notify(ctx context.Context, method string, params any) error {
	if c.exchanger == nil {
		return c.peer.Notify(ctx, method, params)
	}
	m := &jsonrpc.Message{Method: method}
	if params != nil {
		var err error
		if m.Params, err = jsonv2.Marshal(params); err != nil {
			return err
		}
	}
	return c.transport.Send(ctx, jsonrpc.One(m))
}

// header is what goes beside a request, for those on the way who do not read JSON.
func (c *Client) header(ctx context.Context, r Revision, q *question, params json.RawMessage) (map[string][]string, error) {
	h := map[string][]string{}
	if r.VersionHeader() {
		h["Mcp-Protocol-Version"] = []string{r.String()}
	}
	if !r.RoutingHeader() {
		return h, nil
	}
	h["Mcp-Method"] = []string{q.method}
	if name, ok := named[q.method]; ok {
		h["Mcp-Name"] = []string{encodeHeader(jsonrpc.Text(member(params, name)))}
	}
	if q.method != "tools/call" {
		return h, nil
	}
	headers, err := c.toolHeaders(ctx, jsonrpc.Text(member(params, "name")))
	if err != nil {
		return nil, err
	}
	for i := range headers {
		if v, ok := headers[i].value(member(params, "arguments")); ok {
			h[headers[i].name] = []string{encodeHeader(v)}
		}
	}
	return h, nil
}

// encodeHeader writes a header's value, in base64 where it would not fit into a
// header otherwise.
func encodeHeader(v string) string {
	plain := len(v) == 0 || v[0] != ' ' && v[len(v)-1] != ' ' && !(len(v) >= len(base64Begin)+len(base64End) &&
		v[:len(base64Begin)] == base64Begin && v[len(v)-len(base64End):] == base64End)
	for i := 0; i < len(v) && plain; i++ {
		plain = v[i] >= 0x20 && v[i] <= 0x7e
	}
	if plain {
		return v
	}
	return base64Begin + base64.StdEncoding.EncodeToString([]byte(v)) + base64End
}

// value is the argument's text, if there is one to be sent.
func (p *paramHeader) value(arguments json.RawMessage) (string, bool) {
	v := arguments
	for _, name := range p.path {
		v = member(v, name)
	}
	switch {
	case len(v) == 0 || v[0] == 'n' || v[0] == '{' || v[0] == '[':
		return "", false
	case v[0] == '"':
		return jsonrpc.Text(v), true
	}
	return string(v), true
}
