package gateway

import (
	"encoding/json"
	"fmt"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/mcp"
)

// maxFormText is how much of an upstream's question is shown.
const maxFormText = 8 << 10

// form returns what an upstream asks as the caller's client shows it. Its first line is ours, and says who asks; what the upstream wrote is quoted, so
// that it does not look like a question of the board. Another gateway has done that already.
func (r *request) form(p *mcp.ElicitParams) *mcp.ElicitParams {
	if r.upstream.isRelay() {
		return p
	}
	out := *p
	out.Message = fmt.Sprintf("The server %s asks this, not Bossman%s:\n%s", r.upstream.Name, r.purpose(), visible.Quote(visible.Cut(p.Message, maxFormText)))
	out.RequestedSchema = visibleLabels(p.RequestedSchema)
	return &out
}

// purpose says what a request is for.
func (r *request) purpose() string {
	switch {
	case r.entry == nil:
		return ""
	case r.entry.kind == mcp.KindTool:
		return ", for its tool " + visible.Line(r.entry.name)
	}
	return ", for its prompt " + visible.Line(r.entry.name)
}

// visibleLabels returns the schema of a form in which the labels of fields are one line each, with everything spelled out
// that cannot be seen. What is answered stays as it is.
func visibleLabels(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 || schema[0] != '{' {
		return schema
	}
	out, err := editMember(schema, "properties", func(properties json.RawMessage) (json.RawMessage, error) {
		if len(properties) == 0 || properties[0] != '{' {
			return properties, nil
		}
		edited := []byte{'{'}
		for name, v := range rawjson.Members(properties) {
			edited = appendMember(edited, name, visibleField(v))
		}
		return append(edited, '}'), nil
	})
	if err != nil {
		return schema // the client checks it
	}
	return out
}

// visibleField is visibleLabels for one field, or for one of its choices.
func visibleField(field json.RawMessage) json.RawMessage {
	if len(field) == 0 || field[0] != '{' {
		return field
	}
	edited := []byte{'{'}
	for name, v := range rawjson.Members(field) {
		switch name {
		case "title", "description":
			v = visibleLabel(v)
		case "items":
			v = visibleField(v)
		case "oneOf", "anyOf":
			v = visibleElements(v, visibleField)
		case "enumNames":
			v = visibleElements(v, visibleLabel)
		}
		edited = appendMember(edited, name, v)
	}
	return append(edited, '}')
}

func visibleElements(array json.RawMessage, edit func(json.RawMessage) json.RawMessage) json.RawMessage {
	if len(array) == 0 || array[0] != '[' {
		return array
	}
	out := []byte{'['}
	for v := range rawjson.Elements(array) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, edit(v)...)
	}
	return append(out, ']')
}

func visibleLabel(v json.RawMessage) json.RawMessage {
	if len(v) == 0 || v[0] != '"' {
		return v
	}
	return quote(visible.Line(rawjson.Text(v)))
}
