package tools

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"strings"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	jsonv2 "github.com/go-json-experiment/json"
)

// SkillsExtension is the protocol's extension for skills, which a server of a board declares. Clients that do not know it
// see the skill as a resource.
const SkillsExtension = "io.modelcontextprotocol/skills"

//go:embed skill/work-the-board/SKILL.md
var workSkill string

// workURI is the address of the skill that tells a model how to work the board.
const workURI = "skill://work-the-board/SKILL.md"

// skillTTL is how long clients may cache a skill, in milliseconds: it changes with the program only.
const skillTTL = 3600_000

// A skillEntry is a skill in the answers of skills/list and skills/get.
type skillEntry struct {
	URI         string            `json:"uri"`
	Frontmatter map[string]string `json:"frontmatter"`
	Resources   []skillFile       `json:"resources"`
}

type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

// workEntry describes workSkill.
var workEntry = func() skillEntry {
	sum := sha256.Sum256([]byte(workSkill))
	return skillEntry{workURI, frontmatter(workSkill), []skillFile{{workURI, "sha256:" + hex.EncodeToString(sum[:]), len(workSkill)}}}
}()

// frontmatter returns the fields at the beginning of a skill's text, of which each is one line of plain text.
func frontmatter(text string) map[string]string {
	fields := map[string]string{}
	header, _, _ := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields
}

// cached are the members of a result that clients may cache.
type cached struct {
	TTL   int    `json:"ttlMs"`
	Scope string `json:"cacheScope"`
}

// addSkill offers the skill as a resource, and by the methods of the extension.
func (t *Tools) addSkill() {
	t.server.AddResource(mcp.Resource{
		URI: workURI, Name: workEntry.Frontmatter["name"], Title: "Skill: work the board", MIMEType: markdown,
		Description: workEntry.Frontmatter["description"], Size: new(int64(len(workSkill))),
	}, func(context.Context, *mcp.Call) (*mcp.ResourceResult, error) {
		return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: workSkill}}}, nil
	})
	public := cached{skillTTL, "public"}
	t.server.HandleMethod("skills/list", mcp.Method{ReadOnly: true, Handle: func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) {
		list := []skillEntry{}
		if seesSkill(ctx) {
			list = append(list, workEntry)
		}
		return struct {
			Skills []skillEntry `json:"skills"`
			cached
		}{list, public}, nil
	}})
	t.server.HandleMethod("skills/get", mcp.Method{ReadOnly: true, Handle: func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
		var p struct {
			URI string `json:"uri"`
		}
		if err := jsonv2.Unmarshal(r.Params(), &p); err != nil || p.URI == "" {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "uri: want the URI of a skill's SKILL.md")
		}
		if p.URI != workURI || !seesSkill(ctx) {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no skill %.200q", p.URI)
		}
		return struct {
			Skill skillEntry `json:"skill"`
			cached
		}{workEntry, public}, nil
	}})
}

// seesSkill reports whether the caller may read the board that the skill is about.
func seesSkill(ctx context.Context) bool {
	c, ok := access.CallerFrom(ctx)
	return ok && c.MayAnywhere(access.Get) == nil
}
