package mcpcli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A field is a property in a JSON schema: an argument of a tool, or a line of a form.
type field struct {
	Name        string
	Types       []string // as in JSON Schema; empty: anything
	Items       []string // types of a list's elements
	Required    bool
	Title       string
	Description string
	Default     jsontext.Value
	Choices     []choice
	Many        bool // several choices at once
}

// A choice is a value that a field may have.
type choice struct{ value, title string }

// A form is the fields of a schema, in its order.
type form struct {
	Fields []field
	Closed bool // no other properties are allowed
}

func (f *form) find(name string) *field {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	return nil
}

func (f *form) names() (names []string) {
	for _, p := range f.Fields {
		names = append(names, p.Name)
	}
	return names
}

// kinds is the types or choices of a field, separated by |.
func (p *field) kinds() string {
	if len(p.Choices) > 0 {
		var values []string
		for _, c := range p.Choices {
			values = append(values, c.value)
		}
		return strings.Join(values, "|")
	}
	types := slices.DeleteFunc(slices.Clone(p.Types), func(t string) bool { return t == "null" })
	if len(types) == 0 {
		return "any"
	}
	if len(types) == 1 && types[0] == "array" && len(p.Items) == 1 {
		return p.Items[0] + " list"
	}
	return strings.Join(slices.Compact(types), "|")
}

// wants is kinds in words.
func (p *field) wants() string {
	if p == nil {
		return "text in UTF-8" // of an argument that is not in the schema
	}
	switch k := p.kinds(); {
	case len(p.Choices) > 0:
		return "one of " + strings.ReplaceAll(k, "|", ", ")
	case k == "any":
		return "a value"
	case strings.HasPrefix(k, "a") || strings.HasPrefix(k, "i") || strings.HasPrefix(k, "o"):
		return "an " + k
	default:
		return "a " + k
	}
}

// errWrongType means that a text is not a value of the type.
var errWrongType = errors.New("wrong type")

// value converts a text to a type of the field. It stays a string if the field may be one.
func (p *field) value(text string) (jsontext.Value, error) {
	if p == nil || len(p.Types) == 0 || slices.Contains(p.Types, "string") {
		return json.Marshal(text)
	}
	for _, t := range p.Types {
		if v, err := typed(t, text); err == nil {
			return v, nil
		}
	}
	if slices.Contains(p.Types, "array") && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		item := field{Types: p.Items}
		v, err := item.value(text)
		if err != nil {
			return nil, err
		}
		return json.Marshal([]jsontext.Value{v})
	}
	return nil, errWrongType
}

// typed converts a text to a value of one type.
func typed(t, text string) (jsontext.Value, error) {
	raw := jsontext.Value(strings.TrimSpace(text))
	if !raw.IsValid() {
		return nil, errWrongType
	}
	switch t {
	case "integer":
		if n, err := strconv.ParseFloat(string(raw), 64); err != nil || n != float64(int64(n)) {
			return nil, errWrongType
		}
	default:
		if kindName(raw) != t {
			return nil, errWrongType
		}
	}
	return raw, nil
}

// arguments parses name=value and name:=JSON by the tool's schema, and adds them to an
// object.
func (f *form) arguments(into map[string]jsontext.Value, words []string) error {
	given := map[string]bool{}
	for _, w := range words {
		name, text, ok := strings.Cut(w, "=")
		if !ok || name == "" || name == ":" {
			return console.Usagef("invalid argument %q: want name=value or name:=JSON", w)
		}
		if short, raw := strings.CutSuffix(name, ":"); raw {
			v := jsontext.Value(strings.TrimSpace(text))
			if !v.IsValid() {
				return console.Usagef("invalid value of %s: want JSON, got %q", short, text)
			}
			into[short], given[short] = v, true
			continue
		}
		p := f.find(name)
		v, err := p.value(text)
		if err != nil {
			return console.Usagef("invalid value of %s: want %s, got %q", name, p.wants(), text)
		}
		if given[name] {
			if p == nil || !slices.Contains(p.Types, "array") {
				return console.Usagef("duplicate argument %s", name)
			}
			// A repeated argument is a list.
			v, err = json.Marshal(append(as[[]jsontext.Value](into[name]), as[[]jsontext.Value](v)...))
			if err != nil {
				return err
			}
		}
		into[name], given[name] = v, true
	}
	return nil
}

// check finds arguments that the server would reject, and suggests similar names.
func (f *form) check(args map[string]jsontext.Value) error {
	for name := range args {
		if f.Closed && f.find(name) == nil {
			text := fmt.Sprintf("unknown argument %q", name)
			if best := console.Near(name, f.names()); len(best) > 0 {
				text += "; did you mean " + strings.Join(best, " or ") + "?"
			}
			return errors.New(text)
		}
	}
	for _, p := range f.Fields {
		if _, ok := args[p.Name]; p.Required && !ok {
			return fmt.Errorf("missing argument %s (%s)", p.Name, console.OneLine(p.kinds()))
		}
	}
	return nil
}
