package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Tool is a function that a model can call.
type Tool struct {
	Name         string           `json:"name"`
	Title        string           `json:"title,omitzero"`
	Description  string           `json:"description,omitzero"`
	InputSchema  json.RawMessage  `json:"inputSchema"` // must have "type": "object" at its root
	OutputSchema json.RawMessage  `json:"outputSchema,omitzero"`
	Annotations  *ToolAnnotations `json:"annotations,omitzero"`
	Icons        []Icon           `json:"icons,omitzero"`
	Meta         Meta             `json:"_meta,omitzero"`

	// Durable allows calls to become tasks of the Tasks extension; see the
	// function Durable.
	Durable bool `json:"-"`

	// TaskRequired refuses clients that do not support tasks, instead of
	// running the tool while they wait.
	TaskRequired bool `json:"-"`

	// Ordered makes calls on one connection take effect in order of arrival. A
	// call begins when the ordered one before it, of a tool or a method, has
	// returned or waits: see Call.Wait; a call also waits while it asks the user.
	// Calls over HTTP have no order.
	Ordered bool `json:"-"`

	// Repair may fix arguments before they are validated. Its notes are
	// appended to the result, so that the model can do better next time. An
	// error refuses the call as arguments that do not match the schema do; the
	// text of a *ToolError is used as it is.
	Repair func(json.RawMessage) (json.RawMessage, []string, error) `json:"-"`
}

// ToolAnnotations are hints about a tool's behaviour. Clients must not trust
// them.
type ToolAnnotations struct {
	Title           string `json:"title,omitzero"`
	ReadOnlyHint    bool   `json:"readOnlyHint,omitzero"`
	DestructiveHint *bool  `json:"destructiveHint,omitzero"` // nil is true
	IdempotentHint  bool   `json:"idempotentHint,omitzero"`
	OpenWorldHint   *bool  `json:"openWorldHint,omitzero"` // nil is true
}

// A ToolResult is the result of a tool call. If IsError is set, Content tells
// the model what went wrong.
type ToolResult struct {
	Content           []Content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"`
	IsError           bool            `json:"isError,omitzero"`
	Meta              Meta            `json:"_meta,omitzero"`
}

// append encodes the result. Content comes first and is always an array.
func (r *ToolResult) append(b []byte) ([]byte, error) { return r.encode(b, false) }

// encode is append, with isError even if it is false if outcome is set.
func (r *ToolResult) encode(b []byte, outcome bool) ([]byte, error) {
	b, err := appendOutcome(append(b, '{'), r.Content, r.StructuredContent, r.IsError)
	if err != nil {
		return nil, err
	}
	if outcome && !r.IsError {
		b = append(appendMember(b, "isError"), "false"...)
	}
	return appendEnd(b, r.Meta)
}

// A ToolError is an error shown to the model, as a result with IsError set.
// Structured, if not nil, becomes the structured content.
type ToolError struct {
	Text       string
	Structured any
}

func (e *ToolError) Error() string { return e.Text }

// A tool is a registered Tool.
type tool struct {
	Tool
	check     *checker
	headers   []paramHeader
	run       func(ctx context.Context, c *Call) (*ToolResult, error)
	jsonCache jsonCache[Tool]
}

// AddTool registers a tool whose arguments and result are Go values. Their JSON
// Schemas are inferred from In and Out unless t has them. Fields of In need a
// description (tag `jsonschema:"…"`). The handler is called only with arguments
// that match the schema.
//
// An Out becomes structured content, and the same JSON as text. An Out of type
// string becomes text only, and a *ToolResult is used as it is.
//
// AddTool panics if a type has no suitable schema, if the name is invalid, or
// if the description is missing.
func AddTool[In, Out any](s *Server, t Tool, h func(context.Context, *Call, In) (Out, error)) {
	if t.InputSchema == nil {
		t.InputSchema = schemaFor[In](t.Name, true)
	}
	if t.OutputSchema == nil && isStructured[Out]() {
		t.OutputSchema = schemaFor[Out](t.Name, false)
	}
	s.AddRawTool(t, func(ctx context.Context, c *Call) (*ToolResult, error) {
		var in In
		if err := jsonv2.Unmarshal(c.args, &in, trusted); err != nil {
			return nil, invalidArguments(c.r, plainError(err))
		}
		out, err := h(ctx, c, in)
		if err != nil {
			return nil, err
		}
		return newToolResult(out)
	})
}

// trusted skips the check for duplicate names, in JSON that jsonrpc has
// validated.
var trusted = jsontext.AllowDuplicateNames(true)

// isStructured reports whether values of type Out become structured content.
func isStructured[Out any]() bool {
	switch any(*new(Out)).(type) {
	case *ToolResult, string:
		return false
	}
	return true
}

// newToolResult converts the value that a handler returned to a result.
func newToolResult(out any) (*ToolResult, error) {
	switch v := out.(type) {
	case *ToolResult:
		if v == nil {
			v = &ToolResult{}
		}
		return v, nil
	case string:
		return &ToolResult{Content: []Content{Text(v)}}, nil
	}
	b, err := jsonv2.Marshal(out, jsonv2.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	return &ToolResult{Content: []Content{Text(string(b))}, StructuredContent: b}, nil
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// AddRawTool registers a tool with an explicit schema, whose handler decodes
// the arguments itself. They are validated against the schema first.
func (s *Server) AddRawTool(t Tool, h func(context.Context, *Call) (*ToolResult, error)) {
	if !toolName.MatchString(t.Name) {
		panic(fmt.Sprintf("mcp: tool name %q: want 1 to 128 of A-Z a-z 0-9 _ . -", t.Name))
	}
	if t.Description == "" {
		panic("mcp: tool " + t.Name + " needs a description: models choose tools by it")
	}
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if t.TaskRequired {
		t.Durable = true
	}
	check, err := newChecker(t.InputSchema)
	if err != nil {
		panic(fmt.Sprintf("mcp: input schema of tool %s: %v", t.Name, err))
	}
	if t.OutputSchema != nil {
		if _, err := newChecker(t.OutputSchema); err != nil {
			panic(fmt.Sprintf("mcp: output schema of tool %s: %v", t.Name, err))
		}
	}
	headers, err := paramHeaders(t.InputSchema)
	if err != nil {
		panic(fmt.Sprintf("mcp: input schema of tool %s: %v", t.Name, err))
	}
	if t.Ordered {
		s.ordered.Store(true)
	}
	s.tools.set(t.Name, &tool{Tool: t, check: check, headers: headers, run: h})
	s.changed(KindTool)
}

func (s *Server) listTools(ctx context.Context, r *Request) (Result, error) {
	if !s.tools.everUsed() {
		return nil, unknownMethod(r.Method)
	}
	tools, next, err := s.tools.page(r.cursor(), s.o.PageSize, s.visible(ctx, r, KindTool))
	if err != nil {
		return nil, err
	}
	l := &listResult{key: "tools", items: []json.RawMessage{}, next: next, cache: s.cache(r, s.o.ListTTL)}
	for _, t := range tools {
		b, err := t.jsonCache.get(r.Revision, func() *Tool { return shapeTool(&t.Tool, r.Revision) })
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, b)
	}
	return l, nil
}

func (s *Server) callTool(ctx context.Context, r *Request) (Result, error) {
	if !s.tools.everUsed() {
		return nil, unknownMethod(r.Method)
	}
	name, err := text("name", r.fields.name)
	if err != nil {
		return nil, err
	}
	t, ok := s.tools.get(name)
	if !ok || !s.visible(ctx, r, KindTool)(name) {
		return nil, invalid("Unknown tool: %s", name)
	}
	if t.TaskRequired && !r.supportsTasks() {
		return s.toToolResult(ctx, r, r.capabilityError("tasks", tasksCapability()))
	}
	args := r.fields.arguments
	if h := r.meta.headers; h != nil {
		for i := range t.headers {
			if err := t.headers[i].check(h, args); err != nil {
				return nil, err
			}
		}
	}
	if args == nil || args[0] == 'n' {
		args = json.RawMessage("{}")
	}
	if args[0] != '{' {
		return nil, invalid("arguments must be an object")
	}
	var notes []string
	if t.Repair != nil {
		if args, notes, err = t.repair(args); err != nil {
			e, ok := errors.AsType[*ToolError](err)
			switch {
			case !ok:
				err = invalidArguments(r, err.Error())
			case !r.Revision.argsAsToolError():
				err = invalid("%s", e.Text)
			}
			return s.toToolResult(ctx, r, err)
		}
	}
	if err := t.check.check(args); err != nil {
		return s.toToolResult(ctx, r, invalidArguments(r, err.Error()))
	}
	c := &Call{ctx: ctx, server: s, r: r, tool: t, args: args}
	res, err := c.run(func() (Result, error) { return c.tool.run(c.ctx, c) }) // the closure captures only c
	if err != nil {
		return s.toToolResult(ctx, r, err)
	}
	if tr, ok := res.(*ToolResult); ok && len(notes) > 0 {
		annotated := *tr
		annotated.Content = append(slices.Clone(tr.Content), Text(strings.Join(notes, "\n")))
		res = &annotated
	}
	return res, nil
}

// repair calls Repair and checks its output.
func (t *tool) repair(args json.RawMessage) (json.RawMessage, []string, error) {
	args, notes, err := t.Repair(args)
	if err == nil && (jsontext.Value(args).Kind() != '{' || !jsontext.Value(args).IsValid()) {
		err = errors.New("repair failed")
	}
	return args, notes, err
}

// invalidArguments returns the error for arguments that do not match the
// schema. Newer revisions show it to the model, which can then correct them.
func invalidArguments(r *Request, why string) error {
	if r.Revision.argsAsToolError() {
		return &ToolError{Text: "invalid arguments: " + why}
	}
	return invalid("invalid arguments: %s", why)
}
