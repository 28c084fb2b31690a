package main

import (
	"context"
	"errors"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// each does something with every name on the command line. One that fails is reported and
// does not keep it from the others; the command then ends with the exit code of the first.
func (a *app) each(names []string, do func(name string) error) error {
	if len(names) == 1 {
		return do(names[0])
	}
	var first console.ExitCode
	failed := 0
	for _, name := range names {
		err := do(name)
		if errors.Is(err, context.Canceled) {
			return err
		}
		if err == nil {
			continue
		}
		failed++
		if err := a.Out.Flush(); err != nil { // so that both outputs are in order
			return err
		}
		if code := a.Report(a.explain(err)); first == 0 {
			first = code
		}
	}
	if failed == 0 {
		return nil
	}
	return console.Errorf(first, "", "%d of %d failed; the others are done", failed, len(names))
}

// eachTask returns a command whose arguments are tasks.
func (a *app) eachTask(use, short string, run func(ctx context.Context, o *openBoard, id board.ID) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			return a.each(args, func(name string) error {
				id, err := o.parseTask(name)
				if err != nil {
					return err
				}
				return taskNotFound(run(cmd.Context(), o, id), id)
			})
		},
	}
}

// parseTask parses the id of a task. If the board does not exist yet, neither does the
// task; the board is not created to find that out.
func (o *openBoard) parseTask(name string) (board.ID, error) {
	id, err := o.taskID(name)
	if err == nil && len(o.projects) == 0 {
		err = notFound(board.ErrNotFound, "task "+id.String())
	}
	return id, err
}

// taskNotFound makes a not-found error of an operation on one task say which task it is.
func taskNotFound(err error, id board.ID) error {
	if console.CodeOf(err) != 0 {
		return err
	}
	return notFound(err, "task "+id.String())
}
