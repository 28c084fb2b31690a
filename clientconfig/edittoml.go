package clientconfig

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// tomlEditor edits TOML. A value is a table with a header of its own, [mcp_servers.bossman], and the tables
// below it; a new one is added at the end.
type tomlEditor struct{}

// tomlTable returns where a table is: from its header to the end of its last value. It returns false if it
// is written in another way, such as an inline table, or in several places.
func tomlTable(text []byte, path []string) (start, end int, ok bool) {
	start = -1
	inside, done := false, false
	for at := 0; at < len(text); {
		next := at + tomlStatement(text[at:])
		line := bytes.TrimLeft(text[at:next], " \t\r\n")
		switch {
		case len(line) == 0 || line[0] == '#':
		case line[0] == '[':
			header := tomlHeader(line)
			below := len(header) >= len(path) && slices.Equal(header[:len(path)], path)
			switch {
			case below && (done || bytes.HasPrefix(line, []byte("[["))):
				return 0, 0, false
			case below && start < 0:
				if len(header) > len(path) {
					return 0, 0, false
				}
				start = next - len(line)
			case !below:
				done = done || inside
			}
			if inside = below; inside {
				end = next
			}
		case inside:
			end = next
		}
		at = next
	}
	return start, end, start >= 0
}

// tomlStatement returns the length of a header, a value with its key, or a comment, with the rest of its
// line, or of an empty line.
func tomlStatement(text []byte) int {
	level := 0
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := text[i]; {
		case c == '#':
			i += len(rest)
			if at := bytes.IndexByte(rest, '\n'); at >= 0 {
				i += at - len(rest)
			}
		case c == '"' || c == '\'':
			i += endOfTOMLString(rest)
		case c == '\n' && level <= 0:
			return i + 1
		default:
			switch c {
			case '[', '{':
				level++
			case ']', '}':
				level--
			}
			i++
		}
	}
	return len(text)
}

// endOfTOMLString returns the index after a string, in single or triple quotes.
func endOfTOMLString(text []byte) int {
	q := text[:1]
	three := bytes.Repeat(q, 3)
	if !bytes.HasPrefix(text, three) {
		return endOfString(text)
	}
	for i := 3; i < len(text); i++ {
		switch {
		case text[i] == '\\' && q[0] == '"':
			i++
		case bytes.HasPrefix(text[i:], three):
			i += 3
			for range 2 { // up to two quotes may be before the three that end it
				if i < len(text) && text[i] == q[0] {
					i++
				}
			}
			return i
		}
	}
	return len(text)
}

// tomlHeader returns the key of a header.
func tomlHeader(line []byte) []string {
	var tree map[string]any
	if toml.Unmarshal(line, &tree) != nil {
		return nil
	}
	var key []string
	for len(tree) == 1 {
		for name, v := range tree {
			key = append(key, name)
			if list, ok := v.([]any); ok && len(list) == 1 {
				v = list[0]
			}
			tree, _ = v.(map[string]any)
		}
	}
	return key
}

func (tomlEditor) find(text []byte, c *change) []byte {
	start, end, ok := tomlTable(text, c.path)
	if !ok {
		return nil
	}
	return text[start:end]
}

func (tomlEditor) put(text []byte, c *change) ([]byte, error) {
	nl := newline(text)
	table := c.raw
	if table == nil {
		table = appendTOML(nil, c.path, c.value.(ordered), nl)
	}
	if start, end, ok := tomlTable(text, c.path); ok {
		return splice(text, start, end, table), nil
	}
	out := slices.Clone(text)
	if len(out) > 0 {
		if !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, nl...)
		}
		out = append(out, nl...)
	}
	return append(out, table...), nil
}

func (tomlEditor) cut(text []byte, c *change) ([]byte, error) {
	start, end, ok := tomlTable(text, c.path)
	if !ok {
		return nil, errByHand
	}
	before := text[:start]
	if kept := bytes.TrimRight(before, " \t\r\n"); len(kept) < len(before) && len(kept) > 0 {
		line := bytes.IndexByte(before[len(kept):], '\n')
		before = before[:len(kept)+line+1]
		if end < len(text) && !bytes.HasPrefix(bytes.TrimLeft(text[end:], "\r"), []byte("\n")) {
			before = text[:start]
		}
	}
	return slices.Concat(before, text[end:]), nil
}

// appendTOML appends a table, and tables for its objects behind it.
func appendTOML(b []byte, path []string, o ordered, nl string) []byte {
	b = append(b, '[')
	for i, name := range path {
		if i > 0 {
			b = append(b, '.')
		}
		b = append(b, tomlKey(name)...)
	}
	b = append(b, "]"+nl...)
	for _, m := range o {
		if _, ok := m.value.(ordered); !ok {
			b = append(b, tomlKey(m.name)+" = "...)
			b = append(appendValue(b, m.value, tomlString), nl...)
		}
	}
	for _, m := range o {
		if table, ok := m.value.(ordered); ok {
			b = append(b, nl...)
			b = appendTOML(b, append(slices.Clone(path), m.name), table, nl)
		}
	}
	return b
}

// tomlString quotes a string: a JSON string is one of TOML, too, but for the character DEL.
func tomlString(s string) string { return strings.ReplaceAll(quoteJSON(s), "\x7f", `\u007f`) }

func tomlKey(name string) string {
	bare := strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
	if bare && name != "" {
		return name
	}
	return tomlString(name)
}
