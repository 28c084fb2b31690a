package mcpcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/spf13/cobra"
)

func (c *cli) promptCommand() *cobra.Command {
	var out string
	cmd := c.subcommand(&cobra.Command{
		Use: "prompt [SERVER] [NAME [ARGUMENT=VALUE]…] [-- COMMAND…]", Short: "Get a prompt, or list them",
		Long: "Prompt prints the messages of a prompt with its arguments filled in. Without a name it\nlists the server's prompts.",
		Example: `  bossman client prompt -- npx -y @modelcontextprotocol/server-everything
  bossman client prompt args-prompt city=Paris -- npx -y @modelcontextprotocol/server-everything`,
	}, func(ctx context.Context, s *session, args []string) error {
		prompts := []*mcp.Prompt{}
		for p, err := range s.Prompts(ctx) {
			if err != nil {
				return err
			}
			prompts = append(prompts, p)
		}
		if len(args) == 0 {
			return s.listPrompts(prompts)
		}
		arguments, err := s.promptArguments(prompts, args[0], args[1:])
		if err != nil {
			return err
		}
		res, err := s.Prompt(ctx, args[0], arguments, nil)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.PrintJSON(res)
		}
		for i, m := range res.Messages {
			if i > 0 {
				s.Linef("")
			}
			if s.OutIsTerminal() || len(res.Messages) > 1 {
				s.Linef("%s", s.Styled(console.Bold, console.OneLine(m.Role)+":"))
			}
			if err := s.printContent(args[0], m.Content, &files{dir: out}); err != nil {
				return err
			}
		}
		return nil
	})
	addOutFlag(cmd, &out)
	return cmd
}

// promptArguments parses the arguments of a prompt, which are all strings.
func (s *session) promptArguments(prompts []*mcp.Prompt, name string, words []string) (map[string]string, error) {
	var found *mcp.Prompt
	var names []string
	for _, p := range prompts {
		names = append(names, p.Name)
		if p.Name == name {
			found = p
		}
	}
	if found == nil {
		return nil, unknown("prompt", name, names, s.target.line("prompt", ""))
	}
	out := map[string]string{}
	for _, w := range words {
		k, v, ok := strings.Cut(w, "=")
		if !ok || k == "" {
			return nil, console.Usagef("invalid argument %q: want name=value", w)
		}
		out[k] = v
	}
	for _, p := range found.Arguments {
		if _, ok := out[p.Name]; p.Required && !ok {
			text := fmt.Sprintf("%s requires %s", name, p.Name)
			if p.Description != "" {
				text += " (" + console.OneLine(p.Description) + ")"
			}
			return nil, console.Errorf(console.Usage, s.target.line("prompt", console.ShellWords(name, p.Name+"=…")), "%w", errors.New(text))
		}
	}
	return out, nil
}

func (s *session) listPrompts(prompts []*mcp.Prompt) error {
	if s.JSON {
		return s.PrintJSON(struct {
			Server  serverJSON    `json:"server"`
			Prompts []*mcp.Prompt `json:"prompts"`
		}{s.serverJSON(), prompts})
	}
	s.heading(len(prompts), "prompt")
	if len(prompts) == 0 {
		s.Infof("The server has no prompts.")
		return nil
	}
	var rows []console.Row
	for _, p := range prompts {
		var words []string
		for _, arg := range p.Arguments {
			w := console.OneLine(arg.Name)
			if !arg.Required {
				w = "[" + w + "]"
			}
			words = append(words, w)
		}
		rows = append(rows, console.Row{console.Cyan.Cell(p.Name), console.Text(s.short(strings.Join(words, " "))), console.Dim.Cell(firstSentence(cmp.Or(p.Description, p.Title)))})
	}
	s.Table("", []console.Column{{Head: "PROMPT"}, {Head: "ARGUMENTS", Drop: 1}, {Head: "DESCRIPTION", Flex: true}}, rows)
	return nil
}
