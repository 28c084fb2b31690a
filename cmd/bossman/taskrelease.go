package main

import (
	"context"

	"github.com/bossman-dev/bossman/board"
	"github.com/spf13/cobra"
)

func (a *app) taskRelease() *cobra.Command {
	var reason string
	cmd := a.forPeople(a.eachTask("release TASK…", "Take a task back from its holder, or end its cool-down", func(ctx context.Context, o *openBoard, id board.ID) error {
		t, err := o.Release(ctx, a.actor(), id, reason)
		if err != nil {
			return err
		}
		return a.printTask(t, "%v is back on the board: %s. No failure was counted.", t.ID, t.State())
	}))
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "reason")
	return cmd
}
