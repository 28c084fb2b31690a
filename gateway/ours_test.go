package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/mcp"
)

// reader adds resources and templates that say who answered.
func reader(t *testing.T, s *mcp.Server, who string, resources, templates []string) {
	t.Helper()
	answer := func(_ context.Context, c *mcp.Call) (json.RawMessage, error) {
		return json.RawMessage(`{"contents":[{"uri":` + string(quote(c.URI())) + `,"text":"` + who + `"}]}`), nil
	}
	err := s.Update(func(u *mcp.Update) error {
		for _, uri := range resources {
			if err := u.Add(mcp.KindResource, json.RawMessage(`{"name":"r","uri":`+string(quote(uri))+`}`), answer); err != nil {
				return err
			}
		}
		for _, uri := range templates {
			if err := u.Add(mcp.KindResourceTemplate, json.RawMessage(`{"name":"t","uriTemplate":`+string(quote(uri))+`}`), answer); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	raw(t, s, `{"name":"name","inputSchema":{"type":"object"}}`, func(_ context.Context, c *mcp.Call) (json.RawMessage, error) {
		var in struct{ URI string }
		_ = json.Unmarshal(c.Arguments(), &in)
		return json.RawMessage(`{"content":[{"type":"resource_link","name":"s","uri":` + string(quote(in.URI)) + `}]}`), nil
	})
}

// No upstream answers for the server's own resources, whether it lists them, has a template for them or names them; nor for a URI
// that another upstream has, too.
func TestResources_ours(t *testing.T) {
	skill := "skill://work-the-board/SKILL.md"
	one, two := quietServer(), quietServer()
	reader(t, one, "one", []string{skill, "bossman://tasks/1", "BOSSMAN://tasks/2", "own:listed", "own:made/1", "note:1", "two:1", "Skill:///work-the-board/x", "skill://x/work-the-board/SKILL.md"}, []string{"{+any}", "own:made/{x}", "note:{x}"})
	reader(t, two, "two", []string{"two:2"}, []string{"two:{x}"})
	l := newLab(t, map[string]*mcp.Server{"one": one, "two": two}, 0, nil)
	read := func(_ context.Context, c *mcp.Call) (*mcp.ResourceResult, error) {
		return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: "ours"}}}, nil
	}
	l.server.AddResource(mcp.Resource{Name: "skill", URI: skill}, read)
	l.server.AddResource(mcp.Resource{Name: "listed", URI: "own:listed"}, read)
	l.server.AddResourceTemplate(mcp.ResourceTemplate{Name: "made", URITemplate: "own:made/{id}"}, read)
	l.publish()
	eachRevision(t, l.server, nil, func(t *testing.T, c *mcp.Client) {
		for _, uri := range []string{skill, "BOSSMAN://tasks/2", "bossman://tasks/1", "named:x"} {
			if _, err := c.Call(t.Context(), "call_tool", map[string]any{"name": "one__name", "arguments": map[string]string{"uri": uri}}, nil); err != nil {
				t.Fatal(err)
			}
		}
		for uri, want := range map[string]string{
			skill: "ours", "own:listed": "ours", "own:made/1": "ours", "own:made/2": "ours",
			"bossman://tasks/1": "", "BOSSMAN://tasks/2": "", "bossman:x": "", "skill://work-the-board/other": "", "%62ossman:x": "", "Skill:///work-the-board/x": "",
			"skill://x/work-the-board/SKILL.md": "", "skill://other/SKILL.md": "", "sk%2569ll://x": "",
			"note:1": "one", "note:9": "one", "named:x": "one",
			"two:1": "", "two:2": "", "two:9": "", // {+any} of the one matches, too
		} {
			res, err := c.Read(t.Context(), uri, nil)
			got := ""
			if err == nil && len(res.Contents) > 0 {
				got = res.Contents[0].Text
			}
			if got != want {
				t.Errorf("%s is read from %q (%v), want %q", uri, got, err, want)
			}
		}
	})
}

// A URI that a result names is for the caller that got the result.
func TestOwners(t *testing.T) {
	one, two := &upstream{}, &upstream{}
	var o owners
	o.named("ada", one, json.RawMessage(`{"content":[{"type":"resource_link","uri":"x:1"}]}`))
	if o.of("ada", "x:1") != one || o.of("bob", "x:1") != nil {
		t.Error("a name is known to others than its caller, or not to that one")
	}
	o.named("bob", two, json.RawMessage(`{"content":[{"type":"resource","resource":{"uri":"x:1"}}]}`))
	if o.of("ada", "x:1") != one || o.of("bob", "x:1") != two {
		t.Error("the result of one caller changes what another reads")
	}
	o.named("ada", two, json.RawMessage(`{"content":[{"type":"resource_link","uri":"x:1"}]}`))
	if o.of("ada", "x:1") != nil {
		t.Error("a URI of two upstreams is read from one of them")
	}
	o.named("ada", one, json.RawMessage(`{"content":[{"type":"resource_link","uri":"`+strings.Repeat("x", maxURI+1)+`"}]}`))
	if len(o.byURI) != 2 {
		t.Errorf("%d URIs are remembered, want 2", len(o.byURI))
	}
}
