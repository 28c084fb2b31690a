package bare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// leanEnvelope is what Lean decodes of a message: all of it, at once.
type leanEnvelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  callParams      `json:"params"`
}

type callParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      struct {
		Version string          `json:"io.modelcontextprotocol/protocolVersion"`
		Client  json.RawMessage `json:"io.modelcontextprotocol/clientInfo"`
		Caps    json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
	} `json:"_meta"`
}

// modern reports whether the request says who it is, as since 2026-07-28.
func (p *callParams) modern() bool { return p.Meta.Version != "" }

type echoArgs struct {
	Text *string `json:"text"`
}

func replyLean(out, msg []byte) ([]byte, bool) {
	var e leanEnvelope
	if err := json.Unmarshal(msg, &e); err != nil {
		return appendError(out, nil, -32700, "parse error"), true
	}
	if len(e.ID) == 0 {
		return out, false
	}
	return e.answer(out), true
}

// answer checks the request and appends what it is answered with.
func (e *leanEnvelope) answer(out []byte) []byte {
	if e.Version != "2.0" || len(e.ID) == 0 || e.ID[0] == 'n' || e.ID[0] == '{' || e.ID[0] == '[' {
		return appendError(out, nil, -32600, "invalid request")
	}
	switch e.Method {
	case "initialize":
		out = append(out, `{"jsonrpc":"2.0","id":`...)
		out = append(out, e.ID...)
		out = append(out, `,"result":`...)
		out = append(out, initResult...)
		return append(out, '}')
	case "tools/call":
		return e.echo(out)
	}
	return appendError(out, e.ID, -32601, "method not found")
}

func (e *leanEnvelope) echo(out []byte) []byte {
	if e.Params.Name != "echo" {
		return appendError(out, e.ID, -32602, "unknown tool")
	}
	var args echoArgs
	d := json.NewDecoder(bytes.NewReader(e.Params.Arguments))
	d.DisallowUnknownFields()
	if err := d.Decode(&args); err != nil || args.Text == nil {
		return appendError(out, e.ID, -32602, "text: a string is required")
	}
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(out, e.ID...)
	out = append(out, `,"result":{`...)
	if e.Params.modern() {
		out = append(out, `"resultType":"complete",`...)
	}
	out = append(out, `"content":[{"type":"text","text":`...)
	out = appendString(out, *args.Text)
	return append(out, `}]}}`...)
}

func appendError(out, id []byte, code int, msg string) []byte {
	if len(id) == 0 {
		id = []byte("null")
	}
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(out, id...)
	out = append(out, `,"error":{"code":`...)
	out = strconv.AppendInt(out, int64(code), 10)
	out = append(out, `,"message":`...)
	out = appendString(out, msg)
	return append(out, "}}"...)
}

// appendString appends s as a JSON string, copying the stretches that need no
// escape in one piece. Broken UTF-8 becomes the replacement character.
func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && (r != utf8.RuneError || n > 1) {
			i += n
			continue
		}
		out = append(out, s[done:i]...)
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i++
		done = i
	}
	out = append(out, s[done:]...)
	return append(out, '"')
}
