package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// ErrTimeout means that the server was silent for too long, or took too long
// altogether. It is a context.DeadlineExceeded as well.
var ErrTimeout = fmt.Errorf("mcp: no answer in time: %w", context.DeadlineExceeded)

// A question is a request of ours.
type question struct {
	method   string
	params   []param
	meta     Meta     // beside what every request has there
	era      *settled // of a handshake, which has its own
	progress func(ProgressParams)
	hear     func(Notification) // what belongs to it; nil: the client is told
	timeout  time.Duration      // zero: the client's
	maxTime  time.Duration      // likewise; negative: none of the two
}

// A param is a member of a request's params.
type param struct {
	name  string
	value any
}

// name is the tool or the prompt that the question is about.
func (q *question) name() string {
	for _, p := range q.params {
		if s, ok := p.value.(string); ok && p.name == "name" {
			return s
		}
	}
	return ""
}

// with is the question with more in its _meta.
func (q *question) with(meta Meta) *question {
	if len(meta) == 0 {
		return q
	}
	x := *q
	x.meta = maps.Clone(meta)
	maps.Copy(x.meta, q.meta)
	return &x
}

// encoded is JSON that we have written, or read, ourselves.
type encoded []byte

// appendName is appendMember for any name.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(appendString(b, name), ':')
}

func (c *Client) eraOf(q *question) *settled {
	if q.era != nil {
		return q.era
	}
	return c.era.Load()
}

// encode writes the params in the form of an era. An empty token is none.
func (q *question) encode(era *settled, token string) (json.RawMessage, error) {
	b := append(make([]byte, 0, 256), '{')
	var err error
	for _, p := range q.params {
		switch v := p.value.(type) {
		case string:
			b = appendString(appendMember(b, p.name), v)
		case encoded:
			b = append(appendName(b, p.name), v...)
		case json.RawMessage:
			b, err = appendRaw(b, p.name, v)
		default:
			b, err = appendValue(b, p.name, v)
		}
		if err != nil {
			return nil, err
		}
	}
	if era.meta != nil || token != "" || len(q.meta) > 0 {
		b = append(appendMember(b, "_meta"), '{')
		b = append(b, era.meta...)
		if token != "" {
			b = append(appendMember(b, "progressToken"), token...)
		}
		for name, v := range q.meta {
			value, err := jsonv2.Marshal(v, jsonv2.Deterministic(true))
			if err != nil {
				return nil, err
			}
			b = append(appendName(b, name), value...)
		}
		b = append(b, '}')
	}
	if len(b) == 1 {
		return nil, nil
	}
	return append(b, '}'), nil
}

// ask sends a request and waits for its answer, as long as there are signs of it.
func (c *Client) ask(ctx context.Context, q *question) (_ json.RawMessage, err error) {
	if c.o.Observe != nil {
		meta, done := c.o.Observe(ctx, q.method, q.name())
		defer func() { done(err) }()
		q = q.with(meta)
	}
	token := ""
	w := &watch{c: c, hear: q.progress}
	if q.progress != nil {
		token = c.followed(w)
		defer c.unfollowed(token)
	}
	params, err := q.encode(c.eraOf(q), token)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.method, err)
	}
	if q.maxTime >= 0 {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		w.begin(q, cancel)
		defer w.end()
	}
	return c.send(ctx, q, params, q.hear)
}

// A watch is the time that a request may take.
type watch struct {
	c    *Client
	hear func(ProgressParams)

	mu     sync.Mutex
	cancel context.CancelCauseFunc
	each   time.Duration
	limit  time.Time
	timer  *time.Timer
}

func (w *watch) begin(q *question, cancel context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel = cancel
	if w.each = q.timeout; w.each == 0 {
		w.each = w.c.o.Timeout
	}
	most := q.maxTime
	if most == 0 {
		most = max(w.c.o.MaxTime, q.timeout)
	}
	w.limit = time.Now().Add(most)
	w.timer = time.AfterFunc(min(w.each, most), w.late)
}

// sign is a sign of life: the time for the next one begins.
func (w *watch) sign() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil && w.timer.Stop() {
		w.timer.Reset(max(0, min(w.each, time.Until(w.limit))))
	}
}

// late gives the request up, unless the server waits for us.
func (w *watch) late() {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := time.Until(w.limit)
	if w.timer == nil {
		return
	}
	rest := w.each - time.Since(time.Unix(0, w.c.answered.Load()))
	if w.c.answering.Load() > 0 {
		rest = w.each
	}
	if left > 0 && rest > 0 {
		w.timer.Reset(min(rest, left))
		return
	}
	w.cancel(ErrTimeout)
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	w.timer = nil
	w.cancel(nil)
}

// followed gives a request a token by which the server reports its progress.
func (c *Client) followed(w *watch) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens++
	token := strconv.FormatInt(c.tokens, 10)
	c.follow[token] = w
	return token
}

func (c *Client) unfollowed(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.follow, token)
}

// resultHead is what tells one kind of result from another.
type resultHead struct {
	kind, requests, state, task json.RawMessage
}

func headOf(result json.RawMessage) (h resultHead) {
	for name, v := range jsonrpc.Members(result) {
		switch name {
		case "resultType":
			if h.kind = v; string(v) == `"complete"` {
				return h // the rest is for whoever asked
			}
		case "inputRequests":
			h.requests = v
		case "requestState":
			h.state = v
		case "taskId":
			h.task = v
		}
	}
	return h
}

// codeURLNeeded is how a server of 2025-11-25 says that the person has to visit
// pages first.
const codeURLNeeded = -32042

// resolve asks until there is a result, answering what the server asks meanwhile.
func (c *Client) resolve(ctx context.Context, q *question, o *CallOptions) (json.RawMessage, error) {
	asked := len(q.params)
	headers := false
	seen := visits{}
	for round := range maxRounds + 2 {
		raw, err := c.ask(ctx, q)
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
			switch {
			case e.Code == CodeHeaderMismatch && c.exchanger != nil && !headers && q.method == "tools/call":
				headers = true // the tool's schema may have changed
				c.mu.Lock()
				c.lists.forget(KindTool)
				c.mu.Unlock()
				continue
			case e.Code == codeURLNeeded && c.o.Elicit != nil && !c.Revision().Stateless():
				again, err := c.visit(ctx, e, seen)
				if err == nil && again {
					err = pause(ctx, backoff(round+2))
				}
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if len(raw) == 0 || raw[0] != '{' {
			return nil, errors.New("the result is not an object")
		}
		if !c.Revision().Stateless() {
			return raw, nil
		}
		head := headOf(raw)
		switch kind := jsonrpc.Text(head.kind); {
		case head.kind == nil, kind == "complete":
			return raw, nil
		case kind == "task" && c.o.Tasks && q.method == "tools/call":
			return c.followTask(ctx, jsonrpc.Text(head.task), o)
		case kind != "input_required":
			return nil, fmt.Errorf("unknown kind of result %.40s", head.kind)
		}
		next := *q
		next.params = q.params[:asked:asked]
		wait := time.Duration(0)
		if head.requests == nil {
			wait = backoff(round)
		} else {
			answers, again, err := c.answerAll(ctx, head.requests, seen)
			if err != nil {
				return nil, err
			}
			if again {
				wait = backoff(round + 2)
			}
			next.params = append(next.params, param{"inputResponses", answers})
		}
		if wait > 0 {
			if err := pause(ctx, wait); err != nil {
				return nil, err
			}
		}
		if head.state != nil {
			next.params = append(next.params, param{"requestState", encoded(head.state)})
		}
		q = &next
	}
	return nil, fmt.Errorf("the server keeps asking, after %d rounds", maxRounds+2)
}

// backoff grows from a tenth of a second to half a minute.
func backoff(round int) time.Duration {
	return min(100*time.Millisecond<<min(round, 10), 30*time.Second)
}

// pause waits, or returns why ctx ended before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
