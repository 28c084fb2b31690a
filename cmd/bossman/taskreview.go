package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) taskRetry() *cobra.Command {
	var note string
	cmd := a.eachTask("retry TASK…", "Retry a failed task", func(ctx context.Context, o *openBoard, id board.ID) error {
		return a.review(ctx, o, id, board.Decision{Verdict: board.Retry, Note: note})
	})
	cmd.Flags().StringVarP(&note, "note", "m", "", "a note for the next attempt")
	return cmd
}

func (a *app) taskReview() *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "review TASK… [accept|reject|retry]", Short: "Accept or reject what was reported done", Args: cobra.MinimumNArgs(1),
		Long:    "Review decides on tasks in review. A rejection needs a note, which the next attempt is\nshown. Without a verdict it shows each task and asks.\n" + personHelp,
		Example: "  bossman task review web-7 accept\n  bossman task review web-7 reject -m \"The tests do not cover the empty list.\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			terminal, err := a.RequirePerson()
			if err != nil {
				return err
			}
			var verdict board.Verdict
			switch last := board.Verdict(strings.ToLower(args[len(args)-1])); last {
			case board.Accept, board.Reject, board.Retry:
				verdict, args = last, args[:len(args)-1]
			}
			switch {
			case len(args) == 0:
				return console.Usagef("name the task: bossman task review TASK %s", verdict)
			case verdict == "" && (!terminal || a.JSON):
				return console.Usagef("give the verdict: bossman task review %s accept, or reject -m TEXT", args[0])
			}
			o, err := a.open(ctx)
			if err != nil {
				return err
			}
			return a.each(args, func(name string) error {
				id, err := o.parseTask(name)
				if err != nil {
					return console.WithNext(err, "the verdict is accept, reject or retry, and stands after the tasks")
				}
				d := board.Decision{Verdict: verdict, Note: note}
				if verdict == "" {
					if d, err = a.askVerdict(ctx, o, id); err != nil {
						return taskNotFound(err, id)
					}
				}
				return taskNotFound(a.review(ctx, o, id, d), id)
			})
		},
	}
	cmd.Flags().StringVarP(&note, "note", "m", "", "the reason, for the next attempt")
	return cmd
}

// askVerdict shows a task and asks for the verdict and, if it is a rejection, the note.
func (a *app) askVerdict(ctx context.Context, o *openBoard, id board.ID) (v board.Decision, err error) {
	d, err := o.Get(ctx, id, 5)
	if err != nil {
		return v, err
	}
	v.Attempt = d.Task.Attempt
	boardtext.Show(a.Console, d, o.principal(), nil, 5)
	a.Linef("")
	answer, err := a.Prompt(ctx, "accept, reject or skip> ")
	if err != nil {
		return v, err
	}
	switch strings.ToLower(answer) {
	case "a", "accept", "y", "yes":
		v.Verdict = board.Accept
		return v, nil
	case "r", "reject":
		v.Verdict = board.Reject
		v.Note, err = a.Prompt(ctx, "what was wrong> ")
		return v, err
	}
	return v, console.Errorf(console.NothingToDo, "", "no verdict; %v stays in state %s", id, d.Task.Status)
}

func (a *app) review(ctx context.Context, o *openBoard, id board.ID, d board.Decision) error {
	out, err := o.Review(ctx, a.actor(), id, d)
	if errors.Is(err, board.ErrInvalid) {
		return console.WithNext(err, fmt.Sprintf("bossman task review %v %s -m TEXT", id, d.Verdict))
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%v is %s.", id, out.Status)
	if d.Verdict == board.Reject && out.Status == board.Pending {
		text = fmt.Sprintf("%v is back on the board (%d of %d attempts failed).", id, out.Failures, out.MaxFailures)
	}
	dir, err := o.settings.WorkDir()
	if d, failed := o.Get(ctx, id, 0); err == nil && failed == nil {
		text += crew.MergeText(ctx, dir, o.principal(), d)
	}
	return a.printOutcome(out, text)
}
