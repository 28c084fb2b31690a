package clientconfig

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Types are strict, and the error says where.
func TestParse_types(t *testing.T) {
	for _, tt := range []struct{ client, text, want string }{
		{"claude", `[]`, "x: wrong type: want object, got list"},
		{"claude", `{"mcpServers": []}`, "x: mcpServers: wrong type: want object, got list"},
		{"claude", `{"mcpServers": {"a": "npx"}}`, "x: mcpServers.a: wrong type: want object, got string"},
		{"claude", `{"mcpServers": {"a": {"command": ["npx"]}}}`, "x: mcpServers.a.command: wrong type: want string, got list"},
		{"claude", `{"mcpServers": {"a": {"command": "npx", "args": "-y"}}}`, "x: mcpServers.a.args: wrong type: want list of strings, got string"},
		{"claude", `{"mcpServers": {"a": {"command": "npx", "args": ["-y", 1]}}}`, "x: mcpServers.a.args[1]: wrong type: want string, got number"},
		{"claude", `{"mcpServers": {"a.b": {"command": "npx", "env": {"A": true}}}}`, `x: mcpServers."a.b".env.A: wrong type: want string, got boolean`},
		{"claude", `{"mcpServers": {"a": {"command": "npx", "env": {"A=B": "x"}}}}`, "is not a valid name"},
		{"claude", `{"mcpServers": {"a": {"command": "n\u0000px"}}}`, "zero byte"},
		{"claude", `{"mcpServers": {"a": {"type": "http", "command": "npx"}}}`, "has type http but no URL"},
		{"claude", `{"mcpServers": {"a": {"type": "stdio", "url": "http://x"}}}`, "has type stdio but no command"},
		{"claude", `{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`, "x: has a duplicate name in line 1"},
		{"claude", `{"mcpServers": {}} more`, "x: is not JSON"},
		{"cursor", `{"mcpServers": {"a": {"command": "x", "disabled": "yes"}}}`, "x: mcpServers.a.disabled: wrong type: want boolean, got string"},
		{"vscode", `{"inputs": {}}`, "x: inputs: wrong type: want list"},
		{"vscode", `{"inputs": [1]}`, "x: inputs[0]: wrong type: want object, got number"},
		{"vscode", `{"inputs": [{"id": 1}]}`, "x: inputs[0].id: wrong type: want string"},
		{"opencode", `{"mcp": {"a": {"type": "local", "command": "npx -y"}}}`, "x: mcp.a.command: wrong type: want list of strings, got string"},
		{"gemini", `{"mcp": {"excluded": "a"}}`, "x: mcp.excluded: wrong type: want list"},
		{"codex", "[mcp_servers.a]\ncommand = 1", "x: mcp_servers.a.command: wrong type: want string, got number"},
		{"codex", "[mcp_servers.a]\ncommand = ", "x: is not TOML in line 2"},
		{"codex", "[mcp_servers]\na = 1979-05-27", "x: mcp_servers.a: wrong type: want object, got number"},
		{"goose", "extensions:\n  a:\n    type: stdio\n    cmd: x\n    args: [8080]", "x: extensions.a.args[0]: wrong type: want string, got number"},
		{"goose", "extensions:\n  a:\n    enabled: maybe\n    cmd: x\n    type: stdio", "x: extensions.a.enabled: wrong type: want boolean, got string"},
		{"goose", "a: b: c", "x: is not YAML"},
		{"goose", "a: 1\na: 2", "duplicate key"},
		{"goose", "? [a]\n: b", "that is not a string"},
		{"goose", "- a", "x: wrong type: want object, got list"},
	} {
		c, _ := Find(tt.client)
		servers, err := c.Parse([]byte(tt.text), File{Path: "x", Scope: User}, "")
		if len(servers) == 1 {
			_, err = servers[0].Expand(Values{})
		}
		if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %s\n%v, want %s", tt.client, tt.text, err, tt.want)
		}
	}
}

// An entry that is wrong does not spoil those beside it.
func TestParse_oneWrong(t *testing.T) {
	c, _ := Find("codex")
	servers, err := c.Parse([]byte("[mcp_servers.a]\ncommand = 'a'\n[mcp_servers.b]\ncommand = 1\n[mcp_servers]\nc = 2"), File{Path: "x", Scope: User}, "")
	if err != nil || len(servers) != 3 {
		t.Fatalf("Parse = %+v, %v", servers, err)
	}
	if x, err := servers[0].Expand(Values{}); err != nil || x.Args[0] != "a" {
		t.Errorf("a = %+v, %v", x, err)
	}
	for _, s := range servers[1:] {
		if x, err := s.Expand(Values{}); err == nil || err != s.Err || s.Name == "" || s.Scope != User {
			t.Errorf("%+v = %+v, %v", s, x, err)
		}
	}
}

// VS Code's choices are texts, or objects.
func TestParse_options(t *testing.T) {
	c, _ := Find("vscode")
	servers, err := c.Parse([]byte(`{"inputs":[{"id":"a","type":"pickString","options":["x",{"label":"Why","value":"y"}]}],"servers":{"s":{"command":"c"}}}`), File{Path: "x"}, "")
	if err != nil || len(servers) != 1 || len(servers[0].inputs) != 1 || strings.Join(servers[0].inputs[0].Options, " ") != "x y" {
		t.Errorf("Parse = %+v, %v", servers, err)
	}
}

// Files that are made to hurt cost little, and are refused.
func TestParse_hostile(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), i-1)
	}
	deep := strings.Repeat("[", maxFile/2)
	for _, tt := range []struct{ name, client, text, want string }{
		{"nested JSON", "claude", `{"a":` + deep, "nested"},
		{"nested objects", "zed", strings.Repeat(`{"a":`, 200_000), "nested"},
		{"nested TOML", "codex", "a = " + deep, "nested"},
		{"nested tables", "codex", "a = " + strings.Repeat("{a=", 200_000), "nested"},
		{"nested YAML", "goose", "a: " + deep, ""},
		{"nested YAML, within what the parser takes", "goose", "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested"},
		{"alias bomb", "goose", bomb.String(), ""},
		{"alias of itself", "goose", "a: &a [*a]", ""},
		{"merge key", "goose", "b: &b {cmd: x}\nextensions:\n  a:\n    <<: *b\n    type: stdio", "but no command"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := Find(tt.client)
			began := time.Now()
			servers, err := c.Parse([]byte(tt.text), File{Path: "x", Scope: User}, "")
			if len(servers) == 1 {
				err = servers[0].Err
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// Brackets in strings and comments do not count as depth.
func TestDepth(t *testing.T) {
	for _, tt := range []struct {
		text, comment, block string
		want                 int
	}{
		{`{"a": "[[[[\"[[", "b": [1]}`, "//", "/*", 2},
		{"// [[[\n{ /* {{{ */ }", "//", "/*", 1},
		{"# [[[\na = [1]\nb = '[['\nc = \"\"\"\n[[[\"\n\"\"\"\nd = '''['''", "#", "", 1},
		{"it's [", "//", "/*", 1},
	} {
		if got := depth([]byte(tt.text), tt.comment, tt.block); got != tt.want {
			t.Errorf("depth(%q) = %d, want %d", tt.text, got, tt.want)
		}
	}
}

// The parts of a TOML key with dots are nested, too, and what changes a file takes time and memory for each.
func TestParse_deepKeys(t *testing.T) {
	c, _ := Find("codex")
	for text, deep := range map[string]bool{
		strings.Repeat("a.", maxDepth-1) + "a = 1":         false,
		strings.Repeat("a.", maxDepth) + "a = 1":           true,
		strings.Repeat("a.", maxProject/3) + "a = 1":       true,
		"[" + strings.Repeat("a.", maxDepth) + "a]\nb=1":   true,
		"[[" + strings.Repeat("a.", maxDepth) + "a]]\nb=1": true,
	} {
		if _, err := c.Parse([]byte(text), File{Path: "x"}, ""); errors.Is(err, errTooDeep) != deep {
			t.Errorf("Parse of %.20s… with %d bytes = %v, want errTooDeep: %t", text, len(text), err, deep)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"mcpServers":{"a":{"command":"x","args":["${A}"],"env":{"B":"${env:C}"}}}}`)
	f.Add(`{/*c*/"servers":{"a":{"url":"http://x","headers":{"A":"$B"}},},"inputs":[{"id":"a"}]}`)
	f.Add(`{"mcp":{"a":{"type":"local","command":["a"],"environment":{"B":"{env:C}"}}}}`)
	f.Add(`{"context_servers":{"a":{"command":{"path":"x"}}}}`)
	fuzz(f, "json", "jsonc")
}

func FuzzTOML(f *testing.F) {
	f.Add("[mcp_servers.a]\ncommand='x'\nargs=['y']\n[mcp_servers.a.env]\nA=\"b\"")
	f.Add("mcp_servers = {a={url='x',bearer_token_env_var='T'}}")
	fuzz(f, "toml")
}

func FuzzYAML(f *testing.F) {
	f.Add("extensions:\n  a: {type: stdio, cmd: x, args: [y], enabled: false, env_keys: [A]}")
	f.Add("a: &a [1]\nb: [*a, *a]")
	fuzz(f, "yaml")
}

// fuzz reads a text as every client with one of the formats does.
func fuzz(f *testing.F, names ...string) {
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range Clients() {
			for _, name := range names {
				if c.row.Format != name {
					continue
				}
				servers, err := c.Parse([]byte(text), File{Path: "x", Scope: User}, "/project")
				if _, ok := errors.AsType[*Error](err); err != nil && (!ok || servers != nil) {
					t.Errorf("Parse = %v, %v", servers, err)
				}
				for _, s := range servers {
					x, err := s.Expand(Values{Getenv: func(name string) (string, bool) { return "v", true }})
					if err == nil && len(x.Args) == 0 && x.URL == "" {
						t.Errorf("Expand = %+v", x)
					}
				}
			}
		}
	})
}
