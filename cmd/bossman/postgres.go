package main

import (
	"context"
	"errors"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/store/postgres"
)

// openPostgres opens the board of a server.
func (a *app) openPostgres(ctx context.Context, dsn auth.Secret) (storage, error) {
	store, err := postgres.Open(ctx, dsn.Reveal(), &postgres.Options{Observe: a.observed.database})
	if err != nil {
		return nil, cannotConnect(err, dsn)
	}
	return store, nil
}

func migratePostgres(ctx context.Context, dsn auth.Secret) error {
	return cannotConnect(postgres.Migrate(ctx, dsn.Reveal()), dsn)
}

// cannotConnect says what to do about a database that does not answer.
func cannotConnect(err error, dsn auth.Secret) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*postgres.SchemaError](err); ok {
		return failf(exitUnavailable, "bossman migrate --db "+hidePassword(dsn), "%w", err)
	}
	return failf(exitUnavailable, "look whether the database runs and lets this user in", "connect to %s: %w", hidePassword(dsn), err)
}
