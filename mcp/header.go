package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/internal/link"
)

// nameParam is the member of params that the Mcp-Name header of a method
// repeats.
var nameParam = map[string]string{
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

// checkVersion compares the version header with the version in _meta.
func checkVersion(h link.Headers, version string) error {
	if got, err := header(h, "Mcp-Protocol-Version"); err != nil || got != version {
		return mismatch("header MCP-Protocol-Version does not match the version in _meta")
	}
	return nil
}

// checkRouting compares the headers that name the method and its target.
func checkRouting(h link.Headers, r *Request) error {
	if got, err := header(h, "Mcp-Method"); err != nil || got != r.Method {
		return mismatch("header Mcp-Method does not match the method")
	}
	member, ok := nameParam[r.Method]
	if !ok {
		return nil
	}
	name, ok := r.name, r.hasName
	if member != "name" {
		v := r.param(member)
		name, ok = rawjson.Text(v), len(v) > 0 && v[0] == '"'
	}
	if !ok {
		return nil // reported later
	}
	if got, err := header(h, "Mcp-Name"); err != nil || got != name {
		return mismatch("header Mcp-Name does not match params.%s", member)
	}
	return nil
}

// header returns the value of a header that must appear exactly once.
func header(h link.Headers, name string) (string, error) {
	values := h.Values(name)
	if len(values) != 1 {
		return "", fmt.Errorf("%d headers %s", len(values), name)
	}
	return decodeHeader(values[0])
}

const base64Prefix, base64Suffix = "=?base64?", "?="

// decodeHeader decodes a header value, which is base64 if it contains
// characters not allowed in headers.
func decodeHeader(v string) (string, error) {
	v = strings.Trim(v, " \t")
	if len(v) < len(base64Prefix)+len(base64Suffix) || !strings.HasPrefix(v, base64Prefix) || !strings.HasSuffix(v, base64Suffix) {
		return v, nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(v[len(base64Prefix) : len(v)-len(base64Suffix)])
	if err != nil || strings.ContainsAny(v, "\r\n") || !utf8.Valid(b) {
		return "", fmt.Errorf("invalid base64 text")
	}
	return string(b), nil
}

// member returns a member of an object, or nil.
func member(object json.RawMessage, name string) json.RawMessage {
	for n, v := range rawjson.Members(object) {
		if n == name {
			return v
		}
	}
	return nil
}

// encodeHeader encodes a header value, in base64 if it contains characters not
// allowed in headers.
func encodeHeader(v string) string {
	plain := len(v) == 0 || v[0] != ' ' && v[len(v)-1] != ' ' && !(len(v) >= len(base64Prefix)+len(base64Suffix) &&
		v[:len(base64Prefix)] == base64Prefix && v[len(v)-len(base64Suffix):] == base64Suffix)
	for i := 0; i < len(v) && plain; i++ {
		plain = v[i] >= 0x20 && v[i] <= 0x7e
	}
	if plain {
		return v
	}
	return base64Prefix + base64.StdEncoding.EncodeToString([]byte(v)) + base64Suffix
}
