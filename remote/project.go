package remote

import (
	"context"
	"errors"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

type none struct{}

type slugIn struct{ Slug string }

// A Me is who the caller is to the server.
type Me struct {
	// ID is the principal's, Name what people are shown.
	ID, Name string
	Person   bool
	// Roles are the projects that it may use, and as what.
	Roles map[string]auth.Role
}

// Role is the caller's role in a project, or its highest if none is named. A caller
// without a role counts as a viewer, who will find nothing there.
func (m *Me) Role(project string) auth.Role {
	if project != "" {
		return max(m.Roles[project], auth.Viewer)
	}
	best := auth.Viewer
	for _, r := range m.Roles {
		best = max(best, r)
	}
	return best
}

// Whoami tells who this machine's key is.
func (b *Board) Whoami(ctx context.Context) (Me, error) { return whoami.fetch(ctx, b, nil, none{}) }

var whoami = op(access.Whoami, func(_ context.Context, c *call, _ none) (Me, error) {
	return Me{c.caller.Principal, c.caller.Name, c.caller.Person, c.caller.Roles}, nil
})

func (b *Board) Projects(ctx context.Context) ([]board.Project, error) {
	return projects.fetch(ctx, b, nil, none{})
}

var projects = op(access.Projects, func(ctx context.Context, c *call, _ none) ([]board.Project, error) {
	all, err := c.Projects(ctx)
	var own []board.Project
	for _, p := range all {
		if c.may(p.Slug) == nil {
			own = append(own, p)
		}
	}
	return own, err
})

func (b *Board) Project(ctx context.Context, slug string) (board.Project, error) {
	return project.fetch(ctx, b, nil, slugIn{slug})
}

var project = op(access.Project, func(ctx context.Context, c *call, in slugIn) (board.Project, error) {
	if err := c.may(in.Slug); err != nil {
		return board.Project{}, err
	}
	return c.Project(ctx, in.Slug)
})

func (b *Board) Summary(ctx context.Context, slug string) (board.Summary, error) {
	return summary.fetch(ctx, b, nil, slugIn{slug})
}

var summary = op(access.Summary, func(ctx context.Context, c *call, in slugIn) (board.Summary, error) {
	if err := c.may(in.Slug); err != nil {
		return board.Summary{}, err
	}
	return c.Summary(ctx, in.Slug)
})

func (b *Board) Inbox(ctx context.Context, slug string) (board.Inbox, error) {
	return inbox.fetch(ctx, b, nil, slugIn{slug})
}

var inbox = op(access.Inbox, func(ctx context.Context, c *call, in slugIn) (board.Inbox, error) {
	if err := c.may(in.Slug); err != nil {
		return board.Inbox{}, err
	}
	return c.Inbox(ctx, in.Slug)
})

func (b *Board) Pause(ctx context.Context, a board.Actor, slug string) error {
	_, err := pause.fetch(ctx, b, &a, slugIn{slug})
	return err
}

var pause = op(access.Pause, func(ctx context.Context, c *call, in slugIn) (none, error) {
	if err := c.may(in.Slug); err != nil {
		return none{}, err
	}
	return none{}, c.Pause(ctx, c.actor, in.Slug)
})

func (b *Board) Resume(ctx context.Context, a board.Actor, slug string) error {
	_, err := resume.fetch(ctx, b, &a, slugIn{slug})
	return err
}

var resume = op(access.Resume, func(ctx context.Context, c *call, in slugIn) (none, error) {
	if err := c.may(in.Slug); err != nil {
		return none{}, err
	}
	return none{}, c.Resume(ctx, c.actor, in.Slug)
})

func (b *Board) SetProject(ctx context.Context, p board.Project) error {
	_, err := setProject.fetch(ctx, b, nil, p)
	return err
}

var setProject = op(access.SetProject, func(ctx context.Context, c *call, p board.Project) (none, error) {
	if err := c.may(p.Slug); err != nil {
		return none{}, err
	}
	now, err := c.Project(ctx, p.Slug)
	switch {
	case errors.Is(err, board.ErrNotFound):
		p.PausedBy = ""
	case err != nil:
		return none{}, err
	default:
		p.PausedBy = now.PausedBy // which pause and resume change
	}
	return none{}, c.SetProject(ctx, p)
})
