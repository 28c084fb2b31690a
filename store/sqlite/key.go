package sqlite

import (
	"context"
	"errors"
	"fmt"
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
	k.Created, k.Expires, k.LastUsed = fromMicros(created), fromMoment(expires), fromMoment(used)
	k.Revoked, k.OwnerDisabled = fromMoment(revoked), fromMoment(disabled)
	return k, err
}

// keys gives what a constant query with keyColumns finds.
func (s *Store) keys(ctx context.Context, query string, args ...any) (keys []auth.Key, err error) {
	err = s.lookUp(ctx, func(r *reader) error {
		return r.each(query, args, func(scan scan) error {
			k, err := scanKey(scan)
			keys = append(keys, k)
			return err
		})
	})
	return keys, err
}

// Key finds a key by its id.
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

// Keys lists all keys.
func (s *Store) Keys(ctx context.Context) ([]auth.Key, error) {
	const query = keyColumns + ` ORDER BY k.created_at, k.id`
	return s.keys(ctx, query)
}

// InsertKey adds a key, and its owner if that is new.
func (s *Store) InsertKey(ctx context.Context, k auth.Key) error {
	const (
		disabled = `SELECT disabled_at IS NOT NULL FROM people WHERE name = ?`
		insert   = `INSERT INTO api_keys (id, hash, name, owner, person, project, role, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	)
	return s.edit(ctx, func(t *tx) error {
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
		_, err := t.exec(insert, k.ID, k.Hash[:], k.Name, k.Owner, k.Person, k.Project, int(k.Role), k.Created.UnixMicro(), moment(k.Expires))
		if taken(err) {
			return fmt.Errorf("%w: there is a key %s", auth.ErrConflict, k.ID)
		}
		return err
	})
}

// RevokeKey ends a key; the first time counts.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) error {
	const query = `UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?), version = ` + versionNow + ` WHERE id = ?`
	return s.end(ctx, "key "+id, query, moment(at), id)
}

// Used notes when keys were used last.
func (s *Store) Used(ctx context.Context, last map[string]time.Time) error {
	const query = `UPDATE api_keys SET used_at = ? WHERE id = ? AND coalesce(used_at, 0) < ?`
	return s.edit(ctx, func(t *tx) error {
		for id, at := range last {
			if _, err := t.exec(query, at.UnixMicro(), id, at.UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Changes tells what was revoked and disabled after a version.
func (s *Store) Changes(ctx context.Context, after int64) (c auth.Changes, err error) {
	const (
		version = `SELECT version FROM auth_meta`
		keys    = `SELECT id FROM api_keys WHERE revoked_at IS NOT NULL AND version > ?`
		people  = `SELECT name FROM people WHERE disabled_at IS NOT NULL AND version > ?`
	)
	err = s.lookUp(ctx, func(r *reader) error {
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

// texts gives the rows of a constant query with one column.
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

// end runs a constant statement that ends what a key or a person may do, or begins it
// again. It must find a row.
func (s *Store) end(ctx context.Context, what, query string, args ...any) error {
	const raise = `UPDATE auth_meta SET version = version + 1`
	return s.edit(ctx, func(t *tx) error {
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

// lookUp reads for package auth, and edit writes; errors are in its words. Where
// there is no file yet nothing is read.
func (s *Store) lookUp(ctx context.Context, f func(*reader) error) error {
	return authError(s.Read(ctx, func(r board.Reader) error {
		if r, ok := r.(*reader); ok {
			return f(r)
		}
		return nil
	}))
}

func (s *Store) edit(ctx context.Context, f func(*tx) error) error {
	return authError(s.Write(ctx, func(t board.Tx) error { return f(t.(*tx)) }))
}

func authError(err error) error {
	switch {
	case errors.Is(err, board.ErrNotFound):
		return fmt.Errorf("%w: %w", auth.ErrNotFound, err)
	case errors.Is(err, board.ErrUnavailable):
		return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	return err
}
