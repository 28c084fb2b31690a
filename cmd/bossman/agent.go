package main

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/internal/agentcli"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/tools"
)

// desk is where an agent without MCP works.
func (a *app) desk(ctx context.Context) (*agentcli.Desk, error) {
	o, dir, err := a.openWork(ctx)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	look := newInspector(dir, o.settings, a.Getenv)
	notify := &notifier{log: log, command: o.settings.Notify}
	elsewhere := filepath.Dir(o.location.Path)
	if o.store == nil {
		elsewhere = config.StateDir(a.Getenv)
	}
	return &agentcli.Desk{
		Board: o, Label: o.label, Caller: o.agent(auth.Worker), Dir: dir, Root: o.location.Root, Elsewhere: elsewhere, Empty: len(o.projects) == 0,
		Options: tools.Options{
			Inspector: look, Logger: log, Session: a.Getenv("CLAUDE_CODE_SESSION_ID"), Asked: notify.asked,
			Where: look.Here,
		},
		Close: func() {
			look.Runner.Close()
			notify.wait()
		},
	}, nil
}

// openWork opens the board for an agent, and returns the directory where that works.
func (a *app) openWork(ctx context.Context) (o *openBoard, dir string, err error) {
	if o, err = a.open(ctx); err == nil {
		dir, err = o.settings.WorkDir()
	}
	if err != nil {
		return nil, "", err
	}
	return o, dir, nil
}
