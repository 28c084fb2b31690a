package jsonrpc

import (
	"bytes"
	"encoding/json"
	"iter"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// textOf is the string that valid JSON text v stands for.
func textOf(v []byte) string {
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	b, _ := jsontext.AppendUnquote(nil, v)
	return string(b)
}

// Text is the string that v stands for, which has been decoded as part of a
// message. What is not a JSON string gives an empty one.
func Text(v json.RawMessage) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	return textOf(v)
}

// nameOf is textOf without a copy where none is needed. The text of a message is
// never written to, so a string may share it.
func nameOf(v []byte) string {
	inner := v[1 : len(v)-1]
	if len(inner) == 0 || bytes.IndexByte(inner, '\\') >= 0 {
		return textOf(v)
	}
	return unsafe.String(&inner[0], len(inner))
}

// Members walks the members of a JSON object that has been decoded as part of a
// message, in order, without checking it again. It ends at once if the text is
// not an object. What it yields for text that was never decoded means nothing.
// A name may share the message's memory: clone one that is kept.
func Members(object json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		w := walker{data: object}
		if w.space(); w.peek() != '{' {
			return
		}
		w.i++
		for {
			w.space()
			if w.peek() != '"' {
				return
			}
			name := w.skip()
			if w.space(); w.peek() != ':' {
				return
			}
			w.i++
			w.space()
			value := w.skip()
			if !yield(nameOf(name), json.RawMessage(value)) {
				return
			}
			if w.space(); w.peek() != ',' {
				return
			}
			w.i++
		}
	}
}

// Elements walks the elements of a JSON array as Members walks an object.
func Elements(array json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		w := walker{data: array}
		if w.space(); w.peek() != '[' {
			return
		}
		w.i++
		for {
			w.space()
			if c := w.peek(); c == ']' || c == 0 {
				return
			}
			if !yield(json.RawMessage(w.skip())) {
				return
			}
			if w.space(); w.peek() != ',' {
				return
			}
			w.i++
		}
	}
}

// A walker goes over text that a scanner has found valid.
type walker struct {
	data []byte
	i    int
}

func (w *walker) space() {
	for w.i < len(w.data) && w.data[w.i] <= ' ' {
		w.i++
	}
}

func (w *walker) peek() byte {
	if w.i < len(w.data) {
		return w.data[w.i]
	}
	return 0
}

// skip passes over one value and returns it.
func (w *walker) skip() []byte {
	start := w.i
	switch w.peek() {
	case '"':
		w.text()
	case '{', '[':
		for depth := 0; w.i < len(w.data); {
			switch w.data[w.i] {
			case '"':
				w.text()
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			w.i++
			if depth == 0 {
				break
			}
		}
	default:
		for w.i < len(w.data) {
			switch w.data[w.i] {
			case ',', '}', ']', ' ', '\t', '\n', '\r':
				return w.data[start:w.i]
			}
			w.i++
		}
	}
	return w.data[start:w.i]
}

// text passes over a string: to the first quote that an even number of
// backslashes stands before.
func (w *walker) text() {
	for i := w.i + 1; i < len(w.data); i++ {
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
			w.i = i + 1
			return
		}
	}
	w.i = len(w.data)
}
