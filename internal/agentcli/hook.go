package agentcli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

const (
	// hookTime is how long a hook may take: its client waits for it.
	hookTime = 2 * time.Second
	// calledEvery is how often a sign of work is passed on to the board.
	calledEvery = time.Minute
)

// hookInput is what is read of what Claude Code tells a hook.
type hookInput struct {
	Session string `json:"session_id"`
	// Stopping is set if the agent works on only because a hook did not let it stop.
	Stopping bool `json:"stop_hook_active"`
}

// A hookEvent is what a hook does: it returns what to print.
type hookEvent func(s *session, ctx context.Context, projects []board.Project, in hookInput) (string, error)

func (c *cli) hook() *cobra.Command {
	return &cobra.Command{
		Use: "hook EVENT", Short: "For Claude Code: what the board has to say at an event", Args: cobra.ExactArgs(1),
		ValidArgs: []string{"SessionStart", "PostToolUse", "Stop"},
		Long: `Hook is a hook of Claude Code, for sessions in which a person works with it. At SessionStart,
also after a session was compacted, it says what bossman prime says. At PostToolUse it is a
sign of work for the claims of this session, and of no other. At Stop it reminds the agent,
once, of a task that it has not reported.

It takes two seconds at most, and if the board cannot be reached in that time it says
nothing: it never keeps a session from going on.`,
		Example: `  bossman hook Stop   # as a command in .claude/settings.json; see docs/agents.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, ok := map[string]hookEvent{
				"SessionStart": (*session).began, "PostToolUse": (*session).worked, "Stop": (*session).stopped,
			}[args[0]]
			if !ok {
				return console.Usagef("unknown event %q: want SessionStart, PostToolUse or Stop", args[0])
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), hookTime)
			defer cancel()
			said := make(chan string, 1)
			go func() { said <- c.at(ctx, at) }()
			select {
			case text := <-said:
				say(c.Console, text)
			case <-ctx.Done():
			}
			return nil
		},
	}
}

// at runs a hook. What fails is left out.
func (c *cli) at(ctx context.Context, event hookEvent) (text string) {
	var in hookInput
	if input, err := c.ReadFile(ctx, "-", console.MaxInput); err == nil {
		_ = json.Unmarshal(input, &in) // without it, only claims of no known session are found
	}
	_ = c.run(ctx, func(ctx context.Context, s *session) error {
		if s.Runner != nil || s.Empty { // bossman work does all this itself
			return nil
		}
		projects, err := s.projects(ctx)
		if err == nil {
			text, err = event(s, ctx, projects, in)
		}
		return err
	})
	return text
}

func (s *session) began(ctx context.Context, projects []board.Project, in hookInput) (string, error) {
	return s.primed(ctx, projects, in.Session)
}

// worked is a sign of work for the claims of the session. It renews no other claim: whoever holds
// that may be dead, and the tools of this session would keep its task from everybody. A connection
// that has ended has its own time to come back.
func (s *session) worked(ctx context.Context, projects []board.Project, in hookInput) (string, error) {
	held, err := s.held(ctx, projects, in.Session)
	if err != nil {
		return "", err
	}
	for _, c := range held.own {
		if gone(c) || time.Since(c.LastCall) < calledEvery {
			continue
		}
		if _, err := s.Board.Renew(ctx, c.Owner, true); err != nil {
			return "", err
		}
	}
	return "", nil
}

// stopped keeps an agent from stopping that has not reported, once.
func (s *session) stopped(ctx context.Context, projects []board.Project, in hookInput) (string, error) {
	all, err := s.held(ctx, projects, in.Session)
	if err != nil || in.Stopping {
		return "", err
	}
	held := slices.DeleteFunc(all.mine(), gone)
	if len(held) == 0 {
		return "", nil
	}
	reason := fmt.Sprintf("%v is not reported. %s If it is not yours, or the user wants you to stop, say so and end your turn.", names(held), again(held[0]))
	answer, err := json.Marshal(struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
	}{"block", reason})
	return string(answer), err
}

// names are the tasks of claims.
func names(claims []board.Claim) (text string) {
	for i, c := range claims {
		if i > 0 {
			text += ", "
		}
		text += c.Task.String()
	}
	return text
}
