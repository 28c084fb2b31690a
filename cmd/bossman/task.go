package main

import (
	"context"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) taskCommand() *cobra.Command {
	return group("task", "Put tasks on the board, and look after them",
		a.taskAdd(), a.taskPlan(), a.taskList(), a.taskShow(), a.taskEdit(), a.taskCancel(), a.taskRetry(), a.taskReview(),
		a.taskRelease(), a.taskWhy(), a.taskImport(), a.taskExport())
}

// taskFlags are what can be said about a task.
type taskFlags struct {
	title, description, acceptance, priority, parent string
	skills, areas, after, evidence                   []string
	hold                                             bool
	lease                                            time.Duration
	maxFailures                                      int
}

func (f *taskFlags) register(a *app, cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.description, "description", "d", "", "what is to be done, in Markdown; - reads standard input")
	fl.StringVar(&f.acceptance, "acceptance", "", "when it is done")
	fl.StringVarP(&f.priority, "priority", "p", "normal", "urgent, high, normal or low")
	fl.StringSliceVar(&f.skills, "skill", nil, "what a worker must be able to do; repeat, or separate by commas")
	fl.StringSliceVar(&f.areas, "area", nil, "a directory that it touches")
	fl.StringSliceVar(&f.after, "after", nil, "a task that must be done before")
	fl.StringVar(&f.parent, "parent", "", "the task that it is a part of")
	fl.StringSliceVar(&f.evidence, "evidence", nil, "what a report must bring: commit, pr, tests, command, file, url, other")
	fl.BoolVar(&f.hold, "hold", false, "do not hand it out yet")
	fl.DurationVar(&f.lease, "lease", 0, "how long a claim lasts without a sign of life, such as 30m")
	fl.IntVar(&f.maxFailures, "max-failures", 3, "after how many failures to give up")
	_ = cmd.RegisterFlagCompletionFunc("priority", cobra.FixedCompletions([]string{"urgent", "high", "normal", "low"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("after", a.completeTasks)
	_ = cmd.RegisterFlagCompletionFunc("parent", a.completeTasks)
	_ = cmd.RegisterFlagCompletionFunc("area", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if s, err := config.Load(a.flags, a.Getenv); err == nil && len(s.Areas) > 0 {
			return s.Areas, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
}

// text reads the description from standard input if it is -.
func (f *taskFlags) text(ctx context.Context, a *app) error {
	if f.description != "-" {
		return nil
	}
	text, err := a.ReadFile(ctx, "-")
	f.description = string(text)
	return err
}

// warnSkills names skills that the project does not know: the board drops them.
func (a *app) warnSkills(ctx context.Context, o *opened, slug string, skills []string) {
	p, err := o.Project(ctx, slug)
	if err != nil || len(skills) == 0 {
		return
	}
	if _, unknown := p.Known(board.SplitList(skills...)); len(unknown) > 0 {
		a.Infof("The project %s does not know the skill %s, so it is left out. Add it with: bossman project set --skill %s",
			slug, strings.Join(unknown, ", "), strings.Join(append(p.Skills, unknown...), ","))
	}
}

// oneTask makes a command that is about one task.
func (a *app) oneTask(use, short string, run func(ctx context.Context, o *opened, id board.ID, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		ValidArgsFunction: a.completeTask,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, id, err := a.openTask(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return noTask(run(cmd.Context(), o, id, args), id)
		},
	}
}

// openTask opens the board for a command about a task. Where there is no board there
// is no task, and none is made to find that out.
func (a *app) openTask(ctx context.Context, name string) (*opened, board.ID, error) {
	o, err := a.open(ctx)
	if err != nil {
		return nil, board.ID{}, err
	}
	id, err := o.taskID(name)
	if err == nil && len(o.projects) == 0 {
		err = missing(board.ErrNotFound, "task "+id.String())
	}
	return o, id, err
}

// noTask makes a not-found error of an operation on one task say which task it is.
func noTask(err error, id board.ID) error {
	if console.CodeOf(err) != 0 {
		return err
	}
	return missing(err, "task "+id.String())
}

// completeTask completes the id of an open task as the first argument.
func (a *app) completeTask(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeTasks(cmd, args, prefix)
}

func (a *app) completeTasks(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	o, slug, err := a.begin(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ts, err := o.List(ctx, board.TaskFilter{Projects: []string{slug}, Statuses: openStatuses})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, t := range ts {
		if id := t.ID.String(); strings.HasPrefix(id, prefix) {
			out = append(out, id+"\t"+console.OneLine(t.Title))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// shownTask answers with a task after a change.
func (a *app) shownTask(t board.Task, format string, args ...any) error {
	if a.JSON {
		return a.PrintJSON(boardjson.FromTask(t))
	}
	a.Linef(format, args...)
	return nil
}

func idTexts(ids []board.ID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.String()
	}
	return out
}
