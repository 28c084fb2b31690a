package auth

import (
	"context"
	"time"
)

// A Store persists keys and people. It has no rules of its own and takes all times from its
// caller. Each method is one transaction. Package authtest has the suite for
// implementations.
type Store interface {
	// Key reads a key by its id; ErrNotFound if there is none. Revoked is also set if only its
	// parent was revoked, as programs did that did not know parents.
	Key(ctx context.Context, id string) (Key, error)
	// KeysByID reads the keys with these ids, in any order; unknown ids are ignored.
	KeysByID(ctx context.Context, ids []string) ([]Key, error)
	// Keys lists all keys in the order of their creation, including invalid ones.
	Keys(ctx context.Context) ([]Key, error)
	// InsertKey stores a key, and its owner if that is a new person, unless allowed returns
	// an error. It calls allowed with the key's parent, the zero Key if it has none, and with
	// the number of keys for machines that the owner has and that are valid when the key is
	// created. Neither changes until the key is stored. ErrConflict if the id exists or the
	// owner is disabled; ErrNotFound if the parent does not exist.
	InsertKey(ctx context.Context, k Key, allowed func(parent *Key, machines int) error) error
	// RevokeKey revokes a key and all keys that were created from it, and from those, and
	// returns their ids in order. Repeating it does not change when and by whom a key was
	// revoked.
	RevokeKey(ctx context.Context, id, by string, at time.Time) ([]string, error)
	// LowerKey limits a key, and all keys that were created from it, to a role and to a
	// project or EveryProject, and returns their ids in order. It raises no role, and adds no
	// project: a key of another project is revoked.
	LowerKey(ctx context.Context, id, project string, role Role, by string, at time.Time) ([]string, error)
	// RenewKey sets when a key expires. ErrNotFound if there is no such key, or if it or its
	// parent was revoked.
	RenewKey(ctx context.Context, id string, expires time.Time) error
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

	// Changes returns the current version, and what was revoked, lowered and disabled after a
	// given one. It is called every second, so it must be cheap. Versions increase in commit
	// order: a caller that has seen one has seen all before it. The first version is 0.
	// Called with -1, it returns only the version.
	Changes(ctx context.Context, after int64) (Changes, error)
}

// Changes are the keys and people that have lost rights.
type Changes struct {
	Version int64
	// Keys are the ids of keys that were revoked or lowered, People the names of disabled people.
	Keys, People []string
}
