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

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A Tool is something a model may call.
type Tool struct {
	Name         string           `json:"name"`
	Title        string           `json:"title,omitzero"`
	Description  string           `json:"description,omitzero"`
	InputSchema  json.RawMessage  `json:"inputSchema"` // its root says "type": "object"
	OutputSchema json.RawMessage  `json:"outputSchema,omitzero"`
	Annotations  *ToolAnnotations `json:"annotations,omitzero"`
	Icons        []Icon           `json:"icons,omitzero"`
	Meta         Meta             `json:"_meta,omitzero"`

	// Durable lets calls become tasks of the Tasks extension; see the function
	// of that name.
	Durable bool `json:"-"`

	// TaskRequired refuses clients that cannot follow a task, rather than
	// running the tool while they wait.
	TaskRequired bool `json:"-"`

	// Repair may mend a call's arguments before they are checked. Its notes are
	// added to the answer, so that the model can do better next time. A *ToolError
	// is shown to the model as it is, in every revision.
	Repair func(json.RawMessage) (json.RawMessage, []string, error) `json:"-"`
}

// ToolAnnotations are hints about what a tool does. They come from the server
// and prove nothing.
type ToolAnnotations struct {
	Title           string `json:"title,omitzero"`
	ReadOnlyHint    bool   `json:"readOnlyHint,omitzero"`
	DestructiveHint *bool  `json:"destructiveHint,omitzero"` // nil is true
	IdempotentHint  bool   `json:"idempotentHint,omitzero"`
	OpenWorldHint   *bool  `json:"openWorldHint,omitzero"` // nil is true
}

// A ToolResult is a tool's answer. With IsError set, Content tells the model
// what went wrong.
type ToolResult struct {
	Content           []Content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"`
	IsError           bool            `json:"isError,omitzero"`
	Meta              Meta            `json:"_meta,omitzero"`
}

// append writes the result. Content comes first and is always an array.
func (r *ToolResult) append(b []byte) ([]byte, error) {
	b, err := appendOutcome(append(b, '{'), r.Content, r.StructuredContent, r.IsError)
	if err != nil {
		return nil, err
	}
	return appendEnd(b, r.Meta)
}

// A ToolError is a failure that the model is shown, as a result with IsError.
// Structured, if not nil, becomes its structured content.
type ToolError struct {
	Text       string
	Structured any
}

func (e *ToolError) Error() string { return e.Text }

// A tool is a registered Tool.
type tool struct {
	Tool
	check   *checker
	headers []paramHeader
	run     func(ctx context.Context, c *Call) (*ToolResult, error)
	wires   wires[Tool]
}

// AddTool registers a tool whose arguments and answer are Go values. Their JSON
// Schemas are inferred from In and Out unless t has them; fields of In need a
// description (tag `jsonschema:"…"`). The handler only sees arguments that fit.
//
// An Out becomes structured content, and the same JSON as text. An Out of type
// string is text alone, and *ToolResult is the answer as it is.
//
// AddTool panics if the types or the tool's name are not fit to be shown, or
// the tool has no description: that is for the programmer to mend.
func AddTool[In, Out any](s *Server, t Tool, h func(context.Context, *Call, In) (Out, error)) {
	if t.InputSchema == nil {
		t.InputSchema = schemaFor[In](t.Name, true)
	}
	if t.OutputSchema == nil && isStructured[Out]() {
		t.OutputSchema = schemaFor[Out](t.Name, false)
	}
	s.AddRawTool(t, func(ctx context.Context, c *Call) (*ToolResult, error) {
		var in In
		if err := jsonv2.Unmarshal(c.args, &in, checked); err != nil {
			return nil, invalidArguments(c.r, plainError(err))
		}
		out, err := h(ctx, c, in)
		if err != nil {
			return nil, err
		}
		return toolResult(out)
	})
}

// checked is for JSON that has passed the codec: names are not twice in it.
var checked = jsontext.AllowDuplicateNames(true)

// isStructured reports whether values of type Out become structured content.
func isStructured[Out any]() bool {
	switch any(*new(Out)).(type) {
	case *ToolResult, string:
		return false
	}
	return true
}

// toolResult is the answer that a handler's value stands for.
func toolResult(out any) (*ToolResult, error) {
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
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return &ToolResult{Content: []Content{Text(string(b))}, StructuredContent: b}, nil
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// AddRawTool registers a tool that brings its own schema and reads its arguments
// itself. They are checked against the schema first.
func (s *Server) AddRawTool(t Tool, h func(context.Context, *Call) (*ToolResult, error)) {
	if !toolName.MatchString(t.Name) {
		panic(fmt.Sprintf("mcp: tool name %q: want 1 to 128 of A-Z a-z 0-9 _ . -", t.Name))
	}
	if t.Description == "" {
		panic("mcp: tool " + t.Name + " needs a description: it is all that a model knows of it")
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
	s.tools.set(t.Name, &tool{Tool: t, check: check, headers: headers, run: h})
	s.changed(KindTool)
}

func (s *Server) listTools(ctx context.Context, r *Request) (Result, error) {
	if !s.tools.used() {
		return nil, unknownMethod(r.Method)
	}
	tools, next, err := s.tools.page(r.param("cursor"), s.o.PageSize, s.visible(ctx, r, KindTool))
	if err != nil {
		return nil, err
	}
	l := &listResult{key: "tools", items: []json.RawMessage{}, next: next, cache: s.cache(r, s.o.ListTTL)}
	for _, t := range tools {
		b, err := t.wires.get(r.Revision, func() *Tool { return shapeTool(&t.Tool, r.Revision) })
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, b)
	}
	return l, nil
}

func (s *Server) callTool(ctx context.Context, r *Request) (Result, error) {
	if !s.tools.used() {
		return nil, unknownMethod(r.Method)
	}
	name, err := text("name", r.fields.name)
	if err != nil {
		return nil, err
	}
	t, ok := s.tools.get(name)
	if !ok || !s.visible(ctx, r, KindTool)(name) {
		return nil, invalid("unknown tool %q", name)
	}
	if t.TaskRequired && !r.takesTasks() {
		return s.toolFailure(ctx, r, r.lacks("tasks", tasksCapability()))
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
			if _, ok := errors.AsType[*ToolError](err); !ok {
				err = invalidArguments(r, err.Error())
			}
			return s.toolFailure(ctx, r, err)
		}
	}
	if err := t.check.check(args); err != nil {
		return s.toolFailure(ctx, r, invalidArguments(r, err.Error()))
	}
	c := &Call{ctx: ctx, server: s, r: r, tool: t, args: args}
	res, err := c.run(func() (Result, error) { return c.tool.run(c.ctx, c) }) // holds c alone
	if err != nil {
		return s.toolFailure(ctx, r, err)
	}
	if tr, ok := res.(*ToolResult); ok && len(notes) > 0 {
		noted := *tr
		noted.Content = append(slices.Clone(tr.Content), Text(strings.Join(notes, "\n")))
		res = &noted
	}
	return res, nil
}

// repair is Repair, whose output is not trusted either.
func (t *tool) repair(args json.RawMessage) (json.RawMessage, []string, error) {
	args, notes, err := t.Repair(args)
	if err == nil && (jsontext.Value(args).Kind() != '{' || !jsontext.Value(args).IsValid()) {
		err = errors.New("they could not be repaired")
	}
	return args, notes, err
}

// invalidArguments is for arguments that do not fit the tool's schema. Newer
// revisions show it to the model, which can then do better.
func invalidArguments(r *Request, why string) error {
	if r.Revision.argsAsToolError() {
		return &ToolError{Text: "invalid arguments: " + why}
	}
	return invalid("invalid arguments: %s", why)
}

// toolFailure turns what a tool failed with into what the model is shown, if it
// is for the model.
func (s *Server) toolFailure(ctx context.Context, r *Request, err error) (Result, error) {
	if _, ok := errors.AsType[*jsonrpc.Error](err); ok || ctx.Err() != nil {
		return nil, err
	}
	e, ok := errors.AsType[*ToolError](err)
	if !ok {
		if errors.Is(err, ErrDeclined) || errors.Is(err, ErrDismissed) || errors.Is(err, ErrNotFound) {
			e = &ToolError{Text: err.Error()}
		} else {
			e = &ToolError{Text: s.internal(ctx, r, err)}
		}
	}
	res := &ToolResult{Content: []Content{Text(e.Text)}, IsError: true}
	if e.Structured != nil {
		b, err := jsonv2.Marshal(e.Structured, jsonv2.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("encode a tool error: %w", err)
		}
		res.StructuredContent = b
	}
	return res, nil
}
