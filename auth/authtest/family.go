package authtest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/auth"
)

// family inserts a key of every project, two that were created from it, one of them in
// project api, one that was created from the first of these, and a stranger.
func (f *fixture) family() {
	f.Helper()
	for _, x := range []struct{ id, parent, project string }{
		{"aaaaaaaaaaaa", "", "*"}, {"bbbbbbbbbbbb", "aaaaaaaaaaaa", "*"}, {"cccccccccccc", "aaaaaaaaaaaa", "api"}, {"dddddddddddd", "bbbbbbbbbbbb", "web"}, {"eeeeeeeeeeee", "", "*"},
	} {
		k := f.key(x.id, "ada")
		k.Person, k.Role, k.Parent, k.Project = true, auth.Lead, x.parent, x.project
		f.insert(k)
	}
}

func revokedWithAll(f *fixture) {
	f.family()
	before := f.changes(-1).Version
	f.revoke("dddddddddddd", at)
	f.equal("RevokeKey", f.revoke("aaaaaaaaaaaa", at.Add(time.Minute)), []string{"aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", "dddddddddddd"})
	for id, when := range map[string]time.Time{"aaaaaaaaaaaa": at.Add(time.Minute), "cccccccccccc": at.Add(time.Minute), "dddddddddddd": at, "eeeeeeeeeeee": {}} {
		f.equal("when "+id+" was revoked", f.get(id).Revoked, when)
	}
	f.equal("who revoked a child", f.get("bbbbbbbbbbbb").RevokedBy, "shell:root")
	f.equal("the changes", len(f.changes(before).Keys), 4)
}

func loweredWithAll(f *fixture) {
	f.family()
	before := f.changes(-1).Version
	ids, err := f.store.LowerKey(f.Context(), "aaaaaaaaaaaa", "web", auth.Worker, "shell:root", at)
	f.ok(err)
	f.equal("LowerKey", ids, []string{"aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", "dddddddddddd"})
	f.equal("the changes", len(f.changes(before).Keys), 4)
	for id, want := range map[string]string{"aaaaaaaaaaaa": "web worker", "bbbbbbbbbbbb": "web worker", "cccccccccccc": "api worker shell:root", "dddddddddddd": "web worker", "eeeeeeeeeeee": "* lead"} {
		k := f.get(id)
		got := k.Project + " " + k.Role.String()
		if !k.Revoked.IsZero() {
			got += " " + k.RevokedBy
		}
		f.equal(id, got, want)
	}
	_, err = f.store.LowerKey(f.Context(), "aaaaaaaaaaaa", auth.EveryProject, auth.Admin, "", at)
	f.ok(err)
	f.equal("the role after a higher one", f.get("aaaaaaaaaaaa").Role, auth.Worker)
	f.equal("the project after every project", f.get("aaaaaaaaaaaa").Project, "web")
}

func renewedUnlessRevoked(f *fixture) {
	f.family()
	ctx, later := f.Context(), at.Add(time.Hour)
	f.ok(f.store.RenewKey(ctx, "dddddddddddd", later))
	f.equal("when it expires", f.get("dddddddddddd").Expires, later)
	f.is("RenewKey(unknown)", f.store.RenewKey(ctx, "zzzzzzzzzzzz", later), auth.ErrNotFound)
	f.revoke("aaaaaaaaaaaa", at)
	f.is("RenewKey(revoked)", f.store.RenewKey(ctx, "aaaaaaaaaaaa", later), auth.ErrNotFound)
	f.is("RenewKey(of a revoked one)", f.store.RenewKey(ctx, "bbbbbbbbbbbb", later), auth.ErrNotFound)
}

func renewedEverywhere(f *fixture) {
	here, _ := f.replica()
	there, _ := f.replica()
	soon := time.Now().Add(2 * time.Second)
	n := auth.NewKey{Owner: "ada", Person: true, Project: "web", Role: auth.Lead, Expires: soon, Machine: "laptop", By: "tok:ada"}
	k, text, err := here.CreateKey(f.Context(), n)
	f.ok(err)
	f.opens(there, text.Reveal())
	n.Expires = soon.Add(time.Hour)
	for what, edit := range map[string]func(*auth.NewKey){
		"another machine": func(n *auth.NewKey) { n.Machine = "tower" },
		"another person":  func(n *auth.NewKey) { n.Owner = "bob" },
		"another login":   func(n *auth.NewKey) { n.By = "tok:bob" },
		"a lower role":    func(n *auth.NewKey) { n.Role = auth.Worker },
		"a parent":        func(n *auth.NewKey) { n.Parent = k.ID },
	} {
		other := n
		edit(&other)
		_, err := here.RenewKey(f.Context(), k.ID, other)
		f.is(what, err, auth.ErrNotFound)
	}
	_, err = here.RenewKey(f.Context(), k.ID, n)
	f.ok(err)
	for time.Now().Before(soon.Add(500 * time.Millisecond)) { // without a gap when it would have ended
		f.opens(there, text.Reveal())
		f.opens(here, text.Reveal())
		time.Sleep(10 * time.Millisecond) // a pace, not a wait
	}
}

func allowedOrNot(f *fixture) {
	f.family()
	for i, expires := range []time.Time{{}, at.Add(time.Hour), at.Add(-time.Hour)} { // the last is not valid any more
		k := f.key(fmt.Sprintf("f%011d", i), "ada")
		k.Machine, k.Expires = "laptop", expires
		f.insert(k)
	}
	no := errors.New("no")
	k := f.key("gggggggggggg", "ada")
	k.Parent, k.Machine = "aaaaaaaaaaaa", "laptop"
	err := f.store.InsertKey(f.Context(), k, func(parent *auth.Key, machines int) error {
		f.equal("the parent", *parent, f.get("aaaaaaaaaaaa"))
		f.equal("keys for machines", machines, 2)
		return no
	})
	f.is("InsertKey", err, no)
	_, err = f.store.Key(f.Context(), k.ID)
	f.is("what was not allowed", err, auth.ErrNotFound)
	k.Owner, k.Parent = "bob", ""
	f.ok(f.store.InsertKey(f.Context(), k, func(parent *auth.Key, machines int) error {
		f.equal("no parent", *parent, auth.Key{})
		f.equal("another's keys", machines, 0)
		return nil
	}))
}

// createdMeanwhile: however creating and revoking overlap, no valid key is left.
func createdMeanwhile(f *fixture) {
	a := auth.New(f.store, nil)
	for round := range 8 {
		k := f.own(a, "ada")
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				_, _, err := a.CreateKey(f.Context(), auth.NewKey{Owner: "ada", Person: true, Project: "web", Role: auth.Lead, Expires: k.Expires, Machine: fmt.Sprint(i), Parent: k.ID})
				if err != nil && !errors.Is(err, auth.ErrDenied) {
					f.Error(err)
				}
			})
		}
		_, err := a.RevokeKey(f.Context(), k.ID, "")
		f.ok(err)
		wg.Wait()
		keys, err := f.store.Keys(f.Context())
		f.ok(err)
		for _, x := range keys {
			if x.Revoked.IsZero() {
				f.Fatalf("in round %d key %s of %s is left", round, x.ID, x.Parent)
			}
		}
	}
}

// machinesAtOnce: the maximum holds for logins at the same time.
func machinesAtOnce(f *fixture) {
	var wg sync.WaitGroup
	const most = 3
	full := errors.New("full")
	for i := range 4 * most {
		wg.Go(func() {
			k := f.key(fmt.Sprintf("k%011d", i), "ada")
			k.Machine = "laptop"
			err := f.store.InsertKey(f.Context(), k, func(_ *auth.Key, machines int) error {
				if machines >= most {
					return full
				}
				return nil
			})
			if err != nil && !errors.Is(err, full) {
				f.Error(err)
			}
		})
	}
	wg.Wait()
	keys, err := f.store.Keys(f.Context())
	f.ok(err)
	f.equal("keys", len(keys), most)
}

// own creates a person's own key.
func (f *fixture) own(a *auth.Authenticator, owner string) auth.Key {
	f.Helper()
	k, _, err := a.CreateKey(f.Context(), auth.NewKey{Owner: owner, Person: true, Project: auth.EveryProject, Role: auth.Lead, Expires: time.Now().Add(time.Hour), By: "shell:root"})
	f.ok(err)
	return k
}

// machine creates a key for a machine from another key.
func (f *fixture) machine(a *auth.Authenticator, parent auth.Key) (auth.Key, string) {
	f.Helper()
	k, text, err := a.CreateKey(f.Context(), machineOf(parent))
	f.ok(err)
	return k, text.Reveal()
}

func machineOf(parent auth.Key) auth.NewKey {
	return auth.NewKey{
		Owner: parent.Owner, Person: true, Project: parent.Project, Role: parent.Role, Expires: parent.Expires,
		Machine: "laptop", Parent: parent.ID, By: auth.KeyPrincipal(parent.ID),
	}
}

func childrenEverywhere(f *fixture) {
	here, _ := f.replica()
	there, _ := f.replica()
	parent := f.own(here, "ada")
	child, text := f.machine(here, parent)
	f.equal("who created it", child.CreatedBy, "key:"+parent.ID)
	p := f.opens(there, text)
	f.equal("the machine", p.Machine, "laptop")
	since := time.Now()
	ids, err := here.RevokeKey(f.Context(), parent.ID, "shell:root")
	f.ok(err)
	f.equal("what is revoked", len(ids), 2)
	f.ends(p, since)
	for _, a := range []*auth.Authenticator{here, there} {
		_, err := a.Token(f.Context(), text)
		f.equal("Token(revoked)", err, auth.ErrUnauthenticated)
	}
}

func loweredEverywhere(f *fixture) {
	here, _ := f.replica()
	there, _ := f.replica()
	parent := f.own(here, "ada")
	child, text := f.machine(here, parent)
	p := f.opens(there, text)
	since := time.Now()
	_, err := here.LowerKey(f.Context(), parent.ID, "web", auth.Viewer, "shell:root")
	f.ok(err)
	f.ends(p, since)
	if p = f.opens(there, text); p.Role("web") != auth.Viewer || p.Role("api") != auth.None {
		f.Errorf("a lowered key has %v", p.Grants)
	}
	for what, err := range map[string]error{
		"a higher role":   second(here.LowerKey(f.Context(), child.ID, "web", auth.Lead, "")),
		"another project": second(here.LowerKey(f.Context(), child.ID, "api", auth.Viewer, "")),
	} {
		f.is(what, err, auth.ErrInvalid)
	}
}

func second(_ []string, err error) error { return err }

func machinesCreateNothing(f *fixture) {
	a := auth.New(f.store, nil)
	parent := f.own(a, "ada")
	child, _ := f.machine(a, parent)
	agent, _ := f.create(a, "ada")
	for what, n := range map[string]auth.NewKey{
		"a machine's key": machineOf(child),
		"an agent's key":  machineOf(agent),
		"another's key":   func() auth.NewKey { n := machineOf(parent); n.Owner = "bob"; return n }(),
		"a higher role":   func() auth.NewKey { n := machineOf(parent); n.Role = auth.Admin; return n }(),
		"a longer life":   func() auth.NewKey { n := machineOf(parent); n.Expires = n.Expires.Add(time.Hour); return n }(),
		"no end":          func() auth.NewKey { n := machineOf(parent); n.Expires = time.Time{}; return n }(),
	} {
		_, _, err := a.CreateKey(f.Context(), n)
		f.is(what, err, auth.ErrDenied)
	}
	for range auth.MaxMachines - 1 {
		f.machine(a, parent)
	}
	_, _, err := a.CreateKey(f.Context(), machineOf(parent))
	f.is("one too many", err, auth.ErrDenied)
	_, err = a.RevokeKey(f.Context(), child.ID, "")
	f.ok(err)
	f.machine(a, parent)
	_, err = a.RevokeKey(f.Context(), parent.ID, "")
	f.ok(err)
	_, _, err = a.CreateKey(f.Context(), machineOf(parent))
	f.is("a revoked key", err, auth.ErrDenied)
}
