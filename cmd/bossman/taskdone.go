package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/landcli"
	"github.com/spf13/cobra"
)

// forPeople makes a command refuse to run in an agent's shell.
func (a *app) forPeople(cmd *cobra.Command) *cobra.Command {
	cmd.PreRunE = func(*cobra.Command, []string) error { return a.RefuseAgent() }
	return cmd
}

func (a *app) taskDone() *cobra.Command {
	var note string
	cmd := a.forPeople(a.eachTask("done TASK…", "Mark a task done yourself, whatever its state", func(ctx context.Context, o *openBoard, id board.ID) error {
		_, notReviewer := a.RequirePerson()
		pull := landcli.OpenPull(ctx, o, id)
		out, err := o.MarkDone(ctx, a.person(), id, note, notReviewer == nil)
		if errors.Is(err, board.ErrDenied) && notReviewer != nil {
			return console.WithNext(fmt.Errorf("%w: %w", err, notReviewer), fmt.Sprintf("bossman task review %v", id))
		}
		if err != nil {
			return err
		}
		if a.JSON {
			return a.printOutcomeJSON(out, pull.URL)
		}
		err = a.printOutcome(out, strings.TrimSpace(fmt.Sprintf("%v is done. %s", id, out.Unfinished.Why())))
		landcli.SayOpenPull(a.Console, pull)
		return err
	}))
	cmd.Long = `Done takes an open task straight to done, as your own act: without evidence, check, review
or landing, which its history says, and although parts of it are open. A worker that holds the
task is told with its next call. To accept a task in review it needs what bossman task review
needs: a terminal, or BOSSMAN_PERSON=1.

It refuses to run in an agent's shell. An agent reports its own task with bossman done.`
	cmd.Flags().StringVarP(&note, "note", "m", "", "what was done; becomes the task's result")
	return cmd
}

func (a *app) taskReopen() *cobra.Command {
	var note string
	cmd := a.forPeople(a.eachTask("reopen TASK…", "Do a task again that has ended", func(ctx context.Context, o *openBoard, id board.ID) error {
		t, err := o.Reopen(ctx, a.actor(), id, note)
		if err != nil {
			return err
		}
		if t.ID == id {
			return a.printTask(t, "%v is pending again.", id)
		}
		if err := a.printTitle(t, ""); err != nil || a.JSON {
			return err
		}
		stuck, err := o.blockedBy(ctx, id)
		if len(stuck) > 0 {
			a.Infof("Still blocked by %v: %s. To wait for %v instead: bossman task edit ID --after %v", id, strings.Join(stuck, ", "), t.ID, t.ID)
		}
		return err
	}))
	cmd.Long = `Reopen makes the work of a task that has ended available again. A done or cancelled task
stays as it is: reopen creates a new one with the same text, whose hand-out has the result
of the old one and your note, and prints its id. A failed task is retried, as with bossman
task retry.

It refuses to run in an agent's shell.`
	cmd.Flags().StringVarP(&note, "note", "m", "", "what is to be different this time")
	return cmd
}

// blockedBy lists open tasks that depend on a task that will not be done.
func (o *openBoard) blockedBy(ctx context.Context, id board.ID) ([]string, error) {
	d, err := o.Get(ctx, id, 0)
	if err != nil || d.Task.Status == board.Done {
		return nil, err
	}
	var out []string
	for _, t := range d.Dependents {
		if !t.Status.Terminal() {
			out = append(out, t.ID.String())
		}
	}
	return out, nil
}

func (a *app) taskStart() *cobra.Command {
	return a.eachTask("start TASK…", "Start a draft", func(ctx context.Context, o *openBoard, id board.ID) error {
		d, err := o.Get(ctx, id, 0)
		if err != nil {
			return err
		}
		if !d.Task.Hold || d.Task.Status != board.Pending {
			return console.Errorf(console.Conflict, "", "%v is not a draft: it is %s", id, d.Task.State())
		}
		t, err := o.Update(ctx, a.actor(), id, board.Edit{Hold: new(false)})
		if err != nil {
			return err
		}
		return a.printTask(t, "%v is started: %s.", id, t.State())
	})
}

// printOutcome prints what a verdict on a task led to: text, and what became ready.
func (a *app) printOutcome(out board.Outcome, text string) error {
	if a.JSON {
		return a.printOutcomeJSON(out, "")
	}
	if len(out.Freed) > 0 {
		text += " This unblocked " + strings.Join(boardtext.IDs(out.Freed), ", ") + "."
	}
	a.Linef("%s", text)
	return nil
}

// printOutcomeJSON prints an outcome as JSON. pull is the address of a pull request that stays open, or empty.
func (a *app) printOutcomeJSON(out board.Outcome, pull string) error {
	return a.PrintJSON(struct {
		Task     string   `json:"task"`
		Status   string   `json:"status"`
		Failures int      `json:"failures"`
		Freed    []string `json:"freed"`
		OpenPull string   `json:"open_pull_request,omitzero"`
	}{out.Task.String(), string(out.Status), out.Failures, boardtext.IDs(out.Freed), pull})
}
