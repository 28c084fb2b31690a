package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

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

	// Tasks says whether calls may become tasks of the Tasks extension; see
	// AsTask.
	Tasks TaskSupport `json:"-"`

	// Ordered makes calls on one connection take effect in order of arrival. A
	// call begins when the ordered one before it, of a tool or a method, has
	// returned or waits: see Call.Idle; a call also waits while it asks the user.
	// Calls over HTTP have no order.
	Ordered bool `json:"-"`

	// Repair may fix arguments before they are validated. Its notes are
	// appended to the result, so that the model can do better next time. An
	// error refuses the call as arguments that do not match the schema do; the
	// text of a *ToolError is used as it is.
	Repair func(ctx context.Context, args json.RawMessage) (fixed json.RawMessage, notes []string, err error) `json:"-"`
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

	err error // of the handler; see Err
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

// A tool is a registered Tool.
type tool struct {
	Tool
	check       interface{ check(json.RawMessage) error }
	checkOutput *checker // nil if the output schema was inferred
	defaults    *defaultsNode
	headers     []paramHeader
	run         func(ctx context.Context, c *Call) (*ToolResult, error)
	raw         rawHandler // in place of run, for a raw definition
	jsonCache   jsonCache[Tool]
}

// AddTool registers a tool whose arguments and result are Go values. The handler
// is called only with arguments that match the schema of In. AddTool panics if a
// type has no JSON form that a schema can describe, if a tag does not fit its field,
// if the name of the tool is invalid, or if a description is missing; the message
// has the path of the field.
//
// # Results
//
// An Out becomes structured content, and the same JSON as text. The tool has an
// output schema if values of type Out are JSON objects. To add images, links or
// metadata, return an Output; to control everything, return a *ToolResult. An Out
// of type string becomes text only. Results are checked against an output schema
// that t has, but not against an inferred one, which they match.
//
// # Schemas
//
// The JSON Schemas are inferred from In and Out, unless t has them. Types mean
// what they mean to encoding/json, except that member names must match exactly,
// and that nil slices and maps are [] and {}. So a []byte is base64 text, a
// time.Time is text with format date-time, a time.Duration is an integer of
// nanoseconds, and a type with the methods MarshalText and UnmarshalText is text.
// In is a struct or a map.
//
// A field is required unless it has the option omitempty or omitzero, or a
// default. A pointer that is required may be null. Struct tags say more about a
// field, one for each keyword of JSON Schema:
//
//	jsonschema                  the description; every field of In needs one
//	title, format, pattern      text
//	minLength, maxLength        for strings
//	minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf
//	                            for numbers
//	minItems, maxItems          for arrays
//	uniqueItems                 "true", for arrays
//	enum, examples              values, separated by commas; write \\, for a comma in a value
//	default                     a value; arrays and objects as JSON
//
// For example:
//
//	type Args struct {
//		Topic string   `json:"topic" jsonschema:"what to draw, in short" minLength:"1"`
//		Style string   `json:"style" jsonschema:"drawing style" enum:"ink,oil" default:"ink"`
//		Steps int      `json:"steps,omitempty" jsonschema:"number of steps" minimum:"1" maximum:"50"`
//		Tags  []string `json:"tags,omitempty" jsonschema:"labels" pattern:"^[a-z]+$" maxItems:"3"`
//	}
//
// On a slice of strings, numbers or booleans, the tags for these apply to the
// elements. Defaults are added to the arguments before they are checked, also in
// nested objects that are present.
//
// A string type with a method Enum() []string is an enumeration; if it has a
// method Title() string too, its values have titles, which clients show in forms. A
// type with MarshalJSON or UnmarshalJSON needs a method JSONSchema()
// json.RawMessage, which any type may have. A type that contains itself is a
// reference in an input schema, and an object with any members in an output
// schema.
func AddTool[In, Out any](s *Server, t Tool, h func(context.Context, *Call, In) (Out, error)) {
	if t.InputSchema == nil {
		t.InputSchema = schemaFor(t.Name, reflect.TypeFor[In](), true)
	}
	inferred := t.OutputSchema == nil
	if out := outputType[Out](); inferred && isStructured(out) {
		// Clients refuse a list with any other output schema.
		if schema := schemaFor(t.Name, out, false); hasObjectRoot(schema) {
			t.OutputSchema = schema
		}
	}
	codec := codecFor(reflect.TypeFor[In]())
	s.addTool(t, !inferred, func(ctx context.Context, c *Call) (*ToolResult, error) {
		var in In
		if err := codec.decode(c.args, &in); err != nil {
			return nil, invalidArguments(c.Request, plainError(err))
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

// isStructured reports whether values of a type become structured content.
func isStructured(t reflect.Type) bool {
	return t != reflect.TypeFor[*ToolResult]() && t != reflect.TypeFor[string]()
}

// newToolResult converts the value that a handler returned to a result.
func newToolResult[Out any](out Out) (*ToolResult, error) {
	t := reflect.TypeFor[Out]()
	if t.Kind() == reflect.Pointer && t != reflect.TypeFor[*ToolResult]() && reflect.ValueOf(out).IsNil() {
		return nil, fmt.Errorf("the handler returned a nil %s", t)
	}
	switch v := any(out).(type) {
	case *ToolResult:
		if v == nil {
			v = &ToolResult{}
		}
		return v, nil
	case string:
		return &ToolResult{Content: []Content{Text(v)}}, nil
	case output:
		return v.toolResult()
	}
	return structuredResult(codecFor(t), out)
}

// structuredResult returns a value as structured content, and as text.
func structuredResult[Out any](codec *userCodec, out Out) (*ToolResult, error) {
	b, err := codec.encode(&out)
	if err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	return &ToolResult{Content: []Content{Text(string(b))}, StructuredContent: b}, nil
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// AddRawTool registers a tool with an explicit schema, whose handler decodes
// the arguments itself. They are validated against the schema first, and so is the
// structured content of the result if t has an output schema.
func (s *Server) AddRawTool(t Tool, h func(context.Context, *Call) (*ToolResult, error)) {
	s.addTool(t, true, h)
}

// addTool registers a tool. If checkOutput is set, results are checked.
func (s *Server) addTool(t Tool, checkOutput bool, h func(context.Context, *Call) (*ToolResult, error)) {
	if !toolName.MatchString(t.Name) {
		panic(fmt.Sprintf("mcp: tool name %q: want 1 to 128 of A-Z a-z 0-9 _ . -", t.Name))
	}
	if t.Description == "" {
		panic("mcp: tool " + t.Name + " needs a description: models choose tools by it")
	}
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	check, err := newChecker(t.InputSchema)
	if err == nil && !hasObjectRoot(t.InputSchema) {
		err = errors.New(`want "type": "object" at the root`)
	}
	if err != nil {
		panic(fmt.Sprintf("mcp: input schema of tool %s: %v", t.Name, err))
	}
	entry := &tool{defaults: newDefaults(t.InputSchema), check: check, run: h}
	if t.OutputSchema != nil {
		if jsontext.Value(t.OutputSchema).Kind() != '{' {
			panic(fmt.Sprintf("mcp: output schema of tool %s: want an object, not %s", t.Name, t.OutputSchema))
		}
		out, err := newChecker(t.OutputSchema)
		if err != nil {
			panic(fmt.Sprintf("mcp: output schema of tool %s: %v", t.Name, err))
		}
		if checkOutput {
			entry.checkOutput = out
		}
	}
	entry.headers, err = paramHeaders(t.InputSchema)
	if err != nil {
		panic(fmt.Sprintf("mcp: input schema of tool %s: %v", t.Name, err))
	}
	if t.Ordered {
		s.ordered.Store(true)
	}
	entry.Tool = t
	s.tools.set(t.Name, entry)
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
	l := newList[Tool](s, next)
	for _, t := range tools {
		l.add(&t.Tool, &t.jsonCache)
	}
	return l, nil
}

func (s *Server) callTool(ctx context.Context, r *Request) (Result, error) {
	if !s.tools.everUsed() {
		return nil, unknownMethod(r.Method)
	}
	name, err := r.nameParam()
	if err != nil {
		return nil, err
	}
	t, ok := s.tools.get(name)
	if !ok || !s.visible(ctx, r, KindTool)(name) {
		return nil, invalid("Unknown tool: %s", name)
	}
	if t.Tasks == TaskRequired && !r.supportsTasks() {
		return s.toToolResult(ctx, r, r.capabilityError("tasks", tasksCapability()))
	}
	args := r.args()
	if r.meta.checkHeaders {
		for i := range t.headers {
			if err := t.headers[i].check(r.headers(), r.asSent().arguments); err != nil {
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
		r.keep()
		if args, notes, err = t.repair(ctx, args); err != nil {
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
	args = t.defaults.apply(args)
	if t.check != nil { // nil: see Update.Unchecked
		if err := t.check.check(args); err != nil {
			return s.toToolResult(ctx, r, invalidArguments(r, err.Error()))
		}
	}
	c := &Call{ctx: ctx, Request: r, tool: t, args: args}
	res, err := c.run(c.runTool)
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

// runTool runs the tool's handler.
func (c *Call) runTool() (Result, error) {
	if c.tool.raw != nil {
		c.Request.keep()
		return c.tool.raw.run(c)
	}
	res, err := c.tool.run(c.ctx, c)
	if err != nil {
		return nil, err
	}
	return res, c.tool.verify(res)
}

// verify checks a result against a supplied output schema.
func (t *tool) verify(res *ToolResult) error {
	if t.checkOutput == nil || res != nil && res.IsError {
		return nil
	}
	if res == nil || res.StructuredContent == nil {
		return fmt.Errorf("the result of tool %s has no structured content, but the tool has an output schema", t.Name)
	}
	if !jsontext.Value(res.StructuredContent).IsValid() {
		return fmt.Errorf("the structured content of tool %s is not valid JSON", t.Name)
	}
	if err := t.checkOutput.check(bytes.TrimSpace(res.StructuredContent)); err != nil {
		return fmt.Errorf("the result of tool %s does not match its output schema: %w", t.Name, err)
	}
	return nil
}

// repair calls Repair and checks its output.
func (t *tool) repair(ctx context.Context, args json.RawMessage) (json.RawMessage, []string, error) {
	args, notes, err := t.Repair(ctx, args)
	if err == nil && (jsontext.Value(args).Kind() != '{' || !jsontext.Value(args).IsValid()) {
		err = errors.New("repair failed")
	}
	return bytes.TrimSpace(args), notes, err
}

// invalidArguments returns the error for arguments that do not match the
// schema. Newer revisions show it to the model, which can then correct them.
func invalidArguments(r *Request, why string) error {
	if r.Revision.argsAsToolError() {
		return &ToolError{Text: "invalid arguments: " + why}
	}
	return invalid("invalid arguments: %s", why)
}
