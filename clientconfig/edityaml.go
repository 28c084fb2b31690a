package clientconfig

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlEditor edits YAML. A value is a block of lines in a mapping at the top of the document; a new one
// comes first in it.
type yamlEditor struct{}

// A yamlText is the lines of a text and the mapping that has the value of a change.
type yamlText struct {
	lines      [][]byte // with their ends
	newline    string
	indent     string     // of the keys at the top
	key, value *yaml.Node // of the mapping, nil if there is none
	at         int        // the index of the entry in value, -1 if there is none
	broken     bool       // written in a way that is not changed
}

func newYAMLText(text []byte, c *change) (*yamlText, error) {
	t := &yamlText{lines: bytes.SplitAfter(text, []byte("\n")), newline: newline(text), at: -1}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	// YAML has other line breaks, which are not counted here.
	odd := bytes.ContainsAny(bytes.ReplaceAll(text, []byte("\r\n"), nil), "\r\u0085\u2028\u2029")
	t.broken = odd || len(c.path) != 2 || c.ours != nil
	if t.broken || doc.Kind == 0 || doc.Content[0].ShortTag() == "!!null" {
		return t, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode || top.Style&yaml.FlowStyle != 0 || len(top.Content) == 0 {
		t.broken = true
		return t, nil
	}
	t.indent = strings.Repeat(" ", top.Content[0].Column-1)
	i := keyIndex(top, c.path[0])
	if i < 0 {
		return t, nil
	}
	t.key, t.value = top.Content[i], top.Content[i+1]
	if t.value.Kind == yaml.MappingNode {
		t.at = keyIndex(t.value, c.path[1])
	}
	return t, nil
}

// keyIndex returns the index of a key in a mapping, -1 if it is missing.
func keyIndex(m *yaml.Node, name string) int {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return i
		}
	}
	return -1
}

// block returns the lines of a key and its value. Empty lines and comments after it are not part of it.
func (t *yamlText) block(key *yaml.Node) (start, end int) {
	start = key.Line - 1
	end = start + 1
	for i := end; i < len(t.lines); i++ {
		line := bytes.TrimLeft(t.lines[i], " ")
		deeper := len(t.lines[i])-len(line) >= key.Column
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0 || line[0] == '#':
		case deeper || line[0] == '-' && len(t.lines[i])-len(bytes.TrimLeft(t.lines[i], " ")) == key.Column-1:
			end = i + 1
		default:
			return start, end
		}
	}
	return start, end
}

func (t *yamlText) join(start, end int, by []byte) []byte {
	return slices.Concat(bytes.Join(t.lines[:start], nil), by, bytes.Join(t.lines[end:], nil))
}

// keyLine returns the line of the mapping's key up to the colon, and what is behind it.
func (t *yamlText) keyLine() (head, tail []byte, ok bool) {
	line := t.lines[t.key.Line-1]
	at := min(t.key.Column-1, len(line))
	colon := bytes.IndexByte(line[at:], ':')
	if colon < 0 {
		return nil, nil, false
	}
	head = line[:at+colon+1]
	return head, bytes.TrimSpace(line[len(head):]), true
}

// inBlock reports whether the mapping is written as lines, and its key begins one.
func (t *yamlText) inBlock() bool {
	return t.value.Kind == yaml.MappingNode && t.value.Style&yaml.FlowStyle == 0 && len(t.value.Content) > 0
}

func (yamlEditor) find(text []byte, c *change) []byte {
	t, err := newYAMLText(text, c)
	if err != nil || t.broken || t.at < 0 || !t.inBlock() {
		return nil
	}
	start, end := t.block(t.value.Content[t.at])
	return bytes.Join(t.lines[start:end], nil)
}

func (yamlEditor) put(text []byte, c *change) ([]byte, error) {
	t, err := newYAMLText(text, c)
	if err != nil {
		return nil, err
	}
	if t.broken {
		return nil, errByHand
	}
	unit := "  "
	render := func(indent string) []byte {
		if c.raw != nil {
			return c.raw
		}
		return appendYAML(nil, c.path[1], c.value, indent, unit, t.newline)
	}
	if t.key == nil {
		out := slices.Clone(text)
		if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, t.newline...)
		}
		out = append(out, t.indent+yamlString(c.path[0])+":"+t.newline...)
		return append(out, render(t.indent+unit)...), nil
	}
	after := t.key.Line // the line after the key
	line := t.lines[after-1]
	if !bytes.HasSuffix(line, []byte("\n")) {
		t.lines[after-1] = append(slices.Clone(line), t.newline...)
	}
	switch {
	case t.inBlock():
		indent := strings.Repeat(" ", t.value.Content[0].Column-1)
		if t.value.Content[0].Line == t.key.Line {
			return nil, errByHand
		}
		if t.at >= 0 {
			start, end := t.block(t.value.Content[t.at])
			return t.join(start, end, render(indent)), nil
		}
		return t.join(after, after, render(indent)), nil
	case t.value.Line == t.key.Line || t.value.Kind == yaml.ScalarNode && t.value.Value == "":
		// Nothing, null or {}: it is replaced by lines.
		head, tail, ok := t.keyLine()
		if !ok || t.value.Kind == yaml.AliasNode || len(t.value.Content) > 0 || t.value.Anchor != "" {
			return nil, errByHand
		}
		for _, empty := range []string{"{}", "null", "~"} {
			if cut, ok := bytes.CutPrefix(tail, []byte(empty)); ok {
				tail = bytes.TrimLeft(cut, " \t")
				break
			}
		}
		if len(tail) > 0 {
			head = append(append(slices.Clone(head), ' '), tail...)
		}
		t.lines[after-1] = append(slices.Clone(head), t.newline...)
		return t.join(after, after, render(t.indent+unit)), nil
	}
	return nil, errByHand
}

func (yamlEditor) cut(text []byte, c *change) ([]byte, error) {
	t, err := newYAMLText(text, c)
	if err != nil {
		return nil, err
	}
	if t.broken || t.at < 0 || !t.inBlock() {
		return nil, errByHand
	}
	start, end := t.block(t.value.Content[t.at])
	if len(t.value.Content) > 2 {
		return t.join(start, end, nil), nil
	}
	first, last := t.block(t.key)
	if !bytes.ContainsRune(bytes.Join(t.lines[first:start], nil), '#') && end == last {
		return t.join(first, end, nil), nil // nothing else is in it
	}
	head, tail, ok := t.keyLine()
	if !ok {
		return nil, errByHand
	}
	t.lines[first] = slices.Concat(head, []byte(" {} "), tail, []byte(t.newline))
	if len(tail) == 0 {
		t.lines[first] = slices.Concat(head, []byte(" {}"+t.newline))
	}
	return t.join(start, end, nil), nil
}

// appendYAML appends a key and its value as lines.
func appendYAML(b []byte, name string, v any, indent, unit, nl string) []byte {
	b = append(b, indent+yamlString(name)+":"...)
	o, ok := v.(ordered)
	if !ok {
		return append(appendValue(append(b, ' '), v, yamlString), nl...)
	}
	if len(o) == 0 {
		return append(b, " {}"+nl...)
	}
	b = append(b, nl...)
	for _, m := range o {
		b = appendYAML(b, m.name, m.value, indent+unit, unit, nl)
	}
	return b
}

// yamlString returns a plain word as it is, and other strings in quotes: a JSON string is one of YAML, too,
// but for some characters that YAML does not print.
func yamlString(s string) string {
	plain := strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" && s != ""
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		plain = false
	}
	if plain {
		return s
	}
	var b strings.Builder
	for _, r := range quoteJSON(s) {
		if r >= 0x7f && r <= 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			b.WriteString(`\u` + strconv.FormatInt(int64(0x10000+r), 16)[1:])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
