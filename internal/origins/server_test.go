package origins

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// The first design: a task server on standard input and output, written by hand for
// revision 2025-03-26.
func TestServer(t *testing.T) {
	s := start(t, command(t, project(t), "bossman"))
	const (
		initialize = `{
			"jsonrpc": "2.0",
			"id": 1,
			"method": "initialize",
			"params": {
				"protocolVersion": "2025-03-26",
				"capabilities": {},
				"clientInfo": {"name": "ExampleClient", "version": "1.0.0"}
			}
		}`
		list  = `{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}`
		state = `{"jsonrpc": "2.0", "id": 2, "error": {"code": -32600}}`
	)
	// Created: only ping and initialize.
	s.ask(`{"jsonrpc": "2.0", "id": 1, "method": "ping"}`, `{"jsonrpc": "2.0", "id": 1, "result": {}}`)
	s.ask(list, state)
	s.ask(`{"jsonrpc": "2.0", "id": 1, "method": "nosuch"}`, `{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601}}`)
	s.ask(initialize, `{
		"jsonrpc": "2.0",
		"id": 1,
		"result": {
			"protocolVersion": "2025-03-26",
			"capabilities": {"tools": {}, "logging": {}},
			"serverInfo": {"name": "bossman", "version": "…"}
		}
	}`)
	// Initializing.
	s.ask(list, state)
	s.ask(`{"jsonrpc": "2.0", "id": 1, "method": "ping"}`, `{"jsonrpc": "2.0", "id": 1, "result": {}}`)
	s.ask(initialize, `{"jsonrpc": "2.0", "id": 1, "error": {"code": -32600}}`)
	s.send(`{"jsonrpc": "2.0", "method": "notifications/initialized"}`)

	// Operating.
	checkSchemas(t, s.ask(list, `{"jsonrpc": "2.0", "id": 2, "result": {"tools": "…"}}`))
	got := s.ask(`{
		"jsonrpc": "2.0",
		"id": 3,
		"method": "tools/call",
		"params": {"name": "create_task", "arguments": {"description": "Fix parser bug"}}
	}`, `{"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": "…"}], "isError": false}}`)
	match(t, "create_task", textOf(t, got), `{"id": "web-1", "description": "Fix parser bug", "status": "pending"}`)
	s.ask(`{
		"jsonrpc": "2.0",
		"id": 3,
		"method": "tools/call",
		"params": {"name": "get_task", "arguments": {"task": "task_xyz"}}
	}`, `{"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": "…"}], "isError": true}}`)
	s.ask(`{
		"jsonrpc": "2.0",
		"id": 3,
		"method": "tools/call",
		"params": {"name": "nonexistent_tool", "arguments": {}}
	}`, `{"jsonrpc": "2.0", "id": 3, "error": {"code": -32602, "message": "Unknown tool: nonexistent_tool"}}`)
	for _, params := range []string{
		`{"name": "create_task", "arguments": {}}`, `{"name": "create_task", "arguments": []}`, `{"arguments": {}}`,
		`{"name": "create_task", "arguments": {"description": {"x": 1}}}`,
	} {
		s.ask(`{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": `+params+`}`, `{"jsonrpc": "2.0", "id": 3, "error": {"code": -32602}}`)
	}

	// The answer has the request's id, of the same type.
	for _, id := range []string{`1`, `"1"`, `0`, `-7`, `"a b"`, `9007199254740993`} {
		s.send(`{"jsonrpc": "2.0", "id": ` + id + `, "method": "ping"}`)
		if got, want := s.line(), `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	s.ask(`{"jsonrpc": "2.0", "id": null, "method": "ping"}`, `{"jsonrpc": "2.0", "id": null, "error": {"code": -32600}}`)

	// The five codes.
	s.ask(`{"jsonrpc": "2.0", "id"`, `{"jsonrpc": "2.0", "id": null, "error": {"code": -32700}}`)
	s.ask(`{"jsonrpc": "2.0", "id": 1}`, `{"jsonrpc": "2.0", "id": 1, "error": {"code": -32600}}`)
	s.ask(`{"jsonrpc": "2.0", "id": 1, "method": "nosuch"}`, `{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601}}`)
	s.ask(`{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {}}`, `{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602}}`)

	// A batch, and one with a notification in it.
	answers := s.ask(`[
		{"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
		{"jsonrpc": "2.0", "id": 2, "method": "ping"}
	]`, `["…", "…"]`)
	var batch []struct {
		ID     int
		Result map[string]any
	}
	if err := json.Unmarshal([]byte(answers), &batch, json.MatchCaseInsensitiveNames(true)); err != nil || len(batch) != 2 || batch[0].ID+batch[1].ID != 3 || batch[0].Result == nil || batch[1].Result == nil {
		t.Errorf("batch = %.200s…, %v", answers, err)
	}
	s.ask(`[{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}, {"jsonrpc": "2.0", "id": 5, "method": "ping"}]`,
		`[{"jsonrpc": "2.0", "id": 5, "result": {}}]`)

	// Cancellation: the request that waits gets no answer; one that is not known is ignored.
	cancel := `{
		"jsonrpc": "2.0",
		"method": "notifications/cancelled",
		"params": {"requestId": "123", "reason": "User requested cancellation"}
	}`
	s.send(cancel)
	s.send(`{"jsonrpc": "2.0", "id": 10, "method": "tools/call", "params": {"name": "update_task", "arguments": {"task": "web-1", "hold": true}}}`)
	match(t, "hold", s.line(), `{"id": 10, "result": {"isError": false}}`)
	s.send(`{"jsonrpc": "2.0", "id": "123", "method": "tools/call", "params": {"name": "get_next_task", "arguments": {"wait_seconds": 45}}}`)
	s.send(cancel)
	s.ask(`{"jsonrpc": "2.0", "id": "after", "method": "ping"}`, `{"jsonrpc": "2.0", "id": "after", "result": {}}`)

	// A message of 1 MiB is taken, and one that is longer than the limit harms nobody.
	s.ask(`{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "`+strings.Repeat("x", 1<<20-100)+`"}}`, `{"id": 1, "result": {}}`)
	s.ask(`{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "`+strings.Repeat("x", 16<<20)+`"}}`, `{"id": 1, "error": {"code": -32600}}`)
	s.ask(`{"jsonrpc": "2.0", "id": 2, "method": "ping"}`, `{"jsonrpc": "2.0", "id": 2, "result": {}}`)

	// Shutdown is the end of input. The log is on standard error.
	if log := s.end(); !strings.Contains(log, "level=INFO") {
		t.Errorf("stderr is %q, want log lines", log)
	}
}

// textOf returns the text of a tool's result.
func textOf(t *testing.T, answer string) string {
	t.Helper()
	var m struct {
		Result struct {
			Content []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal([]byte(answer), &m, json.MatchCaseInsensitiveNames(true)); err != nil || len(m.Result.Content) == 0 {
		t.Fatalf("%s: %v", answer, err)
	}
	return m.Result.Content[0].Text
}

// checkSchemas reports an error unless every object in the schemas is closed and says
// what is required, and every property has a description. create_task takes a
// description of the task.
func checkSchemas(t *testing.T, answer string) {
	t.Helper()
	var m struct {
		Result struct {
			Tools []struct {
				Name, Description string
				InputSchema       map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &m, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	found, enums := false, 0
	for _, tool := range m.Result.Tools {
		if tool.Description == "" {
			t.Errorf("%s has no description", tool.Name)
		}
		if tool.Name == "create_task" {
			found = true
			description, _ := tool.InputSchema["properties"].(map[string]any)["description"].(map[string]any)
			if description["type"] != "string" {
				t.Errorf("create_task takes %v", tool.InputSchema)
			}
		}
		checkSchema(t, tool.Name, tool.InputSchema, &enums)
	}
	if !found || enums == 0 {
		t.Errorf("create_task is there: %v; %d enums", found, enums)
	}
}

func checkSchema(t *testing.T, at string, schema map[string]any, enums *int) {
	t.Helper()
	if schema["enum"] != nil {
		*enums++
	}
	if items, ok := schema["items"].(map[string]any); ok {
		checkSchema(t, at+"[]", items, enums)
	}
	if schema["type"] != "object" {
		return
	}
	if _, ok := schema["required"].([]any); !ok || schema["additionalProperties"] != false {
		t.Errorf("%s: required is %v, additionalProperties is %v", at, schema["required"], schema["additionalProperties"])
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		p, _ := p.(map[string]any)
		if p["description"] == nil || p["description"] == "" {
			t.Errorf("%s.%s has no description", at, name)
		}
		checkSchema(t, at+"."+name, p, enums)
	}
}
