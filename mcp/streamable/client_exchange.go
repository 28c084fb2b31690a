package streamable

import (
	"bytes"
	"context"
	"errors"
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

// Exchange sends one request and yields what comes of it. A stream that breaks
// before the answer is taken up again where the revision has that.
func (c *Client) Exchange(ctx context.Context, m *jsonrpc.Message, header map[string][]string) iter.Seq2[*jsonrpc.Message, error] {
	return func(yield func(*jsonrpc.Message, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.life, cancel)()
		p := &pending{cancel: cancel}
		defer c.expect(m.ID, p)()
		yield = p.instead(yield)
		r := c.request(ctx, http.MethodPost, jsonrpc.One(m).Append(nil), header)
		if m.Method == "initialize" {
			delete(r.Header, "Mcp-Session-Id") // it begins a new one
		}
		res, err := c.http.Do(r)
		if err != nil {
			yield(nil, err)
			return
		}
		defer res.Body.Close()
		if res.StatusCode < 200 || res.StatusCode > 299 {
			yield(nil, c.refused(res))
			return
		}
		if m.Method == "initialize" {
			c.mu.Lock()
			if c.session = res.Header.Get("Mcp-Session-Id"); !isVisible(c.session) {
				c.session = ""
			}
			c.mu.Unlock()
		}
		switch kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); strings.ToLower(strings.TrimSpace(kind)) {
		case "application/json":
			c.single(res, yield)
		case "text/event-stream":
			c.follow(ctx, cancel, m, res, header, yield)
		default:
			yield(nil, fmt.Errorf("streamable: the answer to %s is %q with status %d", m.Method, res.Header.Get("Content-Type"), res.StatusCode))
		}
	}
}

// A pending request waits for its answer. Servers of older revisions may give it
// on another stream than the request's own.
type pending struct {
	cancel context.CancelFunc // ends the request's own stream
	answer atomic.Pointer[jsonrpc.Message]
}

// expect takes note of a request until it is done.
func (c *Client) expect(id jsonrpc.ID, p *pending) (done func()) {
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

// instead yields the answer that came elsewhere in place of what became of the
// request's own stream.
func (p *pending) instead(yield func(*jsonrpc.Message, error) bool) func(*jsonrpc.Message, error) bool {
	return func(m *jsonrpc.Message, err error) bool {
		if a := p.answer.Load(); a != nil && err != nil {
			return yield(a, nil)
		}
		return yield(m, err)
	}
}

// finish waits a moment for the end of a stream that has been answered: then the
// connection can be used for the next request.
func (c *Client) finish(body io.ReadCloser, cancel context.CancelFunc) {
	late := time.AfterFunc(100*time.Millisecond, cancel)
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	_ = body.Close()
}

// isVisible reports whether a session's id is what it may be.
func isVisible(id string) bool {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return false
		}
	}
	return id != "" && len(id) <= 4096
}

const maxRefusal = 64 << 10 // what is read of a refusal

// refused is what a response without success says.
func (c *Client) refused(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	e := &mcp.StatusError{Code: res.StatusCode, Header: res.Header, Body: body}
	if isJSON(res.Header.Get("Content-Type")) {
		if p, err := jsonrpc.Decode(bytes.Clone(body), c.limits); err == nil && p.Message != nil {
			e.Err = p.Message.Error
		}
	}
	return e
}

// single yields the messages of a response that is not a stream.
func (c *Client) single(res *http.Response, yield func(*jsonrpc.Message, error) bool) {
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
		yield(nil, fmt.Errorf("streamable: the answer is larger than %d bytes", limit))
	default:
		c.messages(buf.Bytes(), yield)
	}
}

// messages yields the messages in a text. It reports whether to go on.
func (c *Client) messages(text []byte, yield func(*jsonrpc.Message, error) bool) bool {
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

// How a stream is taken up again.
const (
	maxResumes  = 10                    // in a row that fail; one that opens the stream is none
	usualRetry  = time.Second           // what to wait before
	soonestWait = 50 * time.Millisecond // whatever the server says
	slowestWait = 30 * time.Second      // likewise
)

var errBroken = errors.New("streamable: the stream ended before the answer")

// follow yields what comes on the stream of a request, until its answer.
func (c *Client) follow(ctx context.Context, cancel context.CancelFunc, m *jsonrpc.Message, res *http.Response, header map[string][]string, yield func(*jsonrpc.Message, error) bool) {
	events := newEventReader(res.Body, c.limits.Bytes)
	defer func() { c.finish(res.Body, cancel) }()
	answered, left := false, false
	hear := func(a *jsonrpc.Message, err error) bool {
		answered = answered || err == nil && a.IsResponse() && a.ID == m.ID
		left = !yield(a, err) || err != nil
		return !left && !answered
	}
	tries := 0
	for {
		e, err := events.next()
		if err == nil {
			tries = 0
			if len(e.data) > 0 && (e.name == "" || e.name == "message") && !c.messages(e.data, hear) {
				return
			}
			continue
		}
		version := mcp.Revision(0)
		if v := header["Mcp-Protocol-Version"]; len(v) == 1 {
			version, _ = mcp.ParseRevision(v[0])
		}
		if ctx.Err() != nil || errors.Is(err, errEventTooLarge) || version.Stateless() || events.id == "" || tries >= maxResumes {
			if errors.Is(err, io.EOF) {
				err = errBroken
			}
			yield(nil, err)
			return
		}
		tries++
		again, err := c.resume(ctx, events, header)
		if err != nil {
			if ctx.Err() == nil {
				// Not as a status: the request itself was taken, and must not be sent again.
				err = fmt.Errorf("%w, and cannot be taken up again: %v", errBroken, err)
			}
			yield(nil, err)
			return
		}
		if again != nil {
			tries = 0
			_ = res.Body.Close()
			res = again
			events.reset(res.Body)
		}
	}
}

// resume waits as long as the server wants and asks for the rest of a stream. No
// response and no error means: again.
func (c *Client) resume(ctx context.Context, events *eventReader, header map[string][]string) (*http.Response, error) {
	t := time.NewTimer(events.retry)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-t.C:
	}
	res, err := c.get(ctx, events.id, header)
	if err != nil && ctx.Err() == nil {
		if _, refused := errors.AsType[*mcp.StatusError](err); !refused {
			events.retry = min(2*events.retry, slowestWait)
			return nil, nil
		}
	}
	return res, err
}
