package agentcli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// agentHelp is the end of the help of every command.
const agentHelp = `
This command is for agents that have a shell and no MCP. The claim is kept in the git
directory of the worktree, so it need not be repeated; --claim names another one.`

// cli is the commands on a console.
type cli struct {
	*console.Console
	version string
	desk    func(ctx context.Context) (*Desk, error)
}

// Commands returns the commands of agents. version is the program's; desk opens the desk
// of the working directory.
func Commands(out *console.Console, version string, desk func(ctx context.Context) (*Desk, error)) []*cobra.Command {
	c := &cli{out, version, desk}
	return []*cobra.Command{c.next(), c.note(), c.done(), c.fail(), c.ask(), c.review(), c.prime(), c.hook()}
}

func (c *cli) next() *cobra.Command {
	var wait seconds
	var task string
	var skills []string
	cmd := &cobra.Command{
		Use: "next", Short: "For agents: get a task, or the one held here again", Args: cobra.NoArgs,
		Long: `Next hands out a task. If this directory holds one, it hands out that one again, with all
that is known about it. The lease is an hour, and every command of the agent renews it.

It ends with exit code 7 if there is nothing to do, and says why.
` + agentHelp,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), func(ctx context.Context, s *session) error {
				return s.next(ctx, map[string]any{"wait_seconds": wait, "task": task, "skills": skills})
			})
		},
	}
	cmd.Flags().Var(&wait, "wait", "how many `seconds` to wait for a task, at most 45")
	cmd.Flags().StringVar(&task, "task", "", "the task you prefer")
	cmd.Flags().StringSliceVar(&skills, "skill", nil, "your skills; omit to be offered any task")
	return cmd
}

// next asks for a task, one command in a directory at a time.
func (s *session) next(ctx context.Context, args map[string]any) error {
	if !s.Empty && s.Runner == nil {
		unlock, err := s.claim.lock(ctx)
		if err != nil {
			return err
		}
		if s.unkept = unlock == nil; !s.unkept {
			defer unlock()
		}
		kept, err := readClaim(s.claim.path, s.claim.Board) // another command may have written it
		if err != nil {
			return err
		}
		s.claim = kept
		if s.claim.Worker == "" && !s.unkept {
			s.recall(ctx)
		}
	}
	if s.claim.Worker != "" {
		args["worker"] = s.claim.Worker
	}
	r, err := s.call(ctx, "get_next_task", args)
	if err == nil && r.fact("error") == "invalid" && s.claim.Worker != "" {
		// The board does not know the worker: it was replaced.
		delete(args, "worker")
		s.claim.Worker, s.claim.Claim = "", ""
		r, err = s.call(ctx, "get_next_task", args)
	}
	if err != nil {
		return err
	}
	if s.Runner != nil {
		return s.finish(r)
	}
	switch r.fact("outcome") {
	case "again":
		s.remember(r)
		r.text += "\n\nIt is the task of this directory. If you are another agent, do not work here: make a worktree with `git worktree add ../NAME` and run `bossman next` there."
	case "handed_out":
		if lost := s.claim.Claim; lost != "" {
			r.text = "The claim " + lost + " that was held here has ended; do not go on with it.\n" + r.text
		}
		s.remember(r)
	default:
		if s.claim.Claim != "" && !r.failed {
			s.release()
		}
	}
	if c, ok := s.gone(ctx); ok && r.fact("outcome") == "none" {
		r.text += fmt.Sprintf("\n%v was taken in %q, which is gone. If that is your task: bossman fail --claim %v --kind not_now --reason 'The directory is gone', and then: bossman next", c.Task, c.Where.Dir, c.Handle)
	}
	return s.finish(r)
}

func (c *cli) note() *cobra.Command {
	var percent int
	var branch string
	return c.under("note TEXT…", "For agents: record progress on the task", cobra.MinimumNArgs(1),
		"Note records progress, for people and for the next worker. The answer has news: answers to\nquestions, edits of the task, a stop.\n",
		func(cmd *cobra.Command) {
			cmd.Flags().IntVar(&percent, "percent", 0, "percentage done")
			cmd.Flags().StringVar(&branch, "branch", "", "branch of the work, if not checked out here")
		},
		func(ctx context.Context, s *session, args []string) error {
			claim, err := s.under(ctx)
			if err != nil {
				return err
			}
			if branch, err = s.branch(branch); err != nil {
				return err
			}
			note := strings.Join(args, " ")
			r, err := s.call(ctx, "report_progress", map[string]any{"claim": claim, "note": note, "percent": percent, "branch": branch})
			if err != nil {
				return err
			}
			if news, ok := strings.CutPrefix(r.text, "Noted."); ok { // what an agent says is shown to people, and kept
				r.text = "Noted: " + console.OneLine(note) + news
			}
			return s.finish(r)
		})
}

func (c *cli) done() *cobra.Command {
	var summary, branch string
	var proofs, artifacts, followUps []string
	var noChanges bool
	cmd := c.under("done [TEXT…]", "For agents: report the task as done", cobra.ArbitraryArgs,
		`Done reports the task as done. Evidence is looked at, and the project's check is run, before
the report is accepted: the command takes as long as the check. If the report is refused, you
still hold the task. A person marks a task done with bossman task done.
`,
		func(cmd *cobra.Command) {
			fl := cmd.Flags()
			fl.StringVarP(&summary, "summary", "m", "", "what was done and where it is")
			fl.StringArrayVarP(&proofs, "evidence", "e", nil, "evidence, as `KIND=REF`: commit, pr, tests, command, file, url, other; repeatable")
			fl.StringVar(&branch, "branch", "", "branch of the commits, if not checked out here")
			fl.BoolVar(&noChanges, "no-changes", false, "the task changed no file")
			fl.StringArrayVar(&artifacts, "artifact", nil, "a file or URL that you produced; repeatable")
			fl.StringArrayVar(&followUps, "follow-up", nil, "a new task that you found necessary; repeatable")
		},
		func(ctx context.Context, s *session, words []string) error {
			if (summary == "") == (len(words) == 0) {
				return console.Usagef("say what was done, once: bossman done --summary TEXT")
			}
			summary = cmp.Or(summary, strings.Join(words, " "))
			branch, err := s.branch(branch)
			if err != nil {
				return err
			}
			args := map[string]any{"summary": summary, "branch": branch, "artifacts": artifacts, "follow_ups": followUps}
			if noChanges {
				args["no_changes"] = true
			}
			var list []evidence
			for _, p := range proofs {
				kind, ref, ok := strings.Cut(p, "=")
				if !ok {
					return console.Usagef("invalid --evidence %q: want KIND=REF, such as commit=3f2c1ab", p)
				}
				list = append(list, evidence{kind, ref})
			}
			if len(list) > 0 {
				args["evidence"] = list
			}
			return s.report(ctx, "report_task_done", args)
		})
	cmd.Example = "  bossman done --summary 'Fixed the login' --evidence commit=3f2c1ab --evidence tests='make test'"
	return cmd
}

func (c *cli) fail() *cobra.Command {
	var reason, kind, avoid string
	cmd := c.under("fail [TEXT…]", "For agents: report that the task could not be done", cobra.ArbitraryArgs,
		`Fail reports that the task could not be done. --kind decides what happens: blocked puts the
reason to people as a question, wrong_spec fails the task, environment retries it after a
cool-down, not_now returns it with no failure counted, too_hard and other return it.
`,
		func(cmd *cobra.Command) {
			cmd.Flags().StringVarP(&reason, "reason", "m", "", "what went wrong")
			cmd.Flags().StringVar(&kind, "kind", string(board.FailOther), "blocked, too_hard, wrong_spec, environment, not_now or other")
			cmd.Flags().StringVar(&avoid, "do-not-repeat", "", "what the next attempt should not try again")
		},
		func(ctx context.Context, s *session, words []string) error {
			if (reason == "") == (len(words) == 0) {
				return console.Usagef("say what went wrong, once: bossman fail --reason TEXT")
			}
			reason = cmp.Or(reason, strings.Join(words, " "))
			branch, _ := s.branch("") // without one the last known place stays
			return s.report(ctx, "report_task_failed", map[string]any{"reason": reason, "kind": kind, "do_not_repeat": avoid, "branch": branch})
		})
	cmd.Example = "  bossman fail --reason 'The test server is down' --kind environment"
	return cmd
}

// report reports the end of a task, and forgets the claim if the board accepts it.
func (s *session) report(ctx context.Context, tool string, args map[string]any) error {
	claim, err := s.under(ctx)
	if err != nil {
		return err
	}
	args["claim"] = claim
	r, err := s.call(ctx, tool, args)
	if err != nil {
		return err
	}
	if status := r.fact("status"); status != "" && status != string(board.InProgress) && claim == s.claim.Claim {
		s.release()
	}
	return s.finish(r)
}

func (c *cli) ask() *cobra.Command {
	var options []string
	var byDefault, branch string
	wait := seconds(45)
	var waits bool
	cmd := c.under("ask TEXT…", "For agents: ask people for a decision", cobra.MinimumNArgs(1),
		`Ask puts a question to people. Without --default the task cannot go on without an answer: if
there is none within --wait seconds, the task is parked and you take another one. With the id
of a question in place of the text, it shows the answer.
`,
		func(cmd *cobra.Command) {
			cmd.Flags().StringArrayVarP(&options, "option", "o", nil, "an answer to choose from; repeatable")
			cmd.Flags().StringVar(&byDefault, "default", "", "the answer to go on with if nobody answers")
			cmd.Flags().StringVar(&branch, "branch", "", "branch of the work, if not checked out here")
			cmd.Flags().Var(&wait, "wait", "how many `seconds` to wait for the answer, at most 45 (default 0 with --default)")
			cmd.PreRun = func(cmd *cobra.Command, _ []string) { waits = cmd.Flags().Changed("wait") }
		},
		func(ctx context.Context, s *session, args []string) error {
			claim, _ := s.under(ctx) // a question may be about none
			text := strings.Join(args, " ")
			tool, in := "ask_question", map[string]any{"claim": claim, "question": text, "options": options, "default": byDefault}
			if claim != "" {
				if on, err := s.branch(branch); err == nil { // without one the last known place stays
					in["branch"] = on
				}
			}
			if waits || byDefault == "" {
				in["wait_seconds"] = wait
			}
			if id, err := board.ParseQuestionID(text); err == nil {
				tool, in = "get_answer", map[string]any{"question": id.String()}
			}
			r, err := s.call(ctx, tool, in)
			if err != nil {
				return err
			}
			if parked, _ := r.result["parked"].(bool); parked && claim == s.claim.Claim {
				s.release()
			}
			return s.finish(r)
		})
	cmd.Example = "  bossman ask 'Which database?' --option PostgreSQL --option SQLite --wait 0\n  bossman ask q-18"
	return cmd
}

// under returns a command that acts under a claim.
func (c *cli) under(use, short string, args cobra.PositionalArgs, long string, flags func(*cobra.Command), run func(ctx context.Context, s *session, args []string) error) *cobra.Command {
	var claim string
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args, Long: long + agentHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), func(ctx context.Context, s *session) error {
				s.named = claim
				return run(ctx, s, args)
			})
		},
	}
	cmd.Flags().StringVar(&claim, "claim", "", "the claim to act under, in place of the one held here")
	flags(cmd)
	return cmd
}

// run runs a command at the desk of the directory.
func (c *cli) run(ctx context.Context, f func(ctx context.Context, s *session) error) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return f(ctx, s)
}
