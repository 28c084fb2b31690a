package streamable

import (
	"context"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// A feed is the stream of events that belong to no request. It outlives its
// connection for a while, so that a client that reconnects misses nothing.
type feed struct {
	stream   *stream
	listener *transport.Listener
	ctx      context.Context // ends with the feed
	cancel   context.CancelFunc

	users int // guarded by the active session's mu
}

// joinFeed returns the session's feed, creating it if necessary. It returns
// false if a client is connected to it, unless the client resumes it by name:
// then the older connection is assumed to be dead.
func (a *activeSession) joinFeed(server *transport.Server, s session, p mcp.Principal, name string) (*feed, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.feed
	switch {
	case f != nil && f.users > 0 && f.ctx.Err() == nil && (name == "" || f.stream.id != name):
		return nil, false
	case f != nil && f.ctx.Err() == nil:
		f.users++
		return f, true
	}
	f = &feed{listener: server.Listen(s.Session, p), users: 1}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	id := ""
	if transport.RulesOf(s.Revision()).Resumable {
		id = a.h.newLocalID(feedMark)
	}
	f.stream = newStream(id, nil, &a.h.keptBytes, f.cancel)
	a.h.acquire(a.key)
	context.AfterFunc(f.ctx, func() {
		f.listener.Close()
		f.stream.forget()
		a.mu.Lock()
		if a.feed == f {
			a.feed = nil
		}
		a.mu.Unlock()
		a.h.release(a)
	})
	a.feed = f
	if a.ended {
		f.cancel()
	}
	return f, true
}

func (a *activeSession) leaveFeed(f *feed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f.users--
	if f.stream.id == "" || a.h.closing.Err() != nil {
		f.cancel()
	}
}

// feedByID returns the feed if it has this id, or nil.
func (a *activeSession) feedByID(name string) *feed {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.feed == nil || a.feed.stream.id != name {
		return nil
	}
	return a.feed
}

// endFeed ends the feed, because the client has opened one at another replica.
func (a *activeSession) endFeed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.feed != nil {
		a.feed.cancel()
	}
}

// handOver ends the feed and returns the messages that its client has not seen,
// one per line.
func (f *feed) handOver(seen uint64) (messages []byte) {
	defer f.cancel()
	done, cancel := context.WithCancel(context.Background())
	cancel()
	missed := f.stream.missed(seen)
	for _, e := range f.listener.Next(done) {
		missed = append(missed, message(e))
	}
	for _, m := range missed {
		messages = append(append(messages, m...), '\n')
	}
	return messages
}

// message returns the encoded notification of an event.
func message(e mcp.Event) []byte {
	method, params := transport.EventNotification(e)
	m := &jsonrpc.Message{Method: method}
	if params != nil {
		m.Params, _ = encode(params) // strings always encode
	}
	return jsonrpc.One(m).Append(nil)
}

// run sends events until the client disconnects, ctx ends, or the session ends.
// It checks the session in case the note about its end was lost.
func (f *feed) run(ctx context.Context, c *conn, s session, seen uint64) {
	ctx, c.onClose = context.WithCancel(ctx)
	defer c.onClose()
	defer context.AfterFunc(f.ctx, c.onClose)()
	defer f.stream.detach(c)
	if !f.stream.attach(c, seen) || f.stream.comment() != nil { // sends the headers to the client
		return
	}
	if transport.RulesOf(s.Revision()).PrimedStreams {
		f.stream.prime()
	}
	for {
		wait, stop := context.WithTimeout(ctx, commentInterval)
		events := f.listener.Next(wait)
		stop()
		for _, e := range events {
			if f.stream.send(message(e)) != nil {
				return
			}
		}
		if ctx.Err() != nil || events == nil && f.stream.comment() != nil {
			return
		}
		if events == nil && !s.isOpen(ctx) {
			f.cancel()
			return
		}
	}
}
