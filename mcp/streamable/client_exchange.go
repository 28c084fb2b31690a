package streamable

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// Exchange sends one request and yields the messages of its stream. A stream
// that breaks before the response is resumed if the revision allows that.
func (c *clientTransport) Exchange(ctx context.Context, m *jsonrpc.Message, header map[string][]string) iter.Seq2[*jsonrpc.Message, error] {
	return func(yield func(*jsonrpc.Message, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.baseCtx, cancel)()
		p := &pending{cancel: cancel}
		defer c.addPending(m.ID, p)()
		yield = p.preferResponse(yield)
		r := c.request(ctx, http.MethodPost, jsonrpc.One(m).Append(nil), header)
		if m.Method == "initialize" {
			delete(r.Header, "Mcp-Session-Id") // it starts a new one
		}
		res, err := c.http.Do(r)
		if err != nil {
			yield(nil, err)
			return
		}
		defer res.Body.Close()
		if res.StatusCode < 200 || res.StatusCode > 299 {
			yield(nil, c.statusError(res))
			return
		}
		if m.Method == "initialize" {
			c.mu.Lock()
			if c.session = res.Header.Get("Mcp-Session-Id"); !isValidSessionID(c.session) {
				c.session = ""
			}
			c.mu.Unlock()
		}
		switch kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); strings.ToLower(strings.TrimSpace(kind)) {
		case "application/json":
			c.readSingle(res, yield)
		case "text/event-stream":
			c.readStream(ctx, cancel, m, res, header, yield)
		default:
			yield(nil, fmt.Errorf("streamable: the response to %s has content type %q and status %d", m.Method, res.Header.Get("Content-Type"), res.StatusCode))
		}
	}
}

// A pending request waits for its response. Servers of older revisions may send
// it on a stream other than the request's own.
type pending struct {
	cancel   context.CancelFunc // ends the request's own stream
	response atomic.Pointer[jsonrpc.Message]
}

// addPending registers a request until done is called.
func (c *clientTransport) addPending(id jsonrpc.ID, p *pending) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		c.pending = map[jsonrpc.ID]*pending{}
	}
	c.pending[id] = p
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, id)
	}
}

// preferResponse yields a response that arrived on another stream instead of an
// error of the request's own stream.
func (p *pending) preferResponse(yield func(*jsonrpc.Message, error) bool) func(*jsonrpc.Message, error) bool {
	return func(m *jsonrpc.Message, err error) bool {
		if a := p.response.Load(); a != nil && err != nil {
			return yield(a, nil)
		}
		return yield(m, err)
	}
}

// drain waits briefly for the end of a finished stream, so that the connection
// can be reused.
func (c *clientTransport) drain(body io.ReadCloser, cancel context.CancelFunc) {
	timer := time.AfterFunc(100*time.Millisecond, cancel)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	_ = body.Close()
}

// isValidSessionID reports whether a session id has only allowed characters.
func isValidSessionID(id string) bool {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return false
		}
	}
	return id != "" && len(id) <= 4096
}

const maxErrorBody = 64 << 10 // limit of what is read of an error response

// statusError returns the error for a response without success.
func (c *clientTransport) statusError(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	e := &mcp.StatusError{Code: res.StatusCode, Header: res.Header, Body: body}
	if isJSON(res.Header.Get("Content-Type")) {
		if p, err := jsonrpc.Decode(bytes.Clone(body), c.limits); err == nil && p.Message != nil {
			e.Err = p.Message.Error
		}
	}
	return e
}

// readSingle yields the messages of a response that is not a stream.
func (c *clientTransport) readSingle(res *http.Response, yield func(*jsonrpc.Message, error) bool) {
	limit := int64(c.limits.Bytes)
	var buf bytes.Buffer
	if res.ContentLength > 0 && res.ContentLength <= limit {
		buf.Grow(int(res.ContentLength) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		yield(nil, err)
	case n > limit:
		yield(nil, fmt.Errorf("streamable: the response is larger than %d bytes", limit))
	default:
		c.decodeMessages(buf.Bytes(), yield)
	}
}

// decodeMessages yields the messages in a text. It reports whether to continue.
func (c *clientTransport) decodeMessages(text []byte, yield func(*jsonrpc.Message, error) bool) bool {
	p, err := jsonrpc.Decode(text, c.limits)
	if err != nil {
		return yield(nil, err)
	}
	if p.Message != nil {
		return yield(p.Message, nil)
	}
	for _, e := range p.Batch {
		if e.Message != nil && !yield(e.Message, nil) {
			return false
		}
	}
	return true
}
