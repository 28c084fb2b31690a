package tools_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// TestSkill: the skill has an entry with the digest of its text, which every client can read as a resource.
func TestSkill(t *testing.T) {
	const uri = "skill://work-the-board/SKILL.md"
	type entry struct {
		URI         string            `json:"uri"`
		Frontmatter map[string]string `json:"frontmatter"`
		Resources   []struct {
			URI    string `json:"uri"`
			Digest string `json:"digest"`
			Size   int    `json:"size"`
		} `json:"resources"`
	}
	for _, r := range mcp.Revisions() {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFixture(t, web, setup{Piped: true}, r)
				c := s.agent("a").client
				listed := false
				for res, err := range c.Resources(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					listed = listed || res.URI == uri && res.Name == "work-the-board" && res.MIMEType == "text/markdown"
				}
				got, err := c.Read(t.Context(), uri, nil)
				if err != nil || !listed {
					t.Fatalf("Read = %v; listed: %v", err, listed)
				}
				text := got.Text()
				raw, err := c.CallMethod(t.Context(), "skills/list", map[string]any{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				var list struct {
					Skills []entry `json:"skills"`
					TTL    int     `json:"ttlMs"`
					Scope  string  `json:"cacheScope"`
				}
				if err := jsonv2.Unmarshal(raw, &list); err != nil || len(list.Skills) != 1 || list.TTL <= 0 || list.Scope != "public" {
					t.Fatalf("skills/list = %s, %v", raw, err)
				}
				e := list.Skills[0]
				if len(e.Resources) != 1 || e.URI != uri || e.Resources[0].URI != uri || e.Resources[0].Size != len(text) ||
					e.Resources[0].Digest != fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) {
					t.Errorf("the entry is %+v, and the text has %d bytes", e, len(text))
				}
				header := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n", e.Frontmatter["name"], e.Frontmatter["description"])
				if !strings.HasPrefix(text, header) || e.Frontmatter["name"] != "work-the-board" || len(e.Frontmatter) != 2 || strings.ContainsAny(e.Frontmatter["description"], `:#"{[`) {
					t.Errorf("the text begins with %.400q, and the entry has %q", text, header)
				}
				raw, err = c.CallMethod(t.Context(), "skills/get", map[string]any{"uri": uri}, nil)
				if err != nil || !strings.Contains(string(raw), e.Resources[0].Digest) || !strings.Contains(string(raw), `"skill":{`) || !strings.Contains(string(raw), `"cacheScope":"public"`) {
					t.Errorf("skills/get = %s, %v", raw, err)
				}
				for _, params := range []map[string]any{{"uri": "skill://other/SKILL.md"}, {"uri": "bossman://board"}, {"uri": 1}, {}} {
					_, err := c.CallMethod(t.Context(), "skills/get", params, nil)
					if !strings.Contains(fmt.Sprint(err), "skill") || !hasCode(err, jsonrpc.CodeInvalidParams) {
						t.Errorf("skills/get %v: %v", params, err)
					}
				}
			})
		})
	}
}

// TestSkill_tools: the skill names only tools that exist.
func TestSkill_tools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFixture(t, web, setup{Piped: true}, mcp.LatestRevision).agent("a").client
		got, err := c.Read(t.Context(), "skill://work-the-board/SKILL.md", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\b[a-z]+_[a-z_]+\b`).FindAllString(got.Text(), -1) {
			if _, ok := access.ByTool(name); !ok {
				t.Errorf("the skill names %s, which is no tool", name)
			}
		}
	})
}

// hasCode reports whether an error is the server's, with a code.
func hasCode(err error, code int) bool {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && e.Code == code
}
