package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// countingBus counts the events that are published.
type countingBus struct {
	replica.Bus
	events []string
}

func (b *countingBus) Publish(kind, name string) {
	b.events = append(b.events, kind)
	b.Bus.Publish(kind, name)
}

// Definitions and results that are JSON already are passed on as they are, in every revision.
func TestUpdate_raw(t *testing.T) {
	bus := &countingBus{Bus: replica.NewBus()}
	s := mcp.NewServer(mcp.Implementation{Name: "ours", Version: "1"}, &mcp.ServerOptions{Bus: bus})
	constant := func(result string) func(context.Context, *mcp.Call) (json.RawMessage, error) {
		return func(context.Context, *mcp.Call) (json.RawMessage, error) { return json.RawMessage(result), nil }
	}
	const (
		tool     = `{"name":"x","execution":{"taskSupport":"optional"},"annotations":{"readOnlyHint":false},"inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"zzz":1.0}`
		prompt   = `{"name":"p","later":[1]}`
		resource = `{"uri":"a://b","name":"b","later":2}`
		template = `{"uriTemplate":"a://{id}/c","name":"c","later":3}`
		result   = `{ "resultType":"complete","content":[{"type":"hologram"}],"extra":1.50,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"theirs","version":"2"}} }`
		read     = `{"contents":[{"uri":"a://b","text":"t","more":1}]}`
	)
	var args json.RawMessage
	err := s.Update(func(u *mcp.Update) error {
		for i := range 20 {
			if err := u.Add(mcp.KindTool, json.RawMessage(strings.Replace(tool, `"x"`, fmt.Sprintf(`"x%d"`, i), 1)), nil); err != nil {
				return err
			}
		}
		return errors.Join(
			u.Add(mcp.KindTool, json.RawMessage(tool), func(_ context.Context, c *mcp.Call) (json.RawMessage, error) {
				args = c.Arguments()
				return json.RawMessage(result), nil
			}),
			u.Add(mcp.KindTool, json.RawMessage(`{"name":"ask","inputSchema":{"type":"object"}}`), func(_ context.Context, c *mcp.Call) (json.RawMessage, error) {
				name, err := mcp.Ask[string](c, "name", "Who?")
				return json.RawMessage(fmt.Sprintf(`{"content":[{"type":"text","text":"Hello, %s"}]}`, name)), err
			}),
			u.Add(mcp.KindPrompt, json.RawMessage(prompt), constant(`{"messages":[],"more":1}`)),
			u.Add(mcp.KindResource, json.RawMessage(resource), constant(read)),
			u.Add(mcp.KindResourceTemplate, json.RawMessage(template), constant(read)),
			u.Remove(mcp.KindTool, "x7", "unknown"),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(bus.events) != 3 {
		t.Errorf("published %v, want one event for each list", bus.events)
	}
	o := &mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"Ada"}`)}, nil
	}}
	mcptest.EachRevision(t, s, &mcptest.Options{Client: *o}, func(t *testing.T, c *mcp.Client) {
		for _, x := range []struct{ method, params, want string }{
			{"tools/list", ``, tool},
			{"prompts/list", ``, prompt},
			{"resources/list", ``, resource},
			{"resources/templates/list", ``, template},
			{"tools/call", `{"name":"x","arguments":{"b":1.0,"a":"y"}}`, `"content":[{"type":"hologram"}],"extra":1.50`},
			{"prompts/get", `{"name":"p"}`, `"messages":[],"more":1`},
			{"resources/read", `{"uri":"a://b"}`, `"contents":[{"uri":"a://b","text":"t","more":1}]`},
			{"resources/read", `{"uri":"a://1/c"}`, `"contents":[{"uri":"a://b","text":"t","more":1}]`},
		} {
			got, err := c.Forward(t.Context(), x.method, json.RawMessage(x.params), nil)
			if err != nil || !strings.Contains(string(got), x.want) {
				t.Errorf("%s = %s, %v; want %s", x.method, got, err, x.want)
			}
			stateless := c.Revision().Stateless()
			if text := string(got); strings.Contains(text, "theirs") || strings.Contains(text, "x7") || strings.Contains(text, `"resultType"`) != stateless ||
				strings.Contains(text, `"ours"`) != stateless || strings.Contains(text, `"cacheScope"`) != (stateless && !strings.HasSuffix(x.method, "/call") && !strings.HasSuffix(x.method, "/get")) {
				t.Errorf("%s = %s: what belongs to the connection is not that of this one", x.method, got)
			}
		}
		if string(args) != `{"b":1.0,"a":"y"}` {
			t.Errorf("the handler got %s", args)
		}
		if res, err := c.Call(t.Context(), "x", map[string]any{"a": 1}, nil); err == nil && !res.IsError {
			t.Errorf("Call with arguments that do not match = %+v", res)
		}
		if c.Revision() >= mcp.R20250618 {
			if got, err := mcp.CallAs[string](t.Context(), c, "ask", nil, nil); err != nil || got != "Hello, Ada" {
				t.Errorf("Call of what asks = %q, %v", got, err)
			}
		}
	})
}

// A bad definition is an error, and then nothing changes.
func TestUpdate_errors(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "kept", Description: "Stays."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
	const ecma = `{"name":"e","inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)"}}}}`
	for name, add := range map[string]func(u *mcp.Update) error{
		"not JSON":      func(u *mcp.Update) error { return u.Add(mcp.KindTool, json.RawMessage(`{`), nil) },
		"not an object": func(u *mcp.Update) error { return u.Add(mcp.KindPrompt, json.RawMessage(`[]`), nil) },
		"duplicate member": func(u *mcp.Update) error {
			return u.Add(mcp.KindPrompt, json.RawMessage(`{"name":"a","name":"b"}`), nil)
		},
		"wrong type": func(u *mcp.Update) error { return u.Add(mcp.KindPrompt, json.RawMessage(`{"name":1}`), nil) },
		"bad name": func(u *mcp.Update) error {
			return u.Add(mcp.KindTool, json.RawMessage(`{"name":"a b","inputSchema":{"type":"object"}}`), nil)
		},
		"no schema": func(u *mcp.Update) error { return u.Add(mcp.KindTool, json.RawMessage(`{"name":"a"}`), nil) },
		"array": func(u *mcp.Update) error {
			return u.Add(mcp.KindTool, json.RawMessage(`{"name":"a","inputSchema":{"type":"array"}}`), nil)
		},
		"ECMA pattern": func(u *mcp.Update) error { return u.Add(mcp.KindTool, json.RawMessage(ecma), nil) },
		"no URI":       func(u *mcp.Update) error { return u.Add(mcp.KindResource, json.RawMessage(`{"name":"a"}`), nil) },
		"bad template": func(u *mcp.Update) error {
			return u.Add(mcp.KindResourceTemplate, json.RawMessage(`{"name":"a","uriTemplate":"a://{"}`), nil)
		},
		"unknown kind": func(u *mcp.Update) error { return u.Remove("x", "kept") },
		"kind to add":  func(u *mcp.Update) error { return u.Add("x", json.RawMessage(`{"name":"a"}`), nil) },
	} {
		err := s.Update(func(u *mcp.Update) error {
			if err := errors.Join(u.Remove(mcp.KindTool, "kept"), u.Add(mcp.KindPrompt, json.RawMessage(`{"name":"new"}`), nil)); err != nil {
				t.Fatal(err)
			}
			return add(u)
		})
		if err == nil {
			t.Errorf("%s: Update = nil, want an error", name)
		}
	}
	c := mcptest.Connect(t, s, nil)
	if _, err := c.Tool(t.Context(), "kept"); err != nil {
		t.Errorf("after failed updates: %v", err)
	}
	if c.ServerCapabilities().Prompts != nil {
		t.Error("a failed update added a prompt")
	}
	err := s.Update(func(u *mcp.Update) error {
		u.Unchecked = true
		return u.Add(mcp.KindTool, json.RawMessage(ecma), func(_ context.Context, c *mcp.Call) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[]}`), nil
		})
	})
	if err != nil {
		t.Fatalf("Update of an unchecked tool = %v", err)
	}
	if res, err := c.Call(t.Context(), "e", map[string]any{"a": 1}, nil); err != nil || res.IsError {
		t.Errorf("Call of an unchecked tool = %+v, %v", res, err)
	}
	bad := func(context.Context, *mcp.Call) (json.RawMessage, error) { return json.RawMessage(`[1]`), nil }
	if err := s.Update(func(u *mcp.Update) error {
		return u.Add(mcp.KindTool, json.RawMessage(`{"name":"bad","inputSchema":{"type":"object"}}`), bad)
	}); err != nil {
		t.Fatal(err)
	}
	if res, err := c.Call(t.Context(), "bad", nil, nil); err != nil || !res.IsError {
		t.Errorf("Call with a result that is no object = %+v, %v", res, err)
	}
}

// However many items are removed, clients hear of it once, and of nothing if there was none of them.
func TestRemove(t *testing.T) {
	bus := &countingBus{Bus: replica.NewBus()}
	s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Bus: bus})
	for _, name := range []string{"a", "b", "c"} {
		mcp.AddTool(s, mcp.Tool{Name: name, Description: "Do it."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
	}
	bus.events = nil
	s.Remove(mcp.KindTool, "a", "unknown", "c")
	if len(bus.events) != 1 {
		t.Errorf("published %v, want one event", bus.events)
	}
	s.Remove(mcp.KindTool, "a")
	if err := s.Update(func(u *mcp.Update) error { return u.Remove(mcp.KindTool, "a", "c") }); err != nil {
		t.Fatal(err)
	}
	if len(bus.events) != 1 {
		t.Errorf("published %v after nothing was removed", bus.events)
	}
	var left []string
	for tool, err := range mcptest.Connect(t, s, nil).Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, tool.Name)
	}
	if !slices.Equal(left, []string{"b"}) {
		t.Errorf("left are %v, want b", left)
	}
}

// An Update neither replaces nor removes what the program itself has registered.
func TestUpdate_ownItems(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "own", Description: "Own."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
	s.AddPrompt(mcp.Prompt{Name: "own"}, func(context.Context, *mcp.Call) (*mcp.PromptResult, error) { return nil, nil })
	read := func(context.Context, *mcp.Call) (*mcp.ResourceResult, error) { return nil, nil }
	s.AddResource(mcp.Resource{Name: "own", URI: "own:1"}, read)
	s.AddResourceTemplate(mcp.ResourceTemplate{Name: "own", URITemplate: "own:{x}"}, read)
	handler := func(context.Context, *mcp.Call) (json.RawMessage, error) { return nil, nil }
	for _, c := range []struct {
		kind             mcp.Kind
		name, definition string
	}{
		{mcp.KindTool, "own", `{"name":"own","inputSchema":{"type":"object"}}`},
		{mcp.KindPrompt, "own", `{"name":"own"}`},
		{mcp.KindResource, "own:1", `{"name":"x","uri":"own:1"}`},
		{mcp.KindResource, "own:2", `{"name":"x","uri":"own:2"}`}, // which the template has
		{mcp.KindResourceTemplate, "own:{x}", `{"name":"x","uriTemplate":"own:{x}"}`},
	} {
		add := func() error {
			return s.Update(func(u *mcp.Update) error { return u.Add(c.kind, json.RawMessage(c.definition), handler) })
		}
		if add() == nil {
			t.Errorf("the server's own %s %s was replaced", c.kind, c.name)
		}
		if err := s.Update(func(u *mcp.Update) error { return u.Remove(c.kind, c.name) }); err != nil {
			t.Error(err)
		}
		if add() == nil {
			t.Errorf("the server's own %s %s was removed", c.kind, c.name)
		}
	}
}
