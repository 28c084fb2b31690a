package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/planfile"
	"github.com/spf13/cobra"
)

func (a *app) taskAdd() *cobra.Command {
	var f taskFlags
	var key string
	cmd := &cobra.Command{
		Use: "add TITLE…", Short: "Create a task",
		Example: `  bossman task add "Add a login page" -d "With e-mail and password." --evidence tests
  bossman task add "Write its documentation" --after web-1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := f.readDescription(ctx, a); err != nil {
				return err
			}
			title := strings.TrimSpace(strings.Join(args, " "))
			if title == "" && f.description == "" {
				return console.Usagef("a task needs a title: bossman task add TITLE")
			}
			o, slug, err := a.openProject(ctx)
			if err != nil {
				return err
			}
			n := board.NewTask{
				Project: slug, Title: title, Description: f.description, Acceptance: f.acceptance,
				Skills: board.SplitList(f.skills...), Areas: f.areas, Wants: planfile.EvidenceKinds(f.evidence), Hold: f.draft, Lease: f.lease,
				MaxFailures: f.maxFailures,
			}
			if n.Priority, err = board.ParsePriority(strings.ToLower(f.priority)); err != nil {
				return err
			}
			if n.DependsOn, err = o.taskIDs(f.after); err != nil {
				return err
			}
			if f.parent != "" {
				if n.Parent, err = o.taskID(f.parent); err != nil {
					return err
				}
			}
			create := o.Create
			if h, err := board.ParseHandle(a.Getenv(crew.ClaimVariable)); err == nil && !h.IsReview() && h.Task.Project == slug {
				create = func(ctx context.Context, by board.Actor, n board.NewTask, key string) (board.Task, board.Doc, error) {
					return o.CreateUnder(ctx, by, h, n, key) // as create_task does: a draft that people see in the inbox
				}
			}
			t, _, err := create(ctx, a.actor(), n, key)
			if err != nil {
				return err
			}
			a.warnSkills(ctx, o, slug, n.Skills)
			return a.printTitle(t, notReady(t))
		},
	}
	f.register(a, cmd)
	cmd.Flags().StringVar(&key, "key", "", "idempotency key: repeating the command with it creates nothing twice")
	return cmd
}

// notReady is why a new task is not handed out, empty if it is ready.
func notReady(t board.Task) string {
	switch s := t.State(); {
	case s == board.StateReady:
		return ""
	case s == board.StateBlocked && t.OpenBlockers > 0:
		return fmt.Sprintf("  blocked by %s", console.Count(t.OpenBlockers, "task"))
	default:
		return "  " + s.String()
	}
}
