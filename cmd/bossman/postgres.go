package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/store/postgres"
)

// openPostgres opens the database of a server.
func (a *app) openPostgres(ctx context.Context, dsn auth.Secret) (storage, error) {
	store, err := postgres.Open(ctx, dsn.Reveal(), &postgres.Options{Observe: a.observers.database, Log: a.log})
	if err != nil {
		return nil, explainConnect(err, dsn)
	}
	return store, nil
}

// migratePostgres brings a server's database up to date, and gives role, if not empty, the
// rights that servers need.
func migratePostgres(ctx context.Context, dsn auth.Secret, role string) error {
	if err := postgres.Migrate(ctx, dsn.Reveal()); err != nil {
		return explainConnect(err, dsn)
	}
	if role == "" {
		return nil
	}
	if err := postgres.Grant(ctx, dsn.Reveal(), role); err != nil {
		return console.Errorf(console.Failure, "", "%w", err)
	}
	return nil
}

// Error codes of PostgreSQL.
const (
	stateNotAllowed    = "42501"
	stateWrongRole     = "28000"
	stateWrongPassword = "28P01"
	stateNoDatabase    = "3D000"
)

// explainConnect adds the next step to an error about a database that cannot be used.
func explainConnect(err error, dsn auth.Secret) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*postgres.SchemaError](err); ok {
		return console.Errorf(console.Unavailable, "as the role that owns the tables: bossman migrate --db postgres://OWNER@…", "%s: %w", config.HidePassword(dsn), err)
	}
	if e, ok := errors.AsType[*postgres.RoleError](err); ok {
		return console.Errorf(console.Unavailable, "as the role that owns the tables: bossman migrate --app-role "+e.Role+" --db postgres://OWNER@…", "%s: %w", config.HidePassword(dsn), err)
	}
	if _, ok := errors.AsType[*postgres.PoolerError](err); ok {
		return console.Errorf(console.Unavailable, "name the address of PostgreSQL itself; Bossman keeps a pool of its own (at most pool_max_conns)", "%s: %w", config.HidePassword(dsn), err)
	}
	if errors.Is(err, board.ErrTooNew) {
		return console.Errorf(console.Unavailable, "install the version of Bossman that the other servers of this database run", "%w", err)
	}
	next := "check that the database is running and that this machine can reach it"
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		switch e.SQLState() {
		case stateNotAllowed:
			return console.Errorf(console.Denied, "migrate as the role that owns the database; servers connect as another: see --app-role", "%s: %w", config.HidePassword(dsn), joinLines(err))
		case stateWrongRole, stateWrongPassword:
			next = "check the role, its password, and that pg_hba.conf allows it from this machine"
		case stateNoDatabase:
			next = "as PostgreSQL's administrator: CREATE DATABASE NAME OWNER ROLE"
		}
	}
	return console.Errorf(console.Unavailable, next, "connect to %s: %w", config.HidePassword(dsn), joinLines(err))
}

// joinLines puts the distinct lines of an error on one line. The driver tries with TLS and
// without, and its error usually says the same twice.
func joinLines(err error) error {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) < 2 {
		return err
	}
	return &rewordedError{err, lines[0] + " " + strings.Join(lines[1:], "; ")}
}

// A rewordedError is an error with another text.
type rewordedError struct {
	error
	text string
}

func (t *rewordedError) Error() string { return t.text }
func (t *rewordedError) Unwrap() error { return t.error }
