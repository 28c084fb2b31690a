package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Conversions for older revisions. These functions do not modify their
// arguments: they return them unchanged or a modified copy.

// shapeTool drops an output schema that older clients do not accept, and
// replaces boolean property schemas by equivalent objects, which they expect.
func shapeTool(t *Tool, r Revision) *Tool {
	if r.anyStructured() {
		return t
	}
	c := *t
	c.InputSchema = editProperties(t.InputSchema, objectSchema)
	if c.OutputSchema != nil && !hasObjectRoot(c.OutputSchema) {
		c.OutputSchema = nil
	}
	c.OutputSchema = editProperties(c.OutputSchema, objectSchema)
	if bytes.Equal(c.InputSchema, t.InputSchema) && bytes.Equal(c.OutputSchema, t.OutputSchema) {
		return t
	}
	return &c
}

func hasObjectRoot(schema json.RawMessage) bool {
	var root struct {
		Type json.RawMessage `json:"type"`
	}
	return jsonv2.Unmarshal(schema, &root) == nil && string(root.Type) == `"object"`
}

func objectSchema(property json.RawMessage) json.RawMessage {
	switch string(property) {
	case "true":
		return json.RawMessage(`{}`)
	case "false":
		return json.RawMessage(`{"not":{}}`)
	}
	return nil
}

// shapeContent replaces blocks of types that the revision does not have by a
// text.
func shapeContent(blocks []Content, r Revision) []Content {
	shaped := blocks
	for i := range blocks {
		c, changed := shapeBlock(&blocks[i], r)
		if !changed {
			continue
		}
		if &shaped[0] == &blocks[0] {
			shaped = slices.Clone(blocks)
		}
		shaped[i] = c
	}
	return shaped
}

func shapeBlock(c *Content, r Revision) (shaped Content, changed bool) {
	var text string
	switch {
	case c.Type == "audio" && !r.audio():
		text = fmt.Sprintf("[%s, %d bytes: not supported by this client]", c.MIMEType, len(c.Data))
	case c.Type == "resource_link" && !r.links():
		text = fmt.Sprintf("%s (%s)", c.Name, c.URI)
	case c.Type == "tool_result" && !fitsStructured(c.StructuredContent, r):
		shaped = *c
		shaped.StructuredContent = nil
		return shaped, true
	default:
		return *c, false
	}
	return Content{Type: "text", Text: text, Annotations: c.Annotations, Meta: c.Meta}, true
}

// shapeToolResult drops structured content that the revision does not allow,
// and converts the blocks. The text that duplicates structured content stays.
func shapeToolResult(t *ToolResult, r Revision) *ToolResult {
	content := shapeContent(t.Content, r)
	fits := fitsStructured(t.StructuredContent, r)
	if fits && (len(content) == 0 || &content[0] == &t.Content[0]) {
		return t
	}
	c := *t
	c.Content = content
	if !fits {
		c.StructuredContent = nil
	}
	return &c
}

// An outcomeResult is a ToolResult for revisions in which a result says isError
// also if the call has not failed. It needs no allocation.
type outcomeResult struct{ *ToolResult }

func (o outcomeResult) append(b []byte) ([]byte, error) { return o.encode(b, true) }

func fitsStructured(v json.RawMessage, r Revision) bool {
	return v == nil || r.anyStructured() || r.structured() && jsontext.Value(v).Kind() == '{'
}

// shapePrompt converts the blocks of a prompt's messages.
func shapePrompt(p *PromptResult, r Revision) *PromptResult {
	shaped := p
	for i := range p.Messages {
		c, changed := shapeBlock(&p.Messages[i].Content, r)
		if !changed {
			continue
		}
		if shaped == p {
			shaped = new(*p)
			shaped.Messages = slices.Clone(p.Messages)
		}
		shaped.Messages[i].Content = c
	}
	return shaped
}

// shapeSample splits messages with several blocks for revisions that allow one
// block per message, and converts blocks and tools.
func shapeSample(p *SampleParams, r Revision) *SampleParams {
	if r.Stateless() {
		return p
	}
	c := *p
	c.Tools = slices.Clone(p.Tools)
	for i := range c.Tools {
		c.Tools[i] = *shapeTool(&p.Tools[i], r)
	}
	c.Messages = make([]SampleMessage, 0, len(p.Messages))
	for _, m := range p.Messages {
		blocks := shapeContent(m.Content, r)
		if r.richSampling() {
			m.Content = blocks
			c.Messages = append(c.Messages, m)
			continue
		}
		for _, block := range blocks {
			c.Messages = append(c.Messages, SampleMessage{Role: m.Role, Content: Blocks{block}, Meta: m.Meta})
		}
	}
	return &c
}

// A formField is the part of a form's property that conversion looks at.
type formField struct {
	Type        string       `json:"type"`
	Description string       `json:"description"`
	OneOf       []formChoice `json:"oneOf"`
	Items       struct {
		Enum  []string     `json:"enum"`
		AnyOf []formChoice `json:"anyOf"`
	} `json:"items"`
	Default json.RawMessage `json:"default"`
}

type formChoice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// shapeElicit simplifies choices for revisions that have only plain ones:
// titles move to enumNames, and a multiple choice becomes a comma-separated
// string. restoreElicit reverts that. Revisions without elicitation ids are
// sent none.
func shapeElicit(p *ElicitParams, r Revision) *ElicitParams {
	c := *p
	if r.Stateless() {
		c.ElicitationID = ""
	}
	if !r.richForms() {
		c.RequestedSchema = editProperties(p.RequestedSchema, plainField)
	}
	if c.ElicitationID == p.ElicitationID && bytes.Equal(c.RequestedSchema, p.RequestedSchema) {
		return p
	}
	return &c
}

// restoreElicit converts the answer to a simplified form into the answer to the
// original form: comma-separated strings become lists again.
func restoreElicit(p *ElicitParams, content json.RawMessage, r Revision) json.RawMessage {
	if r.richForms() || content == nil {
		return content
	}
	var form struct {
		Properties map[string]formField `json:"properties"`
	}
	if jsonv2.Unmarshal(p.RequestedSchema, &form) != nil {
		return content
	}
	restored, err := editMembers(content, func(name string, v json.RawMessage) (json.RawMessage, error) {
		var s string
		if form.Properties[name].Type != "array" || jsonv2.Unmarshal(v, &s) != nil {
			return v, nil
		}
		list := []string{}
		for item := range strings.SplitSeq(s, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		return jsonv2.Marshal(list)
	})
	if err != nil {
		return content
	}
	return restored
}

// plainField simplifies one property, or returns nil if it is plain already.
func plainField(property json.RawMessage) json.RawMessage {
	var f formField
	if jsonv2.Unmarshal(property, &f) != nil {
		return nil
	}
	switch {
	case f.Type == "string" && f.OneOf != nil:
		values, titles := []string{}, []string{}
		for _, c := range f.OneOf {
			values, titles = append(values, c.Const), append(titles, c.Title)
		}
		return replaceMembers(property, []string{"oneOf"}, map[string]any{"enum": values, "enumNames": titles})
	case f.Type == "array":
		choices := slices.Clone(f.Items.Enum)
		for _, c := range f.Items.AnyOf {
			choices = append(choices, fmt.Sprintf("%s (%s)", c.Const, c.Title))
		}
		members := map[string]any{
			"type":        "string",
			"description": strings.TrimSpace(f.Description + " Any of these, comma separated: " + strings.Join(choices, ", ")),
		}
		var chosen []string
		if f.Default != nil && jsonv2.Unmarshal(f.Default, &chosen) == nil {
			members["default"] = strings.Join(chosen, ", ")
		}
		return replaceMembers(property, []string{"type", "description", "default", "items", "minItems", "maxItems", "uniqueItems"}, members)
	}
	return nil
}

// replaceMembers removes members of an object and appends others. It returns
// nil if object is not a JSON object.
func replaceMembers(object json.RawMessage, out []string, in map[string]any) json.RawMessage {
	b, err := editMembers(object, func(name string, v json.RawMessage) (json.RawMessage, error) {
		if slices.Contains(out, name) {
			return nil, nil
		}
		return v, nil
	})
	if err != nil {
		return nil
	}
	more, err := jsonv2.Marshal(in, jsonv2.Deterministic(true))
	if err != nil {
		return nil
	}
	if len(b) == len("{}") {
		return more
	}
	return slices.Concat(b[:len(b)-1], []byte(","), more[1:])
}

// editProperties replaces the properties of a schema for which edit returns a
// value. It returns the schema unchanged if nothing is replaced or the schema
// is invalid.
func editProperties(schema json.RawMessage, edit func(json.RawMessage) json.RawMessage) json.RawMessage {
	changed := false
	edited, err := editMembers(schema, func(name string, v json.RawMessage) (json.RawMessage, error) {
		if name != "properties" {
			return v, nil
		}
		return editMembers(v, func(_ string, property json.RawMessage) (json.RawMessage, error) {
			if e := edit(property); e != nil {
				changed = true
				return e, nil
			}
			return property, nil
		})
	})
	if err != nil || !changed {
		return schema
	}
	return edited
}

// editMembers copies an object with each value replaced by the result of edit,
// in the same order. A nil result removes the member.
func editMembers(object json.RawMessage, edit func(name string, v json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if d.PeekKind() != '{' {
		return nil, errors.New("mcp: not an object")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	b := []byte{'{'}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		v, err := edit(name, json.RawMessage(value))
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = append(b, v...)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}
