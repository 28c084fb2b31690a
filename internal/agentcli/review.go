package agentcli

import (
	"context"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// review is for the agent of a review, which only bossman work starts.
func (c *cli) review() *cobra.Command {
	var note string
	var places []string
	cmd := &cobra.Command{
		Use: "review accept|reject|skip [TEXT…]", Short: "For agents: give the verdict on the review", Args: cobra.MinimumNArgs(1),
		Long: `Review ends the review for which bossman work has started this agent: accept, reject with a
note or comments for the next attempt, or skip to give it back without a verdict. Each
--comment has its text behind the verdict, in their order. A person reviews with bossman task review.
`,
		Example: "  bossman review accept\n  bossman review reject -m 'The tests do not cover the empty list.'\n  bossman review reject --comment list.go:31 'What if it is empty?'",
		RunE: func(cmd *cobra.Command, args []string) error {
			texts := args[1:]
			if len(texts) != len(places) {
				return console.Usagef("each comment has a place and a text: bossman review %s --comment FILE:LINE TEXT; a note stands behind -m", args[0])
			}
			return c.run(cmd.Context(), func(ctx context.Context, s *session) error {
				h, err := board.ParseHandle(s.claim.Claim)
				switch {
				case s.Runner == nil:
					return console.Errorf(console.Usage, "bossman task review TASK", "only an agent that bossman work --review started has a review to end")
				case err != nil || !h.IsReview():
					return console.Errorf(console.Usage, "bossman done --summary TEXT, or bossman fail --reason TEXT", "%s is a task to work on, not a review", s.claim.Claim)
				}
				in := map[string]any{"task": h.Task.String(), "claim": h.String(), "verdict": args[0], "note": note}
				var comments []board.Comment
				for i, place := range places {
					comments = append(comments, board.CommentOn(place, texts[i]))
				}
				if len(comments) > 0 {
					in["comments"] = comments
				}
				r, err := s.call(ctx, "review_task", in)
				if err != nil {
					return err
				}
				return s.finish(r)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&note, "note", "m", "", "the reason, for the next attempt")
	fl.StringArrayVar(&places, "comment", nil, "comment on `FILE:LINE`, with the text behind the verdict; may be repeated")
	return cmd
}
