package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// Bounds on what a file may hold.
const (
	maxDepth  = 100
	maxValues = 200_000
)

var (
	errDeep = fmt.Errorf("is nested more than %d deep", maxDepth)
	errMany = fmt.Errorf("has more than %d values", maxValues)
)

// formats read a text as one tree of map[string]any, []any, string, bool, and other
// scalars that no client's servers are made of.
var formats = map[string]func([]byte) (map[string]any, error){
	"json":  readJSON, // clients are lenient about comments, and so are we
	"jsonc": readJSON,
	"toml":  readTOML,
	"yaml":  readYAML,
}

// parse reads a text. An empty one holds nothing.
func parse(format string, text []byte) (map[string]any, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	return formats[format](text)
}

func readJSON(text []byte) (map[string]any, error) {
	if depth(text, "//", "/*") > maxDepth {
		return nil, errDeep
	}
	plain, err := hujson.Standardize(text)
	if err != nil {
		return nil, fmt.Errorf("is not JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	var v any
	if err := json.Unmarshal(plain, &v); err != nil {
		where := ""
		if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			where = fmt.Sprintf(" in line %d", 1+bytes.Count(plain[:min(int(e.ByteOffset), len(plain))], []byte("\n")))
		}
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return nil, errors.New("has a name twice" + where)
		}
		return nil, errors.New("is not JSON" + where)
	}
	return object(v)
}

func readTOML(text []byte) (map[string]any, error) {
	if depth(text, "#", "") > maxDepth {
		return nil, errDeep
	}
	var v map[string]any
	if err := toml.Unmarshal(text, &v); err != nil {
		where := ""
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, column := e.Position()
			where = fmt.Sprintf(" in line %d, column %d", row, column)
		}
		return nil, fmt.Errorf("is not TOML%s: %s", where, strings.TrimPrefix(err.Error(), "toml: "))
	}
	return v, nil
}

func readYAML(text []byte) (map[string]any, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if n.Kind == 0 {
		return nil, nil
	}
	left := maxValues
	v, err := tree(&n, 0, &left)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	return object(v)
}

// tree is a YAML node as plain values. Aliases count each time, so that a few lines
// cannot stand for billions of values.
func tree(n *yaml.Node, deep int, left *int) (any, error) {
	if deep > maxDepth {
		return nil, errDeep
	}
	if *left--; *left < 0 {
		return nil, errMany
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return tree(n.Content[0], deep, left)
	case yaml.AliasNode:
		return tree(n.Alias, deep+1, left)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := tree(c, deep+1, left)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("has a key in line %d that is no text", k.Line)
			}
			if _, twice := m[k.Value]; twice {
				return nil, fmt.Errorf("has %q twice, in line %d", k.Value, k.Line)
			}
			v, err := tree(n.Content[i+1], deep+1, left)
			if err != nil {
				return nil, err
			}
			m[k.Value] = v
		}
		return m, nil
	}
	switch n.ShortTag() {
	case "!!str":
		return n.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return nil, fmt.Errorf("has no boolean in line %d", n.Line)
		}
		return b, nil
	}
	return math.NaN(), nil // a number, a date: nothing that a server is made of
}

func object(v any) (map[string]any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("holds %s, not an object", kind(v))
	}
	return m, nil
}

// depth is how deep brackets are nested outside of strings and comments. It is for
// texts that may not be well-formed, before a parser that follows every one of them.
func depth(text []byte, comment, block string) int {
	deep, most := 0, 0
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := text[i]; {
		case bytes.HasPrefix(rest, []byte(comment)):
			i += end(rest, "\n", 0)
			continue
		case block != "" && bytes.HasPrefix(rest, []byte(block)):
			i += end(rest, "*/", len(block))
			continue
		case c == '"' || c == '\'' && comment == "#":
			i += quoted(rest)
			continue
		case c == '[' || c == '{':
			deep++
			most = max(most, deep)
		case c == ']' || c == '}':
			deep = max(0, deep-1)
		}
		i++
	}
	return most
}

// end is where a piece of text ends that goes up to a mark.
func end(text []byte, mark string, from int) int {
	if at := bytes.Index(text[from:], []byte(mark)); at >= 0 {
		return from + at + len(mark)
	}
	return len(text)
}

// quoted is where a string ends, in one line or within three quotes.
func quoted(text []byte) int {
	q := text[:1]
	if three := bytes.Repeat(q, 3); bytes.HasPrefix(text, three) {
		return end(text, string(three), 3)
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && q[0] == '"':
			i++
		case text[i] == q[0], text[i] == '\n':
			return i + 1
		}
	}
	return len(text)
}

// kind is what a value is, for messages.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
