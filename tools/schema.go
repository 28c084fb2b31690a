package tools

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A kind is the type of an argument. There are few, and no unions: what models of
// every maker can fill in.
type kind uint8

const (
	text kind = iota
	number
	flag
	list    // of texts
	objects // flat ones
)

// A prop is an argument of a tool. The schema that models are shown is written from
// it, and so is the mending of what they send.
type prop struct {
	name  string
	kind  kind
	about string
	must  bool
	enum  []string
	most  int      // of a number, which is not negative; 0: no bound
	also  []string // other names that models use for it
	items []prop   // of objects
	// commas: a list that may come as one text, or a text that may come as a list.
	commas bool
	// plain makes an object of a plain text, its kind "other".
	plain string
}

const claimAbout = "your claim, as get_next_task gave it"

// taskNames are other names for an argument that is a task's id.
var taskNames = []string{"id", "task_id", "taskid"}

var claimNames = []string{"claim_id", "handle", "lease", "task", "task_id", "id"}

// schema is the JSON Schema of arguments.
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
			out.Type, out.Minimum, out.Maximum = "integer", new(0), p.most
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
		if p.must {
			required = append(required, p.name)
		}
	}
	b = append(b, `},"required":`...)
	b = append(b, must(jsonv2.Marshal(required))...)
	return append(b, `,"additionalProperties":false}`...)
}

// must is for values of our own that are always fit to be written.
func must[T any](v T, err error) T {
	if err != nil {
		panic("tools: " + err.Error())
	}
	return v
}
