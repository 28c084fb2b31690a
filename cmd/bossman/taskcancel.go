package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) taskCancel() *cobra.Command {
	var reason, dependents string
	cmd := a.oneTask("cancel TASK", "End a task that is no longer wanted", func(ctx context.Context, o *opened, id board.ID, _ []string) error {
		deps := board.Dependents(dependents)
		switch deps {
		case board.DependentsKeep, board.DependentsUnblock, board.DependentsCancel:
		default:
			return console.Usagef("--dependents is keep, unblock or cancel, not %q", dependents)
		}
		ended, err := o.Cancel(ctx, a.actor(), id, reason, deps)
		if errors.Is(err, board.ErrInvalid) {
			return console.WithNext(err, fmt.Sprintf("bossman task cancel %v --reason TEXT", id))
		}
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(struct {
				Cancelled []string `json:"cancelled"`
			}{idTexts(ended)})
		}
		a.Linef("cancelled: %s", strings.Join(idTexts(ended), ", "))
		d, err := o.Get(ctx, id, 0)
		if err != nil {
			return err
		}
		var stuck []string
		for _, t := range d.Dependents {
			if !t.Status.Terminal() {
				stuck = append(stuck, t.ID.String())
			}
		}
		if len(stuck) > 0 {
			a.Infof("%s still come after it and are not handed out. Free one with: bossman task edit ID --after=", strings.Join(stuck, ", "))
		}
		return nil
	})
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "why; whoever works on it is told")
	cmd.Flags().StringVar(&dependents, "dependents", "keep", "what becomes of tasks that come after it: keep, unblock or cancel")
	return cmd
}
