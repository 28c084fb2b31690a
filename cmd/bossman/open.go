package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/remote"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// An opened board, with the project that a command is about.
type opened struct {
	access.Board
	settings *config.Settings
	// local is the board if it is in this process, and store what keeps it.
	local *board.Board
	store storage
	// me is who this machine is to the server, if the board is there.
	me       *remote.Me
	location config.Location
	// path is what people are shown: the file, or the database without a password.
	path string
	// slug is the project; empty if several are possible and nobody said which.
	slug     string
	projects []board.Project
	server   bool
	people   *auth.Authenticator
}

// open opens the board. Nothing is created by that.
func (a *app) open(ctx context.Context) (*opened, error) {
	s, err := config.Load(a.flags, a.Getenv)
	if err != nil {
		return nil, err
	}
	return a.openWith(ctx, s, nil)
}

// openWith opens the board that settings name. adopt, if not nil, changes the project that
// the first write creates; it is called only if there is none yet and nobody named one.
func (a *app) openWith(ctx context.Context, s *config.Settings, adopt func(*board.Project)) (*opened, error) {
	p, err := s.Location()
	if err != nil && s.DB == "" {
		return nil, err
	}
	if config.IsServer(s.Board) && s.DB == "" {
		return a.openRemote(ctx, s, p)
	}
	store, path, err := a.openStore(ctx, s, p)
	if err != nil {
		return nil, err
	}
	a.later(func() { store.Close() })
	o := &opened{settings: s, location: p, path: path, server: s.DB != "", people: auth.New(store, nil)}
	err = store.Read(ctx, func(r board.Reader) error {
		o.projects, err = r.Projects()
		return err
	})
	if err != nil {
		return nil, err
	}
	options := &board.Options{Observer: a.observed.board, Logger: a.log}
	if options.Logger == nil {
		options.Logger = slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	if o.server {
		o.slug = s.Project
		if o.slug == "" && len(o.projects) == 1 {
			o.slug = o.projects[0].Slug
		}
	} else if options.Home, err = o.home(adopt); err != nil {
		return nil, err
	}
	o.store, o.local = store, board.New(store, options)
	o.Board = o.local
	return o, nil
}

// A storage keeps the board, and who may use it.
type storage interface {
	board.Store
	auth.Store
}

// openStore opens what keeps the board.
func (a *app) openStore(ctx context.Context, s *config.Settings, p config.Location) (storage, string, error) {
	switch {
	case s.DB == "":
		store, err := sqlite.Open(ctx, p.Path, nil)
		return store, p.Path, adviseServer(err)
	case isPostgres(s.DB):
		store, err := a.openPostgres(ctx, s.DB)
		return store, config.HidePassword(s.DB), err
	}
	return nil, "", console.Usagef("%s: %q is not an address such as postgres://user@host/name", s.Origin["db"], config.HidePassword(s.DB))
}

// adviseServer adds to the refusal of a file on a network disk what to do instead. It is
// part of the error's text, since agents get no more than that.
func adviseServer(err error) error {
	if _, ok := errors.AsType[*sqlite.NetworkError](err); ok {
		return fmt.Errorf("%w; run `bossman serve --http` on the host that has the disk, and point the others to it", err)
	}
	return err
}

func isPostgres(dsn auth.Secret) bool {
	return strings.HasPrefix(dsn.Reveal(), "postgres://") || strings.HasPrefix(dsn.Reveal(), "postgresql://")
}

// home settles which project a board in a file is. It is one; the first write makes
// it.
func (o *opened) home(adopt func(*board.Project)) (*board.Project, error) {
	s := o.settings
	want := s.HomeProject(o.location.Name)
	named := s.IsSet("project")
	switch {
	case len(o.projects) == 0:
		if !named && adopt != nil {
			adopt(want)
		}
	case slices.ContainsFunc(o.projects, func(p board.Project) bool { return p.Slug == want.Slug }):
	case !named:
		want.Slug = o.projects[0].Slug
	default:
		return nil, console.Errorf(console.Conflict, "change it there, or leave it out",
			"%s names the project %s, but the board in %s is the project %s: a board in a file is one project",
			s.Origin["project"], want.Slug, o.path, o.projects[0].Slug)
	}
	o.slug = want.Slug
	return want, nil
}

// one gives the project that a command is about.
func (o *opened) one() (string, error) {
	if o.slug != "" {
		known := slices.ContainsFunc(o.projects, func(p board.Project) bool { return p.Slug == o.slug })
		if o.server && !known {
			return "", console.Errorf(console.NotFound, "bossman project list shows what there is", "there is no project %s", o.slug)
		}
		return o.slug, nil
	}
	if len(o.projects) == 0 {
		return "", console.Errorf(console.NotFound, "bossman project create NAME --db …", "there is no project yet")
	}
	var names []string
	for _, p := range o.projects {
		names = append(names, p.Slug)
	}
	return "", console.Errorf(console.Usage, "repeat it with --project NAME", "say which project, with --project: there are %s", strings.Join(names, ", "))
}

// openHere opens a board that is in this process, for what only whoever runs it does.
func (a *app) openHere(ctx context.Context) (*opened, error) {
	o, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	_, err = o.here()
	return o, err
}

// here is the board if it is in this process.
func (o *opened) here() (*board.Board, error) {
	if o.local == nil {
		return nil, console.Errorf(console.Unavailable, "run it where the server runs, with --db", "this is for whoever runs the server: the board is at %s", o.path)
	}
	return o.local, nil
}

// begin opens the board and settles the project.
func (a *app) begin(ctx context.Context) (*opened, string, error) {
	o, err := a.open(ctx)
	if err != nil {
		return nil, "", err
	}
	slug, err := o.one()
	return o, slug, err
}

// taskID reads a task's id; a bare number is one of the project.
func (o *opened) taskID(s string) (board.ID, error) {
	if id, err := board.ParseID(s); err == nil {
		return id, nil
	}
	if o.slug != "" {
		if id, err := board.ParseID(o.slug + "-" + strings.TrimPrefix(s, "#")); err == nil {
			return id, nil
		}
	}
	return board.ParseID(s)
}

func (o *opened) taskIDs(list []string) ([]board.ID, error) {
	var ids []board.ID
	for _, s := range board.SplitList(list...) {
		id, err := o.taskID(s)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// missing turns a task that is not there into an error that says so.
func missing(err error, what string) error {
	if errors.Is(err, board.ErrNotFound) {
		return &console.Error{Code: console.NotFound, Err: fmt.Errorf("there is no %s on this board", what), Next: "bossman task list --all shows what there is"}
	}
	return err
}
