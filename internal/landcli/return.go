package landcli

import (
	"context"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// returns returns bossman land return.
func returns(out *console.Console, open func(ctx context.Context) (*Office, error)) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "return TASK…", Short: "Take a task out of the queue: it is handed out again", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.RefuseAgent(); err != nil {
				return err
			}
			o, err := open(cmd.Context())
			if err != nil {
				return err
			}
			for _, name := range args {
				id, err := o.ParseID(name)
				if err != nil {
					return err
				}
				done, err := o.Board.Return(cmd.Context(), o.Actor, id, board.Return{Kind: board.ReturnAsked, Text: reason})
				if err != nil {
					return err
				}
				if out.JSON {
					if err := out.PrintJSONLine(map[string]string{"task": done.Task.String(), "status": string(done.Status)}); err != nil {
						return err
					}
					continue
				}
				out.Linef("%v is out of the queue, and is handed out again. No failure was counted.", done.Task)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "what the next worker is told")
	return cmd
}
