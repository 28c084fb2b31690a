package main

import (
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/spf13/cobra"
)

func (a *app) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use: "pause", Short: "Hand out no more work; nobody loses what they hold", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.setPaused(cmd, true) },
	}
}

func (a *app) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "resume", Short: "Hand out work again", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.setPaused(cmd, false) },
	}
}

func (a *app) setPaused(cmd *cobra.Command, paused bool) error {
	ctx := cmd.Context()
	o, slug, err := a.begin(ctx)
	if err != nil {
		return err
	}
	text := "%s is paused: no work is handed out until: bossman resume"
	if paused {
		err = o.Pause(ctx, a.actor(), slug)
	} else {
		text = "%s goes on."
		err = o.Resume(ctx, a.actor(), slug)
	}
	if err != nil {
		return missing(err, "project "+slug)
	}
	if a.JSON {
		p, err := o.Project(ctx, slug)
		if err != nil {
			return err
		}
		return a.PrintJSON(boardjson.FromProject(p))
	}
	a.Linef(text, slug)
	return nil
}
