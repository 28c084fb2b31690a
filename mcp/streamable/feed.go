package streamable

import (
	"context"
	"strconv"
	"time"

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

	taken bool // guarded by the live's mu
	timer *time.Timer
}

// takeFeed finds or makes the session's feed. It reports false if somebody is
// connected to it.
func (l *live) takeFeed(server *mcp.Server, s *session) (*feed, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.feed
	switch {
	case f != nil && f.taken:
		return nil, false
	case f != nil && f.over.Err() == nil:
		f.timer.Stop()
		f.taken = true
		return f, true
	}
	f = &feed{listener: server.Listen(s.Session), taken: true}
	f.over, f.end = context.WithCancel(context.Background())
	id := ""
	if s.Revision().Resumable() {
		id = strconv.FormatUint(l.h.number.Add(1), 36)
	}
	f.stream = newStream(id, nil, &l.h.kept, func() {})
	l.h.enter(l.key)
	context.AfterFunc(f.over, func() {
		f.listener.Close()
		f.stream.forget()
		l.mu.Lock()
		if l.feed == f {
			l.feed = nil
		}
		l.mu.Unlock()
		l.h.leave(l.key)
	})
	f.timer = time.AfterFunc(keepFor, f.end)
	f.timer.Stop()
	l.feed = f
	return f, true
}

func (l *live) leaveFeed(f *feed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.taken = false
	if f.stream.id == "" || l.h.closing.Err() != nil {
		f.end()
		return
	}
	f.timer.Reset(keepFor)
}

// run sends events until the client goes, or ctx ends.
func (f *feed) run(ctx context.Context, c *conn, seen uint64, primed bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.over, cancel)()
	if c.write(comment) != nil { // the client is to know that it is heard
		return
	}
	if !f.stream.attach(c, seen) {
		return
	}
	defer f.stream.detach(c)
	if primed {
		f.stream.prime()
	}
	for {
		wait, stop := context.WithTimeout(ctx, quietFor)
		events := f.listener.Next(wait)
		stop()
		switch {
		case ctx.Err() != nil:
			return
		case events == nil && f.stream.comment() != nil:
			return
		}
		for _, e := range events {
			method, params := e.Notification()
			m := &jsonrpc.Message{Method: method}
			if params != nil {
				m.Params, _ = encode(params) // strings always encode
			}
			if f.stream.send(jsonrpc.One(m).Append(nil)) != nil {
				return
			}
		}
	}
}
