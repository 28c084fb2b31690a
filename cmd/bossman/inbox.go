package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

func (a *app) inboxCommand() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use: "inbox", Short: "Show what waits for you: questions, reviews, failures, proposals", Args: cobra.NoArgs,
		Long: `Inbox shows what waits for a person: open questions, tasks to review, failed tasks, and
tasks that depend on a failed or cancelled one. Last come follow-ups that workers
proposed: start or cancel them.

With --watch it keeps running and shows new entries, each once; with --json one entry
per line.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, slug, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			if watch {
				return a.watchInbox(cmd.Context(), o, slug)
			}
			in, now, err := o.inbox(cmd.Context(), slug)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(struct {
					Inbox []boardjson.InboxEntry `json:"inbox"`
				}{in})
			}
			if len(in) == 0 {
				a.Linef("Nothing waits for you.")
				return nil
			}
			for i, e := range in {
				if i > 0 {
					a.Linef("")
				}
				boardtext.InboxEntry(a.Console, e, now)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "keep running and show new entries")
	return cmd
}

// checkEntry returns an entry if the check in the project's file is not the one that a
// person accepted.
func (o *openBoard) checkEntry() []boardjson.InboxEntry {
	state, err := o.settings.Check()
	switch err = cmp.Or(err, state.Unseen); {
	case err != nil:
		return []boardjson.InboxEntry{{Kind: "check", ID: "check", Title: "The check cannot run: " + err.Error() + ".", Detail: console.NextOf(err), Command: "bossman trust"}}
	case state.Broken != nil:
		return []boardjson.InboxEntry{{Kind: "check", ID: "check", Title: state.Broken.Error() + ".", Detail: "the accepted check stays in force", Command: "bossman config show"}}
	case state.Proposed == nil && !state.Withdrawn:
		return []boardjson.InboxEntry{}
	}
	e := boardjson.InboxEntry{Kind: "check", ID: "check", Title: "The check in " + state.File + " has not been accepted, so it does not run.", Command: "bossman trust"}
	switch {
	case state.Moved != nil:
		e.Title = "A check was accepted when this repository was " + state.Moved.Repository + "; reports are refused until it is accepted again."
	case state.Withdrawn:
		e.Title = "The check was removed from " + state.File + "."
		e.Detail = "the accepted one stays in force"
	case state.Trust.Check != nil:
		e.Title = "The check in " + state.File + " differs from the accepted one."
		e.Detail = "the accepted one stays in force"
	}
	return []boardjson.InboxEntry{e}
}

// inbox returns what waits for a person, most urgent first, and the board's time.
func (o *openBoard) inbox(ctx context.Context, slug string) ([]boardjson.InboxEntry, time.Time, error) {
	in, err := o.Inbox(ctx, slug)
	return append(o.checkEntry(), boardjson.FromInbox(in)...), in.Now, err
}

// watchInbox prints new entries until ctx ends.
func (a *app) watchInbox(ctx context.Context, o *openBoard, slug string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := o.Run(ctx); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		defer cancel()
		if !a.JSON {
			a.Infof("Watching %s; stop with Ctrl-C.", slug)
		}
		shown := map[string]bool{}
		for ctx.Err() == nil {
			changes := o.Changes()
			in, at, err := o.inbox(ctx, slug)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil && !errors.Is(err, board.ErrUnavailable) {
				return err
			}
			now := map[string]bool{}
			for _, e := range in {
				key := e.Kind + " " + e.ID
				now[key] = true
				if shown[key] {
					continue
				}
				if a.JSON {
					if err := a.PrintJSONLine(e); err != nil {
						return err
					}
					continue
				}
				boardtext.InboxEntry(a.Console, e, at)
				a.Linef("")
			}
			if err == nil {
				shown = now
			}
			if err := a.Out.Flush(); err != nil {
				return err
			}
			board.WaitFor(ctx, changes, 2*time.Second)
		}
		return nil
	})
	return g.Wait()
}
