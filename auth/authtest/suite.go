// Package authtest tests implementations of auth.Store.
package authtest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
)

// Run runs the suite. open returns a new, empty store for each test, and closes it when the
// test ends.
func Run(t *testing.T, open func(t *testing.T) auth.Store) {
	for _, c := range []struct {
		name string
		run  func(*fixture)
	}{
		{"a key comes back as it was", keyComesBack},
		{"keys are listed by age", keysByAge},
		{"a key's id is taken once", idOnce},
		{"a disabled person gets no key", noKeyForDisabled},
		{"a key is revoked once", revokedOnce},
		{"a key is revoked with all that were created from it", revokedWithAll},
		{"a key is lowered with all that were created from it", loweredWithAll},
		{"a key is renewed unless it was revoked", renewedUnlessRevoked},
		{"a renewed key goes on on every replica", renewedEverywhere},
		{"a key's creation depends on its parent and on how many there are", allowedOrNot},
		{"a key that is created while its parent is revoked does not stay", createdMeanwhile},
		{"nobody gets more keys for machines than allowed", machinesAtOnce},
		{"the last use never goes back", usedForward},
		{"people are listed by name", peopleByName},
		{"a person is disabled and enabled", disabledAndEnabled},
		{"what is not there is not found", notFound},
		{"changes are told once", changesOnce},
		{"changes are seen in their order", changesInOrder},
		{"a key opens, and a wrong one does not", keyOpens},
		{"a revoked key ends on every replica", revokedEverywhere},
		{"a key that was created from a revoked one ends on every replica", childrenEverywhere},
		{"a lowered key has less on every replica", loweredEverywhere},
		{"a machine's key creates no others", machinesCreateNothing},
		{"a disabled person's keys end on every replica", disabledEverywhere},
		{"the last use is written", lastUse},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(&fixture{T: t, store: open(t)}) })
	}
}

type fixture struct {
	*testing.T
	store auth.Store
}

// at is a time with a resolution that every database has.
var at = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

func (f *fixture) key(id, owner string) auth.Key {
	k := auth.Key{ID: id, Name: "a key", Owner: owner, Project: "web", Role: auth.Worker, Created: at}
	for i := range k.Hash {
		k.Hash[i] = byte(i) ^ id[0]
	}
	return k
}

// insert adds a key.
func (f *fixture) insert(k auth.Key) auth.Key {
	f.Helper()
	f.ok(f.store.InsertKey(f.Context(), k, anything))
	return k
}

// anything allows every key.
func anything(*auth.Key, int) error { return nil }

// revoke revokes a key, and returns the ids of all that are revoked.
func (f *fixture) revoke(id string, at time.Time) []string {
	f.Helper()
	ids, err := f.store.RevokeKey(f.Context(), id, "shell:root", at)
	f.ok(err)
	return ids
}

func (f *fixture) get(id string) auth.Key {
	f.Helper()
	k, err := f.store.Key(f.Context(), id)
	f.ok(err)
	return k
}

func (f *fixture) changes(after int64) auth.Changes {
	f.Helper()
	c, err := f.store.Changes(f.Context(), after)
	f.ok(err)
	return c
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) is(what string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("%s = %v, want %v", what, err, want)
	}
}

func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Errorf("%s = %v, want %v", what, show(got), show(want))
	}
}

func show(v any) string { return fmt.Sprintf("%+v", v) }
