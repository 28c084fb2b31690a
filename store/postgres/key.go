package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

var _ auth.Store = (*Store)(nil)

const keyColumns = `k.id, k.hash, k.name, k.owner, k.person, k.project, k.role,
	k.created_at, k.expires_at, k.used_at, k.revoked_at, p.disabled_at
FROM api_keys k JOIN people p ON p.name = k.owner`

func scanKey(row pgx.CollectableRow) (k auth.Key, err error) {
	var hash []byte
	err = row.Scan(&k.ID, &hash, &k.Name, &k.Owner, &k.Person, &k.Project, (*uint8)(&k.Role),
		&k.Created, stamp(&k.Expires), stamp(&k.LastUsed), stamp(&k.Revoked), stamp(&k.OwnerDisabled))
	copy(k.Hash[:], hash)
	return k, err
}

// Key reads a key by its id.
func (s *Store) Key(ctx context.Context, id string) (k auth.Key, err error) {
	const query = `SELECT ` + keyColumns + ` WHERE k.id = $1`
	err = s.readAuth(ctx, func(r *reader) error {
		k, err = one(r, scanKey, query, id)
		return err
	})
	return k, err
}

// KeysByID reads the keys with these ids.
func (s *Store) KeysByID(ctx context.Context, ids []string) (keys []auth.Key, err error) {
	const query = `SELECT ` + keyColumns + ` WHERE k.id = ANY($1)`
	err = s.readAuth(ctx, func(r *reader) error {
		keys, err = list(r, scanKey, query, ids)
		return err
	})
	return keys, err
}

// Keys lists all keys.
func (s *Store) Keys(ctx context.Context) (keys []auth.Key, err error) {
	const query = `SELECT ` + keyColumns + ` ORDER BY k.created_at, k.id`
	err = s.readAuth(ctx, func(r *reader) error {
		keys, err = list(r, scanKey, query)
		return err
	})
	return keys, err
}

// InsertKey stores a key, and its owner if that is a new person.
func (s *Store) InsertKey(ctx context.Context, k auth.Key) error {
	const (
		disabled = `SELECT disabled_at IS NOT NULL FROM people WHERE name = $1`
		insert   = `
INSERT INTO api_keys (id, hash, name, owner, person, project, role, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	)
	return s.writeAuth(ctx, func(t *tx) error {
		if err := t.addPerson(k.Owner, k.Created); err != nil {
			return err
		}
		off, err := one(&t.reader, pgx.RowTo[bool], disabled, k.Owner)
		if err != nil {
			return err
		}
		if off {
			return fmt.Errorf("%w: %s is disabled", auth.ErrConflict, k.Owner)
		}
		_, err = t.exec(insert, k.ID, k.Hash[:], k.Name, k.Owner, k.Person, k.Project, int16(k.Role), k.Created, *stamp(&k.Expires))
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" { // unique violation
			return fmt.Errorf("%w: key %s exists already", auth.ErrConflict, k.ID)
		}
		return err
	})
}

// RevokeKey revokes a key. Repeating it does not change the time.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) error {
	const query = raiseVersion + `UPDATE api_keys SET revoked_at = coalesce(revoked_at, $2), version = v.version FROM v WHERE id = $1`
	return s.writeAuth(ctx, func(t *tx) error { return t.write(notFound("key", id), query, id, at) })
}

// Used records when keys were last used.
func (s *Store) Used(ctx context.Context, last map[string]time.Time) error {
	const query = `
UPDATE api_keys k SET used_at = greatest(k.used_at, u.at)
FROM unnest($1::text[], $2::timestamptz[]) u (id, at) WHERE k.id = u.id`
	return s.writeAuth(ctx, func(t *tx) error {
		// Sorted, so that replicas do not deadlock.
		for ids := range slices.Chunk(slices.Sorted(maps.Keys(last)), usedBatch) {
			times := make([]time.Time, len(ids))
			for i, id := range ids {
				times[i] = last[id]
			}
			if _, err := t.exec(query, ids, times); err != nil {
				return err
			}
		}
		return nil
	})
}

const usedBatch = 1000

// Changes lists what was revoked and disabled after a version.
func (s *Store) Changes(ctx context.Context, after int64) (c auth.Changes, err error) {
	const query = `
SELECT m.version,
	CASE WHEN $1 >= 0 AND m.version > $1 THEN ARRAY(SELECT id FROM api_keys WHERE revoked_at IS NOT NULL AND version > $1) END,
	CASE WHEN $1 >= 0 AND m.version > $1 THEN ARRAY(SELECT name FROM people WHERE disabled_at IS NOT NULL AND version > $1) END
FROM auth_meta m`
	err = s.readAuth(ctx, func(r *reader) error {
		c, err = one(r, func(row pgx.CollectableRow) (c auth.Changes, err error) {
			err = row.Scan(&c.Version, &c.Keys, &c.People)
			trim(&c.Keys, &c.People)
			return c, err
		}, query, after)
		return err
	})
	return c, err
}

// raiseVersion begins a statement that changes what a key or a person may do.
const raiseVersion = `WITH v AS (UPDATE auth_meta SET version = version + 1 RETURNING version) `

// readAuth is Read for package auth, with its errors.
func (s *Store) readAuth(ctx context.Context, f func(*reader) error) error {
	return authError(s.Read(ctx, func(r board.Reader) error { return f(r.(*reader)) }))
}

// writeAuth is Write for package auth, with its errors.
func (s *Store) writeAuth(ctx context.Context, f func(*tx) error) error {
	return authError(s.Write(ctx, func(t board.Tx) error { return f(t.(*tx)) }))
}

// authError translates errors of package board into those of package auth.
func authError(err error) error {
	switch {
	case errors.Is(err, board.ErrNotFound):
		return fmt.Errorf("%w: %w", auth.ErrNotFound, err)
	case errors.Is(err, board.ErrUnavailable):
		return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	case errors.Is(err, board.ErrInvalid):
		return fmt.Errorf("%w: %w", auth.ErrInvalid, err)
	}
	return err
}
