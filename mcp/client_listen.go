package mcp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/internal/link"
)

// Listen yields changes at the server until ctx ends or the loop is left.
// Everything that the filter selects and the server accepts is yielded once at
// the beginning, and again after the stream broke and was resumed, so a program
// that re-reads what it is notified of misses nothing. Duplicate events that
// are pending are yielded once.
//
// An error ends the loop. The end of ctx is not reported as an error.
func (c *Client) Listen(ctx context.Context, f EventFilter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		outer := ctx
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		in := newInbox(&f)
		done := make(chan error, 1)
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			yield(Event{}, jsonrpc.ErrClosed)
			return
		}
		c.wg.Go(func() {
			if c.Revision().Stateless() {
				done <- c.listen(ctx, in, f)
			} else {
				done <- c.listenInSession(ctx, in, f)
			}
			in.close()
		})
		c.mu.Unlock()
		for e := range in.all() {
			if !yield(e, nil) {
				cancel()
				<-done
				return
			}
		}
		cancel()
		err := <-done
		c.mu.Lock()
		switch {
		case c.closed:
			err = jsonrpc.ErrClosed
		case c.streamLost && !c.Revision().Stateless():
			err = errStreamLost
		}
		c.mu.Unlock()
		if err != nil && outer.Err() == nil {
			yield(Event{}, fmt.Errorf("listen: %w", err))
		}
	}
}

// maxRetries limits how often a stream is reopened without receiving anything.
const maxRetries = 10

// listen keeps a subscriptions/listen request open.
func (c *Client) listen(ctx context.Context, in *inbox, f EventFilter) error {
	rq := &clientRequest{method: "subscriptions/listen", params: []param{{"notifications", f}}, maxTime: -1}
	var round atomic.Int32
	rq.onNotify = func(n Notification) {
		if n.Method == "notifications/subscriptions/acknowledged" {
			round.Store(0)
			var accepted EventFilter
			if jsonv2.Unmarshal(member(n.Params, "notifications"), &accepted) == nil {
				in.setAccepted(accepted)
			}
			in.putAll()
			return
		}
		if e, ok := eventOf(n); ok {
			in.put(e)
		}
	}
	for {
		_, err := c.call(ctx, rq)
		switch e, refused := errors.AsType[*jsonrpc.Error](err); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case refused && e.Code != jsonrpc.CodeInternal, errors.Is(err, jsonrpc.ErrClosed) && c.isDone(), isAuthError(err), round.Load() >= maxRetries:
			return err
		}
		if err := sleep(ctx, backoff(int(round.Add(1)))); err != nil {
			return err
		}
	}
}

// listenInSession receives the notifications of a session, and subscribes to
// the resources in the filter.
func (c *Client) listenInSession(ctx context.Context, in *inbox, f EventFilter) error {
	offers := c.ServerCapabilities()
	accepted := EventFilter{
		Tools:     f.Tools && offers.Tools != nil && offers.Tools.ListChanged,
		Prompts:   f.Prompts && offers.Prompts != nil && offers.Prompts.ListChanged,
		Resources: f.Resources && offers.Resources != nil && offers.Resources.ListChanged,
	}
	if offers.Resources != nil && offers.Resources.Subscribe {
		accepted.ResourceURIs = f.ResourceURIs
	}
	in.setAccepted(accepted)
	c.mu.Lock()
	if c.streamLost {
		c.mu.Unlock()
		return errStreamLost
	}
	c.inboxes[in] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.inboxes, in)
	}()
	for _, uri := range accepted.ResourceURIs {
		if err := c.subscribe(ctx, uri); err != nil {
			return err
		}
		defer c.unsubscribe(uri)
	}
	in.putAll()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.Done():
		return c.explainClosed(c.conn.Load(), &clientRequest{}, jsonrpc.ErrClosed)
	}
}

// errStreamLost means that the event stream of a session failed for good.
var errStreamLost = errors.New("the event stream broke and could not be resumed")

// handleGap is called when notifications of a session may have been lost.
func (c *Client) handleGap(g string) {
	c.mu.Lock()
	epoch := c.epoch
	if g != link.GapSessionLost {
		c.streamLost = g == link.GapFinal
		c.lists.invalidate("")
		for in := range c.inboxes {
			if in.putAll(); c.streamLost {
				in.close()
			}
		}
	}
	c.mu.Unlock()
	if g != link.GapSessionLost || c.Revision().Stateless() || !c.sessionLost(c.baseCtx, epoch) {
		return
	}
	if err := c.renewSession(c.baseCtx, epoch); err != nil { // the next request retries
		c.log.Debug("cannot renew a lost session", "err", err)
	}
}

// subscribe subscribes to a resource, once for all listeners. A second listener
// waits for the outcome of the first one's request.
func (c *Client) subscribe(ctx context.Context, uri string) error {
	select {
	case c.subscribeLock <- struct{}{}:
		defer func() { <-c.subscribeLock }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if c.addSubscribers(uri, 1) > 1 {
		return nil
	}
	_, err := c.call(ctx, &clientRequest{method: "resources/subscribe", params: []param{{"uri", uri}}})
	if err != nil {
		c.addSubscribers(uri, -1)
	}
	return err
}

// unsubscribe unsubscribes when the last listener leaves.
func (c *Client) unsubscribe(uri string) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	select {
	case c.subscribeLock <- struct{}{}:
		defer func() { <-c.subscribeLock }()
	case <-ctx.Done(): // give up: the server keeps sending notifications, which are ignored
	}
	if c.addSubscribers(uri, -1) > 0 || ctx.Err() != nil {
		return
	}
	_, _ = c.call(ctx, &clientRequest{method: "resources/unsubscribe", params: []param{{"uri", uri}}})
}

// addSubscribers changes the number of listeners of a resource by n and returns
// it. After Close it returns 1.
func (c *Client) addSubscribers(uri string, n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 1
	}
	c.subscribed[uri] += n
	count := c.subscribed[uri]
	if count <= 0 {
		delete(c.subscribed, uri)
	}
	return count
}
