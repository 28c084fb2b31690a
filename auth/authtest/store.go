package authtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/auth"
)

func keyComesBack(f *fixture) {
	plain := f.insert(f.key("aaaaaaaaaaaa", "ada"))
	f.equal("a plain key", f.get(plain.ID), plain)
	full := f.key("bbbbbbbbbbbb", "Bob \"the\" Büroklammer")
	full.Name, full.Person, full.Project, full.Role, full.Expires = "π's", true, auth.EveryProject, auth.Admin, at.Add(time.Hour)
	full.Machine, full.Parent, full.CreatedBy = "Bob's Laptöp", plain.ID, "key:"+plain.ID
	f.insert(full)
	f.equal("a key with everything", f.get(full.ID), full)
}

func keysByAge(f *fixture) {
	keys, err := f.store.Keys(f.Context())
	f.ok(err)
	f.equal("Keys() of an empty store", len(keys), 0)
	for i, id := range []string{"cccccccccccc", "aaaaaaaaaaaa", "bbbbbbbbbbbb"} {
		k := f.key(id, "ada")
		k.Created = at.Add(time.Duration(i) * time.Minute)
		f.insert(k)
	}
	f.revoke("aaaaaaaaaaaa", at)
	keys, err = f.store.Keys(f.Context())
	f.ok(err)
	var ids []string
	for _, k := range keys {
		ids = append(ids, k.ID)
	}
	f.equal("Keys()", ids, []string{"cccccccccccc", "aaaaaaaaaaaa", "bbbbbbbbbbbb"})
	some, err := f.store.KeysByID(f.Context(), []string{"bbbbbbbbbbbb", "zzzzzzzzzzzz", "aaaaaaaaaaaa"})
	f.ok(err)
	slices.SortFunc(some, func(a, b auth.Key) int { return strings.Compare(a.ID, b.ID) })
	f.equal("KeysByID()", some, keys[1:])
}

func idOnce(f *fixture) {
	k := f.insert(f.key("aaaaaaaaaaaa", "ada"))
	second := f.key(k.ID, "bob")
	second.Name = "another"
	f.is("InsertKey(again)", f.store.InsertKey(f.Context(), second, anything), auth.ErrConflict)
	f.equal("the first", f.get(k.ID), k)
	_, err := f.store.Person(f.Context(), "bob")
	f.is("the owner of what was refused", err, auth.ErrNotFound)
}

func noKeyForDisabled(f *fixture) {
	f.ok(f.store.InsertPerson(f.Context(), "ada", at))
	f.ok(f.store.SetDisabled(f.Context(), "ada", at))
	f.is("InsertKey(disabled)", f.store.InsertKey(f.Context(), f.key("aaaaaaaaaaaa", "ada"), anything), auth.ErrConflict)
	_, err := f.store.Key(f.Context(), "aaaaaaaaaaaa")
	f.is("Key", err, auth.ErrNotFound)
}

func revokedOnce(f *fixture) {
	k := f.insert(f.key("aaaaaaaaaaaa", "ada"))
	f.equal("RevokeKey", f.revoke(k.ID, at.Add(time.Minute)), []string{k.ID})
	_, err := f.store.RevokeKey(f.Context(), k.ID, "key:other", at.Add(time.Hour))
	f.ok(err)
	k.Revoked, k.RevokedBy = at.Add(time.Minute), "shell:root"
	f.equal("the key", f.get(k.ID), k)
}

func usedForward(f *fixture) {
	a, b := f.insert(f.key("aaaaaaaaaaaa", "ada")), f.insert(f.key("bbbbbbbbbbbb", "ada"))
	before := f.changes(-1).Version
	f.ok(f.store.Used(f.Context(), nil))
	f.ok(f.store.Used(f.Context(), map[string]time.Time{a.ID: at.Add(time.Hour), b.ID: at, "zzzzzzzzzzzz": at}))
	f.ok(f.store.Used(f.Context(), map[string]time.Time{a.ID: at.Add(time.Minute), b.ID: at.Add(time.Minute)}))
	f.equal("used later", f.get(a.ID).LastUsed, at.Add(time.Hour))
	f.equal("used again", f.get(b.ID).LastUsed, at.Add(time.Minute))
	f.equal("the version", f.changes(-1).Version, before)

	many := map[string]time.Time{}
	for i := range 2500 {
		many[fmt.Sprintf("k%011d", i)] = at
	}
	many[b.ID] = at.Add(2 * time.Hour)
	f.ok(f.store.Used(f.Context(), many))
	f.equal("one of many", f.get(b.ID).LastUsed, at.Add(2*time.Hour))
}

func peopleByName(f *fixture) {
	people, err := f.store.People(f.Context())
	f.ok(err)
	f.equal("People() of an empty store", len(people), 0)
	f.insert(f.key("aaaaaaaaaaaa", "carol"))
	f.insert(f.key("bbbbbbbbbbbb", "carol"))
	f.revoke("bbbbbbbbbbbb", at)
	for range 2 {
		f.ok(f.store.InsertPerson(f.Context(), "Bob", at.Add(time.Minute)))
	}
	f.ok(f.store.InsertPerson(f.Context(), "carol", at.Add(time.Hour)))
	people, err = f.store.People(f.Context())
	f.ok(err)
	f.equal("People()", people, []auth.Person{{Name: "Bob", Created: at.Add(time.Minute)}, {Name: "carol", Created: at, Keys: 1}})
}

func disabledAndEnabled(f *fixture) {
	k := f.insert(f.key("aaaaaaaaaaaa", "ada"))
	f.ok(f.store.SetDisabled(f.Context(), "ada", at.Add(time.Minute)))
	f.equal("the key's owner", f.get(k.ID).OwnerDisabled, at.Add(time.Minute))
	p, err := f.store.Person(f.Context(), "ada")
	f.ok(err)
	f.equal("the person", p, auth.Person{Name: "ada", Created: at, Disabled: at.Add(time.Minute), Keys: 1})
	f.ok(f.store.SetDisabled(f.Context(), "ada", time.Time{}))
	f.equal("the key, enabled", f.get(k.ID), k)
}

func notFound(f *fixture) {
	ctx := f.Context()
	for range 2 { // with nothing in the store, and with something
		_, err := f.store.Key(ctx, "zzzzzzzzzzzz")
		f.is("Key", err, auth.ErrNotFound)
		_, err = f.store.RevokeKey(ctx, "zzzzzzzzzzzz", "", at)
		f.is("RevokeKey", err, auth.ErrNotFound)
		_, err = f.store.LowerKey(ctx, "zzzzzzzzzzzz", "*", auth.Viewer, "", at)
		f.is("LowerKey", err, auth.ErrNotFound)
		orphan := f.key("yyyyyyyyyyyy", "ada")
		orphan.Parent = "zzzzzzzzzzzz"
		f.is("InsertKey(without its parent)", f.store.InsertKey(ctx, orphan, anything), auth.ErrNotFound)
		_, err = f.store.Person(ctx, "nobody")
		f.is("Person", err, auth.ErrNotFound)
		f.is("SetDisabled", f.store.SetDisabled(ctx, "nobody", at), auth.ErrNotFound)
		f.equal("the version", f.changes(-1), auth.Changes{})
		f.insert(f.key(map[bool]string{true: "aaaaaaaaaaaa", false: "bbbbbbbbbbbb"}[f.empty()], "ada"))
	}
}

func (f *fixture) empty() bool {
	keys, err := f.store.Keys(f.Context())
	f.ok(err)
	return len(keys) == 0
}

func changesOnce(f *fixture) {
	ctx := f.Context()
	f.insert(f.key("aaaaaaaaaaaa", "ada"))
	f.insert(f.key("bbbbbbbbbbbb", "bob"))
	start := f.changes(-1)
	f.equal("before anything", f.changes(start.Version), start)
	f.revoke("aaaaaaaaaaaa", at)
	one := f.changes(start.Version)
	f.equal("a revoked key", one, auth.Changes{Version: start.Version + 1, Keys: []string{"aaaaaaaaaaaa"}})
	f.ok(f.store.SetDisabled(ctx, "bob", at))
	two := f.changes(one.Version)
	f.equal("a disabled person's names", two.People, []string{"bob"})
	f.equal("and keys", len(two.Keys), 0)
	f.equal("after that", f.changes(two.Version), auth.Changes{Version: two.Version})
	f.equal("the version alone", f.changes(-1), auth.Changes{Version: two.Version})
	both := f.changes(start.Version)
	f.equal("both keys", both.Keys, one.Keys)
	f.equal("both people", both.People, two.People)
	f.ok(f.store.SetDisabled(ctx, "bob", time.Time{}))
	f.equal("people after bob is enabled", len(f.changes(start.Version).People), 0)
}

// changesInOrder shows that a reader that follows the versions misses no change, however
// the transactions overlap.
func changesInOrder(f *fixture) {
	const writers, each = 4, 10
	id := func(w, i int) string { return fmt.Sprintf("w%05dk%05d", w, i) }
	for w := range writers {
		for i := range each {
			f.insert(f.key(id(w, i), "ada"))
		}
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := f.store.RevokeKey(f.Context(), id(w, i), "", at); err != nil {
					f.Error(err)
				}
			}
		})
	}
	var seen []string
	version := int64(0)
	look := func() {
		c := f.changes(version)
		seen = append(seen, c.Keys...)
		version = c.Version
	}
	done := make(chan struct{})
	go func() { defer close(done); wg.Wait() }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		look()
	}
	slices.Sort(seen)
	f.equal("keys that were seen", len(slices.Compact(slices.Clone(seen))), writers*each)
	f.equal("keys that were seen, with those seen twice", len(seen), writers*each)
}
