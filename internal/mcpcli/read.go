package mcpcli

import (
	"cmp"
	"context"
	"errors"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/spf13/cobra"
)

func (c *cli) readCommand() *cobra.Command {
	var out string
	cmd := c.subcommand(&cobra.Command{
		Use: "read [SERVER] [URI…] [-- COMMAND…]", Short: "Read resources, or list them",
		Long: "Read prints the contents of resources. Without a URI it lists the server's resources and\ntemplates. Data that is not text goes to new files in --out.",
		Example: `  bossman client read -- npx -y @modelcontextprotocol/server-everything
  bossman client read demo://resource/dynamic/text/1 -- npx -y @modelcontextprotocol/server-everything
  bossman client read https://example.com/mcp docs://readme > readme.md`,
	}, func(ctx context.Context, s *session, args []string) error {
		if len(args) == 0 {
			return s.listResources(ctx)
		}
		all := []mcp.ResourceContents{}
		for _, uri := range args {
			res, err := s.Read(ctx, uri, nil)
			if errors.Is(err, mcp.ErrNotFound) {
				return s.noResource(ctx, uri)
			}
			if err != nil {
				return err
			}
			all = append(all, res.Contents...)
		}
		if s.JSON {
			return s.PrintJSON(struct {
				Contents []mcp.ResourceContents `json:"contents"`
			}{all})
		}
		for _, c := range all {
			if err := s.printContents(c, len(all) > 1, &files{dir: out}); err != nil {
				return err
			}
		}
		return nil
	})
	addOutFlag(cmd, &out)
	return cmd
}

func (s *session) noResource(ctx context.Context, uri string) error {
	var uris []string
	for r, err := range s.Resources(ctx) {
		if err != nil {
			break
		}
		uris = append(uris, r.URI)
	}
	list := s.target.line("read", "")
	if len(uris) == 0 {
		return console.Errorf(console.NotFound, list+" lists them", "the server has no resource %q", uri)
	}
	return unknown("resource", uri, uris, list)
}

func (s *session) listResources(ctx context.Context) error {
	resources, templates := []*mcp.Resource{}, []*mcp.ResourceTemplate{}
	for r, err := range s.Resources(ctx) {
		if err != nil {
			return err
		}
		resources = append(resources, r)
	}
	for r, err := range s.ResourceTemplates(ctx) {
		if err != nil {
			return err
		}
		templates = append(templates, r)
	}
	if s.JSON {
		return s.PrintJSON(struct {
			Server    serverJSON              `json:"server"`
			Resources []*mcp.Resource         `json:"resources"`
			Templates []*mcp.ResourceTemplate `json:"resourceTemplates"`
		}{s.serverJSON(), resources, templates})
	}
	s.heading(len(resources)+len(templates), "resource")
	if len(resources)+len(templates) == 0 {
		s.Infof("The server has no resources.")
		return nil
	}
	var rows []console.Row
	add := func(uri, mimeType string, about ...string) {
		rows = append(rows, console.Row{console.Cyan.Cell(uri), console.Dim.Cell(mimeType), console.Text(firstSentence(cmp.Or(about...)))})
	}
	for _, r := range resources {
		add(r.URI, r.MIMEType, r.Description, r.Title, r.Name)
	}
	for _, r := range templates {
		add(r.URITemplate, r.MIMEType, r.Description, r.Title, r.Name)
	}
	s.Table("", []console.Column{{Head: "RESOURCE"}, {Head: "TYPE", Drop: 1}, {Head: "DESCRIPTION", Flex: true}}, rows)
	if len(templates) > 0 && s.OutIsTerminal() {
		s.Linef("%s", s.Styled(console.Dim, "Replace what is in {braces}."))
	}
	return nil
}
