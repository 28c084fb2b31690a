package mcpcli

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/go-json-experiment/json/jsontext"
)

// printResult prints the result of a tool.
func (s *session) printResult(name string, r *mcp.ToolResult, save *files) error {
	if s.JSON {
		return s.PrintJSON(r)
	}
	structured := jsontext.Value(r.StructuredContent)
	repeat := repeats(r.Content, structured)
	for _, c := range r.Content {
		if c.Type == "text" && repeat == structuredOnly {
			continue
		}
		if err := s.printContent(name, c, save); err != nil {
			return err
		}
	}
	if len(structured) > 0 && repeat != textOnly {
		if err := s.text(indented(structured)); err != nil {
			return err
		}
	}
	if len(r.Content) == 0 && len(structured) == 0 && s.OutIsTerminal() {
		s.Linef("%s", s.Styled(console.Dim, "(nothing)"))
	}
	return nil
}

// What to print of a result whose text and structured content may say the same.
const (
	printBoth      = iota // they differ
	structuredOnly        // the text is the structured content again
	textOnly              // the structured content only wraps the text
)

// repeats finds out whether a server repeats structured content as text, for clients that
// do not read it: the same JSON, or the text as the only member of an object.
func repeats(content []mcp.Content, structured jsontext.Value) int {
	var texts []string
	for _, c := range content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	if len(texts) == 0 || len(structured) == 0 {
		return printBoth
	}
	if len(texts) == 1 && sameJSON(jsontext.Value(texts[0]), structured) {
		return structuredOnly
	}
	members := as[map[string]jsontext.Value](structured)
	if len(members) != 1 {
		return printBoth
	}
	for _, v := range members {
		if len(texts) == 1 && isText(texts[0], v) {
			return textOnly
		}
		if slices.EqualFunc(texts, as[[]jsontext.Value](v), isText) {
			return textOnly // a list, one text for each element
		}
	}
	return printBoth
}

// isText reports whether a text is a value: the same string, or its JSON.
func isText(text string, v jsontext.Value) bool {
	if v.Kind() == '"' {
		return as[string](v) == text
	}
	return sameJSON(jsontext.Value(text), v)
}

// sameJSON reports whether two values are equal, whatever the order of their members.
func sameJSON(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}

// indented is JSON with indentation. Members keep their order, and numbers their digits.
func indented(v jsontext.Value) string {
	v = v.Clone()
	_ = v.Indent(jsontext.WithIndent("  ")) // invalid JSON stays as it is
	return string(v)
}

func (s *session) printContent(name string, c mcp.Content, save *files) error {
	switch c.Type {
	case "text":
		return s.text(c.Text)
	case "image", "audio":
		return s.file(save, name, c.MIMEType, c.Data)
	case "resource":
		if c.Resource != nil {
			return s.printContents(*c.Resource, true, save)
		}
	case "resource_link":
		text := s.Styled(console.Cyan, console.OneLine(c.URI))
		if label := console.OneLine(cmp.Or(c.Title, c.Name)); label != "" {
			text += "  " + label
		}
		if c.Description != "" {
			text += s.Styled(console.Dim, "  "+console.OneLine(c.Description))
		}
		s.Linef("%s", text)
	default:
		s.Linef("%s", s.Styled(console.Dim, fmt.Sprintf("(content of type %s cannot be shown; use --json)", console.OneLine(c.Type))))
	}
	return nil
}

// printContents prints the contents of a resource, with its URI if head is set.
func (s *session) printContents(c mcp.ResourceContents, head bool, save *files) error {
	if c.Blob != nil {
		return s.file(save, path.Base(strings.TrimRight(c.URI, "/")), c.MIMEType, c.Blob)
	}
	if head && s.OutIsTerminal() {
		s.Linef("%s", s.Styled(console.Dim, console.OneLine(c.URI)))
	}
	return s.text(c.Text)
}

// text prints a text of the server.
func (s *session) text(text string) error {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return s.WriteData(text)
}

// file writes bytes to a file and prints its name.
func (s *session) file(save *files, name, mime string, data []byte) error {
	at, err := save.write(name, mime, data)
	if err != nil {
		return console.Errorf(console.Failure, "choose another directory with --out, or use --json", "cannot store what the server sent: %w", err)
	}
	s.Linef("%s  %s", s.Styled(console.Cyan, at), s.Styled(console.Dim, console.OneLine(fmt.Sprintf("%s, %s", cmp.Or(mime, "bytes"), size(len(data))))))
	return nil
}

func size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
