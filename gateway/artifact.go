package gateway

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/mcp"
)

// An artifact is a large result that the Guard has kept. Clients read it with call_read_tool under the name artifact,
// or as a resource.
const (
	artifactTool = "artifact"
	// ArtifactURI begins the URI of an artifact. Its id follows, and may be followed by line, lines and find as a query.
	ArtifactURI = "bossman://artifacts/"
)

// An ArtifactPage says what to read of an artifact: Lines lines from Line on, or as many as fit, or those of them that
// have the text Find.
type ArtifactPage struct {
	ID    int64  `json:"id"`
	Line  int    `json:"line"`
	Lines int    `json:"lines"`
	Find  string `json:"find"`
}

// readArtifact answers a call of call_read_tool with the name artifact.
func (g *Gateway) readArtifact(ctx context.Context, arguments []byte) *mcp.ToolResult {
	var p ArtifactPage
	if err := jsonv2.Unmarshal(arguments, &p, jsonv2.RejectUnknownMembers(true)); err != nil || p.ID <= 0 {
		return refusal(`invalid arguments: want {"id":12,"line":1}, and "lines" or "find" if you like`)
	}
	text, err := g.o.Artifact(ctx, p)
	switch {
	case errors.Is(err, mcp.ErrNotFound):
		return refusal("there is no artifact %d any more, or it is not yours. Make the call again if you need its result", p.ID)
	case err != nil:
		return refusal("the artifact cannot be read: %v", err)
	}
	return &mcp.ToolResult{Content: []mcp.Content{mcp.Text(text)}}
}

// readArtifactResource answers resources/read for an artifact. It reports false for any other URI.
func (g *Gateway) readArtifactResource(ctx context.Context, r *mcp.Request) (mcp.Result, bool, error) {
	uri := rawjson.Text(member(r.Params(), "uri"))
	rest, ok := strings.CutPrefix(uri, ArtifactURI)
	if !ok || g.o.Artifact == nil {
		return nil, false, nil
	}
	id, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	p := ArtifactPage{Find: values.Get("find")}
	var errs [3]error
	p.ID, errs[0] = strconv.ParseInt(id, 10, 64)
	for i, v := range []*int{&p.Line, &p.Lines} {
		if text := values.Get([]string{"line", "lines"}[i]); text != "" {
			*v, errs[i+1] = strconv.Atoi(text)
		}
	}
	if err := errors.Join(append(errs[:], err)...); err != nil {
		return nil, true, mcp.ErrNotFound
	}
	text, err := g.o.Artifact(ctx, p)
	if err != nil {
		return nil, true, err
	}
	return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}}}, true, nil
}
