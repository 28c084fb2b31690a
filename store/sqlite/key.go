package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

var _ auth.Store = (*Store)(nil)

const keyColumns = `SELECT k.id, k.hash, k.name, k.owner, k.person, k.project, k.role, k.machine, k.parent, k.created_by, k.revoked_by,
	k.created_at, k.expires_at, k.used_at, coalesce(k.revoked_at, (SELECT a.revoked_at FROM api_keys a WHERE a.id = k.parent)), p.disabled_at
	FROM api_keys k JOIN people p ON p.name = k.owner`

func scanKey(scan scan) (k auth.Key, err error) {
	var hash []byte
	var created int64
	var expires, used, revoked, disabled *int64
	err = scan(&k.ID, &hash, &k.Name, &k.Owner, &k.Person, &k.Project, &k.Role, &k.Machine, &k.Parent, &k.CreatedBy, &k.RevokedBy, &created, &expires, &used, &revoked, &disabled)
	copy(k.Hash[:], hash)
	k.Created, k.Expires, k.LastUsed = fromMicros(created), fromNullTime(expires), fromNullTime(used)
	k.Revoked, k.OwnerDisabled = fromNullTime(revoked), fromNullTime(disabled)
	return k, err
}

// keys runs a constant query that begins with keyColumns.
func (s *Store) keys(ctx context.Context, query string, args ...any) (keys []auth.Key, err error) {
	err = s.readAuth(ctx, func(r *reader) error {
		return r.each(query, args, func(scan scan) error {
			k, err := scanKey(scan)
			keys = append(keys, k)
			return err
		})
	})
	return keys, err
}

// Key reads a key by its id.
func (s *Store) Key(ctx context.Context, id string) (auth.Key, error) {
	keys, err := s.keys(ctx, keyByID, id)
	if err == nil && len(keys) == 0 {
		err = fmt.Errorf("%w: key %s", auth.ErrNotFound, id)
	}
	if err != nil {
		return auth.Key{}, err
	}
	return keys[0], nil
}

// KeysByID reads the keys with these ids. The ids have no characters that JSON escapes.
func (s *Store) KeysByID(ctx context.Context, ids []string) ([]auth.Key, error) {
	const query = keyColumns + ` WHERE k.id IN (SELECT value FROM json_each(?))`
	return s.keys(ctx, query, `["`+strings.Join(ids, `","`)+`"]`)
}

const keyByID = keyColumns + ` WHERE k.id = ?`

// Keys lists all keys.
func (s *Store) Keys(ctx context.Context) ([]auth.Key, error) {
	const query = keyColumns + ` ORDER BY k.created_at, k.id`
	return s.keys(ctx, query)
}

// InsertKey stores a key, and its owner if that is a new person.
func (s *Store) InsertKey(ctx context.Context, k auth.Key, allowed func(parent *auth.Key, machines int) error) error {
	const (
		disabled = `SELECT disabled_at IS NOT NULL FROM people WHERE name = ?`
		machines = `SELECT count(*) FROM api_keys WHERE owner = ? AND machine <> '' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`
		insert   = `INSERT INTO api_keys (id, hash, name, owner, person, project, role, machine, parent, created_by, created_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	)
	return s.writeAuth(ctx, func(t *tx) error {
		if err := t.addPerson(k.Owner, k.Created); err != nil {
			return err
		}
		off := false
		if err := t.get(disabled, []any{k.Owner}, &off); err != nil {
			return err
		}
		if off {
			return fmt.Errorf("%w: %s is disabled", auth.ErrConflict, k.Owner)
		}
		parent, n := auth.Key{}, 0
		if k.Parent != "" {
			err := t.each(keyByID, []any{k.Parent}, func(scan scan) (err error) {
				parent, err = scanKey(scan)
				return err
			})
			if err == nil && parent.ID == "" {
				err = fmt.Errorf("%w: key %s", auth.ErrNotFound, k.Parent)
			}
			if err != nil {
				return err
			}
		}
		if err := t.get(machines, []any{k.Owner, k.Created.UnixMicro()}, &n); err != nil {
			return err
		}
		if err := allowed(&parent, n); err != nil {
			return err
		}
		_, err := t.exec(insert, k.ID, k.Hash[:], k.Name, k.Owner, k.Person, k.Project, int(k.Role), k.Machine, k.Parent, k.CreatedBy, k.Created.UnixMicro(), nullTime(k.Expires))
		if isDuplicate(err) {
			return fmt.Errorf("%w: key %s exists already", auth.ErrConflict, k.ID)
		}
		return err
	})
}

// descendants selects a key and all keys that were created from it.
const descendants = `(
WITH RECURSIVE tree (id) AS (
  SELECT id FROM api_keys WHERE id = ? UNION SELECT k.id FROM api_keys k JOIN tree ON k.parent = tree.id AND k.parent <> ''
) SELECT id FROM tree)`

// RevokeKey revokes a key and all keys that were created from it.
func (s *Store) RevokeKey(ctx context.Context, id, by string, at time.Time) ([]string, error) {
	const query = `UPDATE api_keys SET revoked_by = iif(revoked_at IS NULL, ?, revoked_by), revoked_at = coalesce(revoked_at, ?),
  version = ` + versionNow + ` WHERE id IN ` + descendants
	return s.loseRights(ctx, id, query, by, nullTime(at), id)
}

// LowerKey limits a key, and all keys that were created from it, to a role and a project.
func (s *Store) LowerKey(ctx context.Context, id, project string, role auth.Role, by string, at time.Time) ([]string, error) {
	const (
		elsewhere = `revoked_at IS NULL AND ?1 <> '*' AND project NOT IN ('*', ?1)`
		query     = `UPDATE api_keys SET role = min(role, ?2), project = iif(project = '*', ?1, project),
  revoked_at = iif(` + elsewhere + `, ?3, revoked_at), revoked_by = iif(` + elsewhere + `, ?4, revoked_by),
  version = ` + versionNow + ` WHERE id IN ` + descendants
	)
	return s.loseRights(ctx, id, query, project, int(role), nullTime(at), by, id)
}

// loseRights runs a constant statement that takes rights from a key and from those that were
// created from it, and returns their ids.
func (s *Store) loseRights(ctx context.Context, id, query string, args ...any) (ids []string, err error) {
	const tree = `SELECT id FROM ` + descendants + ` ORDER BY id`
	err = s.changeAccess(ctx, "key "+id, func(t *tx) error {
		if ids, err = t.texts(tree, id); err != nil {
			return err
		}
		return changed(t.exec(query, args...))
	})
	return ids, err
}

// RenewKey sets when a key expires.
func (s *Store) RenewKey(ctx context.Context, id string, expires time.Time) error {
	const query = `UPDATE api_keys SET expires_at = ? WHERE id = ? AND revoked_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM api_keys a WHERE a.id = api_keys.parent AND a.revoked_at IS NOT NULL)`
	return s.writeAuth(ctx, func(t *tx) error { return changed(t.exec(query, nullTime(expires), id)) })
}

// Used records when keys were last used.
func (s *Store) Used(ctx context.Context, last map[string]time.Time) error {
	const query = `UPDATE api_keys SET used_at = ? WHERE id = ? AND coalesce(used_at, 0) < ?`
	return s.writeAuth(ctx, func(t *tx) error {
		for id, at := range last {
			if _, err := t.exec(query, at.UnixMicro(), id, at.UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Changes lists what was revoked, lowered and disabled after a version.
func (s *Store) Changes(ctx context.Context, after int64) (c auth.Changes, err error) {
	const (
		version = `SELECT version FROM auth_meta`
		keys    = `SELECT id FROM api_keys WHERE version > 0 AND version > ?`
		people  = `SELECT name FROM people WHERE disabled_at IS NOT NULL AND version > ?`
	)
	err = s.readAuth(ctx, func(r *reader) error {
		if err := r.get(version, nil, &c.Version); err != nil || after < 0 || c.Version <= after {
			return err
		}
		if c.Keys, err = r.texts(keys, after); err != nil {
			return err
		}
		c.People, err = r.texts(people, after)
		return err
	})
	return c, err
}

// texts runs a constant query with one text column.
func (r *reader) texts(query string, args ...any) (list []string, err error) {
	err = r.each(query, args, func(scan scan) error {
		var s string
		err := scan(&s)
		list = append(list, s)
		return err
	})
	return list, err
}

const versionNow = `(SELECT version FROM auth_meta)`

// changeAccess changes what keys or a person may do, and raises the version before.
// ErrNotFound if change finds nothing.
func (s *Store) changeAccess(ctx context.Context, what string, change func(*tx) error) error {
	const raise = `UPDATE auth_meta SET version = version + 1`
	return s.writeAuth(ctx, func(t *tx) error {
		if _, err := t.exec(raise); err != nil {
			return err
		}
		err := change(t)
		if errors.Is(err, board.ErrNotFound) {
			return fmt.Errorf("%w: %s", err, what)
		}
		return err
	})
}

// readAuth is Read for package auth, with its errors. If there is no file yet, it does not
// call f.
func (s *Store) readAuth(ctx context.Context, f func(*reader) error) error {
	return authError(s.Read(ctx, func(r board.Reader) error {
		if r, ok := r.(*reader); ok {
			return f(r)
		}
		return nil
	}))
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
	}
	return err
}
