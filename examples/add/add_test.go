package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

// The tool is listed and called in every revision, by our own client.
func TestAdd(t *testing.T) {
	mcptest.EachRevision(t, newServer(), nil, func(t *testing.T, c *mcp.Client) {
		tool, err := c.Tool(t.Context(), "add")
		if err != nil {
			t.Fatal(err)
		}
		const schema = `{"type":"object","properties":{"a":{"type":"number","description":"First number"},"b":{"type":"number","description":"Second number"}},"required":["a","b"],"additionalProperties":false}`
		if tool.Description != "Add two numbers together" || string(tool.InputSchema) != schema {
			t.Errorf("Tool(add) = %q, %s", tool.Description, tool.InputSchema)
		}
		for args, want := range map[string]string{
			`{"a":2,"b":3}`:                `{"result":5}`,
			`{"a":-2.5,"b":0.5}`:           `{"result":-2}`,
			`{"a":0,"b":0}`:                `{"result":0}`,
			`{"a":1e308,"b":-1e308}`:       `{"result":0}`,
			`{"a":9007199254740992,"b":1}`: `{"result":9007199254740992}`, // numbers are float64
		} {
			res, err := c.Call(t.Context(), "add", json.RawMessage(args), nil)
			if err != nil || res.IsError || res.Content[0].Text != want {
				t.Errorf("add %s = %+v, %v; want %s", args, res, err, want)
			}
		}
	})
}

func TestAdd_invalidArguments(t *testing.T) {
	mcptest.EachRevision(t, newServer(), nil, func(t *testing.T, c *mcp.Client) {
		for _, args := range []string{`{}`, `{"a":2}`, `{"a":"2","b":3}`, `{"a":2,"b":null}`, `{"a":2,"b":3,"c":4}`} {
			res, err := c.Call(t.Context(), "add", json.RawMessage(args), nil)
			if c.Revision() < mcp.R20251125 {
				if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != jsonrpc.CodeInvalidParams {
					t.Errorf("add %s = %+v, %v; want the code %d", args, res, err, jsonrpc.CodeInvalidParams)
				}
			} else if err != nil || !res.IsError {
				t.Errorf("add %s = %+v, %v; want an error of the tool", args, res, err)
			}
		}
	})
}

// Standard input and output are a reader and a writer: the server's answers to a
// script of lines.
func TestAdd_lines(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"ping"}
{"jsonrpc":"2.0","id":2,"method":"subtract"}
not JSON
`
	want := `{"jsonrpc":"2.0","id":1,"result":{}}
{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found: subtract"}}
{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: not valid JSON"}}
`
	var out bytes.Buffer
	if err := newServer().Serve(t.Context(), jsonrpc.Lines(strings.NewReader(in), &out, jsonrpc.Limits{})); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// The README shows this program.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(program), ")\n\ntype ")
	if code == "" || !strings.Contains(string(readme), "```go\ntype "+code+"```") {
		t.Errorf("README.md does not contain the program:\ntype %s", code)
	}
}
