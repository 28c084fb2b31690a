package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// Limits for resuming a stream.
const (
	maxResumes   = 10                    // attempts in a row that fail to open the stream
	defaultRetry = time.Second           // time to wait before
	minRetry     = 50 * time.Millisecond // regardless of what the server says
	maxRetry     = 30 * time.Second      // likewise
)

var errBroken = errors.New("streamable: the stream ended before the answer")

// readStream yields the messages on the stream of a request, until its
// response.
func (c *clientTransport) readStream(ctx context.Context, cancel context.CancelFunc, m *jsonrpc.Message, res *http.Response, header map[string][]string, yield func(*jsonrpc.Message, error) bool) {
	events := newEventReader(res.Body, c.limits.Bytes)
	defer func() { c.drain(res.Body, cancel) }()
	answered, left := false, false
	onMessage := func(a *jsonrpc.Message, err error) bool {
		answered = answered || err == nil && a.IsResponse() && a.ID == m.ID
		left = !yield(a, err) || err != nil
		return !left && !answered
	}
	tries := 0
	for {
		e, err := events.next()
		if err == nil {
			tries = 0
			if len(e.data) > 0 && (e.name == "" || e.name == "message") && !c.decodeMessages(e.data, onMessage) {
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
		resumed, err := c.resume(ctx, events, header)
		if err != nil {
			if ctx.Err() == nil {
				// Not a StatusError: the request itself was accepted, and must
				// not be sent again.
				err = fmt.Errorf("%w and cannot be resumed: %v", errBroken, err)
			}
			yield(nil, err)
			return
		}
		if resumed != nil {
			tries = 0
			_ = res.Body.Close()
			res = resumed
			events.reset(res.Body)
		}
	}
}

// resume waits as long as the server wants and requests the rest of a stream.
// It returns nil, nil if the caller should try again.
func (c *clientTransport) resume(ctx context.Context, events *eventReader, header map[string][]string) (*http.Response, error) {
	if err := sleep(ctx, events.retry); err != nil {
		return nil, err
	}
	res, err := c.get(ctx, events.id, header)
	if err != nil && ctx.Err() == nil {
		if _, refused := errors.AsType[*mcp.StatusError](err); !refused {
			events.retry = min(2*events.retry, maxRetry)
			return nil, nil
		}
	}
	return res, err
}

// sleep waits for d, or returns the cause if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
