package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/planfile"
	"github.com/spf13/cobra"
)

func (a *app) taskEdit() *cobra.Command {
	var f taskFlags
	cmd := &cobra.Command{
		Use: "edit TASK…", Short: "Change a task", Args: cobra.MinimumNArgs(1),
		Long: `Edit changes what the flags name and nothing else. A list replaces the old one; an empty
list, such as --after=, removes all. The worker that holds the task is notified.

To start a draft: bossman task start.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if cmd.Flags().Changed("acceptance") || cmd.Flags().Changed("evidence") {
				if err := a.RefuseAgent(); err != nil { // it would judge its own work
					return err
				}
			}
			if err := f.readDescription(ctx, a); err != nil {
				return err
			}
			o, err := a.open(ctx)
			if err != nil {
				return err
			}
			e, any, err := f.edit(cmd, o)
			if err != nil {
				return err
			}
			if !any {
				return console.Usagef("nothing to change: use a flag, such as bossman task edit %s --priority high", args[0])
			}
			return a.each(args, func(name string) error {
				id, err := o.parseTask(name)
				if err != nil {
					return err
				}
				return a.editTask(ctx, o, id, e)
			})
		},
	}
	f.register(a, cmd)
	cmd.Flags().StringVar(&f.title, "title", "", "new title")
	return cmd
}

func (a *app) editTask(ctx context.Context, o *openBoard, id board.ID, e board.Edit) error {
	t, err := o.Update(ctx, a.actor(), id, e)
	if errors.Is(err, board.ErrNotFound) {
		// Either the task itself, or one that --after or --parent names.
		if _, gone := o.Get(ctx, id, 0); gone != nil {
			return taskNotFound(gone, id)
		}
	}
	if errors.Is(err, board.ErrDenied) {
		return console.WithNext(err, fmt.Sprintf("ask with bossman ask, or leave it to the person: bossman task edit %v", id))
	}
	if err != nil {
		return err
	}
	if e.Skills != nil {
		a.warnSkills(ctx, o, id.Project, *e.Skills)
	}
	return a.printTitle(t, "  "+t.State().String())
}

// edit is the change that the given flags describe; any is false if there are none.
func (f *taskFlags) edit(cmd *cobra.Command, o *openBoard) (e board.Edit, any bool, err error) {
	set := func(flag string, do func()) {
		if cmd.Flags().Changed(flag) && err == nil {
			any = true
			do()
		}
	}
	set("title", func() { e.Title = &f.title })
	set("description", func() { e.Description = &f.description })
	set("acceptance", func() { e.Acceptance = &f.acceptance })
	set("priority", func() {
		var p board.Priority
		p, err = board.ParsePriority(strings.ToLower(f.priority))
		e.Priority = &p
	})
	set("skill", func() { e.Skills = new(board.SplitList(f.skills...)) })
	set("area", func() { e.Areas = new(board.SplitList(f.areas...)) })
	set("evidence", func() { e.Wants = new(planfile.EvidenceKinds(f.evidence)) })
	set("after", func() {
		var ids []board.ID
		ids, err = o.taskIDs(f.after)
		e.DependsOn = &ids
	})
	set("parent", func() {
		var id board.ID
		if f.parent != "" {
			id, err = o.taskID(f.parent)
		}
		e.Parent = &id
	})
	set("draft", func() { e.Hold = &f.draft })
	set("lease", func() { e.Lease = &f.lease })
	set("max-failures", func() { e.MaxFailures = &f.maxFailures })
	return e, any, err
}
