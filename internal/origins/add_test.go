package origins

import (
	"strings"
	"testing"
)

// The second design: a server on a JSON-RPC core, with a demonstration tool that adds.
func TestAdd(t *testing.T) {
	s := start(t, command(t, t.TempDir(), "add"))
	s.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"client","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"add","version":"1.0.0"}}}`)
	s.send(`{"jsonrpc":"2.0","method":"initialized"}`) // the short name
	s.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)

	// Discovery. The list has a cursor; the empty one is the first page.
	want := `{"jsonrpc":"2.0","id":3,"result":{"tools":[{
		"name":"add",
		"description":"Add two numbers together",
		"inputSchema":{
			"type":"object",
			"properties":{
				"a":{"type":"number","description":"First number"},
				"b":{"type":"number","description":"Second number"}
			},
			"required":["a","b"]
		}
	}]}}`
	for _, params := range []string{`{}`, `{"cursor":""}`} {
		if got := s.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":`+params+`}`, want); strings.Contains(got, "nextCursor") {
			t.Errorf("the only page has a next one: %s", got)
		}
	}

	// Execution.
	got := s.ask(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}`,
		`{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"{\"result\":5}"}]}}`)
	if text := textOf(t, got); text != `{"result":5}` {
		t.Errorf("add = %s", text)
	}
	for _, arguments := range []string{`{"a":"2","b":3}`, `{"a":2}`, `{"a":2,"b":"three"}`, `{}`} {
		s.ask(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add","arguments":`+arguments+`}}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32602}}`)
	}
	s.ask(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"subtract"}}`, `{"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"Unknown tool: subtract"}}`)
	s.ask(`{"jsonrpc":"2.0","id":7}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32600}}`)
	s.ask(`what`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}`)
	s.end()
}
