package clientconfig

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// install is the part of a row that says how a server is added to the client's files.
// The entries are templates: %name%, %command%, %url% and %key% stand for values of an Entry,
// "%args%" and "%argv%" for its arguments without and with the program, and "%passed%" for the variables that
// are passed on; the member is omitted if there are none.
type install struct {
	Stdio jsontext.Value `json:"stdio"`
	HTTP  jsontext.Value `json:"http"`
	Key   jsontext.Value `json:"key"`   // further members of HTTP if a key is sent
	Input jsontext.Value `json:"input"` // the input that Key refers to, for the member Inputs of the row

	// Desktop means that the client is not started from a shell and may have another PATH,
	// Elsewhere that it starts its servers outside the project.
	Desktop   bool             `json:"desktop"`
	Elsewhere bool             `json:"elsewhere"`
	Hooks     *hooks           `json:"hooks"`
	Note      map[Scope]string `json:"note"` // what the user has to know; "" for both scopes
}

// hooks says where a client keeps commands that it runs at events: a JSON file with
// {"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …}]}]}}.
type hooks struct {
	User    map[string][]string `json:"user"`
	Project map[string][]string `json:"project"`
	Events  []string            `json:"events"`
}

// passed is the template of a list of variables.
const passed = "%passed%"

// hookTimeout is how long a client waits for a hook, in seconds.
const hookTimeout = 5

// An ordered is an object whose members have an order.
type ordered []member

type member struct {
	name  string
	value any // string, bool, int64, []any or ordered
}

// appendValue appends a value without members, as TOML and YAML write it, which differ in their strings.
func appendValue(b []byte, v any, quote func(string) string) []byte {
	switch v := v.(type) {
	case string:
		return append(b, quote(v)...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendValue(b, e, quote)
		}
		return append(b, ']')
	}
	panic("clientconfig: a value of another type")
}

// readTemplate parses an entry of the table.
func readTemplate(text jsontext.Value) any {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	v, err := readOrdered(d)
	if err != nil {
		panic("clientconfig: clients.json: " + err.Error())
	}
	return v
}

func readOrdered(d *jsontext.Decoder) (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case '"':
		return t.String(), nil
	case 't', 'f':
		return t.Bool(), nil
	case '0':
		return t.Int()
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			v, err := readOrdered(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.ReadToken()
		return list, err
	case '{':
		o := ordered{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			m := member{name: name.String()}
			if m.value, err = readOrdered(d); err != nil {
				return nil, err
			}
			o = append(o, m)
		}
		_, err := d.ReadToken()
		return o, err
	}
	return nil, fmt.Errorf("a template has a value of kind %s", t.Kind())
}

// fill puts the values of an entry into a template.
func fill(v any, e *Entry) any {
	switch v := v.(type) {
	case string:
		switch v {
		case "%args%":
			return listOf(e.Args[1:])
		case "%argv%":
			return listOf(e.Args)
		case passed:
			return listOf(e.Pass)
		}
		command := ""
		if len(e.Args) > 0 {
			command = e.Args[0]
		}
		return strings.NewReplacer("%name%", e.Name, "%command%", command, "%url%", e.URL, "%key%", e.KeyName).Replace(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = fill(v[i], e)
		}
		return list
	case ordered:
		o := ordered{}
		for _, m := range v {
			if m.value != passed || len(e.Pass) > 0 {
				o = append(o, member{m.name, fill(m.value, e)})
			}
		}
		return o
	}
	return v
}

func listOf(words []string) []any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}

// with returns o with further members, which replace those of the same name.
func (o ordered) with(more ordered) ordered {
	o = slices.Clone(o)
	for _, m := range more {
		if i := slices.IndexFunc(o, func(old member) bool { return old.name == m.name }); i >= 0 {
			o[i] = m
		} else {
			o = append(o, m)
		}
	}
	return o
}
