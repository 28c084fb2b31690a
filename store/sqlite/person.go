package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/auth"
)

const personColumns = `SELECT p.name, p.created_at, p.disabled_at,
	(SELECT count(*) FROM api_keys k WHERE k.owner = p.name AND k.revoked_at IS NULL) FROM people p`

// people runs a constant query that begins with personColumns.
func (s *Store) people(ctx context.Context, query string, args ...any) (people []auth.Person, err error) {
	err = s.readAuth(ctx, func(r *reader) error {
		return r.each(query, args, func(scan scan) error {
			var p auth.Person
			var created int64
			var disabled *int64
			err := scan(&p.Name, &created, &disabled, &p.Keys)
			p.Created, p.Disabled = fromMicros(created), fromNullTime(disabled)
			people = append(people, p)
			return err
		})
	})
	return people, err
}

// Person reads a person.
func (s *Store) Person(ctx context.Context, name string) (auth.Person, error) {
	const query = personColumns + ` WHERE p.name = ?`
	people, err := s.people(ctx, query, name)
	if err == nil && len(people) == 0 {
		err = fmt.Errorf("%w: person %s", auth.ErrNotFound, name)
	}
	if err != nil {
		return auth.Person{}, err
	}
	return people[0], nil
}

// People lists all people by name.
func (s *Store) People(ctx context.Context) ([]auth.Person, error) {
	const query = personColumns + ` ORDER BY p.name`
	return s.people(ctx, query)
}

// InsertPerson adds a person, if there is none with that name.
func (s *Store) InsertPerson(ctx context.Context, name string, at time.Time) error {
	return s.writeAuth(ctx, func(t *tx) error { return t.addPerson(name, at) })
}

func (t *tx) addPerson(name string, at time.Time) error {
	const query = `INSERT INTO people (name, created_at) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`
	_, err := t.exec(query, name, at.UnixMicro())
	return err
}

// SetDisabled sets when a person was disabled; the zero time enables the person again.
func (s *Store) SetDisabled(ctx context.Context, name string, at time.Time) error {
	const query = `UPDATE people SET disabled_at = ?, version = ` + versionNow + ` WHERE name = ?`
	return s.changeAccess(ctx, "person "+name, func(t *tx) error { return changed(t.exec(query, nullTime(at), name)) })
}
