package streamable

import (
	"context"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// A feed is the stream of the events that belong to no request. It outlives its
// connection for a while, so that a client that comes back has missed nothing.
type feed struct {
	stream   *stream
	listener *mcp.Listener
	over     context.Context
	end      context.CancelFunc

	users int // guarded by the live's mu
}

// takeFeed finds or makes the session's feed. It reports false if somebody is
// connected to it, unless the client wants to go on with it, by its name: then it
// knows better than we whether the older connection still works.
func (l *live) takeFeed(server *mcp.Server, s session, name string) (*feed, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.feed
	switch {
	case f != nil && f.users > 0 && f.over.Err() == nil && (name == "" || f.stream.id != name):
		return nil, false
	case f != nil && f.over.Err() == nil:
		f.users++
		return f, true
	}
	f = &feed{listener: server.Listen(s.Session), users: 1}
	f.over, f.end = context.WithCancel(context.Background())
	id := ""
	if s.Revision().Resumable() {
		id = l.h.newName(feedMark)
	}
	f.stream = newStream(id, nil, &l.h.kept, f.end)
	l.h.enter(l.key)
	context.AfterFunc(f.over, func() {
		f.listener.Close()
		f.stream.forget()
		l.mu.Lock()
		if l.feed == f {
			l.feed = nil
		}
		l.mu.Unlock()
		l.h.leave(l)
	})
	l.feed = f
	if l.ended {
		f.end()
	}
	return f, true
}

func (l *live) leaveFeed(f *feed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.users--
	if f.stream.id == "" || l.h.closing.Err() != nil {
		f.end()
	}
}

// feedNamed is the feed if it has this name, or nil.
func (l *live) feedNamed(name string) *feed {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.feed == nil || l.feed.stream.id != name {
		return nil
	}
	return l.feed
}

// endFeed ends the feed: the client has one at another replica now. A message
// belongs on one stream only.
func (l *live) endFeed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.feed != nil {
		l.feed.end()
	}
}

// handOver ends the feed and returns the messages that its client has not seen, one
// a line.
func (f *feed) handOver(seen uint64) (messages []byte) {
	defer f.end()
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

// message is how the client is told of an event.
func message(e mcp.Event) []byte {
	method, params := e.Notification()
	m := &jsonrpc.Message{Method: method}
	if params != nil {
		m.Params, _ = encode(params) // strings always encode
	}
	return jsonrpc.One(m).Append(nil)
}

// run sends events until the client goes, ctx ends, or the session does: should
// nobody have told us, we find out.
func (f *feed) run(ctx context.Context, c *conn, s session, seen uint64) {
	ctx, c.gone = context.WithCancel(ctx)
	defer c.gone()
	defer context.AfterFunc(f.over, c.gone)()
	defer f.stream.detach(c)
	if !f.stream.attach(c, seen) || f.stream.comment() != nil { // the client is to know that it is heard
		return
	}
	if s.Revision().Primed() {
		f.stream.prime()
	}
	for {
		wait, stop := context.WithTimeout(ctx, quietFor)
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
		if events == nil && !s.goesOn(ctx) {
			f.end()
			return
		}
	}
}
