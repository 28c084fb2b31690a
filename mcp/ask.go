package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// Asking the client works the same in every revision, though on the wire it is
// three different things: a request of ours within the call, an answer that asks
// the client to come again, or a question on a task. A handler that needs an
// answer calls Ask (or Elicit, AskURL, Sample, Roots). The first time, that
// returns an error which carries the question; the handler returns it. Once the
// client has answered, the handler is run again from the top, and the same Ask
// returns the answer. So what stands before the last question runs several
// times: what must happen once goes into Once.

// maxRounds is how often one call may ask.
const maxRounds = 8

// rounds is what earlier rounds of a call have brought.
type rounds struct {
	n       int
	answers map[string]json.RawMessage
	refused map[string]error           // questions that failed at the client
	once    map[string]json.RawMessage // what Once has kept
	used    map[string]json.RawMessage // answers that fitted, in this run
}

// put adds to a map that is made when it is needed: most calls ask nothing.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

// An asker carries questions to the client and brings the answers back.
type asker interface {
	// begin finds what earlier rounds have brought.
	begin(c *Call) error
	// ask has the questions answered. A result or an error ends this run of the
	// request; otherwise the handler is run again.
	ask(c *Call, needs []need) (Result, error)
}

// asker is how clients of a revision are asked.
func (r Revision) asker() asker {
	if r.Stateless() {
		return roundTrips{}
	}
	return backCalls{}
}

// A need is a question that has no answer yet.
type need struct {
	key      string
	method   string
	params   any
	requires ClientCapabilities // what the client must have declared

	// until, if set, returns when nobody needs the answer any more.
	until func(context.Context)
}

// while gives the context for asking: it ends when until has returned. end waits
// for that, and reports whether until returned by itself.
func (n *need) while(ctx context.Context) (asking context.Context, end func() bool) {
	if n.until == nil {
		return ctx, func() bool { return false }
	}
	asking, cancel := context.WithCancel(ctx)
	idle := make(chan bool, 1)
	go func() {
		n.until(asking)
		idle <- asking.Err() == nil
		cancel()
	}()
	return asking, func() bool {
		cancel()
		return <-idle && ctx.Err() == nil
	}
}

// needError is how a handler hands its questions to the library.
type needError struct{ needs []need }

func (e *needError) Error() string { return "mcp: needs an answer from the client" }

// Need joins the questions of several Asks into one round. It returns nil if
// all of them had their answers, and the first other error if there is one.
func Need(errs ...error) error {
	var needs []need
	for _, err := range errs {
		if err == nil {
			continue
		}
		e, ok := errors.AsType[*needError](err)
		if !ok {
			return err
		}
		needs = append(needs, e.needs...)
	}
	if needs == nil {
		return nil
	}
	return &needError{needs}
}

// run runs a handler, as often as its questions make it.
func (c *Call) run(h func() (Result, error)) (Result, error) {
	asker := c.r.Revision.asker()
	if err := asker.begin(c); err != nil {
		return nil, err
	}
	for {
		c.rounds.used = nil
		res, err := c.guarded(h)
		if start, ok := errors.AsType[*startTask](err); ok {
			return c.server.durable.start(c, start)
		}
		asking, ok := errors.AsType[*needError](err)
		if !ok {
			return res, err
		}
		if c.rounds.n++; c.rounds.n > maxRounds {
			return nil, tooManyRounds()
		}
		if res, err = asker.ask(c, asking.needs); res != nil || err != nil {
			return res, err
		}
	}
}

func tooManyRounds() error {
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "still asking after %d rounds", maxRounds)
}

func (c *Call) guarded(h func() (Result, error)) (res Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, c.server.recovered(v)
		}
	}()
	return h()
}

// answer finds the answer to a question, or returns the question as an error.
// An answer that does not fit is as good as none.
func (c *Call) answer(n need, fits func(json.RawMessage) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return errors.New("mcp: the call has become a task: ask with the Call that Durable gives")
	}
	if err := c.rounds.refused[n.key]; err != nil {
		return err
	}
	if raw, ok := c.rounds.answers[n.key]; ok && fits(raw) == nil {
		put(&c.rounds.used, n.key, raw)
		return nil
	}
	return &needError{[]need{n}}
}

// Ask asks the person behind the client to fill in a form, made from T: a struct
// of strings, numbers and booleans, or one of those alone. The key names the
// question, the same in all rounds. A person who refuses gives ErrDeclined or
// ErrDismissed.
func Ask[T any](c *Call, key, message string) (T, error) {
	var v T
	schema, alone, err := formFor[T](key)
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
	if alone {
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

// AskURL sends the person behind the client to a page. It returns nil when they
// have agreed to go there, which does not mean that they are done.
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

// Elicit is Ask with a form of the caller's own, and the answer as it is. An
// accepted form fits its schema.
func (c *Call) Elicit(key string, p *ElicitParams) (*ElicitResult, error) {
	return c.ElicitUntil(key, p, nil)
}

// ElicitUntil is Elicit for a question that may become idle. While the server
// waits for the person it runs until, and when that returns first it takes the
// question back: the error is then ErrWithdrawn. In revisions where the client
// comes again with the answer nobody waits, and until is not run.
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
	err := c.answer(need{key, "elicitation/create", p, requires, until}, func(raw json.RawMessage) error {
		res = ElicitResult{}
		if err := object("answer", raw, &res); err != nil {
			return err
		}
		switch {
		case res.Action == "decline" || res.Action == "cancel" || res.Action == "accept" && isURL:
			return nil
		case res.Action != "accept" || len(res.Content) == 0 || res.Content[0] != '{':
			return errors.New("an answer is accepted with content, declined or cancelled")
		}
		return form.check(res.Content)
	})
	if err != nil {
		return nil, err
	}
	return &res, nil
}

// Sample asks the client's model.
func (c *Call) Sample(key string, p *SampleParams) (*SampleResult, error) {
	requires := ClientCapabilities{Sampling: &SamplingCapability{}}
	if len(p.Tools) > 0 {
		requires.Sampling.Tools = &struct{}{}
	}
	var res SampleResult
	err := c.answer(need{key, "sampling/createMessage", p, requires, nil}, func(raw json.RawMessage) error {
		res = SampleResult{}
		if err := object("answer", raw, &res); err != nil {
			return err
		}
		if res.Role == "" || res.Content == nil {
			return errors.New("a message has a role and content")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &res, nil
}

// Roots asks where the client lets the server work.
func (c *Call) Roots(key string) ([]Root, error) {
	var res rootsResult
	requires := ClientCapabilities{Roots: &RootsCapability{}}
	err := c.answer(need{key, "roots/list", nil, requires, nil}, func(raw json.RawMessage) error {
		res = rootsResult{}
		if err := object("answer", raw, &res); err != nil {
			return err
		}
		if res.Roots == nil {
			return errors.New("there must be a list of roots")
		}
		return nil
	})
	return res.Roots, err
}

// Once runs f in the first round that comes to it, and gives the same value in
// later rounds of the call. The value travels with the client where the protocol
// keeps nothing here; it is sealed on the way.
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
		return v, fmt.Errorf("keep %q: %w", key, err)
	}
	c.mu.Lock()
	put(&c.rounds.once, key, b)
	c.mu.Unlock()
	return v, nil
}

// lacks returns the first need that the client has not the capability for.
func (c *Call) lacks(needs []need) *need {
	have := &c.r.Client
	for i, n := range needs {
		switch {
		case n.requires.Elicitation != nil && n.requires.Elicitation.URL != nil && !have.ElicitsURL(),
			n.requires.Elicitation != nil && n.requires.Elicitation.Form != nil && !have.ElicitsForm(),
			n.requires.Sampling != nil && have.Sampling == nil,
			n.requires.Sampling != nil && n.requires.Sampling.Tools != nil && have.Sampling.Tools == nil,
			n.requires.Roots != nil && have.Roots == nil:
			return &needs[i]
		}
	}
	return nil
}

// asksIn reports whether revision r has words for the question, whatever the
// client says it can do.
func (n *need) asksIn(r Revision) bool {
	switch p := n.params.(type) {
	case *ElicitParams:
		if p.Mode == "url" && !r.richForms() {
			return false
		}
	case *SampleParams:
		if len(p.Tools) > 0 && !r.richSampling() {
			return false
		}
	}
	return vocabulary[n.method].fromServer(r)
}

// inputRequest is a question as it travels inside a result.
type inputRequest struct {
	Method string `json:"method"`
	Params any    `json:"params,omitzero"`
}

func inputRequests(needs []need, r Revision) map[string]inputRequest {
	reqs := map[string]inputRequest{}
	for _, n := range needs {
		reqs[n.key] = inputRequest{n.method, shapeQuestion(n, r)}
	}
	return reqs
}

// shapeQuestion is the question as a reader of revision r is shown it.
func shapeQuestion(n need, r Revision) any {
	switch p := n.params.(type) {
	case *ElicitParams:
		return shapeElicit(p, r)
	case *SampleParams:
		return shapeSample(p, r)
	}
	return n.params
}

// readAnswers reads inputResponses.
func readAnswers(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if raw == nil || raw[0] == 'n' {
		return nil, nil
	}
	var answers map[string]json.RawMessage
	err := object("inputResponses", raw, &answers)
	return answers, err
}

// backCalls asks a client with a session: by requests of ours, within the call.
type backCalls struct{}

func (backCalls) begin(*Call) error { return nil }

func (backCalls) ask(c *Call, needs []need) (Result, error) {
	lacking := c.lacks(needs)
	for i := range needs {
		if lacking == nil && !needs[i].asksIn(c.r.Revision) {
			lacking = &needs[i]
		}
	}
	if lacking != nil {
		return nil, c.r.lacks(lacking.method, lacking.requires)
	}
	defer jsonrpc.Idle(c.ctx)()
	for _, n := range needs {
		if p, ok := n.params.(*ElicitParams); ok && p.Mode == "url" && p.ElicitationID == "" {
			q := *p
			q.ElicitationID = newTaskID()
			n.params = &q
		}
		ctx, end := n.while(c.ctx)
		raw, err := c.r.out.Call(ctx, n.method, shapeQuestion(n, c.r.Revision))
		if end() && err != nil {
			put(&c.rounds.refused, n.key, ErrWithdrawn)
			continue
		}
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
			put(&c.rounds.refused, n.key, fmt.Errorf("%w: %s", ErrDeclined, e.Message))
			continue
		}
		if err != nil {
			return nil, err
		}
		put(&c.rounds.answers, n.key, restoreAnswer(n, raw, c.r.Revision))
	}
	return nil, nil
}

// restoreAnswer undoes what shapeQuestion did to the form.
func restoreAnswer(n need, raw json.RawMessage, r Revision) json.RawMessage {
	p, ok := n.params.(*ElicitParams)
	if !ok {
		return raw
	}
	fixed, err := editMembers(raw, func(name string, v json.RawMessage) (json.RawMessage, error) {
		if name == "content" {
			v = restoreElicit(p, v, r)
		}
		return v, nil
	})
	if err != nil {
		return raw
	}
	return fixed
}
