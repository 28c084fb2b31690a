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
	"github.com/bossman-dev/bossman/internal/boardcli"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/keycli"
	"github.com/bossman-dev/bossman/remote"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// An openBoard is the board of a command: one in this process, or a server's.
type openBoard struct {
	access.Board
	settings *config.Settings
	location config.Location
	// label is the board's name for people: the file, the server, or the database without
	// its password.
	label string
	// server is set if the board is a team's: in a database, or on a server.
	server bool
	// firstWrite tells once about other boards, after the first write to this one.
	firstWrite func() string
	// slug is the project of the command; empty if there are several and none was named.
	slug     string
	projects []board.Project

	// local and store are the board and its store if they are in this process, and keys are
	// those of its server.
	local *board.Board
	store storage
	keys  *auth.Authenticator
	// me is who this machine is to the server, if the board is there.
	me *remote.Me
}

// open opens the board that flags, environment and files name. It creates nothing.
func (a *app) open(ctx context.Context) (*openBoard, error) {
	s, err := a.settings()
	if err != nil {
		return nil, err
	}
	o, err := a.openWith(ctx, s, nil)
	if refused := a.RefuseJob(); err == nil && refused != nil {
		o.Board = access.AsWorker(o.Board, refused)
	}
	return o, err
}

// openWith opens the board that settings name. adopt, if not nil, changes the project that
// the first write creates; it is called only if there is none yet.
func (a *app) openWith(ctx context.Context, s *config.Settings, adopt func(*board.Project)) (*openBoard, error) {
	p, err := s.Location()
	if err != nil && s.DB == "" {
		return nil, err
	}
	if s.Broken != nil {
		a.Infof("warning: %v; the board is used without it; next: %s", s.Broken, console.NextOf(s.Broken))
	}
	if config.IsServer(s.Board) && s.DB == "" {
		return a.openRemote(ctx, s, p)
	}
	first := s.FirstWrite()
	store, path, err := a.openStore(ctx, s, p)
	if err != nil {
		return nil, err
	}
	o := &openBoard{settings: s, location: p, label: path, server: s.DB != "", firstWrite: first, keys: auth.New(store, nil)}
	a.atExit(func() {
		store.Close()
		if !o.server {
			if note := o.firstWrite(); note != "" {
				fmt.Fprintln(a.Err, "note: "+note)
			}
		}
	})
	err = store.Read(ctx, func(r board.Reader) error {
		o.projects, err = r.Projects()
		return err
	})
	if err != nil {
		return nil, err
	}
	options := &board.Options{Observer: a.observers.board, Logger: a.warnings()}
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
	if !o.server {
		if err := o.local.EndStale(ctx); err != nil && !errors.Is(err, board.ErrReadOnly) {
			options.Logger.Warn("claims that are over could not be ended", "err", err) // and what was asked for is done all the same
		}
	}
	return o, nil
}

// boardStore opens the store of the board in this process, and returns its name for people.
func (a *app) boardStore(ctx context.Context) (board.Store, string, error) {
	s, err := a.settings()
	if err != nil {
		return nil, "", err
	}
	p, err := s.Location()
	if err != nil && s.DB == "" {
		return nil, "", err
	}
	if config.IsServer(s.Board) && s.DB == "" {
		return nil, "", console.Errorf(console.Usage, "run it where the server runs, with --db", "the board is on the server %s", s.Board)
	}
	store, name, err := a.openStore(ctx, s, p)
	if err == nil {
		a.atExit(func() { store.Close() })
	}
	return store, name, err
}

// A storage keeps the board and its keys.
type storage interface {
	board.Store
	auth.Store
}

// openStore opens the file or the database of the board, and returns its name for people.
func (a *app) openStore(ctx context.Context, s *config.Settings, p config.Location) (storage, string, error) {
	switch {
	case s.DB == "":
		store, err := sqlite.Open(ctx, p.Path, &sqlite.Options{Logger: a.warnings()})
		return store, p.Path, adviseServer(err)
	case isPostgres(s.DB):
		store, err := a.openPostgres(ctx, s.DB)
		return store, config.HidePassword(s.DB), err
	}
	return nil, "", console.Usagef("%s: %q is not an address such as postgres://user@host/name", s.Origin["db"], config.HidePassword(s.DB))
}

// warnings is the log of the server, or standard error for a command.
func (a *app) warnings() *slog.Logger {
	if a.log != nil {
		return a.log
	}
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// adviseServer adds to the error about a file on a network disk what to do instead.
func adviseServer(err error) error {
	if _, ok := errors.AsType[*sqlite.NetworkError](err); ok {
		return fmt.Errorf("%w; run `bossman serve --http` on the host that has the disk, and point the others to it", err)
	}
	return err
}

func isPostgres(dsn auth.Secret) bool {
	return strings.HasPrefix(dsn.Reveal(), "postgres://") || strings.HasPrefix(dsn.Reveal(), "postgresql://")
}

// home is the project of a board in a file. There is only one, which the first write
// creates.
func (o *openBoard) home(adopt func(*board.Project)) (*board.Project, error) {
	s := o.settings
	want := s.HomeProject(o.location.Name)
	named := s.IsSet("project")
	switch {
	case len(o.projects) == 0:
		if adopt != nil {
			adopt(want)
		}
	case slices.ContainsFunc(o.projects, func(p board.Project) bool { return p.Slug == want.Slug }):
	case !named:
		want.Slug = o.projects[0].Slug
	default:
		return nil, console.Errorf(console.Conflict, "change it there, or omit it",
			"%s names the project %s, but the board in %s is the project %s: a board in a file is one project",
			s.Origin["project"], want.Slug, o.label, o.projects[0].Slug)
	}
	o.slug = want.Slug
	return want, nil
}

// requireProject is the project of the command; it is an error if there are several and
// none was named.
func (o *openBoard) requireProject() (string, error) {
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
	return "", console.Errorf(console.Usage, "repeat it with --project NAME", "name the project with --project: there are %s", strings.Join(names, ", "))
}

// openLocal opens a board in this process, for commands of the operator of a server.
func (a *app) openLocal(ctx context.Context) (*openBoard, error) {
	o, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	_, err = o.localBoard()
	return o, err
}

// localBoard is the board if it is in this process, and an error if it is on a server.
func (o *openBoard) localBoard() (*board.Board, error) {
	if o.local == nil {
		return nil, console.Errorf(console.Unavailable, "run it on the server's host, with --db", "this command works on the server's database, and the board is at %s", o.label)
	}
	return o.local, nil
}

// desktop opens the board in this process, for boardcli.
func (a *app) desktop(ctx context.Context) (boardcli.Desk, error) {
	o, slug, err := a.openProject(ctx)
	if err != nil {
		return boardcli.Desk{}, err
	}
	b, err := o.localBoard()
	return boardcli.Desk{Board: b, Project: slug, Actor: a.person()}, err
}

// display opens the board for its dashboard.
func (a *app) display(ctx context.Context) (*boardcli.Display, error) {
	o, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	if o.store == nil {
		return nil, console.Errorf(console.Conflict, "open that address in a browser, and sign in with your key", "the board is on a server, which shows it: %s", o.label)
	}
	if len(o.projects) == 0 {
		return nil, console.Errorf(console.NotFound, "bossman task add TITLE", "there is no board yet: the first task makes it")
	}
	place, err := a.gatewayPlace()
	if err != nil {
		return nil, err
	}
	g, err := place.View(ctx)
	if err != nil {
		a.Infof("The page of the gateway is empty: %v", err)
	}
	return &boardcli.Display{Board: o, Gateway: g, Name: o.label, Run: o.Run, Open: a.openFile, State: config.StateDir(a.Getenv), Caller: func(ctx context.Context) (*access.Caller, error) {
		projects, err := o.Projects(ctx)
		c := &access.Caller{Actor: a.person(), Roles: map[string]auth.Role{}, Role: auth.Admin}
		for _, p := range projects {
			c.Roles[p.Slug] = auth.Admin
		}
		return c, err
	}}, nil
}

// keyDesk opens a server's database for keycli, where --project may name every project.
func (a *app) keyDesk(ctx context.Context) (*keycli.Desk, error) {
	named := a.flags.Project
	if named == auth.EveryProject {
		a.flags.Project = ""
	}
	o, err := a.openLocal(ctx)
	if err != nil {
		return nil, err
	}
	return &keycli.Desk{Keys: o.keys, Board: o.local, Actor: a.actor(), User: a.userName(), Named: named, Project: o.requireProject}, nil
}

// named opens the board, and returns it with a task that was named on the command line.
func (a *app) named(ctx context.Context, task string) (*openBoard, board.ID, error) {
	o, err := a.open(ctx)
	if err != nil {
		return nil, board.ID{}, err
	}
	id, err := o.parseTask(task)
	return o, id, err
}

// erasing is named for boardcli.Erase, and logs for boardcli.Log.
func (a *app) erasing(ctx context.Context, task string) (boardcli.Erasing, error) {
	o, id, err := a.named(ctx, task)
	return boardcli.Erasing{Eraser: o, Task: id, Actor: a.person()}, err
}

func (a *app) logs(ctx context.Context, task string) (boardcli.Logger, board.ID, error) {
	return a.named(ctx, task)
}

// openProject opens the board and returns it with the project of the command.
func (a *app) openProject(ctx context.Context) (*openBoard, string, error) {
	o, err := a.open(ctx)
	if err != nil {
		return nil, "", err
	}
	slug, err := o.requireProject()
	return o, slug, err
}

// taskID parses a task's id; a bare number is a task of the project.
func (o *openBoard) taskID(s string) (board.ID, error) { return board.ParseIDIn(o.slug, s) }

func (o *openBoard) taskIDs(list []string) ([]board.ID, error) {
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

// notFound makes a not-found error say what is not there, such as task web-9.
func notFound(err error, what string) error {
	if _, archived := errors.AsType[*board.ArchivedError](err); !archived && errors.Is(err, board.ErrNotFound) {
		return &console.Error{Code: console.NotFound, Err: fmt.Errorf("there is no %s on this board", what), Next: "bossman task list --all shows what there is"}
	}
	return err
}
