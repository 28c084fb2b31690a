package agentcli

import (
	"context"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// maxPrimed is how many projects are looked at.
const maxPrimed = 20

func (c *cli) prime() *cobra.Command {
	return &cobra.Command{
		Use: "prime", Short: "For agents: the board in three lines", Args: cobra.NoArgs,
		Long: `Prime says in three lines what is on the board, what the agent of this directory holds, and
which call comes next. It is meant for the beginning of a session, and for the time after
one was compacted: see bossman hook.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), func(ctx context.Context, s *session) error {
				if s.Runner != nil {
					c.Linef("You were started for one task: %s. Work on it, and report it.", s.Runner.Claim)
					return nil
				}
				projects, err := s.projects(ctx)
				if err != nil {
					return err
				}
				text, err := s.primed(ctx, projects, "")
				if err != nil {
					return err
				}
				say(c.Console, text)
				return nil
			})
		},
	}
}

// say prints what is said to an agent.
func say(out *console.Console, text string) {
	for line := range strings.Lines(text) {
		out.Linef("%s", strings.TrimRight(line, "\n"))
	}
}

// primed is what an agent has to know at the begin of a conversation. conversation is the id of
// its client for that, if it is known.
func (s *session) primed(ctx context.Context, projects []board.Project, conversation string) (string, error) {
	if s.Empty {
		return "Bossman, the board of this project, has no tasks yet.", nil
	}
	var counts []string
	for _, p := range projects {
		sum, err := s.Board.Summary(ctx, p.Slug)
		if err != nil {
			return "", err
		}
		n := sum.Counts
		counts = append(counts, fmt.Sprintf("%s has %d ready, %d in progress, %d waiting for an answer, %d in review", p.Slug,
			n.Ready, n.Status[board.InProgress], n.Status[board.Waiting], n.Status[board.InReview]))
	}
	lines := []string{"Bossman, the board of this project: " + strings.Join(counts, "; ") + "."}
	held, err := s.held(ctx, projects, conversation)
	if err != nil {
		return "", err
	}
	if len(held) == 0 {
		lines = append(lines, "Nobody holds a task in this directory.", "For a task call get_next_task, if the user wants you to work on the board. Report what you were handed with report_task_done.")
	}
	for _, h := range held {
		lines = append(lines, fmt.Sprintf("%v is held in this directory, under claim %v.", h.Task, h.Handle), again(h))
	}
	return strings.Join(lines, "\n"), nil
}

// projects are the first projects of the board.
func (s *session) projects(ctx context.Context) ([]board.Project, error) {
	all, err := s.Board.Projects(ctx)
	return all[:min(len(all), maxPrimed)], err
}

// again says how an agent gets its task again.
func again(c board.Claim) string {
	if strings.HasPrefix(c.Owner, board.DirPrefix) {
		return "If it is yours, see it again with `bossman next`, and report it with `bossman done` or `bossman fail`."
	}
	return fmt.Sprintf("If it is yours, see it again with get_next_task {%q: %q}, and report it with report_task_done or report_task_failed.", "worker", c.Worker.Name)
}

// held are the live claims of the agents in this directory; of a conversation, if that holds any.
func (s *session) held(ctx context.Context, projects []board.Project, conversation string) ([]board.Claim, error) {
	here := s.Options.Where(ctx)
	var inDir, own []board.Claim
	for _, p := range projects {
		all, err := s.Board.Claims(ctx, board.ClaimFilter{Project: p.Slug})
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			if conversation != "" && c.Session == conversation {
				own = append(own, c)
			}
			if c.Where.SameClone(here) && c.Where.Dir == here.Dir {
				inDir = append(inDir, c)
			}
		}
	}
	if len(own) > 0 {
		return own, nil
	}
	return inDir, nil
}
