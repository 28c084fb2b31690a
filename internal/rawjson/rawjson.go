// Package rawjson reads parts of JSON that was validated before, as jsonrpc.Decode
// does with a message, without validating it again.
package rawjson

import (
	"bytes"
	"encoding/json"
	"iter"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// Text returns the value of a JSON string, or "" if v is not a string.
func Text(v json.RawMessage) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	b, _ := jsontext.AppendUnquote(nil, v)
	return string(b)
}

// sharedText is like Text, without copying if it can. Messages are never modified,
// so a string may share their memory.
func sharedText(v []byte) string {
	inner := v[1 : len(v)-1]
	if len(inner) == 0 || bytes.IndexByte(inner, '\\') >= 0 {
		return Text(v)
	}
	return unsafe.String(&inner[0], len(inner))
}

// Members iterates over the members of a JSON object, in order. It yields nothing
// if the text is not an object, and arbitrary parts of it if the text was never
// validated. Names may share the memory of the object: clone those that are kept.
func Members(object json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		w := walker{data: object}
		if w.skipSpace(); w.peek() != '{' {
			return
		}
		w.pos++
		for {
			w.skipSpace()
			if w.peek() != '"' {
				return
			}
			name := w.value()
			if w.skipSpace(); w.peek() != ':' {
				return
			}
			w.pos++
			w.skipSpace()
			value := w.value()
			if !yield(sharedText(name), json.RawMessage(value)) {
				return
			}
			if w.skipSpace(); w.peek() != ',' {
				return
			}
			w.pos++
		}
	}
}

// Elements iterates over the elements of a JSON array, as Members does over an
// object.
func Elements(array json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		w := walker{data: array}
		if w.skipSpace(); w.peek() != '[' {
			return
		}
		w.pos++
		for {
			w.skipSpace()
			if c := w.peek(); c == ']' || c == 0 {
				return
			}
			if !yield(json.RawMessage(w.value())) {
				return
			}
			if w.skipSpace(); w.peek() != ',' {
				return
			}
			w.pos++
		}
	}
}

// EditTexts returns JSON with all strings edited in it, names of members included. If
// none changes, it returns raw itself.
func EditTexts(raw json.RawMessage, edit func(text string) string) json.RawMessage {
	var out []byte
	done := 0
	for i := 0; i < len(raw); {
		begin := bytes.IndexByte(raw[i:], '"')
		if begin < 0 {
			break
		}
		begin += i
		end := begin + 1
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		if i = end + 1; i > len(raw) {
			break // it was never validated
		}
		text := sharedText(raw[begin:i])
		edited := edit(text)
		if edited == text {
			continue
		}
		out = append(out, raw[done:begin]...)
		before := len(out)
		var err error
		if out, err = jsontext.AppendQuote(out, edited); err != nil {
			out = append(out[:before], `""`...)
		}
		done = i
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

// A walker iterates over text that was validated.
type walker struct {
	data []byte
	pos  int
}

func (w *walker) skipSpace() {
	for w.pos < len(w.data) && w.data[w.pos] <= ' ' {
		w.pos++
	}
}

func (w *walker) peek() byte {
	if w.pos < len(w.data) {
		return w.data[w.pos]
	}
	return 0
}

// value skips one value and returns its text.
func (w *walker) value() []byte {
	start := w.pos
	switch w.peek() {
	case '"':
		w.skipString()
	case '{', '[':
		for depth := 0; w.pos < len(w.data); {
			switch w.data[w.pos] {
			case '"':
				w.skipString()
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			w.pos++
			if depth == 0 {
				break
			}
		}
	default:
		for w.pos < len(w.data) {
			switch w.data[w.pos] {
			case ',', '}', ']', ' ', '\t', '\n', '\r':
				return w.data[start:w.pos]
			}
			w.pos++
		}
	}
	return w.data[start:w.pos]
}

// skipString skips a string, up to the first quote that is not escaped: one
// after an even number of backslashes.
func (w *walker) skipString() {
	for i := w.pos + 1; i < len(w.data); i++ {
		j := bytes.IndexByte(w.data[i:], '"')
		if j < 0 {
			break
		}
		i += j
		n := 0
		for w.data[i-1-n] == '\\' {
			n++
		}
		if n%2 == 0 {
			w.pos = i + 1
			return
		}
	}
	w.pos = len(w.data)
}
