package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/internal/link"
)

// Asking the client works the same in every revision, although the messages
// differ: a request to the client within the call, a result that makes the
// client retry, or a question attached to a task. A handler that needs an
// answer calls Ask (or Elicit, AskURL, Sample, Roots). On the first run that
// returns an error carrying the question, which the handler returns. When the
// client has answered, the handler runs again from the top, and the same Ask
// returns the answer. So the code before the last question runs several times,
// and work that must not be repeated goes into Once.

// maxRounds limits how often one call may ask.
const maxRounds = 8

// rounds holds the results of earlier rounds of a call.
type rounds struct {
	n       int
	answers map[string]json.RawMessage
	failed  map[string]error           // questions that the client could not answer
	once    map[string]json.RawMessage // values of Once
	used    map[string]json.RawMessage // valid answers used in this run
}

// history returns the results of earlier rounds, for changes too.
func (c *Call) history() *rounds {
	if c.rounds == nil {
		c.rounds = new(rounds)
	}
	return c.rounds
}

// beginRound prepares for a run of the handler.
func (c *Call) beginRound() {
	c.asked = false
	if c.rounds != nil {
		c.rounds.used = nil
	}
}

// put sets a map entry, allocating the map on first use. Most calls ask
// nothing.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

// A pendingAsk is a question without an answer.
type pendingAsk struct {
	key      string
	method   string
	params   any
	requires ClientCapabilities // capabilities that the client must have declared

	// until, if set, returns when the answer is no longer needed.
	until func(context.Context)
}

// untilCtx returns a context that ends when until returns. end waits for that,
// and reports whether until returned on its own.
func (n *pendingAsk) untilCtx(ctx context.Context) (asking context.Context, end func() bool) {
	if n.until == nil {
		return ctx, func() bool { return false }
	}
	asking, cancel := context.WithCancel(ctx)
	returned := make(chan bool, 1)
	go func() {
		n.until(asking)
		returned <- asking.Err() == nil
		cancel()
	}()
	return asking, func() bool {
		cancel()
		return <-returned && ctx.Err() == nil
	}
}

// An askError carries a handler's questions to the library.
type askError struct{ asks []pendingAsk }

func (e *askError) Error() string { return "mcp: waiting for an answer from the client" }

// JoinAsks joins the questions of several Asks into one round. It returns nil if
// all of them had answers, or the first other error.
func JoinAsks(errs ...error) error {
	var asks []pendingAsk
	for _, err := range errs {
		if err == nil {
			continue
		}
		e, ok := errors.AsType[*askError](err)
		if !ok {
			return err
		}
		asks = append(asks, e.asks...)
	}
	if asks == nil {
		return nil
	}
	return &askError{asks}
}

// run runs a handler, again for each round of questions.
func (c *Call) run(h func() (Result, error)) (Result, error) {
	driver := c.Request.Revision.askDriver()
	if err := driver.begin(c); err != nil {
		return nil, err
	}
	for {
		c.beginRound()
		res, err := c.recovering(h)
		if start, ok := errors.AsType[*startDurable](err); ok {
			return c.Request.server.durable.start(c, start)
		}
		asking, ok := errors.AsType[*askError](err)
		if !ok {
			return res, err
		}
		if c.history().n++; c.rounds.n > maxRounds {
			return nil, tooManyRounds()
		}
		if res, err = driver.ask(c, asking.asks); res != nil || err != nil {
			return res, err
		}
	}
}

func tooManyRounds() error {
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "still asking after %d rounds", maxRounds)
}

func (c *Call) recovering(h func() (Result, error)) (res Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, c.Request.server.reportPanic(v)
		}
	}()
	res, err = h()
	if err == nil && c.asked {
		c.reportSwallowed()
	}
	return res, err
}

// reportSwallowed tells package mcptest that the handler succeeded although a question
// has no answer.
func (c *Call) reportSwallowed() {
	if w := link.WatchOf(c.ctx); w != nil {
		w.Swallowed(c.Request.Method + " " + c.Request.Target().Name)
	}
}

// lookup finds the answer to a question, or returns the question as an error.
// An invalid answer counts as none.
func (c *Call) lookup(n pendingAsk, fits func(json.RawMessage) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.becameTask {
		return errors.New("mcp: the call has become a task: use the Call that AsTask passes to run")
	}
	past := c.history()
	if err := past.failed[n.key]; err != nil {
		return err
	}
	if raw, ok := past.answers[n.key]; ok && fits(raw) == nil {
		put(&past.used, n.key, raw)
		return nil
	}
	c.asked = true
	return &askError{[]pendingAsk{n}}
}

// Ask asks the user to fill in a form derived from T: a struct of strings,
// numbers and booleans, or a single such value. key identifies the question and
// must be the same in all rounds. If the user refuses, the error is ErrDeclined
// or ErrDismissed.
func Ask[T any](c *Call, key, message string) (T, error) {
	var v T
	schema, single, err := formFor[T](key)
	if err != nil {
		return v, err
	}
	res, err := c.Elicit(key, &ElicitParams{Message: message, RequestedSchema: schema}, nil)
	if err != nil {
		return v, err
	}
	switch res.Action {
	case "decline":
		return v, ErrDeclined
	case "cancel":
		return v, ErrDismissed
	}
	content := newDefaults(schema).apply(res.Content)
	if single {
		content = member(content, key)
	}
	err = codecFor(reflect.TypeFor[T]()).decode(content, &v)
	return v, err
}

// AskURL asks the user to visit a page. It returns nil when the user has agreed
// to, which does not mean that the visit is complete.
func (c *Call) AskURL(key, message, url string) error {
	res, err := c.Elicit(key, &ElicitParams{Mode: "url", Message: message, URL: url}, nil)
	switch {
	case err != nil:
		return err
	case res.Action == "decline":
		return ErrDeclined
	case res.Action == "cancel":
		return ErrDismissed
	}
	return nil
}

// AskOptions configures Elicit.
type AskOptions struct {
	// Until, if set, runs while the server waits for the user. When it returns
	// first, the question is withdrawn and the error is ErrWithdrawn. Revisions
	// in which the client retries the request do not wait, and do not run it.
	Until func(ctx context.Context)
}

// Elicit is like Ask with an explicit form, and returns the answer unchanged.
// The content of an accepted form matches its schema.
func (c *Call) Elicit(key string, p *ElicitParams, o *AskOptions) (*ElicitResult, error) {
	var until func(context.Context)
	if o != nil {
		until = o.Until
	}
	var requires ClientCapabilities
	isURL := p.Mode == "url"
	if isURL {
		requires.Elicitation = &ElicitationCapability{URL: &struct{}{}}
	} else {
		requires.Elicitation = &ElicitationCapability{Form: &struct{}{}}
	}
	var form *checker
	if !isURL {
		var err error
		if form, err = newChecker(p.RequestedSchema); err != nil {
			return nil, fmt.Errorf("form %q: %w: %w", key, ErrWithdrawn, err)
		}
	}
	var res ElicitResult
	err := c.lookup(pendingAsk{key, "elicitation/create", p, requires, until}, func(raw json.RawMessage) error {
		res = ElicitResult{}
		if err := object("answer", raw, &res); err != nil {
			return err
		}
		switch {
		case res.Action == "decline" || res.Action == "cancel" || res.Action == "accept" && isURL:
			return nil
		case res.Action != "accept" || len(res.Content) == 0 || res.Content[0] != '{':
			return errors.New("answer must be accepted with content, declined or cancelled")
		}
		return form.check(res.Content)
	})
	if err != nil {
		return nil, err
	}
	return &res, nil
}

// Sample asks the client's model for a completion.
//
// Deprecated: sampling is deprecated by revision 2026-07-28. Call a model's provider
// from the server.
func (c *Call) Sample(key string, p *SampleParams) (*SampleResult, error) {
	requires := ClientCapabilities{Sampling: &SamplingCapability{}}
	if len(p.Tools) > 0 {
		requires.Sampling.Tools = &struct{}{}
	}
	var res SampleResult
	err := c.lookup(pendingAsk{key, "sampling/createMessage", p, requires, nil}, func(raw json.RawMessage) error {
		res = SampleResult{}
		if err := object("answer", raw, &res); err != nil {
			return err
		}
		if res.Role == "" || res.Content == nil {
			return errors.New("message must have a role and content")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &res, nil
}

// Roots asks for the directories that the client lets the server use.
//
// Deprecated: roots are deprecated by revision 2026-07-28. Take directories as
// arguments of tools or of the server.
func (c *Call) Roots(key string) ([]Root, error) {
	var res rootsResult
	requires := ClientCapabilities{Roots: &RootsCapability{}}
	err := c.lookup(pendingAsk{key, "roots/list", nil, requires, nil}, func(raw json.RawMessage) error {
		res = rootsResult{}
		if err := object("answer", raw, &res); err != nil {
			return err
		}
		if res.Roots == nil {
			return errors.New("roots must be a list")
		}
		return nil
	})
	return res.Roots, err
}

// Once runs f in the first round that reaches it, and returns the same value in
// later rounds. From revision 2026-07-28 on the client carries the value,
// encrypted.
func Once[T any](c *Call, key string, f func() (T, error)) (T, error) {
	var v T
	c.mu.Lock()
	raw, ok := c.history().once[key]
	c.mu.Unlock()
	codec := codecFor(reflect.TypeFor[T]())
	if ok {
		return v, codec.decode(raw, &v)
	}
	v, err := f()
	if err != nil {
		return v, err
	}
	b, err := codec.encode(&v)
	if err != nil {
		return v, fmt.Errorf("encode value of Once %q: %w", key, err)
	}
	c.mu.Lock()
	put(&c.history().once, key, b)
	c.mu.Unlock()
	return v, nil
}
