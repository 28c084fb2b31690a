package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// appendString appends s as a JSON string. It replaces invalid UTF-8 by U+FFFD.
func appendString(b []byte, s string) []byte {
	start := len(b)
	b = append(b, '"')
	b = append(b, s...)
	if rawjson.PlainPrefix(b[start+1:]) == len(s) {
		return append(b, '"')
	}
	b, _ = jsontext.AppendQuote(b[:start], s) // the error only reports the replacement
	return b
}

// appendMember appends a member's name, preceded by a comma unless it is the
// first. The name must need no escaping.
func appendMember(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// appendText appends a string member, unless it is empty.
func appendText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(appendMember(b, name), s)
}

// appendBase64 appends a member with bytes.
func appendBase64(b []byte, name string, data []byte) []byte {
	b = append(appendMember(b, name), '"')
	b = base64.StdEncoding.AppendEncode(b, data)
	return append(b, '"')
}

// appendRaw appends a member with foreign JSON, on one line. Invalid JSON is an
// error.
func appendRaw(b []byte, name string, raw json.RawMessage) ([]byte, error) {
	v := jsontext.Value(raw)
	if !v.IsValid() {
		return nil, fmt.Errorf("mcp: %s is not valid JSON", name)
	}
	b = appendMember(b, name)
	if bytes.ContainsAny(raw, "\r\n") {
		v = v.Clone()
		if err := v.Compact(); err != nil {
			return nil, fmt.Errorf("mcp: %s: %w", name, err)
		}
	}
	return append(b, v...), nil
}

// appendValue appends a member with any Go value, with map keys sorted.
func appendValue(b []byte, name string, v any) ([]byte, error) {
	out, err := encodeUser(v)
	if err != nil {
		return nil, fmt.Errorf("mcp: %s: %w", name, err)
	}
	return append(appendMember(b, name), out...), nil
}
