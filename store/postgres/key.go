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

const keyColumns = `k.id, k.hash, k.name, k.owner, k.person, k.project, k.role, k.machine, k.parent, k.created_by, k.revoked_by,
	k.created_at, k.expires_at, k.used_at, coalesce(k.revoked_at, (SELECT a.revoked_at FROM api_keys a WHERE a.id = k.parent)), p.disabled_at
FROM api_keys k JOIN people p ON p.name = k.owner`

func scanKey(row pgx.CollectableRow) (k auth.Key, err error) {
	var hash []byte
	err = row.Scan(&k.ID, &hash, &k.Name, &k.Owner, &k.Person, &k.Project, (*uint8)(&k.Role),
		&k.Machine, &k.Parent, &k.CreatedBy, &k.RevokedBy, &k.Created, stamp(&k.Expires), stamp(&k.LastUsed), stamp(&k.Revoked), stamp(&k.OwnerDisabled))
	copy(k.Hash[:], hash)
	return k, err
}

// Key reads a key by its id.
func (s *Store) Key(ctx context.Context, id string) (k auth.Key, err error) {
	err = s.readAuth(ctx, func(r *reader) error {
		k, err = one(r, scanKey, keyByID, id)
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

// PersonKeys lists a person's own keys that are not revoked.
func (s *Store) PersonKeys(ctx context.Context, owner string) (keys []auth.Key, err error) {
	const query = `SELECT ` + keyColumns + ` WHERE k.owner = $1 AND k.person AND k.revoked_at IS NULL`
	err = s.readAuth(ctx, func(r *reader) error {
		keys, err = list(r, scanKey, query, owner)
		return err
	})
	return keys, err
}

const keyByID = `SELECT ` + keyColumns + ` WHERE k.id = $1`

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
func (s *Store) InsertKey(ctx context.Context, k auth.Key, allowed func(parent *auth.Key, machines int) error) error {
	const (
		// Whoever revokes, lowers or disables updates this row first.
		hold = `SELECT version FROM auth_meta FOR SHARE`
		// Of several logins of one person, each counts those before it.
		disabled = `SELECT disabled_at IS NOT NULL FROM people WHERE name = $1 FOR UPDATE`
		machines = `SELECT count(*)::int FROM api_keys WHERE owner = $1 AND machine <> '' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`
		insert   = `
INSERT INTO api_keys (id, hash, name, owner, person, project, role, machine, parent, created_by, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
	)
	return s.writeAuth(ctx, func(t *tx) error {
		if _, err := one(&t.reader, pgx.RowTo[int64], hold); err != nil {
			return err
		}
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
		var parent auth.Key
		if k.Parent != "" {
			if parent, err = one(&t.reader, scanKey, keyByID, k.Parent); err != nil {
				return err
			}
		}
		n, err := one(&t.reader, pgx.RowTo[int], machines, k.Owner, k.Created)
		if err != nil {
			return err
		}
		if err := allowed(&parent, n); err != nil {
			return err
		}
		_, err = t.exec(insert, k.ID, k.Hash[:], k.Name, k.Owner, k.Person, k.Project, int16(k.Role), k.Machine, k.Parent, k.CreatedBy, k.Created, *stamp(&k.Expires))
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" { // unique violation
			return fmt.Errorf("%w: key %s exists already", auth.ErrConflict, k.ID)
		}
		return err
	})
}

// withDescendants begins a statement about a key and all keys that were created from it.
const withDescendants = `
WITH RECURSIVE tree (id) AS (
	SELECT id FROM api_keys WHERE id = $1 UNION SELECT k.id FROM api_keys k JOIN tree ON k.parent = tree.id AND k.parent <> ''
) `

// RevokeKey revokes a key and all keys that were created from it.
func (s *Store) RevokeKey(ctx context.Context, id, by string, at time.Time) ([]string, error) {
	const query = withDescendants + `
UPDATE api_keys k SET revoked_at = coalesce(k.revoked_at, $3), revoked_by = CASE WHEN k.revoked_at IS NULL THEN $2 ELSE k.revoked_by END,
	version = (SELECT version FROM auth_meta)
FROM tree WHERE k.id = tree.id RETURNING k.id`
	return s.loseRights(ctx, id, query, id, by, at)
}

// LowerKey limits a key, and all keys that were created from it, to a role and a project.
func (s *Store) LowerKey(ctx context.Context, id, project string, role auth.Role, by string, at time.Time) ([]string, error) {
	const query = withDescendants + `, rights (id, elsewhere) AS (
	SELECT k.id, k.revoked_at IS NULL AND $4 <> '*' AND k.project NOT IN ('*', $4) FROM api_keys k JOIN tree ON tree.id = k.id
)
UPDATE api_keys k SET role = least(k.role, $5), project = CASE k.project WHEN '*' THEN $4 ELSE k.project END,
	revoked_at = CASE WHEN r.elsewhere THEN $3 ELSE k.revoked_at END, revoked_by = CASE WHEN r.elsewhere THEN $2 ELSE k.revoked_by END,
	version = (SELECT version FROM auth_meta)
FROM rights r WHERE k.id = r.id RETURNING k.id`
	return s.loseRights(ctx, id, query, id, by, at, project, int16(role))
}

// loseRights runs a statement that takes rights from keys and returns their ids. The version
// is raised before, in a statement of its own, so that the statement sees all keys that were
// created until then.
func (s *Store) loseRights(ctx context.Context, id, query string, args ...any) (ids []string, err error) {
	const raise = `UPDATE auth_meta SET version = version + 1`
	err = s.writeAuth(ctx, func(t *tx) error {
		if _, err := t.exec(raise); err != nil {
			return err
		}
		ids, err = list(&t.reader, pgx.RowTo[string], query, args...)
		if err == nil && len(ids) == 0 {
			return notFound("key", id)
		}
		return err
	})
	slices.Sort(ids)
	return ids, err
}

// RenewKey sets when a key expires.
func (s *Store) RenewKey(ctx context.Context, id string, expires time.Time) error {
	const query = `
UPDATE api_keys k SET expires_at = $2
WHERE k.id = $1 AND k.revoked_at IS NULL AND NOT EXISTS (SELECT FROM api_keys a WHERE a.id = k.parent AND a.revoked_at IS NOT NULL)`
	return s.writeAuth(ctx, func(t *tx) error { return t.write(notFound("key", id), query, id, *stamp(&expires)) })
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

// Changes lists what was revoked, lowered and disabled after a version.
func (s *Store) Changes(ctx context.Context, after int64) (c auth.Changes, err error) {
	const query = `
SELECT m.version,
	CASE WHEN $1 >= 0 AND m.version > $1 THEN ARRAY(SELECT id FROM api_keys WHERE version > 0 AND version > $1) END,
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
	case errors.Is(err, board.ErrUnavailable), errors.Is(err, board.ErrFull):
		return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	case errors.Is(err, board.ErrInvalid):
		return fmt.Errorf("%w: %w", auth.ErrInvalid, err)
	}
	return err
}
