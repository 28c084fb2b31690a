package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) taskRetry() *cobra.Command {
	var note string
	cmd := a.oneTask("retry TASK", "Retry a failed task", func(ctx context.Context, o *openBoard, id board.ID, _ []string) error {
		return a.review(ctx, o, id, board.Retry, note)
	})
	cmd.Flags().StringVarP(&note, "note", "m", "", "a note for the next attempt")
	return cmd
}

func (a *app) taskReview() *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "review TASK [accept|reject|retry]", Short: "Accept or reject what was reported done", Args: cobra.RangeArgs(1, 2),
		Long:              "Review decides on a task in review. A rejection needs a note, which the next attempt is\nshown. Without a verdict it shows the task and asks.\n" + personHelp,
		Example:           "  bossman task review web-7 accept\n  bossman task review web-7 reject -m \"The tests do not cover the empty list.\"",
		ValidArgsFunction: a.completeTask,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			terminal, err := a.RequirePerson()
			if err != nil {
				return err
			}
			o, id, err := a.openTask(ctx, args[0])
			if err != nil {
				return err
			}
			var verdict board.Verdict
			switch {
			case len(args) == 2:
				verdict = board.Verdict(strings.ToLower(args[1]))
			case terminal && !a.JSON:
				if verdict, note, err = a.askVerdict(ctx, o, id); err != nil {
					return taskNotFound(err, id)
				}
			default:
				return console.Usagef("give the verdict: bossman task review %v accept, or reject -m TEXT", id)
			}
			switch verdict {
			case board.Accept, board.Reject, board.Retry:
			default:
				return console.Usagef("the verdict is accept, reject or retry, not %q", verdict)
			}
			return taskNotFound(a.review(ctx, o, id, verdict, note), id)
		},
	}
	cmd.Flags().StringVarP(&note, "note", "m", "", "the reason, for the next attempt")
	return cmd
}

// askVerdict shows a task and asks for the verdict and, if it is a rejection, the note.
func (a *app) askVerdict(ctx context.Context, o *openBoard, id board.ID) (board.Verdict, string, error) {
	d, err := o.Get(ctx, id, 5)
	if err != nil {
		return "", "", err
	}
	boardtext.Show(a.Console, d, 5)
	a.Linef("")
	answer, err := a.Prompt(ctx, "accept, reject or skip> ")
	if err != nil {
		return "", "", err
	}
	switch strings.ToLower(answer) {
	case "a", "accept", "y", "yes":
		return board.Accept, "", nil
	case "r", "reject":
		note, err := a.Prompt(ctx, "what was wrong> ")
		return board.Reject, note, err
	}
	return "", "", console.Errorf(console.NothingToDo, "", "no verdict; %v stays in state %s", id, d.Task.Status)
}

func (a *app) review(ctx context.Context, o *openBoard, id board.ID, v board.Verdict, note string) error {
	out, err := o.Review(ctx, a.actor(), id, v, note)
	if errors.Is(err, board.ErrInvalid) {
		return console.WithNext(err, fmt.Sprintf("bossman task review %v %s -m TEXT", id, v))
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(struct {
			Task     string   `json:"task"`
			Status   string   `json:"status"`
			Failures int      `json:"failures"`
			Freed    []string `json:"freed"`
		}{id.String(), string(out.Status), out.Failures, idTexts(out.Freed)})
	}
	text := fmt.Sprintf("%v is %s.", id, out.Status)
	if v == board.Reject && out.Status == board.Pending {
		text = fmt.Sprintf("%v is back on the board (%d of %d attempts failed).", id, out.Failures, out.MaxFailures)
	}
	if len(out.Freed) > 0 {
		text += " This unblocked " + strings.Join(idTexts(out.Freed), ", ") + "."
	}
	a.Linef("%s", text)
	return nil
}
