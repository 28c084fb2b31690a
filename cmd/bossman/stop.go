package main

import (
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) stopCommand() *cobra.Command {
	return a.forPeople(&cobra.Command{
		Use: "stop WORKER", Short: "Take back a worker's task and give it no more", Args: cobra.ExactArgs(1),
		Example: "  bossman stop otter-7k",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			o, err := a.open(ctx)
			if err != nil {
				return err
			}
			const ever = 100 * 365 * 24 * time.Hour
			all, _, err := o.Workers(ctx, ever)
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(w board.Worker) bool { return !strings.EqualFold(w.Name, args[0]) })
			switch len(all) {
			case 0:
				return console.Errorf(console.NotFound, "bossman status shows the workers", "there is no worker %s on this board", args[0])
			case 1:
			default:
				var whose []string
				for _, w := range all {
					whose = append(whose, w.Principal)
				}
				return console.Errorf(console.Conflict, "", "several workers are named %s, of %s", args[0], strings.Join(whose, ", "))
			}
			task, err := o.Stop(ctx, a.actor(), all[0].WorkerID)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(struct {
					Worker   string `json:"worker"`
					Stopped  bool   `json:"stopped"`
					Released string `json:"released,omitzero"`
				}{all[0].Name, true, task.String()})
			}
			what := all[0].Name + " gets no more work"
			if w := all[0]; w.Owner != "" && w.Owner != w.Principal {
				what += ", whatever name its connection takes next"
			}
			if task.IsZero() {
				a.Linef("%s. It held none.", what)
				return nil
			}
			a.Linef("%s, and %v is back on the board. Its next call tells it so.", what, task)
			return nil
		},
	})
}
