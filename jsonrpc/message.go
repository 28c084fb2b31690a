package jsonrpc

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A Message is a request, a notification or a response.
//
//	request       ID and Method
//	notification  Method, no ID
//	response      ID, and Result or Error
type Message struct {
	ID     ID
	Method string
	Params json.RawMessage // an object or an array; nil if absent or null
	Result json.RawMessage
	Error  *Error

	// Batched reports whether the message arrived in a batch.
	Batched bool
	// NoID omits the id of an error response that has none. Otherwise it is
	// written as null, as JSON-RPC requires.
	NoID bool
}

// IsRequest reports whether m expects a response.
func (m *Message) IsRequest() bool { return m.Method != "" && !m.ID.IsZero() }

// IsNotification reports whether m is a notification, which has no response.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID.IsZero() }

// IsResponse reports whether m is a response.
func (m *Message) IsResponse() bool { return m.Result != nil || m.Error != nil }

// A Packet is the unit of a transport: one message, or a batch of messages.
type Packet struct {
	Message *Message
	Batch   []Element
}

// An Element is one entry of a batch: a message, or the error if it is
// malformed.
type Element struct {
	Message   *Message
	Malformed *Malformed
}

// One returns the packet of a single message.
func One(m *Message) Packet { return Packet{Message: m} }

// Append appends the JSON encoding of the packet to b, without line breaks. It
// omits malformed elements of a batch.
func (p Packet) Append(b []byte) []byte {
	if p.Message != nil {
		return p.Message.append(b)
	}
	b = append(b, '[')
	first := true
	for _, e := range p.Batch {
		if e.Message == nil {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = e.Message.append(b)
	}
	return append(b, ']')
}

func (m *Message) append(b []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0"`...)
	switch {
	case !m.ID.IsZero():
		b = append(b, `,"id":`...)
		b = append(b, m.ID.text...)
	case m.Error != nil && !m.NoID:
		b = append(b, `,"id":null`...)
	}
	switch {
	case m.Error != nil:
		b = append(b, `,"error":`...)
		b = m.Error.append(b)
	case m.Result != nil:
		b = append(b, `,"result":`...)
		b = appendOneLine(b, m.Result)
	default:
		b = append(b, `,"method":`...)
		b = appendText(b, m.Method)
		if len(m.Params) > 0 {
			b = append(b, `,"params":`...)
			b = appendOneLine(b, m.Params)
		}
	}
	return append(b, '}')
}

func (e *Error) append(b []byte) []byte {
	b = append(b, `{"code":`...)
	b = strconv.AppendInt(b, int64(e.Code), 10)
	b = append(b, `,"message":`...)
	b = appendText(b, e.Message)
	if len(e.Data) > 0 {
		b = append(b, `,"data":`...)
		b = appendOneLine(b, e.Data)
	}
	return append(b, '}')
}

// appendText appends s as a JSON string. It replaces invalid UTF-8 by U+FFFD.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// appendOneLine appends JSON text with line breaks replaced by spaces, because
// a line break ends the message on a transport of lines. In valid JSON they
// occur only between tokens.
func appendOneLine(b, raw []byte) []byte {
	n := len(b)
	b = append(b, raw...)
	for _, end := range []byte("\n\r") {
		for i := n; ; {
			j := bytes.IndexByte(b[i:], end)
			if j < 0 {
				break
			}
			i += j
			b[i] = ' '
		}
	}
	return b
}
