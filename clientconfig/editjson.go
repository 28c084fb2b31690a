package clientconfig

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

// jsonEditor edits JSON, with or without comments and trailing commas.
type jsonEditor struct{}

var bom = []byte("\ufeff")

// A jsonText is a parsed text and how it is laid out.
type jsonText struct {
	body    []byte
	root    hujson.Value
	unit    string // of indentation
	newline string
	lines   bool // members are on lines of their own
}

func newJSONText(body []byte) (*jsonText, error) {
	t := &jsonText{body: body, unit: "  ", newline: newline(body), lines: true}
	if len(bytes.TrimSpace(body)) == 0 {
		t.body = []byte("{}\n")
	}
	var err error
	if t.root, err = hujson.Parse(t.body); err != nil {
		return nil, err
	}
	items := itemsOf(&t.root)
	if len(items) == 0 {
		return t, nil
	}
	t.lines = bytes.IndexByte(t.body[t.root.StartOffset:t.root.EndOffset], '\n') >= 0
	if first := items[0].start; startsLine(t.body, first) {
		outer, inner := lineIndent(t.body, t.root.StartOffset), lineIndent(t.body, first)
		if unit, ok := strings.CutPrefix(inner, outer); ok && unit != "" {
			t.unit = unit
		}
	}
	return t, nil
}

// An item is a member of an object or an element of a list.
type item struct {
	start, end int
	name       string
	value      *hujson.Value
}

func itemsOf(v *hujson.Value) (items []item) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			m := &c.Members[i]
			name, _ := m.Name.Value.(hujson.Literal)
			items = append(items, item{m.Name.StartOffset, m.Value.EndOffset, name.String(), &m.Value})
		}
	case *hujson.Array:
		for i := range c.Elements {
			e := &c.Elements[i]
			items = append(items, item{e.StartOffset, e.EndOffset, "", e})
		}
	}
	return items
}

// A jsonPlace is where a change leads: the deepest container that is there, the item in it, and the
// names that are missing.
type jsonPlace struct {
	in      []*hujson.Value // containers, outermost first
	index   []int           // of the items on the way, one for each container, or one less
	missing []string
}

func (t *jsonText) locate(c *change) jsonPlace {
	p := jsonPlace{in: []*hujson.Value{&t.root}}
	for i, name := range c.path {
		items := itemsOf(p.in[len(p.in)-1])
		at := slices.IndexFunc(items, func(it item) bool { return it.name == name })
		if at < 0 {
			p.missing = c.path[i:]
			return p
		}
		p.index = append(p.index, at)
		if i == len(c.path)-1 && c.ours == nil {
			return p
		}
		switch items[at].value.Value.(type) {
		case *hujson.Object, *hujson.Array:
			p.in = append(p.in, items[at].value)
		default: // null: its value is replaced
			p.missing = c.path[i+1:]
			return p
		}
	}
	tree, _ := parse("json", t.body)
	v := any(tree)
	for _, name := range c.path {
		v = v.(map[string]any)[name]
	}
	list, _ := v.([]any)
	if at := slices.IndexFunc(list, c.ours); at >= 0 {
		p.index = append(p.index, at)
	}
	return p
}

// found returns the item that a change leads to, if it is there.
func (p *jsonPlace) found(c *change) (item, bool) {
	if len(p.missing) > 0 || len(p.index) < len(p.in) || c.ours != nil && len(p.in) <= len(c.path) {
		return item{}, false
	}
	last := len(p.in) - 1
	return itemsOf(p.in[last])[p.index[last]], true
}

func (jsonEditor) find(text []byte, c *change) []byte {
	t, err := newJSONText(bytes.TrimPrefix(text, bom))
	if err != nil {
		return nil
	}
	p := t.locate(c)
	it, ok := p.found(c)
	if !ok {
		return nil
	}
	return t.body[it.value.StartOffset:it.value.EndOffset]
}

func (jsonEditor) put(text []byte, c *change) ([]byte, error) {
	body, marked := bytes.CutPrefix(text, bom)
	t, err := newJSONText(body)
	if err != nil {
		return nil, err
	}
	p := t.locate(c)
	var out []byte
	if it, ok := p.found(c); ok {
		lines := t.lines && bytes.IndexByte(t.body[it.value.StartOffset:it.value.EndOffset], '\n') >= 0
		out = splice(t.body, it.value.StartOffset, it.value.EndOffset, t.renderValue(c, lineIndent(t.body, it.start), lines))
	} else {
		out = t.insert(&p, c)
	}
	if marked {
		out = slices.Concat(bom, out)
	}
	return out, nil
}

// insert adds what is missing.
func (t *jsonText) insert(p *jsonPlace, c *change) []byte {
	last := len(p.in) - 1
	if len(p.index) == len(p.in) { // null
		v := itemsOf(p.in[last])[p.index[last]].value
		return splice(t.body, v.StartOffset, v.EndOffset, t.render(c, p.missing, lineIndent(t.body, v.StartOffset), t.lines))
	}
	return t.add(p.in[last], func(indent string, lines bool) []byte {
		if len(p.missing) == 0 { // an element of a list that is there
			return t.renderValue(c, indent, lines)
		}
		return append([]byte(quoteJSON(p.missing[0])+": "), t.render(c, p.missing[1:], indent, lines)...)
	})
}

// add adds an item to a container.
func (t *jsonText) add(in *hujson.Value, text func(indent string, lines bool) []byte) []byte {
	items := itemsOf(in)
	end := in.EndOffset - 1
	if len(items) == 0 {
		inner := t.body[in.StartOffset+1 : end]
		if !t.lines && bytes.IndexByte(inner, '\n') < 0 {
			return splice(t.body, end, end, text("", false))
		}
		base := lineIndent(t.body, in.StartOffset)
		kept := bytes.TrimRight(inner, " \t\r\n")
		tail := string(inner[len(kept):])
		if !strings.Contains(tail, "\n") {
			tail = t.newline + base
		}
		indent := base + t.unit
		added := slices.Concat([]byte(t.newline+indent), text(indent, true), []byte(tail))
		return splice(t.body, in.StartOffset+1+len(kept), end, added)
	}
	prev := items[len(items)-1]
	gap := t.body[prev.end:end]
	at := prev.end + len(bytes.TrimRight(gap, " \t\r\n"))
	lines := startsLine(t.body, prev.start) || bytes.IndexByte(gap, '\n') >= 0
	var added []byte
	if lines {
		indent := lineIndent(t.body, prev.start)
		if !startsLine(t.body, prev.start) {
			indent += t.unit
		}
		added = append([]byte(t.newline+indent), text(indent, true)...)
	} else {
		added = append([]byte(" "), text("", false)...)
	}
	out := t.body
	if t.trailingComma(in) {
		added = append(added, ',')
		return splice(out, at, at, added)
	}
	return splice(splice(out, at, at, added), prev.end, prev.end, []byte(","))
}

func (t *jsonText) trailingComma(in *hujson.Value) bool {
	items := itemsOf(in)
	return len(items) > 0 && items[len(items)-1].value.AfterExtra != nil
}

// render returns the value of a change within objects for the names that are missing, and within a list.
func (t *jsonText) render(c *change, missing []string, indent string, lines bool) []byte {
	if len(missing) == 0 && c.ours == nil {
		return t.renderValue(c, indent, lines)
	}
	inner := indent
	if lines {
		inner += t.unit
	}
	var inside []byte
	open, end := "{", "}"
	switch {
	case len(missing) > 0:
		inside = append([]byte(quoteJSON(missing[0])+": "), t.render(c, missing[1:], inner, lines)...)
	default:
		open, end = "[", "]"
		inside = t.renderValue(c, inner, lines)
	}
	if !lines {
		return slices.Concat([]byte(open), inside, []byte(end))
	}
	return slices.Concat([]byte(open+t.newline+inner), inside, []byte(t.newline+indent+end))
}

func (t *jsonText) renderValue(c *change, indent string, lines bool) []byte {
	if c.raw != nil {
		return c.raw
	}
	return t.appendValue(nil, c.value, indent, lines)
}

func (t *jsonText) appendValue(b []byte, v any, indent string, lines bool) []byte {
	between, inner, end := ", ", indent, ""
	if lines {
		inner = indent + t.unit
		between, end = ","+t.newline+inner, t.newline+indent
	}
	switch v := v.(type) {
	case string:
		return append(b, quoteJSON(v)...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case []any:
		simple := !slices.ContainsFunc(v, func(e any) bool { _, ok := e.(ordered); return ok })
		if simple || !lines {
			between, end = ", ", ""
		}
		b = append(b, '[')
		for i, e := range v {
			switch {
			case i > 0:
				b = append(b, between...)
			case end != "":
				b = append(b, t.newline+inner...)
			}
			b = t.appendValue(b, e, inner, lines)
		}
		return append(append(b, end...), ']')
	case ordered:
		if len(v) == 0 {
			return append(b, "{}"...)
		}
		b = append(b, '{')
		for i, m := range v {
			switch {
			case i > 0:
				b = append(b, between...)
			case lines:
				b = append(b, t.newline+inner...)
			}
			b = append(b, quoteJSON(m.name)+": "...)
			b = t.appendValue(b, m.value, inner, lines)
		}
		return append(append(b, end...), '}')
	}
	panic("clientconfig: a value of another type")
}

func (jsonEditor) cut(text []byte, c *change) ([]byte, error) {
	body, marked := bytes.CutPrefix(text, bom)
	t, err := newJSONText(body)
	if err != nil {
		return nil, err
	}
	p := t.locate(c)
	if _, ok := p.found(c); !ok {
		return text, nil
	}
	depth := len(p.in) - 1
	for depth > 0 && t.alone(itemsOf(p.in[depth-1])[p.index[depth-1]], itemsOf(p.in[depth])) {
		depth--
	}
	out := t.remove(p.in[depth], p.index[depth])
	if marked {
		out = slices.Concat(bom, out)
	}
	return out, nil
}

// alone reports whether a container has one item and no comment.
func (t *jsonText) alone(container item, items []item) bool {
	return len(items) == 1 && bytes.IndexByte(t.body[container.start:items[0].start], '/') < 0 &&
		bytes.IndexByte(t.body[items[0].end:container.end], '/') < 0
}

// remove removes an item from a container.
func (t *jsonText) remove(in *hujson.Value, i int) []byte {
	items := itemsOf(in)
	it := items[i]
	start, end := it.start, it.end
	comma := nextComma(t.body, end)
	switch {
	case comma >= 0 && bytes.IndexByte(t.body[end:comma], '/') >= 0:
		return splice(splice(t.body, comma, comma+1, nil), start, end, nil) // a comment is before the comma
	case comma >= 0:
		end = comma + 1
	}
	// The line that the item begins is removed with it, unless a comment would then comment out what follows.
	before := bytes.TrimRight(t.body[:start], " \t\r\n")
	after := bytes.TrimLeft(t.body[end:], " \t")
	if startsLine(t.body, start) && (bytes.HasPrefix(after, []byte("\n")) || bytes.HasPrefix(after, []byte("\r\n"))) {
		start = len(before)
	} else if i < len(items)-1 {
		end = len(t.body) - len(after)
	}
	out := splice(t.body, start, end, nil)
	if i > 0 && i == len(items)-1 && comma < 0 {
		at := nextComma(t.body, items[i-1].end)
		out = splice(out, at, at+1, nil)
		if start == it.start { // on the line of the item before
			rest := bytes.TrimLeft(out[at:], " \t")
			if len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') {
				out = append(slices.Clone(out[:at]), rest...)
			}
		}
	}
	return out
}

// nextComma returns the offset of the comma after an item, -1 if there is none.
func nextComma(text []byte, at int) int {
	for at < len(text) {
		rest := text[at:]
		switch {
		case text[at] == ',':
			return at
		case bytes.HasPrefix(rest, []byte("//")):
			at += endOf(rest, "\n", 0)
		case bytes.HasPrefix(rest, []byte("/*")):
			at += endOf(rest, "*/", 2)
		case strings.IndexByte(" \t\r\n", text[at]) >= 0:
			at++
		default:
			return -1
		}
	}
	return -1
}

func quoteJSON(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic("clientconfig: a name that is not UTF-8")
	}
	return string(b)
}

// splice returns text with [from, to) replaced.
func splice(text []byte, from, to int, by []byte) []byte {
	return slices.Concat(text[:from], by, text[to:])
}
