package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// Headers are what came beside a request, outside its JSON; http.Header is one.
// They repeat parts of the request for those on the way who do not read JSON, so
// they must say the same: otherwise somebody was told something else than we.
type Headers interface {
	Values(name string) []string
}

// named tells which member of params a method's name header repeats.
var named = map[string]string{
	"tools/call":     "name",
	"prompts/get":    "name",
	"resources/read": "uri",
	"tasks/get":      "taskId",
	"tasks/update":   "taskId",
	"tasks/cancel":   "taskId",
}

func mismatch(format string, args ...any) *jsonrpc.Error {
	return jsonrpc.Errorf(CodeHeaderMismatch, format, args...)
}

// checkVersion compares the version header with the request's own version.
func checkVersion(h Headers, version string) error {
	if got, err := header(h, "Mcp-Protocol-Version"); err != nil || got != version {
		return mismatch("header MCP-Protocol-Version and the version in _meta differ")
	}
	return nil
}

// checkRouting compares the headers that name the method and its object.
func checkRouting(h Headers, r *Request) error {
	if got, err := header(h, "Mcp-Method"); err != nil || got != r.Method {
		return mismatch("header Mcp-Method and the method differ")
	}
	member, ok := named[r.Method]
	if !ok {
		return nil
	}
	v := r.fields.name
	if member != "name" {
		v = r.param(member)
	}
	if len(v) == 0 || v[0] != '"' {
		return nil // what is wrong with it is said later
	}
	if got, err := header(h, "Mcp-Name"); err != nil || got != jsonrpc.Text(v) {
		return mismatch("header Mcp-Name and params.%s differ", member)
	}
	return nil
}

// header reads a header that is there once.
func header(h Headers, name string) (string, error) {
	values := h.Values(name)
	if len(values) != 1 {
		return "", fmt.Errorf("%d headers %s", len(values), name)
	}
	return decodeHeader(values[0])
}

const base64Begin, base64End = "=?base64?", "?="

// decodeHeader reads a header's value, which is in base64 where it would not fit
// into a header otherwise.
func decodeHeader(v string) (string, error) {
	v = strings.Trim(v, " \t")
	if len(v) < len(base64Begin)+len(base64End) || !strings.HasPrefix(v, base64Begin) || !strings.HasSuffix(v, base64End) {
		return v, nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(v[len(base64Begin) : len(v)-len(base64End)])
	if err != nil || strings.ContainsAny(v, "\r\n") || !utf8.Valid(b) {
		return "", fmt.Errorf("not the base64 of a text")
	}
	return string(b), nil
}

// A paramHeader is an argument of a tool that clients repeat in a header, so that
// requests can be routed by it.
type paramHeader struct {
	name string   // of the header
	path []string // of the argument
	kind string   // string, integer or boolean
}

const (
	headerKeyword = "x-mcp-header"
	headerPrefix  = "Mcp-Param-"
)

// paramHeaders finds the arguments of an input schema that have a header.
func paramHeaders(schema json.RawMessage) ([]paramHeader, error) {
	var all []paramHeader
	if err := addParamHeaders(&all, schema, nil); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, h := range all {
		key := strings.ToLower(h.name)
		if seen[key] {
			return nil, fmt.Errorf("%s %q is there twice", headerKeyword, h.name)
		}
		seen[key] = true
	}
	return all, nil
}

func addParamHeaders(all *[]paramHeader, schema json.RawMessage, path []string) error {
	h := paramHeader{path: path}
	var found bool
	for name, v := range jsonrpc.Members(schema) {
		switch name {
		case "type":
			h.kind = jsonrpc.Text(v)
		case headerKeyword:
			token := jsonrpc.Text(v)
			if !isToken(token) {
				return fmt.Errorf("%s %s is no name for a header", headerKeyword, v)
			}
			h.name, found = headerPrefix+token, true
		case "properties":
			for property, sub := range jsonrpc.Members(v) {
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
		return fmt.Errorf("%s is for strings, integers and booleans, not %q", headerKeyword, h.kind)
	}
	*all = append(*all, h)
	return nil
}

// isToken reports whether s may be a part of a header's name.
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
func (p *paramHeader) check(h Headers, arguments json.RawMessage) error {
	v := arguments
	for _, name := range p.path {
		v = member(v, name)
	}
	values := h.Values(p.name)
	switch {
	case len(v) == 0 || v[0] == 'n':
		if len(values) > 0 {
			return mismatch("there is a header %s, but no argument for it", p.name)
		}
		return nil
	case len(values) != 1:
		return mismatch("header %s must be there once", p.name)
	}
	got, err := decodeHeader(values[0])
	if err != nil || !p.same(got, v) {
		return mismatch("header %s and the argument differ", p.name)
	}
	return nil
}

func (p *paramHeader) same(got string, v json.RawMessage) bool {
	if v[0] == '"' {
		return got == jsonrpc.Text(v)
	}
	if got == string(v) {
		return true
	}
	a, ok := exactly(got)
	b, alsoOK := exactly(string(v))
	return p.kind == "integer" && ok && alsoOK && a == b
}

// exactly reads a number as JSON has it, if a float64 tells it from its neighbours.
func exactly(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789-+.eE") != "" || s[0] == '+' {
		return 0, false // strconv knows more forms than others
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil && n < 1<<53 && n > -1<<53
}

// member finds a member of an object; nil if it is not there.
func member(object json.RawMessage, name string) json.RawMessage {
	for n, v := range jsonrpc.Members(object) {
		if n == name {
			return v
		}
	}
	return nil
}
