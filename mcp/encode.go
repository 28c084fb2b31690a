package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// appendString appends s as a JSON string. It replaces invalid UTF-8 by U+FFFD.
func appendString(b []byte, s string) []byte {
	start := len(b)
	b = append(b, '"')
	b = append(b, s...)
	if isPlain(b[start+1:]) {
		return append(b, '"')
	}
	b, _ = jsontext.AppendQuote(b[:start], s) // the error only reports the replacement
	return b
}

// isPlain reports whether s needs no escaping: printable ASCII without quotes
// and backslashes. It checks eight bytes at a time.
func isPlain(s []byte) bool {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	for ; len(s) >= 8; s = s[8:] {
		w := binary.LittleEndian.Uint64(s)
		quote, slash := w^('"'*ones), w^('\\'*ones)
		// A high bit of the result is set if it was set before or the
		// subtraction borrowed.
		if (w|(w-0x20*ones)|(quote-ones)|(slash-ones))&highs != 0 {
			return false
		}
	}
	for _, c := range s {
		if c < 0x20 || c >= 0x80 || c == '"' || c == '\\' {
			return false
		}
	}
	return true
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
	out, err := jsonv2.Marshal(v, jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("mcp: %s: %w", name, err)
	}
	return append(appendMember(b, name), out...), nil
}
