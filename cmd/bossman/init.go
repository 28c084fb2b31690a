package main

import (
	"context"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/installcli"
)

// start makes the project of the command on its board, for installcli.Init.
func (a *app) start(ctx context.Context) (installcli.Start, error) {
	o, err := a.open(ctx)
	if err != nil {
		return installcli.Start{}, err
	}
	s := installcli.Start{Board: o.label, Root: o.location.Root, Project: o.slug}
	if o.server {
		if s.Project, err = o.requireProject(); err != nil {
			return s, err
		}
	} else if !slices.ContainsFunc(o.projects, func(p board.Project) bool { return p.Slug == o.slug }) {
		if o.settings.Broken != nil {
			return s, o.settings.Broken
		}
		if err := o.SetProject(ctx, *o.settings.HomeProject(o.location.Name)); err != nil {
			return s, err
		}
		s.New = true
	}
	counts, err := o.Summary(ctx, s.Project)
	if err != nil {
		return s, err
	}
	s.Tasks = counts.Counts.Total()
	check, err := o.settings.Check()
	s.Checked = err != nil || check.InForce != nil || check.Proposed != nil
	return s, nil
}
