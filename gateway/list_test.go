package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/mcp"
)

type ctx = context.Context

func listed(t *testing.T, c *mcp.Client) (names []string, bytes int) {
	t.Helper()
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(tool)
		names, bytes = append(names, tool.Name), bytes+len(text)
	}
	return names, bytes
}

// Claude Code, which loads definitions on demand, gets up to 150 tools. Others get three, which find and call
// the rest.
func TestList(t *testing.T) {
	for _, c := range []struct {
		count        int
		client, list string
		pin          string
		want         int
	}{
		{10, "claude-code", "auto", "", 10},
		{150, "claude-code", "auto", "", 150},
		{151, "claude-code", "auto", "", 3},
		{10, "codex-mcp-client", "auto", "", 3},
		{500, "gemini-cli-mcp-client", "auto", "", 3},
		{500, "other", "auto", "tool7", 4},
		{10, "other", "real", "", 10},
		{10, "claude-code", "search", "", 3},
	} {
		t.Run(fmt.Sprintf("%s %s %d", c.client, c.list, c.count), func(t *testing.T) {
			up := quietServer()
			for i := range c.count {
				raw(t, up, fmt.Sprintf(`{"name":"tool%d","description":"Do the thing number %d. And more.","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},"_meta":{"anthropic/alwaysLoad":true}}`, i, i), nil)
			}
			l := newLab(t, map[string]*mcp.Server{"up": up}, 0, &Options{TrustFirst: true, List: c.list}, func(u *Upstream) { u.Pin = []string{c.pin} })
			for _, revision := range []mcp.Revision{mcp.R20251125, mcp.R20260728} {
				client := connect(t, l.server, revision, &mcp.ClientOptions{Info: mcp.Implementation{Name: c.client, Version: "1"}})
				names, bytes := listed(t, client)
				if len(names) != c.want {
					t.Errorf("%d tools are listed: %.200v, want %d", len(names), names, c.want)
				}
				if c.want == 3 && bytes > 1500 {
					t.Errorf("the search tools have %d bytes", bytes)
				}
				for tool, err := range client.Tools(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					if own := !strings.HasPrefix(tool.Name, "up__") || c.pin != ""; (tool.Meta[alwaysLoad] == true) != own {
						t.Errorf("%s has %v", tool.Name, tool.Meta)
					}
				}
				res, err := client.Call(t.Context(), "search_tools", map[string]string{"query": "the thing number 7"}, nil)
				if err != nil || !strings.Contains(res.Content[0].Text, `"up__tool7"`) || !strings.Contains(res.Content[0].Text, `"inputSchema":{`) || strings.Contains(res.Content[0].Text, "And more") {
					t.Errorf("search_tools = %+v, %v", res, err)
				}
			}
		})
	}
}

// call_read_tool reaches only tools that the operator classed read, whatever they say of themselves.
func TestCallReadTool(t *testing.T) {
	up := quietServer()
	for _, name := range []string{"get_x", "set_x"} {
		mcp.AddTool(up, mcp.Tool{Name: name, Description: "X.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(_ ctx, _ *mcp.Call, in struct {
			N int `json:"n" jsonschema:"a number"`
		},
		) (string, error) {
			return fmt.Sprint(in.N), nil
		})
	}
	l := newLab(t, map[string]*mcp.Server{"up": up}, 0, nil, func(u *Upstream) { u.Read = []string{"get_*"} })
	c := connect(t, l.server, mcp.R20251125, nil)
	for _, k := range []struct {
		by, name string
		args     any
		want     string
	}{
		{"call_read_tool", "up__get_x", map[string]int{"n": 7}, "7"},
		{"call_read_tool", "up__set_x", map[string]int{"n": 7}, "may change something"},
		{"call_tool", "up__set_x", map[string]int{"n": 7}, "7"},
		{"call_tool", "up__set_x", `{"n":8}`, "8"},
		{"call_tool", "up__set_x", map[string]string{"n": "x"}, "invalid arguments"},
		{"call_tool", "up__sett_x", nil, "did you mean"},
	} {
		res, err := c.Call(t.Context(), k.by, map[string]any{"name": k.name, "arguments": k.args}, nil)
		if err != nil || !strings.Contains(res.Content[0].Text, k.want) {
			t.Errorf("%s %s %v = %+v, %v, want %s", k.by, k.name, k.args, res, err, k.want)
		}
	}
}

// Definitions that the library would refuse from a program are passed on.
func TestDefinitions(t *testing.T) {
	up := quietServer()
	err := up.Update(func(u *mcp.Update) error {
		u.Unchecked = true
		for _, d := range []string{
			`{"name":"plain","inputSchema":{"type":"object"},"execution":{"x":1},"annotations":{"readOnlyHint":false},"outputSchema":{"type":"object"}}`,
			`{"name":"pattern","inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)"}}}}`,
			`{"name":"ref","inputSchema":{"type":"object","$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"n":{"type":"integer"}}}}}}`,
			`{"name":"taken","inputSchema":{"type":"object","properties":{"bossman_claim":{"type":"string"}}}}`,
		} {
			if err := u.Add(mcp.KindTool, json.RawMessage(d), func(_ ctx, c *mcp.Call) (json.RawMessage, error) {
				return append(append([]byte(`{"content":[],"got":`), c.Arguments()...), '}'), nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	guard := &testGuard{}
	l := newLab(t, map[string]*mcp.Server{"up": up}, 0, &Options{TrustFirst: true, List: "real", Guard: guard})
	c := connect(t, l.server, mcp.R20251125, nil)
	list, err := c.Forward(t.Context(), "tools/list", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"execution":{"x":1}`, `"readOnlyHint":false`, `"bossman_claim":{`} {
		if !strings.Contains(string(list), want) {
			t.Errorf("the list has no %s: %s", want, list)
		}
	}
	for _, no := range []string{"outputSchema", "up__ref", "up__taken", "up__pattern"} {
		if strings.Contains(string(list), no) {
			t.Errorf("the list has %s: %s", no, list)
		}
	}
	for _, k := range []struct{ params, got, claim, step string }{
		{`{"name":"up__plain","arguments":{"bossman_claim":"c1","bossman_step":"s1","x":1}}`, `{"x":1}`, "c1", "s1"},
		{`{"name":"call_tool","arguments":{"name":"up__plain","arguments":{"x":2},"claim":"c2","step":"s2"}}`, `{"x":2}`, "c2", "s2"},
		{`{"name":"call_tool","arguments":{"name":"up__taken","arguments":{"bossman_claim":"theirs"},"claim":"c3"}}`, `{"bossman_claim":"theirs"}`, "c3", ""},
		{`{"name":"call_tool","arguments":{"name":"up__ref","arguments":{"n":1}}}`, `{"n":1}`, "", ""},
	} {
		*guard = testGuard{}
		res, err := c.Forward(t.Context(), "tools/call", json.RawMessage(k.params), nil)
		if err != nil || string(member(res, "got")) != k.got || guard.call.Claim != k.claim || guard.call.Step != k.step || guard.end.Outcome != OutcomeOK {
			t.Errorf("%s = %s, %v; admitted %+v, ended %+v", k.params, res, err, guard.call, guard.end)
		}
	}
	guard.err = mcp.Errorf("the claim has ended")
	res, err := c.Call(t.Context(), "up__plain", nil, nil)
	if err != nil || !res.IsError || res.Content[0].Text != "the claim has ended" {
		t.Errorf("a refused call = %+v, %v", res, err)
	}
}

type testGuard struct {
	call GuardedCall
	end  CallEnd
	err  error

	quiet bool
}

func (g *testGuard) Admit(_ ctx, c GuardedCall) (*Admitted, error) {
	g.call = c
	return &Admitted{Done: func(_ ctx, end CallEnd) (json.RawMessage, error) {
		g.end = end
		return nil, nil
	}}, g.err
}

func (g *testGuard) Person(ctx) bool { return !g.quiet }

// Resources keep their URIs; one that two upstreams list is refused. Prompts and completion reach their
// upstream.
func TestResources(t *testing.T) {
	ups := map[string]*mcp.Server{}
	for _, name := range []string{"one", "two"} {
		s := mcp.NewServer(mcp.Implementation{Name: name, Version: "1"}, &mcp.ServerOptions{
			Complete: func(_ ctx, _ *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error) {
				return &mcp.Completion{Values: []string{name + " " + p.Ref.Name + " " + p.Argument.Value}}, nil
			},
		})
		for _, uri := range []string{"test://both", "ui://" + name, "bossman://x"} {
			s.AddResource(mcp.Resource{URI: uri, Name: "r"}, func(_ ctx, c *mcp.Call) (*mcp.ResourceResult, error) {
				return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{URI: c.URI(), Text: name}}}, nil
			})
		}
		s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: name + "://{id}", Name: "t"}, func(_ ctx, c *mcp.Call) (*mcp.ResourceResult, error) {
			return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{URI: c.URI(), Text: name + " " + c.Argument("id")}}}, nil
		})
		s.AddPrompt(mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}}}, func(_ ctx, c *mcp.Call) (*mcp.PromptResult, error) {
			return &mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: "user", Content: mcp.Text(name + " " + c.Argument("a"))}}}, nil
		})
		raw(t, s, `{"name":"link","inputSchema":{"type":"object"}}`, func(ctx, *mcp.Call) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[{"type":"resource_link","uri":"hidden-` + name + `://7","name":"x"}]}`), nil
		})
		s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "hidden-" + name + "://{id}", Name: "t"}, func(_ ctx, c *mcp.Call) (*mcp.ResourceResult, error) {
			return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{URI: c.URI(), Text: "hidden " + name}}}, nil
		})
		ups[name] = s
	}
	l := newLab(t, ups, 0, nil)
	eventually(t, "both", func() bool {
		l.Gateway.mu.Lock()
		defer l.Gateway.mu.Unlock()
		return len(l.offer.prompts) == 2
	})
	eachRevision(t, l.server, nil, func(t *testing.T, c *mcp.Client) {
		for _, k := range []struct{ uri, want string }{{"ui://one", "one"}, {"ui://two", "two"}, {"one://5", "one 5"}, {"test://both", ""}, {"bossman://x", ""}, {"nobody://1", ""}} {
			res, err := c.Read(t.Context(), k.uri, nil)
			if k.want == "" && err == nil || k.want != "" && (err != nil || res.Contents[0].Text != k.want) {
				t.Errorf("Read(%s) = %+v, %v", k.uri, res, err)
			}
		}
		res, err := c.Prompt(t.Context(), "two__p", map[string]string{"a": "x"}, nil)
		if err != nil || res.Messages[0].Content.Text != "two x" {
			t.Errorf("Prompt = %+v, %v", res, err)
		}
		done, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.CompleteRef{Type: "ref/prompt", Name: "one__p"}, Argument: mcp.CompleteArgument{Name: "a", Value: "v"}}, nil)
		if err != nil || done.Values[0] != "one p v" {
			t.Errorf("Complete = %+v, %v", done, err)
		}
		if _, err := c.Call(t.Context(), "one__link", nil, nil); err != nil {
			t.Fatal(err)
		}
		if res, err := c.Read(t.Context(), "hidden-one://7", nil); err != nil || res.Contents[0].Text != "hidden one" {
			t.Errorf("a resource that a result names = %+v, %v", res, err)
		}
	})
}
