package main

import (
	"cmp"
	"context"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/spf13/cobra"
)

func (a *app) taskShow() *cobra.Command {
	events := 20
	cmd := a.eachTask("show TASK…", "Show a task with its history", func(ctx context.Context, o *openBoard, id board.ID) error {
		d, err := o.Get(ctx, id, events)
		runs, failed := o.Runs(ctx, id)
		if err := cmp.Or(err, failed); err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(boardjson.FromDossier(d, runs...))
		}
		boardtext.Show(a.Console, d, o.principal(), runs, events)
		return nil
	})
	cmd.Flags().IntVar(&events, "events", 20, "number of events to show")
	return cmd
}
