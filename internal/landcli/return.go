package landcli

import (
	"context"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/land"
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
				pull := OpenPull(cmd.Context(), o.Board, id)
				done, err := o.Board.Return(cmd.Context(), o.Actor, id, board.Return{Kind: board.ReturnAsked, Text: reason})
				if err != nil {
					return err
				}
				if out.JSON {
					said := map[string]string{"task": done.Task.String(), "status": string(done.Status)}
					if pull.URL != "" {
						said["open_pull_request"] = pull.URL
					}
					if err := out.PrintJSONLine(said); err != nil {
						return err
					}
					continue
				}
				out.Linef("%v is out of the queue, and is handed out again. No failure was counted.", done.Task)
				SayOpenPull(out, pull)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "what the next worker is told")
	return cmd
}

// A Pull is an open pull request: its address, and whose lander has seen that it is open. It is zero if none is known.
type Pull struct {
	URL string
	By  board.Author
}

// OpenPull returns the open pull request of a task that is in the landing queue.
func OpenPull(ctx context.Context, b interface {
	Line(ctx context.Context, slug string) (board.Line, error)
}, id board.ID,
) (p Pull) {
	if line, err := b.Line(ctx, id.Project); err == nil {
		p.URL, p.By = land.OpenPull(line, id)
	}
	return p
}

// SayOpenPull says that a pull request stays open whose task has left the landing queue. People may want
// what was written there, or merge it all the same.
func SayOpenPull(out *console.Console, p Pull) {
	if p.URL != "" {
		out.Infof("Its pull request, named by %s, stays open, and what becomes of it has no effect on the task. To close it: gh pr close %s", boardtext.Lander(p.By), visible.ShellWord(p.URL))
	}
}
