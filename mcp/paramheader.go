package mcp

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/mcp/internal/link"
)

// A paramHeader is an argument of a tool that clients repeat in a header, so
// that proxies can route requests by it.
type paramHeader struct {
	name string   // header name
	path []string // path of the argument
	kind string   // string, integer or boolean
}

const (
	headerKeyword = "x-mcp-header"
	headerPrefix  = "Mcp-Param-"
)

// paramHeaders returns the arguments of an input schema that have a header.
func paramHeaders(schema json.RawMessage) ([]paramHeader, error) {
	var all []paramHeader
	if err := addParamHeaders(&all, schema, nil); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, h := range all {
		key := strings.ToLower(h.name)
		if seen[key] {
			return nil, fmt.Errorf("duplicate %s %q", headerKeyword, h.name)
		}
		seen[key] = true
	}
	return all, nil
}

func addParamHeaders(all *[]paramHeader, schema json.RawMessage, path []string) error {
	h := paramHeader{path: path}
	var found bool
	for name, v := range rawjson.Members(schema) {
		switch name {
		case "type":
			h.kind = rawjson.Text(v)
		case headerKeyword:
			token := rawjson.Text(v)
			if !isToken(token) {
				return fmt.Errorf("%s %s is not a valid header name", headerKeyword, v)
			}
			h.name, found = headerPrefix+token, true
		case "properties":
			for property, sub := range rawjson.Members(v) {
				below := append(path[:len(path):len(path)], strings.Clone(property))
				if err := addParamHeaders(all, sub, below); err != nil {
					return err
				}
			}
		}
	}
	if !found {
		return nil
	}
	if h.kind != "string" && h.kind != "integer" && h.kind != "boolean" {
		return fmt.Errorf("%s requires type string, integer or boolean, not %q", headerKeyword, h.kind)
	}
	*all = append(*all, h)
	return nil
}

// isToken reports whether s is valid in a header name.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// check compares the header with the argument.
func (p *paramHeader) check(h link.Headers, arguments json.RawMessage) error {
	v := arguments
	for _, name := range p.path {
		v = member(v, name)
	}
	values := h.Values(p.name)
	switch {
	case len(v) == 0 || v[0] == 'n':
		if len(values) > 0 {
			return mismatch("header %s has no matching argument", p.name)
		}
		return nil
	case len(values) != 1:
		return mismatch("header %s must appear exactly once", p.name)
	}
	got, err := decodeHeader(values[0])
	if err != nil || !p.matches(got, v) {
		return mismatch("header %s does not match the argument", p.name)
	}
	return nil
}

func (p *paramHeader) matches(got string, v json.RawMessage) bool {
	if v[0] == '"' {
		return got == rawjson.Text(v)
	}
	if got == string(v) {
		return true
	}
	a, ok := parseExact(got)
	b, alsoOK := parseExact(string(v))
	return p.kind == "integer" && ok && alsoOK && a == b
}

// parseExact parses a JSON number that a float64 represents exactly as an
// integer.
func parseExact(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789-+.eE") != "" || s[0] == '+' {
		return 0, false // strconv accepts more forms than JSON
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil && n < 1<<53 && n > -1<<53
}

// value returns the argument as text, if it is present and scalar.
func (p *paramHeader) value(arguments json.RawMessage) (string, bool) {
	v := arguments
	for _, name := range p.path {
		v = member(v, name)
	}
	switch {
	case len(v) == 0 || v[0] == 'n' || v[0] == '{' || v[0] == '[':
		return "", false
	case v[0] == '"':
		return rawjson.Text(v), true
	}
	return string(v), true
}

// hasMisplacedHeader reports whether a schema has the header keyword anywhere
// but at an argument or a property of one.
func hasMisplacedHeader(schema json.RawMessage) bool {
	for name, v := range rawjson.Members(schema) {
		switch name {
		case "properties":
			for _, property := range rawjson.Members(v) {
				if hasMisplacedHeader(property) {
					return true
				}
			}
		case "const", "default", "enum", "examples", headerKeyword:
		default:
			if mentionsHeader(v) {
				return true
			}
		}
	}
	return false
}

func mentionsHeader(v json.RawMessage) bool {
	if !strings.Contains(string(v), headerKeyword) {
		return false
	}
	for name, m := range rawjson.Members(v) {
		if name == headerKeyword || mentionsHeader(m) {
			return true
		}
	}
	for e := range rawjson.Elements(v) {
		if mentionsHeader(e) {
			return true
		}
	}
	return false
}
