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

const keyColumns = `SELECT k.id, k.hash, k.name, k.owner, k.person, k.project, k.role,
	k.created_at, k.expires_at, k.used_at, k.revoked_at, p.disabled_at
	FROM api_keys k JOIN people p ON p.name = k.owner`

func scanKey(scan scan) (k auth.Key, err error) {
	var hash []byte
	var created int64
	var expires, used, revoked, disabled *int64
	err = scan(&k.ID, &hash, &k.Name, &k.Owner, &k.Person, &k.Project, &k.Role, &created, &expires, &used, &revoked, &disabled)
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
	const query = keyColumns + ` WHERE k.id = ?`
	keys, err := s.keys(ctx, query, id)
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

// Keys lists all keys.
func (s *Store) Keys(ctx context.Context) ([]auth.Key, error) {
	const query = keyColumns + ` ORDER BY k.created_at, k.id`
	return s.keys(ctx, query)
}

// InsertKey stores a key, and its owner if that is a new person.
func (s *Store) InsertKey(ctx context.Context, k auth.Key) error {
	const (
		disabled = `SELECT disabled_at IS NOT NULL FROM people WHERE name = ?`
		insert   = `INSERT INTO api_keys (id, hash, name, owner, person, project, role, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
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
		_, err := t.exec(insert, k.ID, k.Hash[:], k.Name, k.Owner, k.Person, k.Project, int(k.Role), k.Created.UnixMicro(), nullTime(k.Expires))
		if isDuplicate(err) {
			return fmt.Errorf("%w: key %s exists already", auth.ErrConflict, k.ID)
		}
		return err
	})
}

// RevokeKey revokes a key. Repeating it does not change the time.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) error {
	const query = `UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?), version = ` + versionNow + ` WHERE id = ?`
	return s.changeAccess(ctx, "key "+id, query, nullTime(at), id)
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

// Changes lists what was revoked and disabled after a version.
func (s *Store) Changes(ctx context.Context, after int64) (c auth.Changes, err error) {
	const (
		version = `SELECT version FROM auth_meta`
		keys    = `SELECT id FROM api_keys WHERE revoked_at IS NOT NULL AND version > ?`
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

// changeAccess runs a constant statement that changes what a key or a person may do, and
// raises the version. ErrNotFound if the statement changes no row.
func (s *Store) changeAccess(ctx context.Context, what, query string, args ...any) error {
	const raise = `UPDATE auth_meta SET version = version + 1`
	return s.writeAuth(ctx, func(t *tx) error {
		if _, err := t.exec(raise); err != nil {
			return err
		}
		err := changed(t.exec(query, args...))
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
