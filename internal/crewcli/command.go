// Package crewcli is bossman work: it runs a crew of agents, and shows what they do.
package crewcli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/land"
	"github.com/bossman-dev/bossman/proc"
	"github.com/spf13/cobra"
)

// A Shop is where a crew works: a board and a repository.
type Shop struct {
	// Options are those of a runner, without agents.
	Options crew.Options
	// Lander returns the options of a lander, and what is to be told first: the project lands its work
	// from then on, if it has not before.
	Lander func(ctx context.Context) (o land.Options, said string, err error)
	// Policy says who decides on the project's work.
	Policy board.Policy
	// Untrusted is set if the project has a check that nobody has accepted.
	Untrusted bool
	// Run does the board's background work until its context ends.
	Run   func(ctx context.Context) error
	Close func()
}

// Minder returns the command of the process between bossman work and an agent; see package proc.
func Minder() *cobra.Command {
	return &cobra.Command{
		Use: "minder", Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error { return proc.RunMinder(args) },
	}
}

// flags are those of bossman work.
type flags struct {
	slots      int
	review     int
	untilEmpty bool
	maxTasks   int
	maxTime    time.Duration
	maxCost    float64 // if limitCost
	limitCost  bool
	maxSilence time.Duration // if limitSilence
	maxStart   time.Duration
	maxExit    time.Duration
	limitPause time.Duration
	agents     []string
	permission string
	project    bool
	answer     bool
	land       bool

	limitSilence bool
}

// Command returns bossman work. open opens the shop of the working directory.
func Command(out *console.Console, open func(ctx context.Context) (*Shop, error)) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use: "work [-- COMMAND…]", Short: "Run agents on the tasks of the board",
		Long: `Work runs agents: each slot takes a task, prepares a worktree for it, and starts the
command there. When the command ends, its last state is kept as a commit under refs/bossman
and on the branch bossman/TASK, and the slot takes the next task. Waiting for a task starts
no agent.

With --agent claude or codex the slots run Claude Code or Codex, which get the board's tools;
gemini, opencode, copilot, claude-acp and codex-acp are run over the Agent Client Protocol.
With several agents, separated by commas, the slots take turns. What stands after -- is then the
command of the slots with the agent "command", or "acp" for a program that speaks that protocol.

The command finds its task in the files that BOSSMAN_PROMPT (text) and BOSSMAN_TASK_FILE
(JSON) name, and reports with bossman done, fail, note and ask, or over MCP with
bossman mcp --join. If it ends without a report, that is a failure of the attempt.

With --land what agents finish is landed on the project's target branch meanwhile, as by
bossman land --watch; with --until-empty it also ends what waits to be landed.

With --review N, N more slots review what was reported done, with the same agents: each
review has the reported commit in a worktree of its own, from which nothing is kept, and ends
with bossman review accept, reject or skip. Under the policy review that takes the place of a
person's verdict. With -n 0 nothing else is done.

With --answer the command answers questions of workers that agents may answer, instead of
working on tasks: it gets a question and its task as JSON on standard input, and what it writes
to standard output is the answer. Questions for people only, such as those for permissions, never
reach it.

An interrupt lets the agents finish what they have; a second one ends them at once and gives
their tasks back, and so does closing the terminal.`,
		Example: "  bossman work -n 4 -- ./agent.sh\n  bossman work -n 4 --agent claude --until-empty",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.limitSilence = cmd.Flags().Changed("max-silence")
			f.limitCost = cmd.Flags().Changed("max-cost")
			return run(cmd.Context(), out, open, f, args)
		},
	}
	fl := cmd.Flags()
	fl.IntVarP(&f.slots, "slots", "n", 1, "how many agents work at once")
	fl.IntVar(&f.review, "review", 0, "how many more agents review what was reported done, in a project with the policy review")
	fl.StringSliceVar(&f.agents, "agent", nil, "the agents of the slots: command, claude, codex, gemini, opencode, copilot, claude-acp, codex-acp, acp; default command")
	fl.StringVar(&f.permission, "permission-mode", "", "Claude Code's permission mode (default acceptEdits)")
	fl.BoolVar(&f.project, "project-settings", false, "let agents use the settings, hooks and MCP servers of the repository")
	fl.BoolVar(&f.answer, "answer", false, "answer questions with the command, instead of working on tasks")
	fl.BoolVar(&f.land, "land", false, "land what is accepted on the project's target branch, too: see bossman land")
	fl.BoolVar(&f.untilEmpty, "until-empty", false, "end when nothing is left that can be done without people")
	fl.IntVar(&f.maxTasks, "max-tasks", 0, "end after so many tasks; 0: no limit")
	fl.DurationVar(&f.maxTime, "max-time", 0, "how long an agent may work on a task")
	fl.Float64Var(&f.maxCost, "max-cost", 0, "how many dollars an attempt at a task may cost, with an agent that tells its price; default [budget] task of the configuration")
	fl.DurationVar(&f.maxSilence, "max-silence", 0, "how long an agent may give no sign of work: no output and no call (default 10m; 2h while a tool runs, and for a command)")
	fl.DurationVar(&f.maxStart, "max-start", crew.DefaultLimits.First, "how long an agent with a model may take to its first sign of work")
	fl.DurationVar(&f.maxExit, "max-exit", crew.DefaultLimits.Parting, "how long an agent may go on after its report, or after its last turn")
	fl.DurationVar(&f.limitPause, "limit-pause", crew.DefaultLimits.Rest, "how long agents rest whose limit of usage is reached, if they do not say until when")
	return cmd
}

// team returns the agents that the flags name. words are the command.
func (f flags) team(words []string) (agents []agent.Agent, err error) {
	names := f.agents
	if len(names) == 0 {
		names = []string{"command"}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	join := []string{self, "mcp", "--join"}
	for _, name := range names {
		var a agent.Agent
		if (name == "command" || name == "acp") && len(words) == 0 {
			return nil, console.Usagef("name the command of an agent after --, or another agent with --agent")
		}
		switch {
		case name == "command":
			a, err = agent.Command(words)
		case name == "claude":
			a, err = agent.Claude(agent.ClaudeOptions{Join: join, Mode: f.permission, Project: f.project})
		case name == "codex":
			a, err = agent.Codex(agent.CodexOptions{Join: join, Project: f.project})
		case name == "acp":
			a, err = agent.ACP(agent.ACPOptions{Command: words, Join: join, Project: f.project})
		case slices.Contains(agent.ACPNames(), name):
			a, err = agent.ACP(agent.ACPOptions{Name: name, Join: join, Project: f.project})
		default:
			return nil, console.Usagef("--agent has no %q", name)
		}
		if err != nil {
			return nil, console.Errorf(console.NotFound, "name a program that is there", "the agent cannot be run: %w", err)
		}
		agents = append(agents, a)
	}
	if len(words) > 0 && !slices.Contains(names, "command") && !slices.Contains(names, "acp") {
		return nil, console.Usagef("no slot runs %q: add command to --agent", words[0])
	}
	return agents, nil
}

// interpreters run a file that their arguments name, without the digits of a version.
var interpreters = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "python", "node", "deno", "bun", "perl", "ruby", "php"}

// relativeScript returns the script of a command that is an interpreter with a file that is here, named by
// a relative path; empty if it is none. The interpreter runs in a worktree, and takes the file from there.
func relativeScript(words []string) string {
	if len(words) == 0 || !slices.Contains(interpreters, strings.TrimRight(filepath.Base(words[0]), "0123456789.")) {
		return ""
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") {
			continue
		}
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() && !filepath.IsAbs(word) {
			return word
		}
		break
	}
	return ""
}

// run runs a crew until it has nothing to do, or is interrupted.
func run(ctx context.Context, out *console.Console, open func(ctx context.Context) (*Shop, error), f flags, words []string) error {
	if f.review < 0 || f.review > 100 {
		return console.Usagef("--review is between 0 and 100, not %d", f.review)
	}
	if f.slots < 1 && f.review == 0 || f.slots < 0 || f.slots > 100 {
		return console.Usagef("-n is between 1 and 100, or 0 with --review, not %d", f.slots)
	}
	if f.maxTasks < 0 {
		return console.Usagef("--max-tasks is a number of tasks, or 0 for as many as there are, not %d", f.maxTasks)
	}
	if f.maxCost < 0 || math.IsNaN(f.maxCost) {
		return console.Usagef("--max-cost is a sum in dollars, not %v", f.maxCost)
	}
	if err := out.RefuseAgent(); err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		return console.Errorf(console.Unavailable, "run it in WSL", "there is no bossman work on Windows yet")
	}
	if f.answer && f.land {
		return console.Usagef("--answer and --land do not go together")
	}
	if f.answer && f.review > 0 {
		return console.Usagef("--answer and --review do not go together")
	}
	if f.answer && len(f.agents) > 0 {
		return console.Usagef("--answer has no --agent: name a command after --")
	}
	agents, err := f.team(words)
	if err != nil {
		return err
	}
	shop, err := open(ctx)
	if err != nil {
		return err
	}
	defer shop.Close()
	o := shop.Options
	for n := range f.slots {
		o.Agents = append(o.Agents, agents[n%len(agents)])
	}
	for n := range f.review {
		o.Reviewers = append(o.Reviewers, agents[n%len(agents)])
	}
	o.UntilEmpty, o.MaxTasks = f.untilEmpty, f.maxTasks
	o.Limits.Job = f.maxTime
	if f.limitCost {
		o.Limits.Cost = f.maxCost
	}
	if f.limitSilence {
		o.Limits.Silence, o.Limits.Call = f.maxSilence, f.maxSilence
	}
	o.Limits.First, o.Limits.Parting, o.Limits.Rest = f.maxStart, f.maxExit, f.limitPause
	if script := relativeScript(words); script != "" && !f.answer {
		out.Infof("%s is taken from the worktree of each task, where agents can change it; use an absolute path to run the one that is here.", script)
	}
	if f.review > 0 && shop.Policy != board.PolicyReview {
		out.Infof("No reviews are handed out under the policy %s: bossman project set --policy review", shop.Policy)
	}
	show := newDisplay(out, o.Agents, o.Reviewers)
	o.Report = show.event
	lander := func(context.Context) {}
	if f.land {
		if lander, err = landing(ctx, out, shop, &o, show); err != nil {
			return err
		}
	}
	if shop.Untrusted {
		out.Infof("The project's check does not run, because nobody has accepted it: bossman trust")
	}
	if o.Setup != nil {
		if command, _, untrusted, err := o.Setup(); err == nil && untrusted && len(command) == 0 {
			out.Infof("The project's setup does not run, because nobody has accepted it: bossman trust")
		} else if err == nil && untrusted {
			out.Infof("The project's setup runs as it was accepted; nobody has accepted the one in its file: bossman trust")
		}
	}

	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	drain, leave := context.WithCancel(ctx)
	defer leave()
	defer onSignals(hard, func() {
		show.notice("Agents finish what they have; interrupt again to end them at once.")
		leave()
	}, func() { leave(); cancel() })()
	var wg sync.WaitGroup
	defer wg.Wait()
	upkeep, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	wg.Go(func() { _ = shop.Run(upkeep) })
	wg.Go(func() { show.run(upkeep) })
	wg.Go(func() { lander(upkeep) })

	if f.answer {
		return answer(hard, drain, &o, words, show)
	}
	if !f.untilEmpty && !show.live.Terminal() {
		show.live.Infof("Taking %s; stop with Ctrl-C.", taking(o.Project, len(o.Agents), len(o.Reviewers)))
	}
	r := crew.New(&o)
	err = r.Run(hard, drain)
	show.end(r.Results(context.WithoutCancel(ctx)), r.Parked(context.WithoutCancel(ctx)))
	if spent, ok := errors.AsType[*crew.BudgetError](err); ok {
		return console.Errorf(console.Unavailable, "run it again after 00:00 UTC, or raise day in [budget] of your configuration", "tasks are left, and the budget of the day (%s) is spent", crew.Dollars(spent.Day))
	}
	return err
}

// taking says what slots take, and how many at a time.
func taking(project string, tasks, reviews int) string {
	var list []string
	if tasks > 0 {
		list = append(list, fmt.Sprintf("tasks of %s, %d at a time", project, tasks))
	}
	if reviews > 0 {
		list = append(list, fmt.Sprintf("reviews of %s, %d at a time", project, reviews))
	}
	return strings.Join(list, ", and ")
}

// onSignals calls first at the first interrupt, and last at the second one or when the terminal is
// closed, unless ctx ends before; a hangup that was ignored from the start, as by nohup, still is.
// Output that nobody reads any more does not end the process until stop is called.
func onSignals(ctx context.Context, first, last func()) (stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	unread := make(chan os.Signal, 1) // not signal.Ignore, which git and checks would inherit
	signal.Notify(unread, syscall.SIGPIPE)
	go func() {
		for n := range 2 {
			select {
			case s := <-signals:
				if n == 1 || s == syscall.SIGHUP {
					last()
					return
				}
				first()
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		signal.Stop(unread)
	}
}
