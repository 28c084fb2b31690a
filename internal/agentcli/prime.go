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
				text, err := s.primed(ctx, projects, s.Options.Session)
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
		text := fmt.Sprintf("%s has %d ready, %d in progress, %d waiting for an answer, %d in review", p.Slug,
			n.Ready, n.Status[board.InProgress], n.Status[board.Waiting], n.Status[board.InReview])
		if p.Land != "" {
			text += fmt.Sprintf(", %d waiting to be landed", n.Status[board.Landing])
		}
		counts = append(counts, text)
	}
	lines := []string{"Bossman, the board of this project: " + strings.Join(counts, "; ") + "."}
	held, err := s.held(ctx, projects, conversation)
	if err != nil {
		return "", err
	}
	if len(held.own)+len(held.unknown)+len(held.others) == 0 {
		lines = append(lines, "Nobody holds a task in this directory.")
	}
	for _, c := range held.mine() {
		if gone(c) {
			lines = append(lines, fmt.Sprintf("%v was begun in this session, over a connection that has ended. Get it again with get_next_task {%q: %q}.", c.Task, "worker", c.Worker.Name))
			continue
		}
		lines = append(lines, fmt.Sprintf("%v is held in this directory, under claim %v.", c.Task, c.Handle), again(c))
	}
	for _, c := range held.others {
		lines = append(lines, elsewhere(c))
	}
	if len(held.mine()) == 0 {
		lines = append(lines, "For a task call get_next_task, if the user wants you to work on the board. Report what you were handed with report_task_done.")
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

// elsewhere says of a claim in this directory that it is another session's.
func elsewhere(c board.Claim) string {
	switch {
	case gone(c):
		return fmt.Sprintf("%v was begun here by another session, which is gone: get_next_task hands it out when it is free.", c.Task)
	case c.InDir():
		return fmt.Sprintf("%v is held here by another session. If that one is over, go on with the task with `bossman next`.", c.Task)
	}
	return fmt.Sprintf("%v is held here by another session. Leave it to that one.", c.Task)
}

// gone reports whether the process that a claim belongs to has ended.
func gone(c board.Claim) bool { return c.Left || c.Killed }

// holdings are live claims, as one session of a client sees them.
type holdings struct {
	own     []board.Claim // of this session, wherever it works
	unknown []board.Claim // in this directory, of clients that tell no session
	others  []board.Claim // in this directory, of other sessions or of processes that have ended
}

// mine are the claims that may be the session's.
func (h holdings) mine() []board.Claim {
	if len(h.own) > 0 {
		return h.own
	}
	return h.unknown
}

// held returns what is held here. conversation is the client's id of the session that asks, or
// empty if that is not known.
func (s *session) held(ctx context.Context, projects []board.Project, conversation string) (h holdings, err error) {
	here := s.Options.Where(ctx)
	for _, p := range projects {
		all, err := s.Board.Claims(ctx, board.ClaimFilter{Project: p.Slug})
		if err != nil {
			return h, err
		}
		for _, c := range all {
			switch {
			case !c.Own(s.Caller.Principal): // who may say to be anywhere
			case c.Session != "" && c.Session == conversation:
				h.own = append(h.own, c)
			case !c.Where.SameClone(here) || c.Where.Dir != here.Dir:
			case c.Session == "" && !gone(c):
				h.unknown = append(h.unknown, c)
			default:
				h.others = append(h.others, c)
			}
		}
	}
	return h, nil
}
