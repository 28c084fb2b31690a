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
	Params json.RawMessage // an object or an array; nil when absent or null
	Result json.RawMessage
	Error  *Error

	// Batched tells that it came inside a batch.
	Batched bool
	// NoID makes an error without an id leave the member out. Otherwise it is
	// written as null, as JSON-RPC has it.
	NoID bool
}

// IsRequest reports whether m wants an answer.
func (m *Message) IsRequest() bool { return m.Method != "" && !m.ID.IsZero() }

// IsNotification reports whether m tells something and wants no answer.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID.IsZero() }

// IsResponse reports whether m answers a request.
func (m *Message) IsResponse() bool { return m.Result != nil || m.Error != nil }

// A Packet is what travels in one go: a message, or a batch of them.
type Packet struct {
	Message *Message
	Batch   []Element
}

// An Element is one entry of a batch: a message, or what was wrong with it.
type Element struct {
	Message   *Message
	Malformed *Malformed
}

// One is the packet of a single message.
func One(m *Message) Packet { return Packet{Message: m} }

// Append appends the packet's JSON text to b, on one line. Elements of a batch
// that were malformed are left out.
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

// appendText appends s as a JSON string. Invalid UTF-8 comes out as U+FFFD.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// appendOneLine appends JSON text. A line break in it can only be white space
// between tokens, and would end the message on a transport of lines.
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
