package jsonrpc

import (
	"cmp"
	"encoding/json"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits bound what one packet may cost, before anything is built from it.
// A zero field means the default.
type Limits struct {
	Bytes int // size; 1 MiB
	Depth int // nesting, the packet itself being 1; 64
	Nodes int // values of any kind; 100,000
	Batch int // messages in a batch; 100
}

// maxNumber is the longest number, in characters. Longer ones make readers that
// compute with them slow.
const maxNumber = 1000

// maxMethod is the longest method name, in bytes of JSON text.
const maxMethod = 256

func (l Limits) filled() Limits {
	return Limits{
		Bytes: cmp.Or(l.Bytes, 1<<20),
		Depth: cmp.Or(l.Depth, 64),
		Nodes: cmp.Or(l.Nodes, 100_000),
		Batch: cmp.Or(l.Batch, 100),
	}
}

// Decode reads one packet. The messages share data's memory, so the caller must
// not use it again. An error is always a *Malformed.
//
// Decode is strict: the text must be I-JSON (valid UTF-8, no member twice, no
// lone surrogate) within the limits; members of the envelope are matched
// exactly; a request with a member that JSON-RPC does not know is refused, since
// somebody else may read it differently.
func Decode(data []byte, limits Limits) (Packet, error) {
	l := limits.filled()
	if len(data) > l.Bytes {
		return Packet{}, &Malformed{Err: tooLarge(l.Bytes)}
	}
	s := newScanner(data, l)
	defer s.free()
	s.space()
	if s.peek() == '[' {
		return decodeBatch(s, l)
	}
	e, err := s.envelope()
	if err == nil {
		err = s.end()
	}
	if err != nil && err.bound {
		e = glance(data)
	}
	m, bad := e.message(err)
	if bad != nil {
		return Packet{}, bad
	}
	return One(m), nil
}

func tooLarge(limit int) *Error {
	return Errorf(CodeInvalidRequest, "message is larger than %d bytes", limit)
}

func decodeBatch(s *scanner, l Limits) (Packet, error) {
	var batch []Element
	refused := func(err *fault) (Packet, error) {
		return Packet{}, &Malformed{Err: Errorf(err.code(ID{}), "%s", err.text)}
	}
	err := s.array(func() *fault {
		if len(batch) == l.Batch {
			return &fault{text: "batch has too many messages", request: true}
		}
		if s.peek() != '{' {
			before := s.twice
			if err := s.value(2); err != nil {
				return err
			}
			s.twice = before
			batch = append(batch, Element{Malformed: &Malformed{Err: Errorf(CodeInvalidRequest, "a message is an object")}})
			return nil
		}
		e, err := s.envelopeAt(2)
		if err != nil && !err.soft {
			return err
		}
		m, bad := e.message(err)
		if m != nil {
			m.Batched = true
		}
		batch = append(batch, Element{m, bad})
		return nil
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return refused(err)
	}
	if len(batch) == 0 {
		return refused(&fault{text: "batch is empty", request: true})
	}
	return Packet{Batch: batch}, nil
}

// An envelope is the members of a message as they stand in the text.
type envelope struct {
	version, id, method, params, result, err []byte
	ids                                      int  // how often a member id was seen
	unknown                                  bool // there is a member we do not know
}

// glance finds the members of a message that passed a limit, so that whoever
// asked can be told. The text has not been checked to its end.
func glance(data []byte) (e envelope) {
	for name, v := range Members(data) {
		switch name {
		case "id":
			if _, err := ParseID(v); err == nil {
				e.id = v
			}
			e.ids++
		case "method":
			e.method = v
		case "result":
			e.result = v
		case "error":
			e.err = v
		}
	}
	return e
}

// keep notes a member of the message.
func (e *envelope) keep(name, v []byte) {
	switch string(name) {
	case "jsonrpc":
		e.version = v
	case "id":
		e.id = v
		e.ids++
	case "method":
		e.method = v
	case "params":
		e.params = v
	case "result":
		e.result = v
	case "error":
		e.err = v
	default:
		e.unknown = true
	}
}

// message checks the envelope and makes the message of it. scan is what the
// scanner found wrong with the text, if anything.
func (e *envelope) message(scan *fault) (*Message, *Malformed) {
	isResponse := e.method == nil && (e.result != nil || e.err != nil)
	var id ID
	var idErr error
	if e.id != nil {
		id, idErr = parseID(e.id)
	}
	refuse := func(code int, format string, args ...any) (*Message, *Malformed) {
		bad := &Malformed{Err: Errorf(code, format, args...), Silent: isResponse}
		if idErr == nil && e.ids == 1 {
			bad.ID = id
		}
		return nil, bad
	}
	switch {
	case scan != nil && scan.syntax():
		return nil, &Malformed{Err: Errorf(CodeParse, "%s", scan.text)}
	case scan != nil:
		bad := ID{}
		if idErr == nil && e.ids == 1 {
			bad = id
		}
		return refuse(scan.code(bad), "%s", scan.text)
	case !isString(e.version, "2.0"):
		return refuse(CodeInvalidRequest, `jsonrpc must be "2.0"`)
	case isResponse:
		return e.response(id, idErr, refuse)
	case e.method == nil:
		_, bad := refuse(CodeInvalidRequest, "a message has a method, a result or an error")
		bad.bare = true
		return nil, bad
	case e.result != nil || e.err != nil:
		return refuse(CodeInvalidRequest, "a message with a method has no result and no error")
	case idErr != nil:
		return refuse(CodeInvalidRequest, "%s", idErr)
	case e.unknown:
		return refuse(CodeInvalidRequest, "unknown member beside jsonrpc, id, method and params")
	case e.method[0] != '"' || len(e.method) > maxMethod:
		return refuse(CodeInvalidRequest, "method must be a string of at most %d bytes", maxMethod-2)
	}
	m := &Message{ID: id, Method: methodName(e.method)}
	if m.Method == "" {
		_, bad := refuse(CodeMethodNotFound, `method "" not found`)
		bad.Silent = e.id == nil
		return nil, bad
	}
	if e.params != nil {
		switch e.params[0] {
		case '{', '[':
			m.Params = e.params
		case 'n': // null: as if it were not there
		default:
			return refuse(CodeInvalidRequest, "params must be an object")
		}
	}
	return m, nil
}

// lastMethod is the method of some message before: the next is often the same,
// and then needs no memory of its own.
var lastMethod atomic.Pointer[string]

func methodName(text []byte) string {
	if last := lastMethod.Load(); last != nil && string(text[1:len(text)-1]) == *last {
		return *last
	}
	name := textOf(text)
	lastMethod.Store(&name)
	return name
}

func (e *envelope) response(id ID, idErr error, refuse func(int, string, ...any) (*Message, *Malformed)) (*Message, *Malformed) {
	m := &Message{ID: id, Result: e.result}
	if e.err != nil {
		var w struct {
			Code    *int           `json:"code"`
			Message *string        `json:"message"`
			Data    jsontext.Value `json:"data"`
		}
		if e.err[0] != '{' || jsonv2.Unmarshal(e.err, &w) != nil || w.Code == nil || w.Message == nil {
			return refuse(CodeInvalidRequest, "an error has an integer code and a message")
		}
		m.Error = &Error{Code: *w.Code, Message: *w.Message, Data: json.RawMessage(w.Data)}
	}
	switch {
	case e.result != nil && e.err != nil:
		return refuse(CodeInvalidRequest, "a response has a result or an error, not both")
	case idErr != nil && !(e.err != nil && e.id[0] == 'n'), e.id == nil && e.err == nil:
		return refuse(CodeInvalidRequest, "a response echoes the id of its request")
	}
	return m, nil
}

// isString reports whether JSON text v is the string s.
func isString(v []byte, s string) bool {
	return len(v) >= 2 && v[0] == '"' && (string(v[1:len(v)-1]) == s || textOf(v) == s)
}
