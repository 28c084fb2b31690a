package main

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/remote"
	"github.com/bossman-dev/bossman/tools"
)

// openRemote opens the board of a server. Its key is that of this machine for that
// server, and goes nowhere else.
func (a *app) openRemote(ctx context.Context, s *settings, p place) (*opened, error) {
	address, err := serverAddress(s.Board)
	if err != nil {
		return nil, usage("board in %s: %v", s.Origin["board"], err)
	}
	key, err := a.machineKey(s, address)
	if err != nil {
		return nil, err
	}
	b := remote.New(dialer(address, key), tools.Watched()...)
	a.later(func() { b.Close() })
	me, err := b.Whoami(ctx)
	if err != nil {
		return nil, hint(err, "look whether "+origin(address)+" runs; bossman login "+origin(address)+" makes a new key")
	}
	o := &opened{Board: b, settings: s, place: p, path: origin(address), slug: s.Project, server: true, me: &me}
	if o.projects, err = b.Projects(ctx); err != nil {
		return nil, err
	}
	for slug := range me.Roles { // one that the first write makes
		if !slices.ContainsFunc(o.projects, func(p board.Project) bool { return p.Slug == slug }) {
			o.projects = append(o.projects, board.Project{Slug: slug})
		}
	}
	if o.slug == "" && len(o.projects) == 1 {
		o.slug = o.projects[0].Slug
	}
	return o, nil
}

// dialer connects to a server with a key.
func dialer(address *url.URL, key auth.Secret) func(context.Context) (*mcp.Client, error) {
	return func(ctx context.Context) (*mcp.Client, error) {
		return connect(ctx, address, &streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + key.Reveal()}}})
	}
}

func connect(ctx context.Context, address *url.URL, o *streamable.ClientOptions) (*mcp.Client, error) {
	return streamable.Connect(ctx, address.String(), o, &mcp.ClientOptions{
		Info: mcp.Implementation{Name: "bossman", Version: buildVersion().Version}, Revision: mcp.Newest,
	})
}

// serverAddress is where a server speaks MCP.
func serverAddress(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, usage("%q is not a server's address such as https://bossman.example.org", s)
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && isLocalAddress(u.Hostname())) {
		return nil, usage("%s: keys are sent over https only, or to this machine itself", s)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/mcp"
	}
	return u, nil
}

// origin is the server's name for keys and people.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// machineKey is the key of this machine for a server.
func (a *app) machineKey(s *settings, address *url.URL) (auth.Secret, error) {
	// The variable is for machines without a person. Whoever sets it names the server
	// beside it: a project's file must not choose who gets the key.
	if key := a.getenv("BOSSMAN_KEY"); key != "" {
		if s.Origin["board"] == "BOSSMAN_BOARD" || s.Origin["board"] == "--board" {
			return auth.Secret(key), nil
		}
	}
	file, err := a.credentials()
	if err != nil {
		return "", err
	}
	if key := file.Servers[origin(address)].Key; key != "" {
		return key, nil
	}
	return "", failf(exitDenied, "bossman login "+origin(address), "this machine has no key for %s", origin(address))
}
