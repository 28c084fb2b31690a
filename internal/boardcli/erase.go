package boardcli

import (
	"cmp"
	"context"
	"strconv"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// An Eraser is a board, in this process or at a server, of which a person erases something.
type Eraser interface {
	Erase(ctx context.Context, a board.Actor, id board.ID, reason string) (board.Task, error)
	Redact(ctx context.Context, a board.Actor, id board.ID, seq int64, reason string) error
}

// Erasing is a board with a task that was named on the command line, and the person of the
// command.
type Erasing struct {
	Eraser
	Task  board.ID
	Actor board.Actor
}

// notReached is what an erasure does not reach.
const notReached = `What is not reached: backups, archives and exports, the write-ahead log of the database,
what agents and people have read or copied, also to other tasks, and git. Change a password
that was on the board.`

// Erase returns bossman task erase.
func Erase(out *console.Console, open func(ctx context.Context, task string) (Erasing, error)) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "erase TASK", Short: "Erase what was written in a finished task", Args: cobra.ExactArgs(1),
		Long: `Erase replaces everything that people and agents wrote in a task that is done or
cancelled: its title and texts, its result, notes, reasons, questions and answers, places.
What happened when, and who did it, stays; so do your name and the reason. It cannot be
undone.

` + notReached,
		Example: `  bossman task erase web-12 --reason "has a customer's address"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := open(cmd.Context(), args[0])
			if err := cmp.Or(out.RefuseAgent(), err); err != nil {
				return err
			}
			t, err := e.Erase(cmd.Context(), e.Actor, e.Task, reason)
			if err != nil {
				return err
			}
			if out.JSON {
				return out.PrintJSON(boardjson.FromTask(t))
			}
			out.Linef("%v is erased. Backups and archives still have it.", e.Task)
			return nil
		},
	}
	reasonFlag(cmd, &reason)
	return cmd
}

// Event returns bossman event.
func Event(out *console.Console, open func(ctx context.Context, task string) (Erasing, error)) *cobra.Command {
	var reason string
	redact := &cobra.Command{
		Use: "redact TASK NUMBER", Short: "Erase the content of one event", Args: cobra.ExactArgs(2),
		Long: `Redact replaces the content of an event, such as a note with a password, and what repeats
it: a question or its answer, a result, the reason of an attempt. bossman task show --json
has the numbers of events. What happened when, and who did it, stays; so do your name and
the reason. It cannot be undone.

The title and the texts of a task are changed with bossman task edit; then redact the
event of that change, too, which has the former ones.

` + notReached,
		Example: `  bossman event redact web-12 7 --reason "a password"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || seq < 1 {
				return console.Usagef("%q is not the number of an event", args[1])
			}
			e, err := open(cmd.Context(), args[0])
			if err := cmp.Or(out.RefuseAgent(), err); err != nil {
				return err
			}
			if err := e.Redact(cmd.Context(), e.Actor, e.Task, seq, reason); err != nil {
				return err
			}
			if out.JSON {
				return out.PrintJSON(struct {
					Task  string `json:"task"`
					Event int64  `json:"event"`
				}{e.Task.String(), seq})
			}
			out.Linef("Event %d of %v is erased. Backups and archives still have it.", seq, e.Task)
			return nil
		},
	}
	reasonFlag(redact, &reason)
	cmd := &cobra.Command{
		Use: "event", Short: "Erase the content of an event",
	}
	cmd.AddCommand(redact)
	return cmd
}

func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVarP(reason, "reason", "m", "", "why; it stays in the task's history, so it must not repeat the content")
	_ = cmd.MarkFlagRequired("reason")
}
