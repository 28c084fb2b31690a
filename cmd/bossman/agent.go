package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/agentcli"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/notify"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/tools"
)

// desk is where an agent without MCP works.
func (a *app) desk(ctx context.Context) (*agentcli.Desk, error) {
	if socket, claim := a.runner(); socket != "" {
		return &agentcli.Desk{
			Runner: &agentcli.Runner{
				Claim: claim,
				Dial: func(ctx context.Context) (jsonrpc.Transport, error) {
					conn, err := dialRunner(ctx, socket)
					if err != nil {
						return nil, err
					}
					return jsonrpc.Lines(conn, conn, jsonrpc.Limits{}), nil
				},
			},
			Close: func() {},
		}, nil
	}
	o, dir, err := a.openWork(ctx)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	look := newInspector(dir, o.settings, a.Getenv)
	told := &notify.Notifier{Log: log, Command: o.settings.Notify}
	elsewhere := filepath.Dir(o.location.Path)
	if o.store == nil {
		elsewhere = config.StateDir(a.Getenv)
	}
	return &agentcli.Desk{
		Board: o, Label: o.label, Caller: o.agent(auth.Worker), Dir: dir, Root: o.location.Root, Elsewhere: elsewhere, Empty: len(o.projects) == 0,
		Options: tools.Options{
			Inspector: look, Logger: log, Session: a.Getenv("CLAUDE_CODE_SESSION_ID"), Asked: told.Asked,
			Where: look.Here, Once: true,
		},
		Close: func() {
			look.Runner.Close()
			told.Wait()
		},
	}, nil
}

// runner returns the socket and the claim of the bossman work that started this agent; the socket
// is empty if none did. An MCP client may not have passed its environment on: then the git
// directory of the worktree says it.
func (a *app) runner() (socket, claim string) {
	if socket := a.Getenv(crew.SocketVariable); socket != "" {
		return socket, a.Getenv(crew.ClaimVariable)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", ""
	}
	repo, err := git.Find(dir)
	if err != nil {
		return "", ""
	}
	return crew.Joins(repo)
}

// dialRunner connects to the bossman work that started this agent.
func dialRunner(ctx context.Context, path string) (net.Conn, error) {
	if path == "" {
		return nil, console.Errorf(console.Usage, "bossman mcp without --join, outside of bossman work", "%s is not set: only an agent that bossman work started can join it", crew.SocketVariable)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, console.Errorf(console.Unavailable, "end your turn", "the bossman work that started this agent does not answer: %w", err)
	}
	return conn, nil
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
