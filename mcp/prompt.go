package mcp

import "context"

// A Prompt is a template for messages that a user can choose.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitzero"`
	Description string           `json:"description,omitzero"`
	Arguments   []PromptArgument `json:"arguments,omitzero"`
	Icons       []Icon           `json:"icons,omitzero"`
	Meta        Meta             `json:"_meta,omitzero"`
}

// A PromptArgument is a parameter of a prompt. Its value is a string.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"`
}

// A PromptMessage is one message of a prompt. Role is "user" or "assistant".
type PromptMessage struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// A PromptResult is a prompt with its arguments filled in.
type PromptResult struct {
	Description string          `json:"description,omitzero"`
	Messages    []PromptMessage `json:"messages"`
	Meta        Meta            `json:"_meta,omitzero"`
}

// A prompt is a registered Prompt.
type prompt struct {
	Prompt
	run       func(context.Context, *Call) (*PromptResult, error)
	raw       rawHandler // in place of run, for a raw definition
	jsonCache jsonCache[Prompt]
}

// AddPrompt registers a prompt. The handler gets its arguments from
// Call.Argument; required ones are present.
func (s *Server) AddPrompt(p Prompt, h func(context.Context, *Call) (*PromptResult, error)) {
	if p.Name == "" {
		panic("mcp: a prompt needs a name")
	}
	s.prompts.set(p.Name, &prompt{Prompt: p, run: h})
	s.changed(KindPrompt)
}

func (s *Server) listPrompts(ctx context.Context, r *Request) (Result, error) {
	if !s.prompts.everUsed() {
		return nil, unknownMethod(r.Method)
	}
	prompts, next, err := s.prompts.page(r.cursor(), s.o.PageSize, s.visible(ctx, r, KindPrompt))
	if err != nil {
		return nil, err
	}
	l := newList[Prompt](s, next)
	for _, p := range prompts {
		l.add(&p.Prompt, &p.jsonCache)
	}
	return l, nil
}

func (s *Server) getPrompt(ctx context.Context, r *Request) (Result, error) {
	if !s.prompts.everUsed() {
		return nil, unknownMethod(r.Method)
	}
	name, err := r.nameParam()
	if err != nil {
		return nil, err
	}
	p, ok := s.prompts.get(name)
	if !ok || !s.visible(ctx, r, KindPrompt)(name) {
		return nil, invalid("unknown prompt %q", name)
	}
	vars := map[string]string{}
	if args := r.args(); len(args) > 0 && args[0] != 'n' {
		if err := object("arguments", args, &vars); err != nil {
			return nil, err
		}
	}
	for _, a := range p.Arguments {
		if _, ok := vars[a.Name]; a.Required && !ok {
			return nil, invalid("argument %q is required", a.Name)
		}
	}
	c := &Call{ctx: ctx, Request: r, args: r.args(), vars: vars}
	return c.run(func() (Result, error) {
		if p.raw != nil {
			return p.raw.run(c)
		}
		return p.run(ctx, c)
	})
}
