package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

const (
	// maxQuestions is how often an upstream may ask during one call.
	maxQuestions = 8
	// maxAnswerTime is how long a caller has to answer.
	maxAnswerTime = 10 * time.Minute
	// keepResult is how long the result of a call is kept that the caller may ask for again.
	keepResult = time.Minute
	// taskAfter is how long a call takes that becomes a task, where the caller's client supports
	// tasks.
	taskAfter = 5 * time.Second
	// maxTaskTime bounds a call that may become a task. Its result is not kept for longer.
	maxTaskTime = time.Hour
)

// A forwarded call runs at the upstream while the caller answers the questions that it asks. The
// caller's handler runs once for each question, and may be another request each time.
type forwarded struct {
	g      *Gateway
	id     string
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	changed  chan struct{} // closed when anything below has changed
	call     *mcp.Call     // that waits for this one; nil between two requests
	missed   *mcp.Progress // the last one between two requests
	passing  bool          // progress is being passed to call, which does not end meanwhile
	question *question     // without an answer
	asked    int
	finished bool
	result   json.RawMessage
	err      error
}

// A question is what an upstream asks the caller. One of these is set, and neither if it asks for
// the roots.
type question struct {
	key    string
	form   *mcp.ElicitParams
	sample *mcp.SampleParams
	answer chan answer
}

// put asks the client of a call. The error is that of the call if the client has to answer first.
func (q *question) put(c *mcp.Call) (any, error) {
	switch {
	case q.form != nil:
		return c.Elicit(q.key, q.form, nil)
	case q.sample != nil:
		//lint:ignore SA1019 upstreams of older revisions ask for it
		return c.Sample(q.key, q.sample)
	}
	//lint:ignore SA1019 upstreams of older revisions ask for it
	return c.Roots(q.key)
}

type answer struct {
	value any
	err   error
}

// refusals are the errors that are the user's or the client's answer, by their names among peers.
var refusals = map[string]error{"declined": mcp.ErrDeclined, "dismissed": mcp.ErrDismissed, "withdrawn": mcp.ErrWithdrawn}

// refusalName returns the name of an error that is an answer, or an empty one for others.
func refusalName(err error) string {
	for name, e := range refusals {
		if errors.Is(err, e) {
			return name
		}
	}
	return ""
}

// forward sends a request to an upstream, and passes its questions, progress and result to the caller.
func (g *Gateway) forward(ctx context.Context, c *mcp.Call, r *request) (json.RawMessage, error) {
	have := g.capabilities(ctx, c)
	_, tasks := have.Extensions["io.modelcontextprotocol/tasks"]
	r.durable = tasks && c.Revision().Stateless() && r.method == "tools/call" && r.upstream.Timeout > g.taskAfter
	if have.Elicitation == nil && have.Sampling == nil && have.Roots == nil && !r.durable {
		o := &mcp.CallOptions{}
		if c.Meta("progressToken") != nil {
			o.Progress = func(_ context.Context, p mcp.Progress) { c.Progress(p.Progress, p.Total, p.Message) }
		}
		return g.send(ctx, c.Principal().ID, r, o, func(client *mcp.Client, a *Admitted) {
			refuseQuestions(o, client)
			if a.Ask != nil {
				o.Elicit = a.Ask
			}
		})
	}
	first := false
	id, err := mcp.Once(c, "call", func() (string, error) {
		first = true
		return g.peers.newID(), nil
	})
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	f := g.pending[id]
	if f == nil && first {
		f = &forwarded{g: g, id: id, call: c, changed: make(chan struct{})}
		g.pending[id] = f
	}
	g.mu.Unlock()
	if f == nil {
		return g.peers.follow(ctx, c, id, r.upstream.Name)
	}
	if first && !f.start(ctx, c, r) {
		g.forget(f)
		return nil, errStopped
	}
	if !r.durable {
		return f.wait(ctx, c, nil)
	}
	soon := time.NewTimer(g.taskAfter)
	defer soon.Stop()
	raw, err := f.wait(ctx, c, soon.C)
	if !errors.Is(err, errSlow) {
		return raw, err
	}
	return mcp.AsTask(c, func(ctx context.Context, c *mcp.Call) (json.RawMessage, error) { return f.wait(ctx, c, nil) })
}

// errSlow ends the wait for a call that takes long.
var errSlow = errors.New("the call takes long")

// capabilities returns what the caller's client can do for an upstream. It shows forms only to a person.
func (g *Gateway) capabilities(ctx context.Context, c *mcp.Call) mcp.ClientCapabilities {
	have := c.ClientCapabilities()
	if g.o.Guard != nil && !g.o.Guard.Person(ctx) {
		have.Elicitation = nil
	}
	return have
}

// start sends the request in the background. It outlives the caller's request, which ends with each
// question in revisions in which clients retry.
func (f *forwarded) start(ctx context.Context, c *mcp.Call, r *request) bool {
	inner := context.WithoutCancel(ctx)
	o := &mcp.CallOptions{}
	if c.Meta("progressToken") != nil {
		o.Progress = func(_ context.Context, p mcp.Progress) { f.progress(p) }
	}
	principal, have := c.Principal().ID, f.g.capabilities(ctx, c)
	own := r.upstream.Share != ShareAll
	return f.g.spawn(func(stop context.Context) {
		ctx, cancel := context.WithCancelCause(inner)
		defer cancel(nil)
		defer context.AfterFunc(stop, func() { cancel(errStopped) })()
		f.mu.Lock()
		f.cancel = cancel
		f.mu.Unlock()
		raw, err := f.g.send(ctx, principal, r, o, func(client *mcp.Client, a *Admitted) {
			refuseQuestions(o, client)
			if have.HasForm() || have.HasURL() || a.Ask != nil {
				o.Elicit = f.elicit(have, a.Ask, r)
			}
			if have.Sampling != nil {
				o.Sample = f.sample
			}
			if have.Roots != nil && own {
				o.Roots = f.roots
			}
		})
		f.mu.Lock()
		f.finished, f.result, f.err = true, raw, err
		asked := f.asked
		f.changeLocked()
		f.mu.Unlock()
		if asked == 0 {
			f.g.forget(f)
		} else {
			time.AfterFunc(keepResult, func() { f.g.forget(f) })
		}
	})
}

func (g *Gateway) forget(f *forwarded) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pending, f.id)
}

// changeLocked wakes everybody who waits.
func (f *forwarded) changeLocked() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// wait waits until the call ends, or a question needs the caller's answer: then the error says so, and
// the handler returns it and is called again. After a signal of late it returns errSlow.
func (f *forwarded) wait(ctx context.Context, c *mcp.Call, late <-chan time.Time) (json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.call = c
	if p := f.missed; p != nil {
		f.missed = nil
		c.Progress(p.Progress, p.Total, p.Message)
	}
	defer func() {
		if f.call == c {
			f.call = nil
		}
	}()
	for slow := false; ; {
		if f.finished && !f.passing {
			return f.result, f.err
		}
		if slow && !f.passing {
			return nil, errSlow
		}
		if q := f.question; q != nil && !f.passing {
			v, err := q.put(c)
			if err != nil && refusalName(err) == "" {
				if !c.Revision().Stateless() { // the request goes on while the client is asked
					context.AfterFunc(ctx, func() { f.stop(context.Cause(ctx)) })
				}
				return nil, err
			}
			f.answerLocked(q, answer{v, err})
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
			f.mu.Lock()
		case <-late:
			slow = true
			f.mu.Lock()
		case <-ctx.Done():
			f.stop(context.Cause(ctx))
			f.mu.Lock()
			return nil, ctx.Err()
		}
	}
}

// stop cancels the call at the upstream.
func (f *forwarded) stop(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cancel != nil {
		f.cancel(cause)
	}
}

// progress passes progress to the caller, now or with its next request. There is one at a time.
func (f *forwarded) progress(p mcp.Progress) {
	f.mu.Lock()
	c := f.call
	if c == nil {
		f.missed = &p
		f.mu.Unlock()
		return
	}
	f.passing = true
	f.mu.Unlock()
	c.Progress(p.Progress, p.Total, p.Message)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passing = false
	f.changeLocked()
}

var errTooManyQuestions = fmt.Errorf("the server asked more than %d questions", maxQuestions)

// answerLocked answers a question.
func (f *forwarded) answerLocked(q *question, a answer) {
	f.question = nil
	q.answer <- a
}

// put asks the caller a question, and waits for the answer.
func (f *forwarded) put(ctx context.Context, q *question) (any, error) {
	f.mu.Lock()
	for f.question != nil { // one after the other
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		f.mu.Lock()
	}
	f.asked++
	q.key, q.answer = fmt.Sprintf("q%d", f.asked), make(chan answer, 1)
	f.question = q
	f.changeLocked()
	f.mu.Unlock()
	late := time.NewTimer(maxAnswerTime)
	defer late.Stop()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.question == q {
			f.question = nil
		}
		f.changeLocked()
	}()
	select {
	case a := <-q.answer:
		return a.value, a.err
	case <-late.C:
		return nil, mcp.ErrDismissed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (f *forwarded) elicit(have mcp.ClientCapabilities, people func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error), r *request) func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		if p.Mode == "url" && !have.HasURL() || p.Mode != "url" && !have.HasForm() {
			if people != nil {
				return people(ctx, p)
			}
			return &mcp.ElicitResult{Action: "cancel"}, nil
		}
		p = r.form(p)
		v, err := f.put(ctx, &question{form: p})
		switch {
		case errors.Is(err, mcp.ErrDeclined):
			return &mcp.ElicitResult{Action: "decline"}, nil
		case err != nil:
			return &mcp.ElicitResult{Action: "cancel"}, nil
		}
		return v.(*mcp.ElicitResult), nil
	}
}

func (f *forwarded) sample(ctx context.Context, p *mcp.SampleParams) (*mcp.SampleResult, error) {
	v, err := f.put(ctx, &question{sample: p})
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "the client did not sample: %v", err)
	}
	return v.(*mcp.SampleResult), nil
}

func (f *forwarded) roots(ctx context.Context) ([]mcp.Root, error) {
	v, err := f.put(ctx, &question{})
	if err != nil {
		return nil, nil
	}
	return v.([]mcp.Root), nil
}

// unasked returns the options of a request that no caller has made, so that nobody can be asked.
func unasked(client *mcp.Client) *mcp.CallOptions {
	if client.Revision().Stateless() {
		return &mcp.CallOptions{NoInherit: true}
	}
	return nil // a question is that of another call
}

// limitQuestions cancels a call whose upstream asks too much.
func limitQuestions(o *mcp.CallOptions, cancel context.CancelCauseFunc) {
	var asked atomic.Int32
	count := func() error {
		if asked.Add(1) > maxQuestions {
			cancel(&lostError{errTooManyQuestions})
			return errTooManyQuestions
		}
		return nil
	}
	if ask := o.Elicit; ask != nil {
		o.Elicit = func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if err := count(); err != nil {
				return nil, err
			}
			return ask(ctx, p)
		}
	}
	if ask := o.Sample; ask != nil {
		o.Sample = func(ctx context.Context, p *mcp.SampleParams) (*mcp.SampleResult, error) {
			if err := count(); err != nil {
				return nil, err
			}
			return ask(ctx, p)
		}
	}
	if ask := o.Roots; ask != nil {
		o.Roots = func(ctx context.Context) ([]mcp.Root, error) {
			if err := count(); err != nil {
				return nil, err
			}
			return ask(ctx)
		}
	}
}

// refuseQuestions answers an upstream's questions for a caller who cannot. Where each request says what its client
// can do, this one says nothing that is not set afterwards. Elsewhere every call needs answers of its own, so that the question of one is
// not taken for that of another.
func refuseQuestions(o *mcp.CallOptions, client *mcp.Client) {
	if client.Revision().Stateless() {
		o.NoInherit = true
		return
	}
	o.Elicit = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	o.Sample = func(context.Context, *mcp.SampleParams) (*mcp.SampleResult, error) {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "the client cannot sample")
	}
	o.Roots = func(context.Context) ([]mcp.Root, error) { return nil, nil }
}
