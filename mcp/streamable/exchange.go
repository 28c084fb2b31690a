package streamable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// An exchange is a POST with a request, and its response. The form of the
// response is undecided until there is something to send: a notification makes
// it an event stream.
type exchange struct {
	h        *Handler
	w        http.ResponseWriter
	r        *http.Request
	owner    string         // whom its slots are counted for
	active   *activeSession // nil without a session
	call     *call          // the call in progress; nil without a session
	alarm    *alarm
	revision mcp.Revision

	done   bool // guarded by mu, like the following
	slow   bool // nothing was sent for a while
	mu     sync.Mutex
	stream *stream // nil while undecided
	onLost []func()
}

var (
	_ transport.Sink         = (*exchange)(nil)
	_ transport.StreamCloser = (*exchange)(nil)
	_ transport.Idler        = (*exchange)(nil)
	_ transport.LossReporter = (*exchange)(nil)
)

func (h *Handler) newExchange(w http.ResponseWriter, r *http.Request, owner string, revision mcp.Revision, a *activeSession) *exchange {
	x := &exchange{h: h, w: w, r: r, owner: owner, revision: revision, active: a}
	x.alarm = h.quietAlarm(x)
	return x
}

// onQuiet is called when nothing was sent for a while. It sends a comment,
// because proxies close idle connections.
func (x *exchange) onQuiet() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.slow = true
	if x.commitLocked() == nil {
		_ = x.stream.comment() // if the client has gone, its context ends
	}
}

// commitLocked makes the response an event stream.
func (x *exchange) commitLocked() error {
	switch {
	case x.done:
		return errors.New("streamable: the response was already sent")
	case x.stream != nil:
		return nil
	case x.h.streams.acquire(x.owner, 1) != 0:
		return errors.New("streamable: too many streams")
	}
	own := newConn(x.w)
	if x.active != nil && transport.RulesOf(x.revision).Resumable {
		x.stream = x.active.newStream(own)
		x.stream.stopWatching = context.AfterFunc(x.r.Context(), func() { x.stream.detach(own) })
		if transport.RulesOf(x.revision).PrimedStreams {
			x.stream.prime()
		}
	} else {
		x.stream = newStream("", own, &x.h.keptBytes, func() {})
	}
	return nil
}

// Notify sends a notification.
func (x *exchange) Notify(_ context.Context, method string, params any) error {
	return x.send(&jsonrpc.Message{Method: method}, params)
}

func (x *exchange) send(m *jsonrpc.Message, params any) error {
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

// Call sends a request to the client of a session, on the stream of the request
// being handled. The client responds with another POST.
func (x *exchange) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	switch {
	case x.active == nil:
		return nil, errors.New("streamable: this client does not accept requests")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	id, answer := x.active.expectResponse()
	defer x.active.cancelExpected(id)
	if err := x.send(&jsonrpc.Message{ID: id, Method: method}, params); err != nil {
		return nil, err
	}
	x.h.inFlight.release(x.owner, 1) // a waiting call needs no slot
	defer x.h.inFlight.reacquire(x.owner, 1)
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
	x.call.cancel(jsonrpc.ErrClosed) // there will be no response
	return nil, jsonrpc.ErrClosed
}

// Wait releases the slot among the requests in flight until resume is called,
// and takes one among the streams, of which there are many more.
func (x *exchange) Idle() (resume func()) {
	if x.h.streams.acquire(x.owner, 1) != 0 {
		return func() {}
	}
	x.h.inFlight.release(x.owner, 1)
	return func() {
		x.h.inFlight.reacquire(x.owner, 1)
		x.h.streams.release(x.owner, 1)
	}
}

// CloseStream closes the connection; the client reconnects for the response.
func (x *exchange) CloseStream(after time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.active == nil || !transport.RulesOf(x.revision).PrimedStreams || x.commitLocked() != nil {
		return
	}
	x.stream.pause(after)
}

// OnLost calls f if the response reaches nobody.
func (x *exchange) OnLost(f func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.onLost = append(x.onLost, f)
}

// finish ends the exchange with its responses. status is used if nothing was
// sent before. Without a response it is an empty 202.
func (x *exchange) finish(status int, p jsonrpc.Packet) {
	x.h.stopAlarm(x.alarm)
	lost := func() {}
	defer func() { lost() }() // without the lock
	held, refused := x.holdAnswer(p)
	defer x.h.answers.release(x.owner, held)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.done = true
	tell := func() {
		for _, f := range x.onLost {
			f()
		}
	}
	if x.stream == nil {
		if x.slow { // the server's deadline may be near or past
			_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(writeTimeout))
		}
		if p.Message == nil && p.Batch == nil {
			x.w.WriteHeader(http.StatusAccepted)
			return
		}
		if refused != 0 {
			x.h.busy(x.w, refused, requestIDOf(p), x.h.answers.refusal(refused))
			lost = tell
			return
		}
		if err := writeJSON(x.w, status, p); err != nil || x.r.Context().Err() != nil {
			lost = tell
		}
		return
	}
	if x.stream.stopWatching != nil {
		x.stream.stopWatching()
	}
	if refused != 0 {
		e := jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", x.h.answers.refusal(refused))
		p, lost = jsonrpc.One(&jsonrpc.Message{ID: requestIDOf(p), Error: e}), tell
	}
	if p.Message != nil {
		_ = x.stream.send(p.Append(nil))
	}
	for _, e := range p.Batch {
		_ = x.stream.send(jsonrpc.One(e.Message).Append(nil))
	}
	if x.onLost != nil && x.stream.unread(tell) {
		lost = tell
	}
	x.stream.close()
	if x.active != nil && x.active.hasEnded() {
		x.stream.abandon()
	}
	x.h.streams.release(x.owner, 1)
}

// holdAnswer takes the memory for a large answer until it was sent. It returns how much that is, or the status to
// refuse the answer with. One that is larger than the limit can be sent alone.
func (x *exchange) holdAnswer(p jsonrpc.Packet) (held int64, status int) {
	size := 0
	if p.Message != nil {
		size = len(p.Message.Result)
	}
	for _, e := range p.Batch {
		size += len(e.Message.Result)
	}
	if size <= smallBody {
		return 0, 0
	}
	held = min(int64(size), cmp.Or(x.h.answers.maxEach, x.h.answers.max))
	if status = x.h.answers.acquire(x.owner, held); status != 0 {
		held = 0
	}
	return held, status
}

// requestIDOf returns the id of the request that an answer is for, or the zero ID of a batch.
func requestIDOf(p jsonrpc.Packet) jsonrpc.ID {
	if p.Message == nil {
		return jsonrpc.ID{}
	}
	return p.Message.ID
}
