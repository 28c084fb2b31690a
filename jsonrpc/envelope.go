package jsonrpc

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// An envelope holds the raw members of a message.
type envelope struct {
	version, id, method, params, result, err []byte
	idCount                                  int  // number of members named id
	unknown                                  bool // there is an unknown member
}

// peekEnvelope finds the members of a message that exceeds a limit, so that it
// can be answered under its id. The rest of the text is not validated, and may
// be missing; a value that it ends in may be incomplete.
func peekEnvelope(data []byte) (e envelope) {
	for name, v := range rawjson.Members(data) {
		switch name {
		case "id":
			complete := cap(data)-cap(v)+len(v) < len(data)
			if _, err := ParseID(v); err == nil && complete {
				e.id = v
			}
			e.idCount++
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

// peekOversized returns the error for a message over the size limit, with the id
// if it is found in start, the beginning of the message.
func peekOversized(start []byte, limit int) *Malformed {
	e := peekEnvelope(start)
	bad := &Malformed{Err: tooLarge(limit), Silent: e.method == nil && (e.result != nil || e.err != nil)}
	if e.idCount == 1 && e.id != nil {
		bad.ID, _ = ParseID(e.id)
	}
	return bad
}

// trailingID matches the end of a message whose id comes after the params or the
// result, where the most common clients write it.
var trailingID = regexp.MustCompile(`,\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9]+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// idAtEnd finds the id in the end of a message. The text before it is not
// validated; a wrong id harms only its sender.
func idAtEnd(text []byte) ID {
	m := trailingID.FindSubmatch(text[max(0, len(text)-maxTail):])
	if m == nil {
		return ID{}
	}
	id, _ := ParseID(m[1])
	return id
}

// set stores a member of the message.
func (e *envelope) set(name, v []byte) {
	switch string(name) {
	case "jsonrpc":
		e.version = v
	case "id":
		e.id = v
		e.idCount++
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

// message validates the envelope and returns it as a message. scan is the
// scanner's error, if any.
func (e *envelope) message(scan *fault) (*Message, *Malformed) {
	isResponse := e.method == nil && (e.result != nil || e.err != nil)
	var id ID
	var idErr error
	if e.id != nil {
		id, idErr = parseID(e.id)
	}
	refuse := func(code int, format string, args ...any) (*Message, *Malformed) {
		bad := &Malformed{Err: malformed(code, fmt.Sprintf(format, args...)), Silent: isResponse}
		if idErr == nil && e.idCount == 1 {
			bad.ID = id
		}
		return nil, bad
	}
	switch {
	case scan != nil && scan.syntax():
		return nil, &Malformed{Err: malformed(CodeParse, scan.text)}
	case scan != nil:
		bad := ID{}
		if idErr == nil && e.idCount == 1 {
			bad = id
		}
		return refuse(scan.code(bad), "%s", scan.text)
	case !isQuoted(e.version, "2.0"):
		return refuse(CodeInvalidRequest, `jsonrpc must be "2.0"`)
	case isResponse:
		return e.response(id, idErr, refuse)
	case e.method == nil:
		_, bad := refuse(CodeInvalidRequest, "message must have a method, a result or an error")
		bad.bare = true
		return nil, bad
	case e.result != nil || e.err != nil:
		return refuse(CodeInvalidRequest, "message has both a method and a result or an error")
	case idErr != nil:
		return refuse(CodeInvalidRequest, "%s", idErr)
	case e.unknown:
		return refuse(CodeInvalidRequest, "unknown member: a request has only jsonrpc, id, method and params")
	case e.method[0] != '"':
		return refuse(CodeInvalidRequest, "method must be a string")
	case len(e.method) > maxMethod:
		return refuse(CodeInvalidRequest, "method is longer than %d bytes", maxMethod-2)
	}
	m := &Message{ID: id, Method: methodName(e.method)}
	if m.Method == "" {
		_, bad := refuse(CodeMethodNotFound, `""`)
		bad.Silent = e.id == nil
		return nil, bad
	}
	if e.params != nil {
		switch e.params[0] {
		case '{', '[':
			m.Params = e.params
		case 'n': // same as absent
		default:
			return refuse(CodeInvalidRequest, "params must be an object")
		}
	}
	return m, nil
}

// lastMethod caches the method name of the previous message. The next one is
// often the same and then needs no allocation.
var lastMethod atomic.Pointer[string]

func methodName(text []byte) string {
	if last := lastMethod.Load(); last != nil && string(text[1:len(text)-1]) == *last {
		return *last
	}
	name := rawjson.Text(text)
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
			return refuse(CodeInvalidRequest, "error must have an integer code and a message")
		}
		m.Error = &Error{Code: *w.Code, Message: *w.Message, Data: json.RawMessage(w.Data)}
	}
	switch {
	case e.result != nil && e.err != nil:
		return refuse(CodeInvalidRequest, "response must have a result or an error, not both")
	case idErr != nil && !(e.err != nil && e.id[0] == 'n'), e.id == nil && e.err == nil:
		return refuse(CodeInvalidRequest, "response must have the id of its request")
	}
	return m, nil
}

// isQuoted reports whether v is the JSON string s.
func isQuoted(v []byte, s string) bool {
	return len(v) >= 2 && v[0] == '"' && (string(v[1:len(v)-1]) == s || rawjson.Text(v) == s)
}
