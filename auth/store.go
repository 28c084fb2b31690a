package auth

import (
	"context"
	"time"
)

// A Store persists keys and people. It has no rules of its own and takes all times from its
// caller. Each method is one transaction. Package authtest has the suite for
// implementations.
type Store interface {
	// Key reads a key by its id; ErrNotFound if there is none.
	Key(ctx context.Context, id string) (Key, error)
	// KeysByID reads the keys with these ids, in any order; unknown ids are ignored.
	KeysByID(ctx context.Context, ids []string) ([]Key, error)
	// Keys lists all keys in the order of their creation, including invalid ones.
	Keys(ctx context.Context) ([]Key, error)
	// InsertKey stores a key, and its owner if that is a new person. ErrConflict if the id
	// exists or the owner is disabled.
	InsertKey(ctx context.Context, k Key) error
	// RevokeKey revokes a key. Repeating it does not change the time.
	RevokeKey(ctx context.Context, id string, at time.Time) error
	// Used records when keys were last used. Times never go backwards, and unknown keys are
	// ignored.
	Used(ctx context.Context, last map[string]time.Time) error

	// Person reads a person; ErrNotFound if there is none.
	Person(ctx context.Context, name string) (Person, error)
	// People lists all people by name.
	People(ctx context.Context) ([]Person, error)
	// InsertPerson adds a person, if there is none with that name.
	InsertPerson(ctx context.Context, name string, at time.Time) error
	// SetDisabled sets when a person was disabled; the zero time enables the person again.
	SetDisabled(ctx context.Context, name string, at time.Time) error

	// Changes returns the current version, and what was revoked and disabled after a given
	// one. It is called every second, so it must be cheap. Versions increase in commit
	// order: a caller that has seen one has seen all before it. The first version is 0.
	// Called with -1, it returns only the version.
	Changes(ctx context.Context, after int64) (Changes, error)
}

// Changes are the keys and people that became invalid.
type Changes struct {
	Version int64
	// Keys are the ids of revoked keys, People the names of disabled people.
	Keys, People []string
}
