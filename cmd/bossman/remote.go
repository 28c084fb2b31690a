package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/remote"
	"github.com/bossman-dev/bossman/tools"
)

// openRemote opens the board of a server with this machine's key for it.
func (a *app) openRemote(ctx context.Context, s *config.Settings, p config.Location) (*openBoard, error) {
	address, err := config.ServerURL(s.Board)
	if err != nil {
		return nil, console.Usagef("board in %s: %v", s.Origin["board"], err)
	}
	key, err := s.MachineKey(address)
	if err != nil {
		return nil, err
	}
	b := remote.New(dialer(address, key), tools.Watched()...)
	a.atExit(func() { b.Close() })
	me, err := b.Whoami(ctx)
	if err != nil {
		if _, away := errors.AsType[*remote.AwayError](err); away {
			return nil, console.WithNext(err, "nothing was changed; try again")
		}
		return nil, console.WithNext(err, "check that "+config.ServerName(address)+" is running; for a new key: "+config.LoginCommand(address))
	}
	o := &openBoard{Board: b, settings: s, location: p, label: config.ServerName(address), slug: s.Project, server: true, me: &me}
	if o.projects, err = b.Projects(ctx); err != nil {
		return nil, err
	}
	for slug := range me.Roles { // the first write may create it
		if !slices.ContainsFunc(o.projects, func(p board.Project) bool { return p.Slug == slug }) {
			o.projects = append(o.projects, board.Project{Slug: slug})
		}
	}
	if o.slug == "" && len(o.projects) == 1 {
		o.slug = o.projects[0].Slug
	}
	return o, nil
}

// dialer returns a function that connects to a server with a key.
func dialer(address *url.URL, key auth.Secret) func(context.Context) (*mcp.Client, error) {
	return func(ctx context.Context) (*mcp.Client, error) {
		return connect(ctx, address, bearing(key))
	}
}

// bearing returns options with a key.
func bearing(key auth.Secret) *streamable.ClientOptions {
	return &streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + key.Reveal()}}}
}

func connect(ctx context.Context, address *url.URL, o *streamable.ClientOptions) (*mcp.Client, error) {
	return streamable.Connect(ctx, address.String(), o, &mcp.ClientOptions{
		Info: mcp.Implementation{Name: "bossman", Version: buildVersion().Version}, Revision: mcp.LatestRevision,
	})
}
