package auth

import (
	"context"
	"time"
)

// A Store is what a database does for us; authtest is the suite that it passes. It
// decides nothing. Times it is told. A method is one transaction. ErrNotFound and
// ErrConflict are the errors that it must tell from others.
type Store interface {
	// Key finds a key by its id.
	Key(ctx context.Context, id string) (Key, error)
	// Keys lists all keys by their time of creation, also those that have ended.
	Keys(ctx context.Context) ([]Key, error)
	// InsertKey adds a key, and its owner if that is new. ErrConflict if the id is
	// taken, or the owner disabled.
	InsertKey(ctx context.Context, k Key) error
	// RevokeKey ends a key; the first time counts.
	RevokeKey(ctx context.Context, id string, at time.Time) error
	// Used notes when keys were used last. Times never go back, and keys that are not
	// there are left out.
	Used(ctx context.Context, last map[string]time.Time) error

	// Person finds a person.
	Person(ctx context.Context, name string) (Person, error)
	// People lists all by their names.
	People(ctx context.Context) ([]Person, error)
	// InsertPerson adds a person, if there is none of that name.
	InsertPerson(ctx context.Context, name string, at time.Time) error
	// SetDisabled sets when a person was disabled; zero takes it back.
	SetDisabled(ctx context.Context, name string, at time.Time) error

	// Changes tells what was revoked and disabled after a version, and the version
	// now. It is asked every second, so it must cost next to nothing. Versions rise in
	// the order of the commits: who has seen one has seen all before. The first is 0,
	// and after -1 the version alone is told.
	Changes(ctx context.Context, after int64) (Changes, error)
}

// Changes are keys and people that opened something and may not any more.
type Changes struct {
	Version int64
	// Keys are ids of keys that were revoked, People names that were disabled.
	Keys, People []string
}
