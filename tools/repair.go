package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/mcp"
)

// Models make known mistakes in arguments: lists and numbers sent as strings, null for
// an absent value, another spelling of a name, another letter case. Where only one
// meaning is possible, the argument is repaired. Unknown arguments are ignored, and the
// answer names them.

// repair returns the arguments of a call in a form that matches the schema, and notes
// for the answer. Its error is a *mcp.ToolError whose text has the four parts of a
// refusal.
func (d *definition) repair(raw json.RawMessage) (json.RawMessage, []string, error) {
	m := repairer{tool: d.name, instead: d.instead}
	args := m.object(raw, d.props, d.refuse, "")
	if len(d.needs) > 0 && !hasAny(args, d.needs) {
		either := strings.Join(d.needs, " or ")
		m.fail("It requires "+either+".", "Next: "+repeat()+" with "+either+".")
	}
	if m.err != nil {
		return nil, nil, m.err
	}
	var notes []string
	if len(m.ignored) > 0 {
		note := "Ignored, because " + d.name + " has no such argument: " + inlineList(m.ignored, 600) + "."
		if hint := d.hint(m.ignored); hint != "" {
			note += " " + hint
		}
		notes = append(notes, note)
	}
	return args, append(notes, m.notes...), nil
}

// hasAny reports whether an object has one of the members, and it is not an empty string.
func hasAny(args json.RawMessage, names []string) bool {
	for name, v := range rawjson.Members(args) {
		if slices.Contains(names, name) && string(v) != `""` {
			return true
		}
	}
	return false
}

// hint says what to use instead of an ignored argument.
func (d *definition) hint(ignored []string) string {
	for _, name := range ignored {
		if h := d.elsewhere[name]; h != "" {
			return h
		}
	}
	return ""
}

// A repairer repairs the arguments of one call.
type repairer struct {
	tool    string
	instead string // the call to make in place of one with a refused argument
	ignored []string
	notes   []string
	err     error // the first argument that cannot be repaired
}

func (m *repairer) fail(why, next string) {
	if m.err == nil {
		r := refusal{what: "Refused: " + mention(m.tool) + ".", state: "Nothing has changed.", why: why, next: next}
		m.err = &mcp.ToolError{Text: visible.Text(r.Error())}
	}
}

// object repairs the members of an object; at is its path in the arguments.
func (m *repairer) object(raw json.RawMessage, props []prop, refuse map[string]string, at string) json.RawMessage {
	values := map[string]json.RawMessage{}
	for name, v := range rawjson.Members(raw) {
		if len(v) == 0 || v[0] == 'n' {
			continue
		}
		if why := refuse[name]; why != "" {
			m.fail(why, "Next: if it is not done, "+m.instead+"; otherwise "+repeat()+" without "+name+".")
			return nil
		}
		p := find(props, name)
		if p == nil {
			m.ignore(at + name)
			continue
		}
		if _, twice := values[p.name]; twice && name != p.name {
			m.ignore(at + name)
			continue
		}
		if v = m.value(v, p, at+p.name); v != nil {
			values[p.name] = v
		}
	}
	b := []byte{'{'}
	var missing []string
	for _, p := range props {
		v, ok := values[p.name]
		if !ok {
			if p.required {
				missing = append(missing, p.name)
			}
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(b, must(jsonv2.Marshal(p.name))...), ':')
		b = append(b, v...)
	}
	if len(missing) > 0 {
		where := ""
		if at != "" {
			where = " in " + strings.TrimSuffix(at, ".")
		}
		m.fail("It requires "+strings.Join(missing, " and ")+where+".",
			fmt.Sprintf("Next: "+repeat()+" with %s.", strings.Join(missing, " and ")))
	}
	return append(b, '}')
}

func (m *repairer) ignore(name string) {
	name = visible.Cut(name, 60)
	if len(m.ignored) < 10 && !slices.Contains(m.ignored, name) {
		m.ignored = append(m.ignored, name)
	}
}

// find returns the argument that a name stands for: taskId is task, dependsOn is
// depends_on.
func find(props []prop, name string) *prop {
	snake := snakeCase(name)
	for _, same := range []func(*prop) bool{
		func(p *prop) bool { return p.name == name },
		func(p *prop) bool { return p.name == snake },
		func(p *prop) bool { return slices.Contains(p.aliases, snake) },
	} {
		for i := range props {
			if same(&props[i]) {
				return &props[i]
			}
		}
	}
	return nil
}

func snakeCase(s string) string {
	var b strings.Builder
	wasLower := false
	for _, r := range s {
		switch {
		case r == '-' || r == ' ':
			r = '_'
		case unicode.IsUpper(r):
			if wasLower {
				b.WriteByte('_')
			}
			r = unicode.ToLower(r)
			wasLower = false
			b.WriteRune(r)
			continue
		}
		wasLower = r != '_'
		b.WriteRune(r)
	}
	return b.String()
}

// value repairs one value. It returns nil if the value is absent or cannot be repaired.
func (m *repairer) value(v json.RawMessage, p *prop, at string) json.RawMessage {
	switch p.kind {
	case text:
		return m.text(v, p, at)
	case number:
		return m.number(v, p, at)
	case flag:
		return m.flag(v, at)
	case list:
		return m.list(v, p, at)
	default:
		return m.objects(v, p, at)
	}
}

func (m *repairer) text(v json.RawMessage, p *prop, at string) json.RawMessage {
	s, ok := plain(v)
	if !ok && v[0] == '[' && p.commas {
		var parts []string
		for _, e := range elements(v) {
			if part, ok := plain(e); ok {
				parts = append(parts, part)
			}
		}
		s, ok = strings.Join(parts, ", "), true
	}
	if !ok {
		m.fail(at+" must be a string, not "+kindOf(v)+".", "Next: "+repeat()+" with a string for "+at+".")
		return nil
	}
	if p.enum == nil {
		return quote(s)
	}
	if s = choice(s, p); s == "" && !slices.Contains(p.enum, "") {
		return nil
	}
	if !slices.Contains(p.enum, s) {
		m.fail(fmt.Sprintf("%s must be one of %s, not %s.", at, strings.Join(p.enum, ", "), inline(s, 40)),
			"Next: "+repeat()+" with one of them.")
		return nil
	}
	return quote(s)
}

// choice returns the value of an enum that s stands for, or s in snake case.
func choice(s string, p *prop) string {
	s = strings.ReplaceAll(snakeCase(strings.ToLower(strings.TrimSpace(s))), "__", "_")
	if slices.Contains(p.enum, s) {
		return s
	}
	if slices.Contains(p.enum, "urgent") { // a priority
		switch strings.TrimPrefix(s, "p") {
		case "0", "critical", "highest", "blocker":
			return "urgent"
		case "1", "important":
			return "high"
		case "2", "medium", "default":
			return "normal"
		case "3", "4", "lowest", "minor":
			return "low"
		}
	}
	return s
}

func (m *repairer) number(v json.RawMessage, p *prop, at string) json.RawMessage {
	s, _ := plain(v)
	s = strings.TrimSpace(s)
	n, err := strconv.ParseFloat(strings.TrimRight(strings.TrimSuffix(s, "%"), "s "), 64)
	if v[0] == '[' || v[0] == '{' || v[0] == 't' || v[0] == 'f' || err != nil || n != n {
		if s == "" && v[0] == '"' {
			return nil
		}
		m.fail(at+" must be an integer, not "+kindOf(v)+".", "Next: "+repeat()+" with an integer for "+at+".")
		return nil
	}
	most := 1e9
	if p.max > 0 {
		most = float64(p.max)
	}
	if n < 0 || n > most {
		n = min(max(n, 0), most)
		m.notes = append(m.notes, fmt.Sprintf("%s was set to %d: the range is 0 to %d.", at, int(n), int(most)))
	}
	return json.RawMessage(strconv.Itoa(int(n)))
}

func (m *repairer) flag(v json.RawMessage, at string) json.RawMessage {
	s, _ := plain(v)
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "yes", "1", "on":
		return json.RawMessage("true")
	case "false", "no", "0", "off":
		return json.RawMessage("false")
	case "":
		if v[0] == '"' {
			return nil
		}
	}
	m.fail(at+" must be true or false, not "+kindOf(v)+".", "Next: "+repeat()+" with true or false for "+at+".")
	return nil
}

func (m *repairer) list(v json.RawMessage, p *prop, at string) json.RawMessage {
	v = unwrap(v)
	if v[0] != '[' {
		s, ok := plain(v)
		switch {
		case ok && p.commas:
			v = must(jsonv2.Marshal(append([]string{}, board.SplitList(s)...)))
		case ok && strings.TrimSpace(s) == "":
			return nil
		default:
			v = slices.Concat(json.RawMessage("["), v, json.RawMessage("]"))
		}
	}
	one := prop{kind: text, enum: p.enum}
	out := []byte{'['}
	for _, e := range elements(v) {
		if e[0] == 'n' {
			continue
		}
		if e[0] == '{' {
			e = flatten(e)
		}
		s := m.text(e, &one, at)
		if s == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, s...)
	}
	return append(out, ']')
}

func (m *repairer) objects(v json.RawMessage, p *prop, at string) json.RawMessage {
	v = unwrap(v)
	if v[0] != '[' {
		if s, ok := plain(v); ok && strings.TrimSpace(s) == "" {
			return nil
		}
		v = slices.Concat(json.RawMessage("["), v, json.RawMessage("]"))
	}
	out := []byte{'['}
	for i, e := range elements(v) {
		if e[0] == 'n' {
			continue
		}
		e = unwrap(e)
		if s, ok := plain(e); ok && p.plain != "" {
			e = must(jsonv2.Marshal(map[string]string{"kind": "other", p.plain: s}))
		}
		if e[0] != '{' {
			m.fail(at+" must contain objects, not "+kindOf(e)+".", "Next: "+repeat()+" with objects in "+at+".")
			return nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, m.object(e, p.items, nil, fmt.Sprintf("%s[%d].", at, i))...)
	}
	return append(out, ']')
}

// plain returns a string, a number or a boolean as text.
func plain(v json.RawMessage) (string, bool) {
	switch v[0] {
	case '"':
		return rawjson.Text(v), true
	case '[', '{', 'n':
		return "", false
	}
	return string(v), true
}

// unwrap returns the list or object that a string contains as JSON, else v.
func unwrap(v json.RawMessage) json.RawMessage {
	if v[0] != '"' {
		return v
	}
	in := bytes.TrimSpace([]byte(rawjson.Text(v)))
	if len(in) > 1 && (in[0] == '[' || in[0] == '{') && jsontext.Value(in).IsValid() {
		return json.RawMessage(in)
	}
	return v
}

// elements returns the values of an array.
func elements(v json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	if jsonv2.Unmarshal(v, &out, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return out
}

// flatten joins the texts of an object such as {title, description} into one string.
func flatten(v json.RawMessage) json.RawMessage {
	var parts []string
	for _, want := range []string{"title", "name", "description", "text", "kind"} {
		for name, member := range rawjson.Members(v) {
			if s, ok := plain(member); ok && name == want && s != "" {
				parts = append(parts, s)
			}
		}
	}
	if parts == nil {
		return quote(string(v))
	}
	return quote(strings.Join(parts, "\n\n"))
}

// quote returns s as a JSON string.
func quote(s string) json.RawMessage {
	return must(jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD")))
}

// kindOf describes a value of the wrong type.
func kindOf(v json.RawMessage) string {
	switch v[0] {
	case '"':
		return "the string " + inline(rawjson.Text(v), 40)
	case '[':
		return "a list"
	case '{':
		return "an object"
	case 't', 'f':
		return string(v)
	}
	return "the number " + visible.Cut(string(v), 40)
}
