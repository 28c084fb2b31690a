// Package landcli is bossman land: it lands accepted work, and shows the queue.
package landcli

import (
	"context"
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/land"
	"github.com/spf13/cobra"
)

// A Yard is where work is landed: a board and a repository.
type Yard struct {
	// Options are those of a lander.
	Options land.Options
	// Board and Person are for what a person asks for.
	Board  land.UndoBoard
	Person board.Actor
	// Said is to be told first; empty if there is nothing to tell.
	Said string
	// Run does the board's background work until its context ends.
	Run   func(ctx context.Context) error
	Close func()
}

// A Board is what the commands beside landing itself need of a board.
type Board interface {
	Project(ctx context.Context, slug string) (board.Project, error)
	Line(ctx context.Context, slug string) (board.Line, error)
	Intents(ctx context.Context, f board.IntentFilter) ([]board.Intent, error)
	Return(ctx context.Context, a board.Actor, id board.ID, r board.Return) (board.Outcome, error)
	Get(ctx context.Context, id board.ID, events int) (board.Dossier, error)
}

// An Office is the board for the commands that need no repository.
type Office struct {
	Board   Board
	Project string
	Actor   board.Actor
	// ParseID reads the id of a task of the project.
	ParseID func(text string) (board.ID, error)
}

// Command returns bossman land. yard opens the board and the repository of the working directory,
// office the board alone.
func Command(out *console.Console, yard func(ctx context.Context) (*Yard, error), office func(ctx context.Context) (*Office, error)) *cobra.Command {
	var watch, fromHere bool
	cmd := &cobra.Command{
		Use: "land", Short: "Land accepted work on the target branch", Args: cobra.NoArgs,
		Long: `Land merges the accepted work of tasks into the target branch of the project, and never
turns that branch red: what is queued is merged on top of the target without a checkout, the
project's check judges the result in a worktree of its own, and only then the branch moves.
Work that conflicts with the target, or that the check refuses on top of it, goes back to its
task.

The target is set with bossman project set --land BRANCH; the first bossman land on a board of
one's own takes the branch that is checked out. Only with a target at a remote repository, such
as origin/main, anything is pushed.

A target that does not have the work that landed last is that of another clone or of a fork, or
was put back: nothing lands on it. With --from-here you say that landing goes on from it.`,
		Example: "  bossman land\n  bossman land --watch\n  bossman land status",
		RunE:    func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), out, yard, watch, fromHere) },
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "go on landing until it is interrupted")
	cmd.Flags().BoolVar(&fromHere, "from-here", false, "go on from the target as this clone has it, although it does not have the work that landed last")
	cmd.AddCommand(status(out, office), returns(out, office), undo(out, yard, office))
	return cmd
}

// run lands what is queued.
func run(ctx context.Context, out *console.Console, open func(ctx context.Context) (*Yard, error), watch, fromHere bool) error {
	if err := out.RefuseAgent(); err != nil {
		return err
	}
	y, err := open(ctx)
	if err != nil {
		return err
	}
	defer y.Close()
	if y.Said != "" {
		out.Infof("%s", y.Said)
	}
	o := y.Options
	o.Watch, o.FromHere = watch, fromHere
	l := &log{out: out, progress: out.Progress(), target: o.Target.String()}
	o.Report = l.event
	upkeep, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() { defer close(ended); _ = y.Run(upkeep) }()
	defer func() { end(); <-ended }()
	err = land.New(&o).Run(ctx)
	l.progress.Clear()
	if led, ok := errors.AsType[*board.LedError](err); ok {
		return console.Errorf(console.Conflict, "wait for it, or look at bossman land status", "%s, %q, lands on %s now", boardtext.Lander(led.Author), led.Holder, o.Target)
	}
	if err != nil {
		return err
	}
	return l.end(o.Watch)
}

// A log tells what a lander does: a line for what happened, and a passing one for what it is doing.
type log struct {
	out      *console.Console
	progress *console.Progress
	target   string

	landed, returned, waiting int
	stopped                   string
}

func (l *log) event(e land.Event) {
	if l.out.JSON {
		_ = l.out.PrintJSONLine(eventJSON{Event: string(e.Kind), Task: idText(e.Task), Title: e.Title, Commit: e.Commit, Text: e.Text})
		return
	}
	switch e.Kind {
	case land.Landed:
		l.landed++
		l.line("%v  landed as %s: %q", e.Task, git.Short(e.Commit), e.Title)
	case land.Conflict:
		l.returned++
		l.line("%v  conflicts with %s and goes back to its task: %q; in conflict: %s", e.Task, l.target, e.Title, e.Text)
	case land.Red:
		l.returned++
		l.line("%v  goes back to its task, because the check refuses it: %q; %s", e.Task, e.Title, e.Text)
	case land.Closed:
		l.returned++
		l.line("%v  goes back to its task, because its pull request was closed: %q; %s", e.Task, e.Title, e.Text)
	case land.Waits:
		if e.Task.IsZero() {
			l.line("Waiting: %s", e.Text)
			return
		}
		l.waiting++
		l.line("%v  waits: %q; %s", e.Task, e.Title, e.Text)
	case land.Stopped:
		l.stopped = e.Text
		l.line("Nothing lands: %s", e.Text)
	case land.Told:
		l.line("%v  told its issue that it is done: %s", e.Task, e.Text)
	case land.Untold:
		l.line("%v  %s", e.Task, e.Text)
	case land.Moved:
		l.line("Note: %s.", e.Text)
	case land.Checking:
		l.progress.Set(fmt.Sprintf("checking %s at %s", e.Text, git.Short(e.Commit)))
	}
}

// line writes a line of what happened.
func (l *log) line(format string, args ...any) {
	l.progress.Clear()
	l.out.Linef(format, args...)
	_ = l.out.Out.Flush()
}

// end says what was done in all.
func (l *log) end(watch bool) error {
	if l.out.JSON {
		return nil
	}
	switch {
	case l.landed+l.returned+l.waiting == 0 && l.stopped == "" && !watch:
		l.out.Linef("Nothing waits to be landed on %s.", l.target)
	case l.landed+l.returned > 0:
		text := fmt.Sprintf("%d landed on %s", l.landed, l.target)
		if l.returned > 0 {
			text += fmt.Sprintf(", %d went back", l.returned)
		}
		l.out.Linef("%s.", text)
	}
	if l.stopped != "" && !watch {
		return console.Errorf(console.Conflict, "bossman land again, when that is done", "the queue is stopped: %s", l.stopped)
	}
	return nil
}

// eventJSON is an event as bossman land --json writes it, a line each.
type eventJSON struct {
	Event  string `json:"event"`
	Task   string `json:"task,omitzero"`
	Title  string `json:"title,omitzero"`
	Commit string `json:"commit,omitzero"`
	Text   string `json:"text,omitzero"`
}

// idText is an id, empty for none.
func idText(id board.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}
