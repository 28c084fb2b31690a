package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/auth"
)

const personColumns = `p.name, p.created_at, p.disabled_at,
	(SELECT count(*) FROM api_keys k WHERE k.owner = p.name AND k.revoked_at IS NULL)
FROM people p`

func scanPerson(row pgx.CollectableRow) (p auth.Person, err error) {
	err = row.Scan(&p.Name, &p.Created, stamp(&p.Disabled), &p.Keys)
	return p, err
}

// Person reads a person.
func (s *Store) Person(ctx context.Context, name string) (p auth.Person, err error) {
	const query = `SELECT ` + personColumns + ` WHERE p.name = $1`
	err = s.readAuth(ctx, func(r *reader) error {
		p, err = one(r, scanPerson, query, name)
		return err
	})
	return p, err
}

// People lists all people by name.
func (s *Store) People(ctx context.Context) (people []auth.Person, err error) {
	const query = `SELECT ` + personColumns + ` ORDER BY p.name`
	err = s.readAuth(ctx, func(r *reader) error {
		people, err = list(r, scanPerson, query)
		return err
	})
	return people, err
}

// InsertPerson adds a person, if there is none with that name.
func (s *Store) InsertPerson(ctx context.Context, name string, at time.Time) error {
	return s.writeAuth(ctx, func(t *tx) error { return t.addPerson(name, at) })
}

func (t *tx) addPerson(name string, at time.Time) error {
	const query = `INSERT INTO people (name, created_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	_, err := t.exec(query, name, at)
	return err
}

// SetDisabled sets when a person was disabled; the zero time enables the person again.
func (s *Store) SetDisabled(ctx context.Context, name string, at time.Time) error {
	const query = raiseVersion + `UPDATE people SET disabled_at = $2, version = v.version FROM v WHERE name = $1`
	return s.writeAuth(ctx, func(t *tx) error { return t.write(notFound("person", name), query, name, *stamp(&at)) })
}
