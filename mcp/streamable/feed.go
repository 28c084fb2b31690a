package streamable

import (
	"context"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// A feed is the stream of events that belong to no request. It outlives its
// connection for a while, so that a client that reconnects misses nothing.
type feed struct {
	stream   *stream
	listener *mcp.Listener
	ctx      context.Context // ends with the feed
	cancel   context.CancelFunc

	users int // guarded by the active session's mu
}

// joinFeed returns the session's feed, creating it if necessary. It returns
// false if a client is connected to it, unless the client resumes it by name:
// then the older connection is assumed to be dead.
func (l *activeSession) joinFeed(server *mcp.Server, s session, name string) (*feed, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.feed
	switch {
	case f != nil && f.users > 0 && f.ctx.Err() == nil && (name == "" || f.stream.id != name):
		return nil, false
	case f != nil && f.ctx.Err() == nil:
		f.users++
		return f, true
	}
	f = &feed{listener: server.Listen(s.Session), users: 1}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	id := ""
	if s.Revision().Resumable() {
		id = l.h.newLocalID(feedMark)
	}
	f.stream = newStream(id, nil, &l.h.keptBytes, f.cancel)
	l.h.acquire(l.key)
	context.AfterFunc(f.ctx, func() {
		f.listener.Close()
		f.stream.forget()
		l.mu.Lock()
		if l.feed == f {
			l.feed = nil
		}
		l.mu.Unlock()
		l.h.release(l)
	})
	l.feed = f
	if l.ended {
		f.cancel()
	}
	return f, true
}

func (l *activeSession) leaveFeed(f *feed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.users--
	if f.stream.id == "" || l.h.closing.Err() != nil {
		f.cancel()
	}
}

// feedByID returns the feed if it has this id, or nil.
func (l *activeSession) feedByID(name string) *feed {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.feed == nil || l.feed.stream.id != name {
		return nil
	}
	return l.feed
}

// endFeed ends the feed, because the client has opened one at another replica.
func (l *activeSession) endFeed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.feed != nil {
		l.feed.cancel()
	}
}

// handOver ends the feed and returns the messages that its client has not seen,
// one per line.
func (f *feed) handOver(seen uint64) (messages []byte) {
	defer f.cancel()
	past, cancel := context.WithCancel(context.Background())
	cancel()
	missed := f.stream.missed(seen)
	for _, e := range f.listener.Next(past) {
		missed = append(missed, message(e))
	}
	for _, m := range missed {
		messages = append(append(messages, m...), '\n')
	}
	return messages
}

// message returns the encoded notification of an event.
func message(e mcp.Event) []byte {
	method, params := e.Notification()
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
	if s.Revision().Primed() {
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
