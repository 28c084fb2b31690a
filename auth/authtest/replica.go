package authtest

import (
	"context"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/auth"
)

// effective is how soon a revocation must take effect on all replicas.
const effective = 5 * time.Second

// replica is one of several programs that share the store.
func (f *fixture) replica() (a *auth.Authenticator, stop func()) {
	a = auth.New(f.store, nil)
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			f.Errorf("Run() = %v", err)
		}
	}
	f.Cleanup(stop)
	return a, stop
}

func (f *fixture) create(a *auth.Authenticator, owner string) (auth.Key, string) {
	f.Helper()
	k, text, err := a.CreateKey(f.Context(), auth.NewKey{Owner: owner, Project: "web", Role: auth.Lead, Expires: time.Now().Add(time.Hour)})
	f.ok(err)
	return k, text.Reveal()
}

// opens returns the principal of a key that must be valid.
func (f *fixture) opens(a *auth.Authenticator, text string) *auth.Principal {
	f.Helper()
	p, err := a.Token(f.Context(), text)
	f.ok(err)
	return p
}

// ends waits until a principal is revoked.
func (f *fixture) ends(p *auth.Principal, since time.Time) {
	f.Helper()
	select {
	case <-p.Revoked:
	case <-time.After(effective - time.Since(since)):
		f.Errorf("%s has not ended after %v", p.Name, effective)
	}
}

func keyOpens(f *fixture) {
	a := auth.New(f.store, nil)
	k, text := f.create(a, "ada")
	p := f.opens(a, text)
	if p.ID != "key:"+k.ID || p.Key != k.ID || p.Owner != "ada" || p.Name != "ada's agent" || p.Person || p.Role("web") != auth.Lead || p.Role("shop") != auth.None {
		f.Errorf("Token() = %+v", p)
	}
	if stored := f.get(k.ID); !stored.Expires.Equal(k.Expires) || strings.Contains(show(stored), text) {
		f.Errorf("stored is %+v", stored)
	}
	_, other := f.create(a, "bob")
	parts, others := strings.Split(text, "_"), strings.Split(other, "_")
	for what, s := range map[string]string{
		"another's secret": strings.Join([]string{parts[0], parts[1], others[2]}, "_"),
		"a cut key":        text[:len(text)-1],
		"nothing":          "",
	} {
		_, err := a.Token(f.Context(), s)
		f.equal(what, err, auth.ErrUnauthenticated)
	}
	_, err := a.RevokeKey(f.Context(), k.ID, "")
	f.ok(err)
	_, err = a.Token(f.Context(), text)
	f.equal("a revoked key", err, auth.ErrUnauthenticated)
}

func revokedEverywhere(f *fixture) {
	here, _ := f.replica()
	there, _ := f.replica()
	k, text := f.create(here, "ada")
	_, other := f.create(here, "bob")
	p, q := f.opens(there, text), f.opens(here, text)
	stays := f.opens(there, other)
	since := time.Now()
	_, err := here.RevokeKey(f.Context(), k.ID, "")
	f.ok(err)
	f.ends(q, since)
	f.ends(p, since)
	for _, a := range []*auth.Authenticator{here, there} {
		_, err := a.Token(f.Context(), text)
		f.equal("Token(revoked)", err, auth.ErrUnauthenticated)
		f.opens(a, other)
	}
	select {
	case <-stays.Revoked:
		f.Error("another key has ended too")
	default:
	}
}

func disabledEverywhere(f *fixture) {
	here, _ := f.replica()
	there, _ := f.replica()
	_, text := f.create(here, "ada")
	_, second := f.create(here, "ada")
	p, q := f.opens(there, text), f.opens(there, second)
	since := time.Now()
	f.ok(here.DisablePerson(f.Context(), "ada"))
	f.ends(p, since)
	f.ends(q, since)
	_, err := there.Token(f.Context(), text)
	f.equal("Token(disabled)", err, auth.ErrUnauthenticated)
	f.ok(here.EnablePerson(f.Context(), "ada"))
	f.opens(there, text)
	f.opens(here, second)
}

func lastUse(f *fixture) {
	a, stop := f.replica()
	k, text := f.create(a, "ada")
	// Uses are recorded only once Run has started.
	for deadline := time.Now().Add(effective); ; {
		before := time.Now().Add(-time.Second)
		f.opens(a, text)
		stop()
		if used := f.get(k.ID).LastUsed; used.After(before) {
			return
		}
		if time.Now().After(deadline) {
			f.Fatalf("LastUsed = %v", f.get(k.ID).LastUsed)
		}
		a, stop = f.replica()
	}
}
