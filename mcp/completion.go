package mcp

import (
	"context"

	jsonv2 "github.com/go-json-experiment/json"
)

// maxCompletions limits the values of one result.
const maxCompletions = 100

// A CompleteRef identifies what is being completed: a prompt ("ref/prompt",
// Name) or a resource template ("ref/resource", URI).
type CompleteRef struct {
	Type  string `json:"type"`
	Name  string `json:"name,omitzero"`
	Title string `json:"title,omitzero"`
	URI   string `json:"uri,omitzero"`
}

// CompleteParams asks for completions of an argument.
type CompleteParams struct {
	Ref      CompleteRef      `json:"ref"`
	Argument CompleteArgument `json:"argument"`
	Context  *CompleteContext `json:"context,omitzero"`
}

// A CompleteArgument is the argument being completed, and its value so far.
type CompleteArgument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// CompleteContext holds the arguments that are already known.
type CompleteContext struct {
	Arguments map[string]string `json:"arguments,omitzero"`
}

// A Completion holds suggestions, best first.
type Completion struct {
	Values  []string `json:"values"`
	Total   *int     `json:"total,omitzero"` // total number of values, if known
	HasMore bool     `json:"hasMore,omitzero"`
}

// MarshalJSON encodes the first 100 values, the most that a result may contain,
// and sets total and hasMore if there are more.
func (c Completion) MarshalJSON() ([]byte, error) {
	if n := len(c.Values); n > maxCompletions {
		c.Values, c.HasMore = c.Values[:maxCompletions], true
		if c.Total == nil {
			c.Total = &n
		}
	}
	type plain Completion // without this method
	return jsonv2.Marshal(plain(c))
}

type completeResult struct {
	Completion *Completion `json:"completion"`
}

func (s *Server) complete(ctx context.Context, r *Request) (Result, error) {
	if s.o.Complete == nil {
		return nil, unknownMethod(r.Method)
	}
	var p CompleteParams
	if err := object("params", r.Params, &p); err != nil {
		return nil, err
	}
	found := false
	switch p.Ref.Type {
	case "ref/prompt":
		_, found = s.prompts.get(p.Ref.Name)
		found = found && s.visible(ctx, r, KindPrompt)(p.Ref.Name)
	case "ref/resource":
		_, found = s.templates.get(p.Ref.URI)
		found = found && s.visible(ctx, r, KindTemplate)(p.Ref.URI)
	}
	if !found || p.Argument.Name == "" {
		return nil, invalid("ref names no prompt or resource template of this server, or argument has no name")
	}
	done, err := s.o.Complete(ctx, &Call{ctx: ctx, server: s, r: r}, p)
	if err != nil {
		return nil, err
	}
	if done == nil {
		done = &Completion{}
	}
	if done.Values == nil {
		done.Values = []string{}
	}
	return completeResult{done}, nil
}
