package main

import (
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
		if err != nil {
			return err
		}
		runs, err := o.Runs(ctx, id)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(boardjson.FromDossier(d, runs...))
		}
		boardtext.Show(a.Console, d, runs, events)
		return nil
	})
	cmd.Flags().IntVar(&events, "events", 20, "number of events to show")
	return cmd
}
