package mcp

import "encoding/json"

// An askDriver sends questions to the client and receives the answers.
type askDriver interface {
	// begin loads the results of earlier rounds.
	begin(c *Call) error
	// ask gets the questions answered. If it returns a result or an error, that
	// ends the request; otherwise the handler runs again.
	ask(c *Call, asks []pendingAsk) (Result, error)
}

// askDriver returns the driver for clients of the revision.
func (r Revision) askDriver() askDriver {
	if r.Stateless() {
		return statelessDriver{}
	}
	return sessionDriver{}
}

// missingCapability returns the first question for which the client lacks the
// capability.
func (c *Call) missingCapability(asks []pendingAsk) *pendingAsk {
	have := &c.Request.Capabilities
	for i, n := range asks {
		switch {
		case n.requires.Elicitation != nil && n.requires.Elicitation.URL != nil && !have.HasURL(),
			n.requires.Elicitation != nil && n.requires.Elicitation.Form != nil && !have.HasForm(),
			n.requires.Sampling != nil && have.Sampling == nil,
			n.requires.Sampling != nil && n.requires.Sampling.Tools != nil && have.Sampling.Tools == nil,
			n.requires.Roots != nil && have.Roots == nil:
			return &asks[i]
		}
	}
	return nil
}

// InputRequired is the result of a request whose handler asks the client first, in
// revisions in which the client then retries.
type InputRequired struct {
	Requests map[string]InputRequest // by the key of the question
	State    string                  // sealed
}

// An InputRequest is a question to the client.
type InputRequest struct {
	Method string          `json:"method"` // such as "elicitation/create"
	Params json.RawMessage `json:"params,omitzero"`
}

func (i *InputRequired) append(b []byte) ([]byte, error) {
	b = append(b, `{"resultType":"input_required"`...)
	b, err := appendValue(b, "inputRequests", i.Requests)
	if err != nil {
		return nil, err
	}
	return append(appendString(appendMember(b, "requestState"), i.State), '}'), nil
}

// inputRequest returns the question for a client of revision r.
func inputRequest(n pendingAsk, r Revision) (InputRequest, error) {
	q := InputRequest{Method: n.method}
	params := shapeAsk(n, r)
	if params == nil {
		return q, nil
	}
	var err error
	q.Params, err = appendResult(nil, params)
	return q, err
}

func inputRequests(asks []pendingAsk, r Revision) (map[string]InputRequest, error) {
	reqs := map[string]InputRequest{}
	for _, n := range asks {
		q, err := inputRequest(n, r)
		if err != nil {
			return nil, err
		}
		reqs[n.key] = q
	}
	return reqs, nil
}

// shapeAsk returns the params of a question for a client of revision r.
func shapeAsk(n pendingAsk, r Revision) any {
	switch p := n.params.(type) {
	case *ElicitParams:
		return shapeElicit(p, r)
	case *SampleParams:
		return shapeSample(p, r)
	}
	return n.params
}

// parseAnswers decodes inputResponses.
func parseAnswers(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if raw == nil || raw[0] == 'n' {
		return nil, nil
	}
	var answers map[string]json.RawMessage
	err := object("inputResponses", raw, &answers)
	return answers, err
}

// supportedBy reports whether revision r can express the question, regardless
// of the client's capabilities.
func (n *pendingAsk) supportedBy(r Revision) bool {
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
