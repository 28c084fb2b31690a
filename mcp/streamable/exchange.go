package streamable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// An exchange is a POST with a request, and the answer to it. It is undecided
// until there is something to send: a notification makes it an event stream.
type exchange struct {
	h        *Handler
	w        http.ResponseWriter
	r        *http.Request
	who      string // the principal's id
	live     *live  // of a session; nil without
	call     *call  // the one under way in it; nil without
	alarm    *alarm
	revision mcp.Revision

	done   bool // guarded by mu, as is the rest
	late   bool // nothing was sent for a while
	mu     sync.Mutex
	stream *stream // nil: undecided
}

var (
	_ mcp.Sink   = (*exchange)(nil)
	_ mcp.Pauser = (*exchange)(nil)
	_ mcp.Waiter = (*exchange)(nil)
)

func (h *Handler) newExchange(w http.ResponseWriter, r *http.Request, who string, revision mcp.Revision, l *live) *exchange {
	x := &exchange{h: h, w: w, r: r, who: who, revision: revision, live: l}
	x.alarm = h.onQuiet(x)
	return x
}

// quiet runs when nothing has been sent for a while: those on the way close
// connections on which nothing happens.
func (x *exchange) quiet() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.late = true
	if x.commitLocked() == nil {
		_ = x.stream.comment() // that the client has gone, its context tells
	}
}

// commitLocked makes the answer an event stream.
func (x *exchange) commitLocked() error {
	switch {
	case x.done:
		return errors.New("streamable: the request has been answered")
	case x.stream != nil:
		return nil
	case x.h.streams.take(x.who) != 0:
		return errors.New("streamable: too many streams")
	}
	own := newConn(x.w)
	if x.live != nil && x.revision.Resumable() {
		x.stream = x.live.newStream(own)
		x.stream.unwatch = context.AfterFunc(x.r.Context(), func() { x.stream.detach(own) })
		if x.revision.Primed() {
			x.stream.prime()
		}
	} else {
		x.stream = newStream("", own, &x.h.kept, func() {})
	}
	return nil
}

// Notify sends a notification that belongs to the request.
func (x *exchange) Notify(_ context.Context, method string, params any) error {
	return x.say(&jsonrpc.Message{Method: method}, params)
}

func (x *exchange) say(m *jsonrpc.Message, params any) error {
	var err error
	if m.Params, err = encode(params); err != nil {
		return fmt.Errorf("send %s: %w", m.Method, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.commitLocked(); err != nil {
		return err
	}
	return x.stream.send(jsonrpc.One(m).Append(nil))
}

func encode(params any) (json.RawMessage, error) {
	if raw, ok := params.(json.RawMessage); ok || params == nil {
		return raw, nil
	}
	return jsonv2.Marshal(params, jsonv2.Deterministic(true))
}

// Call asks the client of a session, on the stream of the request that needs the
// answer. The client answers with a POST of its own.
func (x *exchange) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	switch {
	case x.live == nil:
		return nil, errors.New("streamable: this client cannot be asked")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	id, answer := x.live.ask()
	defer x.live.forget(id)
	if err := x.say(&jsonrpc.Message{ID: id, Method: method}, params); err != nil {
		return nil, err
	}
	x.h.inFlight.give(x.who) // waiting costs nothing
	defer x.h.inFlight.retake(x.who)
	select {
	case m := <-answer:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-x.stream.lost:
	case <-x.h.closing.Done():
	case <-ctx.Done():
		_ = x.Notify(ctx, "notifications/cancelled", map[string]any{"requestId": id, "reason": context.Cause(ctx).Error()})
		return nil, context.Cause(ctx)
	}
	x.call.cancel(jsonrpc.ErrClosed) // there will be no answer
	return nil, jsonrpc.ErrClosed
}

// Wait gives back the place among the requests in flight, for one among the streams,
// of which there are many more.
func (x *exchange) Wait() (resume func()) {
	if x.h.streams.take(x.who) != 0 {
		return func() {}
	}
	x.h.inFlight.give(x.who)
	return func() {
		x.h.inFlight.retake(x.who)
		x.h.streams.give(x.who)
	}
}

// Pause ends the connection; the client comes back for the answer.
func (x *exchange) Pause(after time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.live == nil || !x.revision.Primed() || x.commitLocked() != nil {
		return
	}
	x.stream.pause(after)
}

// answer ends the exchange with the answers to its requests, and the status that
// goes with them if they are the first that is sent. No answer is an empty 202.
func (x *exchange) answer(status int, p jsonrpc.Packet) {
	x.h.stopAlarm(x.alarm)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.done = true
	if x.stream == nil {
		if x.late { // the server's deadline may be near, or over
			_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(writePatience))
		}
		if p.Message == nil && p.Batch == nil {
			x.w.WriteHeader(http.StatusAccepted)
			return
		}
		writeJSON(x.w, status, p)
		return
	}
	if x.stream.unwatch != nil {
		x.stream.unwatch()
	}
	if p.Message != nil {
		_ = x.stream.send(p.Append(nil))
	}
	for _, e := range p.Batch {
		_ = x.stream.send(jsonrpc.One(e.Message).Append(nil))
	}
	x.stream.close()
	if x.live != nil && x.live.isEnded() {
		x.stream.giveUp()
	}
	x.h.streams.give(x.who)
}

// keepBuffer is the size of the largest buffer that is used again.
const keepBuffer = 256 << 10

// shortAnswer is the size up to which net/http itself finds out how long the
// answer is, at less cost.
const shortAnswer = 1 << 10

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func writeJSON(w http.ResponseWriter, status int, p jsonrpc.Packet) {
	buf := buffers.Get().(*[]byte)
	b := p.Append((*buf)[:0])
	h := w.Header()
	h["Content-Type"] = contentJSON
	if len(b) > shortAnswer {
		h["Content-Length"] = []string{strconv.Itoa(len(b))}
	}
	w.WriteHeader(status)
	_, _ = w.Write(b)
	if cap(b) <= keepBuffer {
		*buf = b
		buffers.Put(buf)
	}
}
