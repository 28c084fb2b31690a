package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/mcp"
)

// An Answer answers the first question that contains To and was not answered yet.
type Answer struct {
	// To is part of the question's message, or of the last message to a model.
	// Empty matches any question.
	To string
	// With is a struct or map for a form, one value for a form with one field,
	// Decline, Dismiss, nil to agree to visit a page, or a string or
	// *mcp.SampleResult for a model.
	With any
}

type refusal string

// Answers of users who do not answer.
const (
	Decline refusal = "decline"
	Dismiss refusal = "cancel"
)

// asksUsers reports whether an answer cannot be one of a model.
func asksUsers(answers []Answer) bool {
	return slices.ContainsFunc(answers, func(a Answer) bool {
		_, sampled := a.With.(*mcp.SampleResult)
		return !sampled
	})
}

// A script answers the questions of one test.
type script struct {
	t       testing.TB
	answers []Answer

	mu    sync.Mutex
	used  []bool
	ended bool // t must not be used any more
}

func (s *script) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.t.Errorf(format, args...)
	}
}

func (s *script) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.t.Failed() || s.t.Skipped() {
		return
	}
	for i, a := range s.answers {
		if !s.used[i] {
			s.t.Errorf("nothing was asked that the answer to %q is for", a.To)
		}
	}
}

// next returns the answer to a question.
func (s *script) next(message string) (with any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.answers {
		if !s.used[i] && strings.Contains(message, a.To) {
			s.used[i] = true
			return a.With, nil
		}
	}
	if !s.ended {
		s.t.Errorf("there is no answer to %q", message)
	}
	return nil, fmt.Errorf("there is no answer to %q", message)
}

func (s *script) elicit(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	with, err := s.next(p.Message)
	if err != nil {
		return nil, err
	}
	if r, ok := with.(refusal); ok {
		return &mcp.ElicitResult{Action: string(r)}, nil
	}
	res := &mcp.ElicitResult{Action: "accept"}
	if p.Mode == "url" {
		return res, nil
	}
	if res.Content, err = fill(p.RequestedSchema, with); err != nil {
		s.fail("the answer to %q: %v", p.Message, err)
		return nil, err
	}
	return res, nil
}

// fill returns the content of a form: the answer, or an object with the answer as its
// only field.
func fill(schema json.RawMessage, with any) (json.RawMessage, error) {
	b, err := jsonv2.Marshal(with)
	if err != nil || b[0] == '{' {
		return b, err
	}
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := jsonv2.Unmarshal(schema, &form); err != nil {
		return nil, err
	}
	if len(form.Properties) != 1 {
		return nil, fmt.Errorf("%s for a form with %d fields: want a struct or a map", b, len(form.Properties))
	}
	content := map[string]json.RawMessage{}
	for name := range form.Properties {
		content[name] = b
	}
	return jsonv2.Marshal(content)
}

func (s *script) sample(_ context.Context, p *mcp.SampleParams) (*mcp.SampleResult, error) {
	message := ""
	if n := len(p.Messages); n > 0 {
		for _, b := range p.Messages[n-1].Content {
			message += b.Text
		}
	}
	with, err := s.next(message)
	if err != nil {
		return nil, err
	}
	switch v := with.(type) {
	case *mcp.SampleResult:
		return v, nil
	case string:
		return &mcp.SampleResult{Role: "assistant", Model: "mcptest", Content: mcp.Blocks{mcp.Text(v)}}, nil
	}
	err = fmt.Errorf("the answer to %q is a %T: want a string or a *mcp.SampleResult", message, with)
	s.fail("%v", err)
	return nil, err
}
