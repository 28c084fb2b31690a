package main

import (
	"cmp"
	"context"
	"os/exec"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/doctorcli"
)

// patient is what doctorcli needs of this program.
func (a *app) patient() doctorcli.Host {
	return doctorcli.Host{
		Version: buildVersion().Version, Settings: a.settings, LookPath: exec.LookPath, Upstreams: a.gatewayPlace, Explain: a.explain,
		Database: func(ctx context.Context, s *config.Settings) (board.Store, error) {
			store, _, err := a.openStore(ctx, s, config.Location{})
			return store, err
		},
		Server: func(ctx context.Context, s *config.Settings) (doctorcli.Server, error) {
			o, err := a.openRemote(ctx, s, config.Location{})
			if err != nil {
				return doctorcli.Server{}, err
			}
			role, ok := o.me.Roles[o.slug]
			server := doctorcli.Server{Name: o.label, As: cmp.Or(o.me.Name, o.me.ID), Project: o.slug}
			if ok || o.slug == "" {
				server.Role = cmp.Or(role, o.me.Role(o.slug)).String()
			}
			return server, nil
		},
	}
}
