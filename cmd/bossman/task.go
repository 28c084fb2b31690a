package main

import (
	"context"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardcli"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) taskCommand() *cobra.Command {
	return group("task", "Create, list, change and review tasks",
		a.taskAdd(), a.taskPlan(), a.taskList(), a.taskShow(), a.taskEdit(), a.taskStart(), a.taskDone(), a.taskReopen(), a.taskCancel(),
		a.taskRetry(), boardcli.Review(a.Console, personHelp, a.reviewing), a.taskRelease(), a.taskWhy(), a.taskImport(), a.taskExport(), boardcli.Archive(a.Console, a.desktop), boardcli.Erase(a.Console, a.erasing), boardcli.Log(a.Console, a.logs), boardcli.Diff(a.Console, a.diffing))
}

// taskFlags are the flags of bossman task add and edit.
type taskFlags struct {
	title, description, acceptance, priority, parent string
	skills, areas, after, evidence                   []string
	draft                                            bool
	lease                                            time.Duration
	maxFailures                                      int
}

func (f *taskFlags) register(a *app, cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.description, "description", "d", "", "what to do, in Markdown; - reads standard input")
	fl.StringVar(&f.acceptance, "acceptance", "", "acceptance criteria")
	fl.StringVarP(&f.priority, "priority", "p", "normal", "urgent, high, normal or low")
	fl.StringSliceVar(&f.skills, "skill", nil, "a skill that a worker needs; repeatable or comma-separated")
	fl.StringSliceVar(&f.areas, "area", nil, "a directory that the task changes")
	fl.StringSliceVar(&f.after, "after", nil, "a task that must be done first")
	fl.StringVar(&f.parent, "parent", "", "the task that this is a part of")
	fl.StringSliceVar(&f.evidence, "evidence", nil, "evidence that the report must include: commit, pr, tests, command, file, url, other")
	fl.BoolVar(&f.draft, "draft", false, "do not hand it out until somebody starts it")
	fl.DurationVar(&f.lease, "lease", 0, "how long a claim lasts without renewal, such as 30m")
	fl.IntVar(&f.maxFailures, "max-failures", 3, "number of failures after which the task fails")
	_ = cmd.RegisterFlagCompletionFunc("area", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if s, err := a.settings(); err == nil && len(s.Areas) > 0 {
			return console.Words(s.Areas), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
}

// readDescription reads the description from standard input if it is -.
func (f *taskFlags) readDescription(ctx context.Context, a *app) error {
	if f.description != "-" {
		return nil
	}
	text, err := a.ReadFile(ctx, "-", console.MaxInput)
	f.description = string(text)
	return err
}

// warnSkills names skills that the project does not list: the board ignores them.
func (a *app) warnSkills(ctx context.Context, o *openBoard, slug string, skills []string) {
	p, err := o.Project(ctx, slug)
	if err != nil || len(skills) == 0 {
		return
	}
	if _, unknown := p.Known(board.SplitList(skills...)); len(unknown) > 0 {
		a.Infof("Ignored unknown skill %s: the project %s does not list it. Add it with: bossman project set --skill %s",
			strings.Join(unknown, ", "), slug, console.ShellWords(strings.Join(append(p.Skills, unknown...), ",")))
	}
}

// printTask prints a task after a change: as JSON, or the line of format and args.
func (a *app) printTask(t board.Task, format string, args ...any) error {
	if a.JSON {
		return a.PrintJSON(boardjson.FromTask(t))
	}
	a.Linef(format, args...)
	return nil
}

// printTitle prints a task with its title, which others may have written, and a remark of ours.
func (a *app) printTitle(t board.Task, note string) error {
	if a.JSON {
		return a.PrintJSON(boardjson.FromTask(t))
	}
	id, title := t.ID.String(), console.OneLine(t.Title)
	if !a.Fits(id + "  " + title + note) {
		a.Linef("%s%s", a.Styled(console.Cyan, id), a.Styled(console.Dim, note))
		a.Quoted("", title)
		return nil
	}
	a.Linef("%s  %s%s", a.Styled(console.Cyan, id), title, a.Styled(console.Dim, note))
	return nil
}
