package mcp

import (
	"context"
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

// A Completion holds suggestions, best first. Of more than 100 values a server
// sends the first 100.
type Completion struct {
	Values  []string `json:"values"`
	Total   *int     `json:"total,omitzero"` // total number of values, if known
	HasMore bool     `json:"hasMore,omitzero"`
}

type completeResult struct {
	Completion *Completion `json:"completion"`
}

func (s *Server) complete(ctx context.Context, r *Request) (Result, error) {
	if s.o.Complete == nil {
		return nil, unknownMethod(r.Method)
	}
	var p CompleteParams
	if err := object("params", r.params, &p); err != nil {
		return nil, err
	}
	found := false
	switch p.Ref.Type {
	case "ref/prompt":
		_, found = s.prompts.get(p.Ref.Name)
		found = found && s.visible(ctx, r, KindPrompt)(p.Ref.Name)
	case "ref/resource":
		_, found = s.templates.get(p.Ref.URI)
		found = found && s.visible(ctx, r, KindResourceTemplate)(p.Ref.URI)
	}
	if !found || p.Argument.Name == "" {
		return nil, invalid("ref names no prompt or resource template of this server, or argument has no name")
	}
	done, err := s.o.Complete(ctx, &Call{ctx: ctx, Request: r}, &p)
	if err != nil {
		return nil, err
	}
	if done == nil {
		done = &Completion{}
	}
	return completeResult{done.limited()}, nil
}

// limited returns the completion with the first 100 values, the most that a result
// may contain, and with total and hasMore if there are more.
func (c *Completion) limited() *Completion {
	out := *c
	if out.Values == nil {
		out.Values = []string{}
	}
	if n := len(out.Values); n > maxCompletions {
		out.Values, out.HasMore = out.Values[:maxCompletions], true
		if out.Total == nil {
			out.Total = &n
		}
	}
	return &out
}
