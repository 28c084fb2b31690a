package boardcli

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

// A Reviewer is a board, in this process or at a server, on which a person reviews.
type Reviewer interface {
	Differ
	Review(ctx context.Context, a board.Actor, id board.ID, d board.Decision) (board.Outcome, error)
	Comment(ctx context.Context, a board.Actor, id board.ID, list []board.Comment) error
}

// A Desk for reviews: a board, and the person of the command.
type ReviewDesk struct {
	Reviewer
	Actor board.Actor
	// Principal is whose places are shown.
	Principal string
	// Each does something with every task on the command line.
	Each func(names []string, do func(id board.ID) error) error
	// Print prints what a verdict led to: a sentence, and what else is to be said.
	Print func(ctx context.Context, out board.Outcome, text string) error
	Here  func(ctx context.Context, d board.Diff) (board.Diff, bool)
}

// Review returns bossman task review. help says who may.
func Review(out *console.Console, help string, open func(ctx context.Context) (ReviewDesk, error)) *cobra.Command {
	var note string
	var comments []string
	cmd := &cobra.Command{
		Use: "review TASK… [accept|reject|retry]", Short: "Accept or reject what was reported done", Args: cobra.MinimumNArgs(1),
		Long: `Review decides on tasks in review. A rejection needs a note or comments, which the next
attempt is shown. Without a verdict it shows each task and asks.

With --comment it adds comments on lines of what bossman task diff shows, each with its text
behind the task, in their order. They stay until the verdict. A file or a line that is not in
the diff is refused.
` + help,
		Example: "  bossman task review web-7 accept\n  bossman task review web-7 reject -m \"The tests do not cover the empty list.\"\n  bossman task review web-7 --comment list.go:31 \"What if it is empty?\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			terminal, err := out.RequirePerson()
			if err != nil {
				return err
			}
			d := board.Decision{Note: note}
			if len(comments) > 0 {
				if d.Comments, args, err = takeComments(comments, args); err != nil {
					return err
				}
			}
			switch last := board.Verdict(strings.ToLower(args[len(args)-1])); last {
			case board.Accept, board.Reject, board.Retry:
				d.Verdict, args = last, args[:len(args)-1]
			}
			switch {
			case len(args) == 0:
				return console.Usagef("name the task: bossman task review TASK %s", d.Verdict)
			case d.Verdict == "" && len(d.Comments) == 0 && (!terminal || out.JSON):
				return console.Usagef("give the verdict: bossman task review %s accept, or reject -m TEXT", args[0])
			}
			desk, err := open(ctx)
			if err != nil {
				return err
			}
			return desk.Each(args, func(id board.ID) error { return desk.review(ctx, out, id, d) })
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&note, "note", "m", "", "the reason, for the next attempt")
	fl.StringArrayVar(&comments, "comment", nil, "comment on `FILE:LINE`, with the text behind the task; may be repeated")
	return cmd
}

// takeComments joins the places of comments with their texts, which stand behind the task, and returns
// them with the other arguments.
func takeComments(places, args []string) (list []board.Comment, rest []string, err error) {
	if n := len(args); n == 2+len(places) { // the verdict stands after the task, or at the end
		if v := board.Verdict(strings.ToLower(args[1])); v == board.Accept || v == board.Reject {
			args = append(append(args[:1:1], args[2:]...), args[1])
		}
	}
	if n := len(args) - 1 - len(places); n < 0 || n > 1 {
		return nil, nil, console.Usagef("each comment needs a text, and they are on one task: bossman task review %s --comment %s TEXT", args[0], places[len(places)-1])
	}
	for i, place := range places {
		list = append(list, board.CommentOn(place, args[1+i]))
	}
	return list, append(args[:1:1], args[1+len(places):]...), nil
}

// review comments on a task and decides on it, or asks.
func (o ReviewDesk) review(ctx context.Context, out *console.Console, id board.ID, d board.Decision) (err error) {
	if err := o.checkPlaces(ctx, id, d.Comments); err != nil {
		return err
	}
	if d.Verdict == "" && len(d.Comments) > 0 {
		if err := o.Comment(ctx, o.Actor, id, d.Comments); err != nil {
			return err
		}
		if out.JSON {
			return out.PrintJSON(map[string]any{"task": id.String(), "comments": d.Comments})
		}
		out.Linef("%s on %v, for its review. To send it back with them: bossman task review %v reject", console.Count(len(d.Comments), "comment"), id, id)
		return nil
	}
	if d.Verdict == "" {
		if d, err = o.ask(ctx, out, id); err != nil {
			return err
		}
	}
	return o.Decide(ctx, id, d)
}

// Decide gives a verdict on a task.
func (o ReviewDesk) Decide(ctx context.Context, id board.ID, d board.Decision) error {
	done, err := o.Review(ctx, o.Actor, id, d)
	if errors.Is(err, board.ErrInvalid) {
		return console.WithNext(err, fmt.Sprintf("bossman task review %v %s -m TEXT", id, d.Verdict))
	}
	if e, ok := errors.AsType[*board.UnfinishedError](err); ok && len(e.Parts) > 0 {
		return console.WithNext(err, fmt.Sprintf("bossman task cancel %v, or accept %v all the same: bossman task done %v", e.Parts[0], id, id))
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%v is %s.", id, done.Status)
	if d.Verdict == board.Reject && done.Status == board.Pending {
		text = fmt.Sprintf("%v is back on the board (%d of %d attempts failed).", id, done.Failures, done.MaxFailures)
	}
	return o.Print(ctx, done, text)
}

// ask shows a task and asks for the verdict and, if it is a rejection, the note.
func (o ReviewDesk) ask(ctx context.Context, out *console.Console, id board.ID) (v board.Decision, err error) {
	d, err := o.Get(ctx, id, 5)
	if err != nil {
		return v, err
	}
	v.Attempt = d.Task.Attempt
	boardtext.Show(out, d, o.Principal, nil, 5)
	diff, result, comments, err := Diffing{Differ: o, Task: id, Here: o.Here}.read(ctx, v.Attempt)
	known, question := err == nil, "accept, reject or skip> "
	if known {
		out.Linef("")
		boardtext.Diff(out, id, diff, result, nil, true)
		question = "accept, reject, diff, comment or skip> "
	}
	commented := false
	for {
		out.Linef("")
		answer, err := out.Prompt(ctx, question)
		if err != nil {
			return v, err
		}
		switch answer = strings.ToLower(answer); {
		case answer == "a" || answer == "accept" || answer == "y" || answer == "yes":
			v.Verdict = board.Accept
			return v, nil
		case answer == "r" || answer == "reject":
			v.Verdict = board.Reject
			v.Note, err = out.Prompt(ctx, "what was wrong> ")
			return v, err
		case known && (answer == "d" || answer == "diff"):
			if err := out.Page(func() error { boardtext.Diff(out, id, diff, result, comments, false); return nil }); err != nil {
				return v, err
			}
		case known && (answer == "c" || answer == "comment"):
			place, err := out.Prompt(ctx, "file:line> ")
			if err != nil {
				return v, err
			}
			if why := lacks(diff.Diff, board.CommentOn(place, "")); why != "" && place != "" {
				out.Linef("%s", why)
				continue
			}
			text, err := out.Prompt(ctx, "comment> ")
			if err != nil {
				return v, err
			}
			if place != "" && text != "" {
				added := board.CommentOn(place, text)
				if err := o.Comment(ctx, o.Actor, id, []board.Comment{added}); err != nil { // at once: an agent may be about to decide
					return v, err
				}
				comments, commented = append(comments, added), true
			}
		default:
			if commented {
				return v, console.Errorf(console.NothingToDo, "", "no verdict; %v stays in state %s, with your comments", id, d.Task.Status)
			}
			return v, console.Errorf(console.NothingToDo, "", "no verdict; %v stays in state %s", id, d.Task.Status)
		}
	}
}
