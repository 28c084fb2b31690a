package tools

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A kind is the type of an argument. There are few of them and no unions, so that every
// vendor's models can fill them in.
type kind uint8

const (
	text kind = iota
	number
	flag
	list    // of strings
	objects // a list of flat objects
)

// A prop is an argument of a tool. Both the schema that models see and the repair of
// what they send are derived from it.
type prop struct {
	name     string
	kind     kind
	about    string // its description in the schema
	required bool
	enum     []string
	max      int      // of a number, whose minimum is 0; 0 means no maximum
	aliases  []string // other names that models use for it
	items    []prop   // the members of each object, for objects
	// commas is set for a list that may arrive as one comma-separated string, and for a
	// string that may arrive as a list.
	commas bool
	// plain is the member that a string sent in place of an object becomes; its kind is
	// then "other".
	plain string
}

// claimAbout describes the argument claim.
const claimAbout = "your claim, as returned by get_next_task"

// taskNames are aliases of an argument that is a task id.
var taskNames = []string{"id", "task_id", "taskid"}

// claimNames are aliases of an argument that is a claim.
var claimNames = []string{"claim_id", "handle", "lease", "task", "task_id", "id"}

// schema returns the JSON Schema of a tool's arguments.
func schema(props []prop) json.RawMessage {
	type property struct {
		Type        string         `json:"type"`
		Description string         `json:"description,omitzero"`
		Enum        []string       `json:"enum,omitzero"`
		Minimum     *int           `json:"minimum,omitzero"`
		Maximum     int            `json:"maximum,omitzero"`
		Items       jsontext.Value `json:"items,omitzero"`
	}
	b := []byte(`{"type":"object","properties":{`)
	required := []string{}
	for i, p := range props {
		if i > 0 {
			b = append(b, ',')
		}
		out := property{Description: p.about}
		switch p.kind {
		case text:
			out.Type, out.Enum = "string", p.enum
		case number:
			out.Type, out.Minimum, out.Maximum = "integer", new(0), p.max
		case flag:
			out.Type = "boolean"
		case list:
			out.Type, out.Items = "array", jsontext.Value(`{"type":"string"}`)
			if p.enum != nil {
				out.Items = must(jsonv2.Marshal(property{Type: "string", Enum: p.enum}))
			}
		case objects:
			out.Type, out.Items = "array", jsontext.Value(schema(p.items))
		}
		b = append(append(b, must(jsonv2.Marshal(p.name))...), ':')
		b = append(b, must(jsonv2.Marshal(out))...)
		if p.required {
			required = append(required, p.name)
		}
	}
	b = append(b, `},"required":`...)
	b = append(b, must(jsonv2.Marshal(required))...)
	return append(b, `,"additionalProperties":false}`...)
}

// must returns v; it is for marshalling our own values, which cannot fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic("tools: " + err.Error())
	}
	return v
}
