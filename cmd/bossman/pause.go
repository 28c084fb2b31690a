package main

import (
	"errors"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use: "pause", Short: "Stop handing out tasks; workers keep what they hold", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.setPaused(cmd, true) },
	}
}

func (a *app) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "resume", Short: "Hand out tasks again", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.setPaused(cmd, false) },
	}
}

func (a *app) setPaused(cmd *cobra.Command, paused bool) error {
	ctx := cmd.Context()
	o, slug, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	text := "%s is paused: no tasks are handed out until you run: bossman resume"
	if paused {
		err = o.Pause(ctx, a.actor(), slug)
	} else {
		text = "%s is resumed."
		err = o.Resume(ctx, a.actor(), slug)
	}
	if errors.Is(err, board.ErrDenied) {
		return console.WithNext(err, "ask the person to run: bossman resume")
	}
	if err != nil {
		return notFound(err, "project "+slug)
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
