package mcp

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// Strings are changed wherever they stand, and nothing else is.
func TestRedactor(t *testing.T) {
	f := redactor(func(s string) string { return strings.ReplaceAll(s, "secret", "…") })
	for in, want := range map[string]string{
		`{"a":"x","n":1.50,"b":[true,null]}`:             `{"a":"x","n":1.50,"b":[true,null]}`,
		`{ "secret":"a \"secret\" b", "n":1e400}`:        `{ "…":"a \"…\" b", "n":1e400}`,
		`["\u0073ecret","\\","secret\\"]`:                `["…","\\","…\\"]`,
		`"secret"`:                                       `"…"`,
		`{"nextCursor":"secret","x":"secret"}`:           `{"nextCursor":"…","x":"…"}`,
		`{"\"":"secret", "unfinished`:                    `{"\"":"…", "unfinished`,
		`{"unfinished":"secret`:                          `{"unfinished":"secret`,
		`{"a":"x\\\"secret\\\\","secret\"b":"\\secret"}`: `{"a":"x\\\"…\\\\","…\"b":"\\…"}`,
	} {
		if got := string(f.json(json.RawMessage(in))); got != want {
			t.Errorf("%s became %s", in, got)
		}
	}
	m := f.message(&jsonrpc.Message{ID: jsonrpc.IntID(1), Result: json.RawMessage(`{"nextCursor":"secret","requestState":"secret","x":{"nextCursor":"secret"}}`)})
	if got := string(m.Result); got != `{"nextCursor":"secret","requestState":"secret","x":{"nextCursor":"…"}}` {
		t.Errorf("the result became %s", got)
	}
	status := &StatusError{Code: 400, Body: []byte("secret"), Err: &jsonrpc.Error{Code: 1, Message: "secret", Data: json.RawMessage(`"secret"`)}}
	err := f.error(errors.Join(errors.New("x"), status))
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if s, isStatus := errors.AsType[*StatusError](err); !ok || !isStatus || e.Message != "…" || string(e.Data) != `"…"` || string(s.Body) != "…" || s.Code != 400 {
		t.Errorf("the error became %v", err)
	}
	err = f.error(&url.Error{Op: "Post", URL: "https://x?secret", Err: jsonrpc.ErrClosed})
	if !isUnreachable(err) || strings.Contains(err.Error(), "secret") || !errors.Is(err, jsonrpc.ErrClosed) {
		t.Errorf("the error became %v", err)
	}
	if err := f.error(jsonrpc.ErrClosed); err != jsonrpc.ErrClosed {
		t.Errorf("an error without the secret became %v", err)
	}
}
