package main

import (
	"context"
	"errors"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/store/postgres"
)

// openPostgres opens the board of a server.
func (a *app) openPostgres(ctx context.Context, dsn auth.Secret) (storage, error) {
	store, err := postgres.Open(ctx, dsn.Reveal(), &postgres.Options{Observe: a.observed.database, Log: a.observed.log})
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
		return failf(exitFailure, "", "%w", err)
	}
	return nil
}

// cannotConnect says what to do about a database that does not answer.
func cannotConnect(err error, dsn auth.Secret) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*postgres.SchemaError](err); ok {
		return failf(exitUnavailable, "bossman migrate --db "+hidePassword(dsn), "%w", err)
	}
	if e, ok := errors.AsType[*postgres.RoleError](err); ok {
		return failf(exitUnavailable, "as the role that owns the tables: bossman migrate --app-role "+e.Role+" --db postgres://OWNER@…", "%w", err)
	}
	if errors.Is(err, board.ErrTooNew) {
		return failf(exitUnavailable, "install the Bossman that the other servers of this database run", "%w", err)
	}
	return failf(exitUnavailable, "look whether the database runs and lets this user in", "connect to %s: %w", hidePassword(dsn), err)
}
