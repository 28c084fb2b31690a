package boardcli

import (
	"context"
	"fmt"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// A Differ is a board, in this process or at a server, with diffs of tasks.
type Differ interface {
	Get(ctx context.Context, id board.ID, events int) (board.Dossier, error)
	Diff(ctx context.Context, id board.ID, attempt int) (board.AttemptDiff, error)
}

// Diffing is a board with a task that was named on the command line.
type Diffing struct {
	Differ
	Task board.ID
	// Here returns what was changed between the commits of a diff if they are in this clone: all of
	// it, while the board has no more than fits. ok is false if they are not.
	Here func(ctx context.Context, d board.Diff) (whole board.Diff, ok bool)
}

// Diff returns bossman task diff.
func Diff(out *console.Console, open func(ctx context.Context, task string) (Diffing, error)) *cobra.Command {
	var attempt int
	var stat bool
	cmd := &cobra.Command{
		Use: "diff TASK", Short: "Show what the work of a task changed", Args: cobra.ExactArgs(1),
		Long: `Diff shows what the work of a task changed, from the commit that it began from to what was
reported done, with the numbers that lines have in the new files, and with comments. It is
kept on the board, so it can be shown anywhere: 512 KiB of it, and of longer files their
names. In a clone that has the commits all of it is shown.`,
		Example: "  bossman task diff web-12\n  bossman task diff web-12 --stat",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			o, err := open(ctx, args[0])
			if err != nil {
				return err
			}
			d, result, comments, err := o.read(ctx, attempt)
			if err != nil {
				return err
			}
			if out.JSON {
				return out.PrintJSON(struct {
					Task     string               `json:"task"`
					Attempt  int                  `json:"attempt"`
					Diff     board.Diff           `json:"diff"`
					Includes []boardjson.Included `json:"includes,omitzero"`
					Loose    boardjson.Loose      `json:"loose,omitzero"`
					Comments []board.Comment      `json:"comments"`
				}{o.Task.String(), d.Attempt, d.Diff, boardjson.FromIncluded(result.Includes), boardjson.Loose(result.Loose), comments})
			}
			return out.Page(func() error {
				boardtext.Diff(out, o.Task, d, result, comments, stat)
				return nil
			})
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&attempt, "attempt", 0, "the number of the attempt; default the last one that was reported")
	fl.BoolVar(&stat, "stat", false, "only the names of the files, and how many lines were changed")
	return cmd
}

// maxHistory is how many events of a task are looked at for comments.
const maxHistory = 500

// read returns a diff, whole if it is here, with the result that it is of, as far as that is known, and the comments on it.
func (o Diffing) read(ctx context.Context, attempt int) (d board.AttemptDiff, result board.Result, comments []board.Comment, err error) {
	d, err = o.Diff(ctx, o.Task, attempt)
	if err != nil {
		return d, result, nil, err
	}
	task, err := o.Get(ctx, o.Task, maxHistory)
	if err != nil {
		return d, result, nil, err
	}
	next := "bossman task show " + o.Task.String()
	switch {
	case d.Attempt == 0 && attempt != 0:
		return d, result, nil, console.Errorf(console.NotFound, next, "it is not known what attempt %d of %v changed", attempt, o.Task)
	case d.Attempt == 0 && task.Doc.Result == nil:
		return d, result, nil, console.Errorf(console.NotFound, next, "%v has no diff: nothing was reported done yet", o.Task)
	case d.Attempt == 0 && task.Doc.Result.NoChanges:
		return d, result, nil, console.Errorf(console.NotFound, next, "%v has no diff: its report says that no change is needed", o.Task)
	case d.Attempt == 0:
		return d, result, nil, console.Errorf(console.NotFound, next, "%v has no diff: its work is not in git, or its report came from elsewhere than its worktree", o.Task)
	}
	if r := task.Doc.Result; r != nil && d.Attempt == task.Task.Attempt && !r.Tip.IsZero() && d.Diff.Tip != r.Tip.Commit {
		return d, result, nil, console.Errorf(console.Conflict, next, "the diff of %v is of commit %.12s, and what was reported is %.12s", o.Task, d.Diff.Tip, r.Tip.Commit)
	}
	if whole, ok := o.Here(ctx, d.Diff); ok {
		d.Diff = whole
	} else if d.Diff.Withheld {
		return d, result, nil, console.Errorf(console.NotFound, "look at it where the work is: "+place(task, d.Attempt),
			"what attempt %d of %v changed is not on the board: [review] diff = false keeps it off", d.Attempt, o.Task)
	}
	comments = []board.Comment{}
	if r := task.Doc.Result; r != nil && d.Attempt == task.Task.Attempt {
		result, comments = *r, append(comments, r.Comments...)
	} else if r != nil {
		result.NoChanges = r.NoChanges
	}
	for _, e := range task.Events { // those on a report that was rejected stay with that
		if e.Kind == board.EventRejected && e.Detail.Attempt == d.Attempt && d.Attempt != task.Task.Attempt {
			comments = append(comments, e.Detail.Comments...)
		}
	}
	return d, result, comments, nil
}

// place says where an attempt worked.
func place(d board.Dossier, attempt int) string {
	for _, a := range d.Attempts {
		if a.Attempt == attempt && a.Where.Branch != "" {
			return fmt.Sprintf("branch %s on %s", console.OneLine(a.Where.Branch), console.OneLine(a.Where.Host))
		}
	}
	return "bossman task show " + d.Task.ID.String()
}
