package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
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

// Need joins the questions of several Asks into one round. It returns nil if
// all of them had answers, or the first other error.
func Need(errs ...error) error {
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
	driver := c.r.Revision.askDriver()
	if err := driver.begin(c); err != nil {
		return nil, err
	}
	for {
		c.rounds.used = nil
		res, err := c.recovering(h)
		if start, ok := errors.AsType[*startDurable](err); ok {
			return c.server.durable.start(c, start)
		}
		asking, ok := errors.AsType[*askError](err)
		if !ok {
			return res, err
		}
		if c.rounds.n++; c.rounds.n > maxRounds {
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
			res, err = nil, c.server.reportPanic(v)
		}
	}()
	return h()
}

// lookup finds the answer to a question, or returns the question as an error.
// An invalid answer counts as none.
func (c *Call) lookup(n pendingAsk, fits func(json.RawMessage) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.becameTask {
		return errors.New("mcp: the call has become a task: use the Call that Durable passes to run")
	}
	if err := c.rounds.failed[n.key]; err != nil {
		return err
	}
	if raw, ok := c.rounds.answers[n.key]; ok && fits(raw) == nil {
		put(&c.rounds.used, n.key, raw)
		return nil
	}
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
	res, err := c.Elicit(key, &ElicitParams{Message: message, RequestedSchema: schema})
	if err != nil {
		return v, err
	}
	switch res.Action {
	case "decline":
		return v, ErrDeclined
	case "cancel":
		return v, ErrDismissed
	}
	if single {
		for name, value := range jsonrpc.Members(res.Content) {
			if name == key {
				err = jsonv2.Unmarshal(value, &v)
			}
		}
	} else {
		err = jsonv2.Unmarshal(res.Content, &v)
	}
	return v, err
}

// AskURL asks the user to visit a page. It returns nil when the user has agreed
// to, which does not mean that the visit is complete.
func (c *Call) AskURL(key, message, url string) error {
	res, err := c.Elicit(key, &ElicitParams{Mode: "url", Message: message, URL: url})
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

// Elicit is like Ask with an explicit form, and returns the answer unchanged.
// The content of an accepted form matches its schema.
func (c *Call) Elicit(key string, p *ElicitParams) (*ElicitResult, error) {
	return c.ElicitUntil(key, p, nil)
}

// ElicitUntil is like Elicit for a question that may become obsolete. While the
// server waits for the user it runs until; if that returns first, the question
// is withdrawn and the error is ErrWithdrawn. In the stateless era the server
// does not wait, and until is not called.
func (c *Call) ElicitUntil(key string, p *ElicitParams, until func(context.Context)) (*ElicitResult, error) {
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
			return nil, fmt.Errorf("form %q: %w", key, err)
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

// Roots asks the client for its roots.
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
// later rounds. In the stateless era the client carries the value, encrypted.
func Once[T any](c *Call, key string, f func() (T, error)) (T, error) {
	var v T
	c.mu.Lock()
	raw, ok := c.rounds.once[key]
	c.mu.Unlock()
	if ok {
		return v, jsonv2.Unmarshal(raw, &v)
	}
	v, err := f()
	if err != nil {
		return v, err
	}
	b, err := jsonv2.Marshal(v)
	if err != nil {
		return v, fmt.Errorf("encode value of Once %q: %w", key, err)
	}
	c.mu.Lock()
	put(&c.rounds.once, key, b)
	c.mu.Unlock()
	return v, nil
}
