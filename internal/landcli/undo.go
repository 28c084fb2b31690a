package landcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/land"
	"github.com/spf13/cobra"
)

// undo returns bossman land undo.
func undo(out *console.Console, open func(ctx context.Context) (*Yard, error), office func(ctx context.Context) (*Office, error)) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "undo TASK", Short: "Take back what a task has landed, and have it done again", Args: cobra.ExactArgs(1),
		Long: `Undo makes a task that takes back what another one has landed, and one that does its work again
after that. The first one is in the queue at once: bossman land merges it with what has landed
since, checks it and lands it, like any other work. The task itself stays done.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.RefuseAgent(); err != nil {
				return err
			}
			o, err := office(cmd.Context())
			if err != nil {
				return err
			}
			if p, err := o.Board.Project(cmd.Context(), o.Project); err != nil || p.Land == "" {
				return cmp.Or(err, console.Errorf(console.Conflict, "", "%s does not land its work, so there is nothing to undo", o.Project))
			}
			y, err := open(cmd.Context())
			if err != nil {
				return err
			}
			defer y.Close()
			id, err := o.ParseID(args[0])
			if err != nil {
				return err
			}
			_, notPerson := out.RequirePerson() // a script orders no more than a review
			done, err := land.Undo(cmd.Context(), &y.Options, y.Board, y.Person, id, reason, notPerson == nil)
			if e, ok := errors.AsType[*land.NotUndoneError](err); ok {
				return console.Errorf(console.Conflict, e.Next, "%s", e.Why)
			}
			if err != nil && !done.Undo.IsZero() {
				return fmt.Errorf("%w; %v is a draft until that has succeeded: bossman land undo %v goes on, and bossman task cancel %[2]v ends it", err, done.Undo, id)
			}
			if err != nil {
				return err
			}
			if out.JSON {
				return out.PrintJSON(map[string]any{
					"task": id.String(), "undo": done.Undo.String(), "redo": done.Redo.String(), "status": string(done.Status), "commit": done.Commit,
					"shared": ids(done.Shared), "held": ids(done.Held), "begun": ids(done.Begun),
				})
			}
			next := "waits to be landed: bossman land"
			if done.Status == board.InReview {
				next = "waits for a review: bossman task review " + done.Undo.String()
			}
			out.Linef("%v takes back commit %s, with which %v landed, and %s", done.Undo, git.Short(done.Commit), id, next)
			out.Linef("%v is to do it again, after that. If it is not to be done at all: bossman task cancel %v", done.Redo, done.Redo)
			if list := ids(done.Shared); len(list) > 0 {
				out.Linef("These had the same work, and lose it, too: %s", strings.Join(list, ", "))
			}
			if list := ids(done.Held); len(list) > 0 {
				out.Linef("Until then these wait, which build on %v: %s", id, strings.Join(list, ", "))
			}
			if list := ids(done.Begun); len(list) > 0 {
				out.Linef("These build on %v, too, and were begun: %s", id, strings.Join(list, ", "))
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "why, which the next worker is told")
	return cmd
}

// ids are the names of tasks.
func ids(list []board.ID) []string {
	names := make([]string, len(list))
	for i, id := range list {
		names[i] = id.String()
	}
	return names
}
