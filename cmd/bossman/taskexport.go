package main

import (
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/spf13/cobra"
)

func (a *app) taskExport() *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "Write a project to standard output as JSON lines", Args: cobra.NoArgs,
		Long: `Export writes the project, its tasks, their links, questions and events, one JSON
object per line: {"v":1,"type":"task",…}. Claims are not included. The output is JSON with
or without --json.`,
		Example: "  bossman task export > web.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, slug, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			b, err := o.localBoard()
			if err != nil {
				return err
			}
			return b.Export(cmd.Context(), slug, func(line []byte) error {
				if _, err := a.Out.Write(visible.JSON(line)); err != nil {
					return err
				}
				return a.Out.WriteByte('\n')
			})
		},
	}
}
