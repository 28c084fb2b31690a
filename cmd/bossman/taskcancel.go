package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/landcli"
	"github.com/spf13/cobra"
)

func (a *app) taskCancel() *cobra.Command {
	var reason, dependents string
	cmd := a.eachTask("cancel TASK…", "Cancel a task", func(ctx context.Context, o *openBoard, id board.ID) error {
		deps := board.Dependents(dependents)
		switch deps {
		case board.DependentsKeep, board.DependentsUnblock, board.DependentsCancel:
		default:
			return console.Usagef("invalid --dependents %q: want keep, unblock or cancel", dependents)
		}
		if _, no := a.RequirePerson(); no != nil && a.AgentVariable() == "" { // a script may not end a review
			if d, err := o.Get(ctx, id, 0); err == nil && d.Task.Status == board.InReview {
				return no
			}
		}
		pull := landcli.OpenPull(ctx, o, id)
		ended, err := o.Cancel(ctx, a.actor(), id, reason, deps)
		switch {
		case errors.Is(err, board.ErrInvalid):
			return console.WithNext(err, fmt.Sprintf("bossman task cancel %v --reason TEXT", id))
		case errors.Is(err, board.ErrDenied):
			return console.WithNext(err, fmt.Sprintf("leave it to the person: bossman task cancel %v; if its text is wrong: bossman fail --kind wrong_spec", id))
		}
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(struct {
				Cancelled []string `json:"cancelled"`
				OpenPull  string   `json:"open_pull_request,omitzero"`
			}{boardtext.IDs(ended), pull.URL})
		}
		a.Linef("cancelled: %s", strings.Join(boardtext.IDs(ended), ", "))
		landcli.SayOpenPull(a.Console, pull)
		stuck, err := o.blockedBy(ctx, id)
		if len(stuck) > 0 {
			a.Infof("Still blocked by it: %s. Unblock one with: bossman task edit ID --after=", strings.Join(stuck, ", "))
		}
		return err
	})
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "reason; shown to its holder")
	cmd.Flags().StringVar(&dependents, "dependents", "keep", "what happens to its dependents: keep (blocked), unblock or cancel")
	return cmd
}
