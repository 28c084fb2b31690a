package mcpcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/spf13/cobra"
)

func (c *cli) toolsCommand() *cobra.Command {
	return c.subcommand(&cobra.Command{
		Use: "tools [SERVER] [TOOL] [-- COMMAND…]", Short: "List a server's tools, or show one",
		Long: "Tools lists the server's tools with their arguments and descriptions. With the name of a\ntool it shows that one in full.",
		Example: `  bossman client tools -- npx -y @modelcontextprotocol/server-everything
  bossman client tools get-sum -- npx -y @modelcontextprotocol/server-everything
  bossman client tools https://example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  bossman client tools --from claude            # lists the servers
  bossman client tools --from claude github`,
	}, func(ctx context.Context, s *session, args []string) error {
		if len(args) > 1 {
			return console.Usagef("too many arguments: want the name of one tool, got %q", args)
		}
		if len(args) == 1 {
			t, err := s.findTool(ctx, args[0])
			if err != nil {
				return err
			}
			return s.showTool(t)
		}
		return s.listTools(ctx)
	})
}

type serverJSON struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Revision string `json:"protocolVersion"`
}

func (s *session) serverJSON() serverJSON {
	i := s.ServerInfo()
	return serverJSON{Name: i.Name, Version: i.Version, Revision: s.Revision().String()}
}

// heading names the server, on a terminal.
func (s *session) heading(n int, noun string) {
	if s.OutIsTerminal() {
		i := s.ServerInfo()
		s.Field("", console.Cell{}, console.Dim.Cell(fmt.Sprintf("%s %s, MCP %v: %s", i.Name, i.Version, s.Revision(), console.Count(n, noun))))
	}
}

func (s *session) listTools(ctx context.Context) error {
	tools := []*mcp.Tool{}
	for t, err := range s.Tools(ctx) {
		if err != nil {
			return err
		}
		tools = append(tools, t)
	}
	if s.JSON {
		return s.PrintJSON(struct {
			Server serverJSON  `json:"server"`
			Tools  []*mcp.Tool `json:"tools"`
		}{s.serverJSON(), tools})
	}
	s.heading(len(tools), "tool")
	if len(tools) == 0 {
		s.Infof("The server has no tools.")
		return nil
	}
	var rows []console.Row
	for _, t := range tools {
		rows = append(rows, console.Row{console.Cyan.Cell(t.Name), console.Text(s.short(signature(t))), console.Dim.Cell(firstSentence(cmp.Or(t.Description, t.Title)))})
	}
	s.Table("", []console.Column{{Head: "TOOL"}, {Head: "ARGUMENTS", Drop: 1}, {Head: "DESCRIPTION", Flex: true}}, rows)
	return nil
}

// maxSignature is how many columns of a terminal a tool's arguments get in a table.
const maxSignature = 32

// short cuts a text to maxSignature, on a terminal.
func (s *session) short(text string) string {
	if s.Width() == 0 {
		return text
	}
	return console.Truncate(text, maxSignature)
}

// signature is a tool's arguments in one line, optional ones in brackets.
func signature(t *mcp.Tool) string {
	var required, optional []string
	for _, p := range readForm(t.InputSchema).Fields {
		if p.Required {
			required = append(required, console.OneLine(p.Name))
		} else {
			optional = append(optional, "["+console.OneLine(p.Name)+"]")
		}
	}
	return strings.Join(slices.Concat(required, optional), " ")
}

// firstSentence is the first sentence of a description, for a table.
func firstSentence(s string) string {
	s = console.OneLine(s)
	if at := strings.Index(s, ". "); at > 0 {
		s = s[:at]
	}
	return strings.TrimSuffix(s, ".")
}

// findTool finds a tool; the error names similar ones.
func (s *session) findTool(ctx context.Context, name string) (*mcp.Tool, error) {
	t, err := s.Tool(ctx, name)
	if err == nil || !errors.Is(err, mcp.ErrNotFound) {
		return t, err
	}
	var names []string
	for t, err := range s.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		names = append(names, t.Name)
	}
	return nil, unknown("tool", name, names, s.target.line("tools", ""))
}

func (s *session) showTool(t *mcp.Tool) error {
	if s.JSON {
		return s.PrintJSON(t)
	}
	s.Field("", console.Cell{}, console.Bold.Cell(t.Name))
	if t.Title != "" && t.Title != t.Name {
		s.Quoted("  ", console.OneLine(t.Title))
	}
	if t.Description != "" {
		s.Linef("")
		s.Quoted("  ", t.Description)
	}
	f := readForm(t.InputSchema)
	if len(f.Fields) > 0 {
		s.Linef("")
		var rows []console.Row
		for _, p := range f.Fields {
			style, need := console.Style(""), ""
			if p.Required {
				style, need = console.Bold, "required"
			}
			kinds, what := s.describe(&p)
			rows = append(rows, console.Row{style.Cell(p.Name), console.Cyan.Cell(kinds), console.Dim.Cell(need), console.Text(what)})
		}
		s.Table("  ", []console.Column{{Head: "ARGUMENT"}, {Head: "TYPE"}, {Head: ""}, {Head: "DESCRIPTION", Flex: true, Wrap: true}}, rows)
	}
	if words := hints(t.Annotations); words != "" {
		s.Linef("\n  %s", s.Styled(console.Dim, "According to the server: "+words+"."))
	}
	if s.OutIsTerminal() {
		var sample []string
		for _, p := range f.Fields {
			if p.Required {
				sample = append(sample, console.ShellWords(p.Name)+"=…")
			}
		}
		s.Linef("\n  %s", s.Styled(console.Dim, s.target.line("call", strings.Join(append([]string{console.ShellWords(t.Name)}, sample...), " "))))
	}
	return nil
}

// describe is the type of a field and its description. Choices that are too long for a
// column go into the description.
func (s *session) describe(p *field) (kinds, what string) {
	kinds, what = console.OneLine(p.kinds()), console.OneLine(cmp.Or(p.Description, p.Title))
	var notes []string
	if len(p.Choices) > 0 && s.short(kinds) != kinds {
		notes = append(notes, console.OneLine(p.wants()))
		kinds = "choice"
	}
	if len(p.Default) > 0 {
		notes = append(notes, "default "+console.OneLine(string(p.Default)))
	}
	if len(notes) > 0 {
		what = strings.TrimSpace(what + " (" + strings.Join(notes, "; ") + ")")
	}
	return kinds, what
}

// hints is what the server claims about a tool.
func hints(a *mcp.ToolAnnotations) string {
	if a == nil {
		return ""
	}
	var words []string
	if a.ReadOnlyHint {
		words = append(words, "read-only")
	}
	if a.DestructiveHint != nil && *a.DestructiveHint && !a.ReadOnlyHint {
		words = append(words, "may be destructive")
	}
	if a.IdempotentHint && !a.ReadOnlyHint {
		words = append(words, "idempotent")
	}
	if a.OpenWorldHint != nil && *a.OpenWorldHint {
		words = append(words, "may contact external systems")
	}
	return strings.Join(words, ", ")
}
