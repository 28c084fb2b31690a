package origins

import (
	"strings"
	"testing"
	"time"
)

// The fifth design: three methods that give an assistant its tasks, over plain JSON-RPC
// without a handshake.
func TestBoard(t *testing.T) {
	dir := project(t)
	run := func(args ...string) string {
		t.Helper()
		out, err := command(t, dir, "bossman", args...).Output()
		if err != nil {
			t.Fatalf("bossman %q: %v", args, err)
		}
		return string(out)
	}
	s := start(t, command(t, dir, "bossman"))
	// An empty queue.
	s.ask(`{"jsonrpc":"2.0","method":"getNextTask","id":1}`, `{"jsonrpc":"2.0","id":1,"result":null}`)

	run("task", "add", "Add authentication", "--description", "Step 1: Create auth middleware")
	s.ask(`{
		"jsonrpc": "2.0",
		"method": "getNextTask",
		"params": {},
		"id": 1
	}`, `{
		"jsonrpc":"2.0",
		"id":1,
		"result":{
			"id":"web-1",
			"title":"Add authentication",
			"description":"Step 1: Create auth middleware",
			"status":"pending"
		}
	}`)

	// A question is answered by somebody else, while the call waits.
	s.send(`{
		"jsonrpc":"2.0",
		"method":"askQuestion",
		"params":{"question":"What is async/await?","chatId":"chat-123"},
		"id":2
	}`)
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(run("inbox"), "q-1"); {
		if time.Now().After(deadline) {
			t.Fatal("the question is not in the inbox")
		}
	}
	run("client", "call", "answer_question", "question=q-1", "answer=Async/await is a pattern", "--", "bossman", "mcp")
	match(t, "askQuestion", s.line(), `{"jsonrpc":"2.0","id":2,"result":{"answer":"Async/await is a pattern","answeredAs":"agent","chatId":"chat-123"}}`)

	// What is wrong, and how it is said.
	for _, tt := range []struct{ request, want string }{
		{`{"jsonrpc":"2.0","method":"askQuestion","id":3}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"params must be an object"}}`},
		{`{"jsonrpc":"2.0","method":"askQuestion","params":"x","id":3}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"Invalid Request: params must be an object"}}`},
		{`{"jsonrpc":"2.0","method":"askQuestion","params":{},"id":3}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"question must be a non-empty string"}}`},
		{`{"jsonrpc":"2.0","method":"askQuestion","params":{"question":""},"id":3}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"question must be a non-empty string"}}`},
		{`{"jsonrpc":"2.0","method":"askQuestion","params":{"question":"x","chatId":5},"id":3}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"chatId must be a string if provided"}}`},
		{`{"jsonrpc":"2.0","method":"reportTaskDone","params":{"taskId":"TICKET-001","result":"Completed successfully"},"id":3}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"…"}}`},
		{`{"jsonrpc":"2.0","method":"getTask","id":3}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found: getTask"}}`},
		{`{"jsonrpc":"2.0","method":7,"id":1}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: method must be a string"}}`},
		{`{"jsonrpc":"1.0","method":"getNextTask","id":1}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: jsonrpc must be \"2.0\""}}`},
		{`{"jsonrpc":`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: not valid JSON"}}`},
	} {
		s.ask(tt.request, tt.want)
	}

	s.ask(`{
		"jsonrpc":"2.0",
		"method":"reportTaskDone",
		"params":{"taskId":"web-1","result":"Completed successfully"},
		"id":3
	}`, `{"jsonrpc":"2.0","id":3,"result":{"success":true}}`)
	s.ask(`{"jsonrpc":"2.0","method":"getNextTask","id":1}`, `{"jsonrpc":"2.0","id":1,"result":null}`)
	log := s.end()
	for _, want := range []string{"server started", "server stopped"} {
		if !strings.Contains(log, want) {
			t.Errorf("stderr is %q, want %q in it", log, want)
		}
	}
	if out := run("task", "show", "web-1"); !strings.Contains(out, "Completed successfully") {
		t.Errorf("the result is not kept: %s", out)
	}
}

// One request in a pipe is a whole conversation.
func TestBoard_echo(t *testing.T) {
	cmd := command(t, project(t), "bossman", "mcp")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","method":"getNextTask","id":1}` + "\n")
	out, err := cmd.Output()
	if err != nil || string(out) != `{"jsonrpc":"2.0","id":1,"result":null}`+"\n" {
		t.Errorf("bossman mcp = %s, %v", out, err)
	}
}
