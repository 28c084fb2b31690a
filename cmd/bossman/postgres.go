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

// openPostgres opens the board of a server.
func (a *app) openPostgres(ctx context.Context, dsn auth.Secret) (storage, error) {
	store, err := postgres.Open(ctx, dsn.Reveal(), &postgres.Options{Observe: a.observed.database, Log: a.log})
	if err != nil {
		return nil, cannotConnect(err, dsn)
	}
	return store, nil
}

// migratePostgres brings a server's database up to date, and lets role use it if it is
// not empty.
func migratePostgres(ctx context.Context, dsn auth.Secret, role string) error {
	if err := postgres.Migrate(ctx, dsn.Reveal()); err != nil {
		return cannotConnect(err, dsn)
	}
	if role == "" {
		return nil
	}
	if err := postgres.Grant(ctx, dsn.Reveal(), role); err != nil {
		return console.Errorf(console.Failure, "", "%w", err)
	}
	return nil
}

// What PostgreSQL calls the reasons for which it turns somebody away.
const (
	stateNotAllowed    = "42501"
	stateWrongRole     = "28000"
	stateWrongPassword = "28P01"
	stateNoDatabase    = "3D000"
)

// cannotConnect says what to do about a database that does not answer, or not to us.
func cannotConnect(err error, dsn auth.Secret) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*postgres.SchemaError](err); ok {
		return console.Errorf(console.Unavailable, "as the role that owns the tables: bossman migrate --db postgres://OWNER@…", "%s: %w", config.HidePassword(dsn), err)
	}
	if e, ok := errors.AsType[*postgres.RoleError](err); ok {
		return console.Errorf(console.Unavailable, "as the role that owns the tables: bossman migrate --app-role "+e.Role+" --db postgres://OWNER@…", "%s: %w", config.HidePassword(dsn), err)
	}
	if errors.Is(err, board.ErrTooNew) {
		return console.Errorf(console.Unavailable, "install the Bossman that the other servers of this database run", "%w", err)
	}
	next := "look whether the database runs, and whether this machine can reach it"
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		switch e.SQLState() {
		case stateNotAllowed:
			return console.Errorf(console.Denied, "migrate as the role that owns the database; servers use another: see --app-role", "%s: %w", config.HidePassword(dsn), onOneLine(err))
		case stateWrongRole, stateWrongPassword:
			next = "look whether the role and its password are right, and whether pg_hba.conf lets it in from here"
		case stateNoDatabase:
			next = "as PostgreSQL's administrator: CREATE DATABASE NAME OWNER ROLE"
		}
	}
	return console.Errorf(console.Unavailable, next, "connect to %s: %w", config.HidePassword(dsn), onOneLine(err))
}

// onOneLine is an error whose text has each of its lines once, one after the other:
// a database is tried with TLS and without, and mostly says the same.
func onOneLine(err error) error {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) < 2 {
		return err
	}
	return &told{err, lines[0] + " " + strings.Join(lines[1:], "; ")}
}

// told is an error in other words.
type told struct {
	error
	text string
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.error }
