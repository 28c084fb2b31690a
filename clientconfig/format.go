package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// Limits on the contents of a file.
const (
	maxDepth   = 100
	maxValues  = 200_000
	maxServers = 1000
)

var (
	errTooDeep = fmt.Errorf("is nested more than %d deep", maxDepth)
	errTooMany = fmt.Errorf("has more than %d values", maxValues)
)

// formats parses text into a tree of map[string]any, []any, string, bool and
// other scalars, which servers do not use.
var formats = map[string]func([]byte) (map[string]any, error){
	"json":  readJSON, // clients accept comments, so we do too
	"jsonc": readJSON,
	"toml":  readTOML,
	"yaml":  readYAML,
}

// parse parses a text. An empty text has no values.
func parse(format string, text []byte) (map[string]any, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	return formats[format](text)
}

func readJSON(text []byte) (map[string]any, error) {
	if depth(text, "//", "/*") > maxDepth {
		return nil, errTooDeep
	}
	plain, err := hujson.Standardize(bytes.Clone(text)) // it changes its argument
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
			return nil, errors.New("has a duplicate name" + where)
		}
		return nil, errors.New("is not JSON" + where)
	}
	return object(v)
}

func readTOML(text []byte) (map[string]any, error) {
	if depth(text, "#", "") > maxDepth {
		return nil, errTooDeep
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
	if deeper(v, maxDepth) { // a key with dots has no brackets
		return nil, errTooDeep
	}
	return v, nil
}

// deeper reports whether objects and lists of a tree are nested more than levels deep.
func deeper(v any, levels int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, child := range v {
			if levels == 0 || deeper(child, levels-1) {
				return true
			}
		}
	case []any:
		return len(v) > 0 && levels == 0 || slices.ContainsFunc(v, func(child any) bool { return deeper(child, levels-1) })
	}
	return false
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
	v, err := yamlValue(&n, 0, &left)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	return object(v)
}

// A yamlScalar is a number or a date, which servers do not use.
type yamlScalar string

// yamlValue converts a YAML node to plain values. Aliases count each time, so
// that a few lines cannot expand to billions of values.
func yamlValue(n *yaml.Node, deep int, left *int) (any, error) {
	if deep > maxDepth {
		return nil, errTooDeep
	}
	if *left--; *left < 0 {
		return nil, errTooMany
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return yamlValue(n.Content[0], deep, left)
	case yaml.AliasNode:
		return yamlValue(n.Alias, deep+1, left)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := yamlValue(c, deep+1, left)
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
				return nil, fmt.Errorf("has a key in line %d that is not a string", k.Line)
			}
			if _, duplicate := m[k.Value]; duplicate {
				return nil, fmt.Errorf("has a duplicate key %q in line %d", k.Value, k.Line)
			}
			v, err := yamlValue(n.Content[i+1], deep+1, left)
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
			return nil, fmt.Errorf("has an invalid boolean in line %d", n.Line)
		}
		return b, nil
	}
	return yamlScalar(n.ShortTag() + " " + n.Value), nil
}

func object(v any) (map[string]any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("wrong type: want object, got %s", kindOf(v))
	}
	return m, nil
}

// depth returns how deep brackets are nested, outside of strings and comments.
// It protects recursive parsers from text that is not well-formed.
func depth(text []byte, comment, block string) int {
	level, deepest := 0, 0
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := text[i]; {
		case bytes.HasPrefix(rest, []byte(comment)):
			i += endOf(rest, "\n", 0)
			continue
		case block != "" && bytes.HasPrefix(rest, []byte(block)):
			i += endOf(rest, "*/", len(block))
			continue
		case c == '"' || c == '\'' && comment == "#":
			i += endOfString(rest)
			continue
		case c == '[' || c == '{':
			level++
			deepest = max(deepest, level)
		case c == ']' || c == '}':
			level = max(0, level-1)
		}
		i++
	}
	return deepest
}

// endOf returns the index after the first mark.
func endOf(text []byte, mark string, from int) int {
	if at := bytes.Index(text[from:], []byte(mark)); at >= 0 {
		return from + at + len(mark)
	}
	return len(text)
}

// endOfString returns the index after a string, in single or triple quotes.
func endOfString(text []byte) int {
	q := text[:1]
	if three := bytes.Repeat(q, 3); bytes.HasPrefix(text, three) {
		return endOf(text, string(three), 3)
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

// kindOf returns the type of a value, for error messages.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "list"
	case map[string]any:
		return "object"
	}
	return "number"
}
