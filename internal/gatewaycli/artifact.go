package gatewaycli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/mcp"
)

const (
	// maxResult is how much text, or structured content, a result may have. A larger one becomes an artifact.
	maxResult = 40 << 10
	// shownResult is how much of it the caller gets.
	shownResult = 4 << 10
)

// shorten keeps a result that is too large as an artifact, and returns the one that the caller gets instead: nil if
// the result is not too large.
func shorten(ctx context.Context, b Board, actor board.Actor, claim board.Handle, name string, result json.RawMessage) (json.RawMessage, board.ArtifactID) {
	var r struct {
		Content    []json.RawMessage          `json:"content"`
		Structured json.RawMessage            `json:"structuredContent"`
		Rest       map[string]json.RawMessage `json:",embed"`
	}
	if len(result) <= maxResult || jsonv2.Unmarshal(result, &r) != nil {
		return nil, 0
	}
	var texts []string
	var others []json.RawMessage
	size := 0
	for _, block := range r.Content {
		var c struct {
			Type string  `json:"type"`
			Text *string `json:"text"`
		}
		if jsonv2.Unmarshal(block, &c) == nil && c.Type == "text" && c.Text != nil {
			texts, size = append(texts, *c.Text), size+len(*c.Text)
		} else {
			others = append(others, block)
		}
	}
	if size <= maxResult && len(r.Structured) <= maxResult {
		return nil, 0
	}
	body := strings.Join(texts, "\n")
	if size <= maxResult {
		body = string(r.Structured)
	}
	a, err := b.PutArtifact(ctx, actor, board.NewArtifact{Claim: claim, Name: name, Body: []byte(body)})
	if len(r.Structured) > maxResult {
		r.Structured = nil
	}
	short := struct {
		Content    []any                      `json:"content"`
		Structured json.RawMessage            `json:"structuredContent,omitempty"`
		Rest       map[string]json.RawMessage `json:",embed"`
	}{[]any{map[string]string{"type": "text", "text": beginning(body) + artifactNote(a, len(body), err)}}, r.Structured, r.Rest}
	for _, block := range others {
		short.Content = append(short.Content, block)
	}
	text, err := jsonv2.Marshal(short, jsonv2.Deterministic(true))
	if err != nil {
		return nil, 0
	}
	return text, a.ID
}

// beginning returns the first lines of a text.
func beginning(s string) string {
	if len(s) <= shownResult {
		return s
	}
	end := shownResult
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	s = s[:end]
	if i := strings.LastIndexByte(s, '\n'); i > shownResult/2 {
		s = s[:i]
	}
	return s
}

// artifactNote tells the model where the rest of a result is.
func artifactNote(a board.Artifact, size int, err error) string {
	switch {
	case err != nil:
		return fmt.Sprintf("\n\n[The result has %d bytes. Only its beginning is shown, and the rest could not be kept: %v. Ask for less.]", size, err)
	case a.ID == 0:
		return fmt.Sprintf("\n\n[The result has %d bytes. Only its beginning is shown, and there is no room to keep the rest. Ask for less.]", size)
	}
	note := fmt.Sprintf("\n\n[The result has %d bytes; its beginning is shown. Read on with call_read_tool {\"name\":\"artifact\",\"arguments\":{\"id\":%d,\"line\":N}}, "+
		"or find lines with \"find\":\"TEXT\". It is also the resource %s%d?line=N, for a week.", size, a.ID, gateway.ArtifactURI, a.ID)
	if a.Stored < a.Size {
		note += fmt.Sprintf(" Only its first %d bytes were kept.", a.Stored)
	}
	return note + "]"
}

// ReadArtifact reads lines of a result that was kept, for gateway.Options.
func (g *Guard) ReadArtifact(ctx context.Context, p gateway.ArtifactPage) (string, error) {
	caller, ok := g.caller(ctx)
	b, _ := g.Board()
	if !ok || b == nil {
		return "", mcp.ErrNotFound
	}
	out, err := b.Artifact(ctx, caller.Actor, board.ArtifactID(p.ID), board.ArtifactPage{Line: p.Line, Lines: p.Lines, Find: p.Find})
	if err == nil && !out.Artifact.Task.IsZero() && caller.May(access.Artifact, out.Artifact.Task.Project) != nil {
		err = board.ErrNotFound
	}
	switch {
	case errors.Is(err, board.ErrNotFound):
		return "", mcp.ErrNotFound
	case err != nil:
		return "", err
	}
	return artifactText(out), nil
}

// artifactText quotes lines of an artifact for a model: whoever may read its task reads it, and a worker may have kept any text.
// It begins with who kept it and as what, and each line is behind its number and "> ".
func artifactText(a board.ArtifactLines) string {
	var text strings.Builder
	fmt.Fprintf(&text, "[Kept by %q", visible.Line(a.Artifact.Principal))
	if !a.Artifact.Task.IsZero() {
		fmt.Fprintf(&text, " for %v", a.Artifact.Task)
	}
	fmt.Fprintf(&text, " as the result of %q. Its lines are quoted.]\n", visible.Line(a.Artifact.Name))
	shown, last := 0, 0
	for ; shown < len(a.Lines) && text.Len() < maxResult; shown++ { // spelled out, a character may be many times as long
		l := a.Lines[shown]
		for _, part := range visible.Lines(strings.TrimSuffix(l.Text, "\r")) { // a line of the board may have other ends of lines in it
			fmt.Fprintf(&text, "%d> %s\n", l.No, part)
		}
		last = l.No
	}
	switch {
	case a.More || shown < len(a.Lines):
		fmt.Fprintf(&text, "[There are more; go on with \"line\":%d. It has %d lines.]", last+1, a.Total)
	case len(a.Lines) == 0:
		fmt.Fprintf(&text, "[No such line. It has %d lines.]", a.Total)
	default:
		text.WriteString("[That is all.]")
	}
	return text.String()
}
