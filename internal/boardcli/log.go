package boardcli

import (
	"context"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// A Logger is a board, in this process or at a server, that has logs of runs.
type Logger interface {
	Get(ctx context.Context, id board.ID, events int) (board.Dossier, error)
	Runs(ctx context.Context, id board.ID) ([]board.Run, error)
	Log(ctx context.Context, id board.ID, attempt int, after int64) ([]board.LogPart, error)
}

// followEvery is how often a log that is followed is looked at.
const followEvery = time.Second

// Log returns bossman task log.
func Log(out *console.Console, open func(ctx context.Context, task string) (Logger, board.ID, error)) *cobra.Command {
	var attempt int
	var follow bool
	cmd := &cobra.Command{
		Use: "log TASK", Short: "Show what an agent did at a task", Args: cobra.ExactArgs(1),
		Long: `Log shows what the agent of a task said and which tools it called, with times in UTC. What it said
is behind a bar, |, in every line; the words that begin another line are Bossman's. Only bossman
work keeps a log: the newest 256 KiB of each attempt, a few seconds behind.`,
		Example: `  bossman task log web-12 --follow`,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, id, err := open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			run, err := pickRun(cmd.Context(), b, id, attempt)
			if err != nil {
				return err
			}
			if out.JSON {
				return printLog(cmd.Context(), out, b, run)
			}
			return showLog(cmd.Context(), out, b, run, follow)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&attempt, "attempt", 0, "the number of the attempt; default the last one that has a log")
	fl.BoolVarP(&follow, "follow", "f", false, "go on until the attempt ends")
	return cmd
}

// pickRun picks the run of an attempt, or the last one.
func pickRun(ctx context.Context, b Logger, id board.ID, attempt int) (board.Run, error) {
	runs, err := b.Runs(ctx, id)
	if err != nil {
		return board.Run{}, err
	}
	for i := len(runs) - 1; i >= 0; i-- {
		if attempt == 0 || runs[i].Claim.Attempt == attempt {
			return runs[i], nil
		}
	}
	if attempt != 0 {
		return board.Run{}, console.Errorf(console.NotFound, "bossman task show "+id.String(), "attempt %d of %v has no log", attempt, id)
	}
	return board.Run{}, console.Errorf(console.NotFound, "bossman task show "+id.String(), "%v has no log: no agent of bossman work has worked on it", id)
}

// showLog prints a log, and what comes if it is followed.
func showLog(ctx context.Context, out *console.Console, b Logger, run board.Run, follow bool) error {
	id, after := run.Claim.Task, int64(0)
	for {
		over := !follow
		if follow { // before the log: what is told last is then in it
			d, err := b.Get(ctx, id, 0)
			if err != nil {
				return err
			}
			over = d.Claim == nil || d.Claim.Handle != run.Claim
		}
		parts, err := b.Log(ctx, id, run.Claim.Attempt, after)
		if err != nil {
			return err
		}
		if after == 0 && len(parts) > 0 && parts[0].No > 1 {
			out.Infof("The beginning of the log is gone.")
		}
		for _, p := range parts {
			out.Quoted("", p.Text)
			after = p.No
		}
		if over {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

// printLog prints a run and its log as JSON.
func printLog(ctx context.Context, out *console.Console, b Logger, run board.Run) error {
	parts, err := b.Log(ctx, run.Claim.Task, run.Claim.Attempt, 0)
	if err != nil {
		return err
	}
	var log strings.Builder
	for _, p := range parts {
		log.WriteString(p.Text)
	}
	return out.PrintJSON(struct {
		Task    string        `json:"task"`
		Attempt int           `json:"attempt"`
		Run     boardjson.Run `json:"run"`
		Log     string        `json:"log"`
	}{run.Claim.Task.String(), run.Claim.Attempt, boardjson.FromRun(run), log.String()})
}
