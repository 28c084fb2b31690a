package mcp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// Listen tells of changes at the server, until ctx ends or the loop is left. All
// that the filter names and the server honours is told once at the beginning, and
// again when the stream broke and was taken up: whoever reads what it is told of
// misses nothing. An event that comes again before it is taken is told once.
//
// An error ends the loop. One that ctx caused is not told.
func (c *Client) Listen(ctx context.Context, f Filter) iter.Seq2[Event, error] {
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
			in.end()
		})
		c.mu.Unlock()
		for e := range in.events() {
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
		case c.deaf && !c.Revision().Stateless():
			err = errDeaf
		}
		c.mu.Unlock()
		if err != nil && outer.Err() == nil {
			yield(Event{}, fmt.Errorf("listen: %w", err))
		}
	}
}

// maxRetries is how often a stream is taken up again without hearing anything.
const maxRetries = 10

// listen keeps a stream of events open.
func (c *Client) listen(ctx context.Context, in *inbox, f Filter) error {
	q := &question{method: "subscriptions/listen", params: []param{{"notifications", f}}, maxTime: -1}
	var round atomic.Int32
	q.hear = func(n Notification) {
		if n.Method == "notifications/subscriptions/acknowledged" {
			round.Store(0)
			var honoured Filter
			if jsonv2.Unmarshal(member(n.Params, "notifications"), &honoured) == nil {
				in.honour(honoured)
			}
			in.again()
			return
		}
		if e, ok := eventOf(n); ok {
			in.put(e)
		}
	}
	for {
		_, err := c.ask(ctx, q)
		switch e, refused := errors.AsType[*jsonrpc.Error](err); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case refused && e.Code != jsonrpc.CodeInternal, errors.Is(err, jsonrpc.ErrClosed), isAuth(err), round.Load() >= maxRetries:
			return err
		}
		if err := pause(ctx, backoff(int(round.Add(1)))); err != nil {
			return err
		}
	}
}

// listenInSession hears what a server tells in a session without being asked, and
// asks for the resources that are to be watched.
func (c *Client) listenInSession(ctx context.Context, in *inbox, f Filter) error {
	offers := c.Server()
	honoured := Filter{
		Tools:     f.Tools && offers.Tools != nil && offers.Tools.ListChanged,
		Prompts:   f.Prompts && offers.Prompts != nil && offers.Prompts.ListChanged,
		Resources: f.Resources && offers.Resources != nil && offers.Resources.ListChanged,
	}
	if offers.Resources != nil && offers.Resources.Subscribe {
		honoured.Watch = f.Watch
	}
	in.honour(honoured)
	c.mu.Lock()
	if c.deaf {
		c.mu.Unlock()
		return errDeaf
	}
	c.inboxes[in] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.inboxes, in)
	}()
	for _, uri := range honoured.Watch {
		if err := c.subscribe(ctx, uri); err != nil {
			return err
		}
		defer c.unsubscribe(uri)
	}
	in.again()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ended:
		return c.lost(&question{}, jsonrpc.ErrClosed)
	}
}

// errDeaf means that a server of a session can tell us nothing any more.
var errDeaf = errors.New("the stream broke, and could not be taken up again")

// missed is told that what a server said in a session may not have come.
func (c *Client) missed(g Gap) {
	c.mu.Lock()
	epoch := c.epoch
	if g != GapSession {
		c.deaf = g == GapForGood
		c.lists.forget("")
		for in := range c.inboxes {
			if in.again(); c.deaf {
				in.end()
			}
		}
	}
	c.mu.Unlock()
	if g != GapSession || c.Revision().Stateless() || !c.forgotten(c.life, epoch) {
		return
	}
	if err := c.renew(c.life, epoch); err != nil { // the next request tries again
		c.log.Debug("a session that the server has forgotten cannot be begun anew", "err", err)
	}
}

// subscribe asks to be told of a resource's changes, once for all who listen. Who
// comes second waits for what becomes of that.
func (c *Client) subscribe(ctx context.Context, uri string) error {
	select {
	case c.subscribing <- struct{}{}:
		defer func() { <-c.subscribing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if c.watching(uri, 1) > 1 {
		return nil
	}
	_, err := c.ask(ctx, &question{method: "resources/subscribe", params: []param{{"uri", uri}}})
	if err != nil {
		c.watching(uri, -1)
	}
	return err
}

// unsubscribe takes that back when the last one leaves.
func (c *Client) unsubscribe(uri string) {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	select {
	case c.subscribing <- struct{}{}:
		defer func() { <-c.subscribing }()
	case <-ctx.Done(): // then the server tells what nobody hears
	}
	if c.watching(uri, -1) > 0 || ctx.Err() != nil {
		return
	}
	_, _ = c.ask(ctx, &question{method: "resources/unsubscribe", params: []param{{"uri", uri}}})
}

// watching counts those who listen to a resource. After Close there is always one.
func (c *Client) watching(uri string, more int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 1
	}
	c.watched[uri] += more
	n := c.watched[uri]
	if n <= 0 {
		delete(c.watched, uri)
	}
	return n
}

// eventOf is the change that a notification tells of.
func eventOf(n Notification) (Event, bool) {
	switch n.Method {
	case "notifications/tools/list_changed":
		return Event{Kind: EventTools}, true
	case "notifications/prompts/list_changed":
		return Event{Kind: EventPrompts}, true
	case "notifications/resources/list_changed":
		return Event{Kind: EventResources}, true
	case "notifications/resources/updated":
		return Event{Kind: EventResource, Name: jsonrpc.Text(member(n.Params, "uri"))}, true
	case "notifications/tasks":
		return Event{Kind: EventTask, Name: jsonrpc.Text(member(n.Params, "taskId"))}, true
	}
	return Event{}, false
}

// An inbox holds events until they are taken. It holds each once, and only those
// that were asked for: so it is bounded, whatever the server sends.
type inbox struct {
	asked *Filter
	ready chan struct{}

	mu       sync.Mutex
	honoured Filter
	waiting  []Event
	over     bool
}

func newInbox(f *Filter) *inbox {
	return &inbox{asked: f, honoured: *f, ready: make(chan struct{}, 1)}
}

func (in *inbox) honour(f Filter) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.honoured = f
}

// again puts all events that were asked for and are honoured.
func (in *inbox) again() {
	in.mu.Lock()
	f := in.honoured
	in.mu.Unlock()
	for kind, on := range map[EventKind]bool{EventTools: f.Tools, EventPrompts: f.Prompts, EventResources: f.Resources} {
		if on {
			in.put(Event{Kind: kind})
		}
	}
	for _, uri := range f.Watch {
		in.put(Event{EventResource, uri})
	}
	for _, id := range f.Tasks {
		in.put(Event{EventTask, id})
	}
}

func (in *inbox) put(e Event) {
	if !in.asked.wants(e) {
		return
	}
	in.mu.Lock()
	if !slices.Contains(in.waiting, e) && len(in.waiting) < maxSubscriptions {
		in.waiting = append(in.waiting, e)
	}
	in.mu.Unlock()
	in.wake()
}

func (in *inbox) wake() {
	select {
	case in.ready <- struct{}{}:
	default:
	}
}

func (in *inbox) end() {
	in.mu.Lock()
	in.over = true
	in.mu.Unlock()
	in.wake()
}

// events yields what comes in, until the end.
func (in *inbox) events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for range in.ready {
			in.mu.Lock()
			events, over := in.waiting, in.over
			in.waiting = nil
			in.mu.Unlock()
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
			if over {
				return
			}
		}
	}
}
