package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

// An Authenticator tells who calls. It remembers what it has checked, so that most
// calls cost no query. It is safe for concurrent use.
type Authenticator struct {
	store    Store
	o        Options
	log      *slog.Logger
	issuer   *issuer // nil: no tokens
	failures failures

	mu      sync.Mutex
	known   *lru[string, *entry]
	version int64     // of the changes that known reflects; -1: none yet
	polling bool      // Run runs
	fresh   time.Time // when the changes were last looked at, with success
	down    error     // why they could not be, since
	used    map[string]time.Time
}

// Options are the choices there are. The zero value is the usual one, without
// tokens.
type Options struct {
	// Poll is how often Run looks for revocations; 1 s if zero.
	Poll time.Duration
	// Size bounds how many keys and tokens are remembered; 65,536 if zero. Of what is
	// pushed out, Revoked is closed.
	Size int
	// ClientIP tells where a request came from, for counting failures. Nil: the
	// connection's other end. A program behind a proxy that it trusts reads the header.
	ClientIP func(*http.Request) string
	// Logger takes what concerns the operator. Nil: slog's default.
	Logger *slog.Logger

	// Issuer is the URL of an OAuth 2.1 authorization server whose access tokens are
	// taken, as in their iss. Empty: keys alone.
	Issuer string
	// Audience is the URL of this server, such as https://bossman.example/mcp. Only
	// tokens that were made for it are taken.
	Audience string
	// Rules give roles by a token's claims. Then a scope narrows what they give:
	// bossman:worker makes at most a worker of anybody. Without rules the scopes
	// themselves are roles, in every project.
	Rules []Rule
	// Algorithms may sign tokens; RS256, PS256, ES256 and EdDSA if nil. Those with a
	// shared secret, and none, are never taken.
	Algorithms []string
	// OwnerClaim names the person who answers; "sub" if empty. NameClaim is what
	// people are shown; "name", "preferred_username", "email" or "sub" if empty. A
	// user must not be able to change the first.
	OwnerClaim, NameClaim string
	// Human tells a person's tokens. Nil: every token but those that a program got for
	// itself, where sub is client_id or azp, or gty is client-credentials.
	Human *Match
	// Client fetches the issuer's keys. Nil: one of our own.
	Client *http.Client
}

const (
	usualPoll = time.Second
	usualSize = 1 << 16
	// grace is how long what was checked counts without another look at the store.
	grace = 5 * time.Second
	// lookTime bounds one look.
	lookTime = 3 * time.Second
)

// New makes an Authenticator over a store. What Options say about tokens is
// checked by Check.
func New(s Store, o *Options) *Authenticator {
	a := &Authenticator{store: s, version: -1, used: map[string]time.Time{}}
	if o != nil {
		a.o = *o
	}
	if a.o.Poll <= 0 {
		a.o.Poll = usualPoll
	}
	if a.o.Size <= 0 {
		a.o.Size = usualSize
	}
	if a.o.ClientIP == nil {
		a.o.ClientIP = remoteHost
	}
	if a.log = a.o.Logger; a.log == nil {
		a.log = slog.Default()
	}
	a.known = newLRU(a.o.Size, func(_ string, e *entry) { close(e.revoked) })
	if a.o.Issuer != "" {
		a.issuer = newIssuer(&a.o)
	}
	return a
}

// An entry is a credential that the store knows. Of a key it is remembered as soon as
// somebody names its id, also with a wrong secret, so that guessing costs no queries.
type entry struct {
	principal *Principal
	hash      [32]byte // of a key's secret; zero for a token, which is found by its hash
	revoked   chan struct{}
	checked   time.Time // when the store was asked; guarded by the Authenticator's lock
	noted     time.Time // when its last use was noted; the same
}

// Token tells who shows a key or an access token.
func (a *Authenticator) Token(ctx context.Context, token string) (*Principal, error) {
	return a.check(ctx, token, "")
}

// check is Token for somebody at an address, which may be unknown.
func (a *Authenticator) check(ctx context.Context, token, from string) (*Principal, error) {
	var p *Principal
	var err error
	switch {
	case strings.HasPrefix(token, keyPrefix):
		p, err = a.key(ctx, token, from)
	case a.issuer != nil:
		p, err = a.token(ctx, token, from)
	default:
		err = a.failures.add(from, "")
	}
	if err != nil {
		return nil, err
	}
	if !p.Expires.IsZero() && !time.Now().Before(p.Expires) {
		return nil, ErrUnauthenticated
	}
	return p, nil
}

func (a *Authenticator) key(ctx context.Context, text, from string) (*Principal, error) {
	id, hash, ok := parseKey(text)
	if !ok {
		return nil, a.failures.add(from, "")
	}
	e, err := a.remembered(id)
	if err != nil {
		return nil, err
	}
	if e == nil {
		if err := a.failures.full(from, id); err != nil {
			return nil, err
		}
		if e, err = a.lookUp(ctx, id, func(ctx context.Context) (*entry, error) { return a.findKey(ctx, id) }); err != nil {
			return nil, err
		}
	}
	var want [32]byte // an unknown id is compared too
	if e != nil {
		want = e.hash
	}
	if subtle.ConstantTimeCompare(hash[:], want[:]) != 1 || e == nil {
		return nil, a.failures.add(from, id)
	}
	a.note(e)
	return e.principal, nil
}

// findKey asks the store for a key. Nil is that it opens nothing.
func (a *Authenticator) findKey(ctx context.Context, id string) (*entry, error) {
	k, err := a.store.Key(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case k.Ended(time.Now()):
		return nil, nil
	}
	e := &entry{hash: k.Hash, revoked: make(chan struct{}), noted: k.LastUsed}
	e.principal = k.principal(e.revoked)
	return e, nil
}

// remembered gives what is known and still counts; nil if the store must be asked.
func (a *Authenticator) remembered(name string) (*entry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if a.polling && a.down != nil && now.Sub(a.fresh) > grace {
		return nil, unavailable(a.down)
	}
	e, ok := a.known.get(name)
	if !ok || now.Sub(e.checked) > grace && now.Sub(a.fresh) > grace {
		return nil, nil
	}
	return e, nil
}

// lookUp asks the store by find, and remembers the answer. Nothing that is revoked
// meanwhile slips through: if Run has seen a change, the store is asked again.
func (a *Authenticator) lookUp(ctx context.Context, name string, find func(context.Context) (*entry, error)) (*entry, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for {
		asked := time.Now()
		version, err := a.since(ctx)
		if err != nil {
			return nil, unavailable(err)
		}
		e, err := find(ctx)
		if err != nil {
			return nil, unavailable(err)
		}
		a.mu.Lock()
		if a.version != version {
			a.mu.Unlock()
			continue
		}
		e = a.rememberLocked(name, e, asked)
		a.mu.Unlock()
		return e, nil
	}
}

// since is the version from which on changes count for what is remembered.
func (a *Authenticator) since(ctx context.Context) (int64, error) {
	a.mu.Lock()
	version := a.version
	a.mu.Unlock()
	if version >= 0 {
		return version, nil
	}
	c, err := a.store.Changes(ctx, -1)
	if err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.version < 0 {
		a.version = c.Version
	}
	return a.version, nil
}

// rememberLocked keeps an entry. One that is there and says the same stays, with its
// streams.
func (a *Authenticator) rememberLocked(name string, e *entry, asked time.Time) *entry {
	if e == nil {
		a.known.remove(name)
		return nil
	}
	if old, ok := a.known.get(name); ok && old.principal.Key == e.principal.Key {
		// Of a key nothing changes but that it ends; a token is what it was.
		old.checked = asked
		return old
	}
	e.checked = asked
	a.known.put(name, e)
	return e
}

// noteEvery is how often a key's last use is written, at most.
const noteEvery = time.Minute

// note keeps a key's last use for Run to write.
func (a *Authenticator) note(e *entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if !a.polling || now.Sub(e.noted) < noteEvery || len(a.used) >= a.o.Size {
		return
	}
	e.noted = now
	a.used[e.principal.Key] = now
}

// CreateKey makes a key. Its text is given this once and not kept.
func (a *Authenticator) CreateKey(ctx context.Context, n NewKey) (Key, Secret, error) {
	if n.Name == "" && n.Owner != "" {
		n.Name = n.Owner
		if !n.Person {
			n.Name += "'s agent"
		}
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	if err := n.check(now); err != nil {
		return Key{}, "", err
	}
	id, text, hash := newKey()
	k := Key{
		ID: id, Name: n.Name, Owner: n.Owner, Person: n.Person, Project: n.Project, Role: n.Role,
		Created: now, Expires: n.Expires.UTC().Truncate(time.Microsecond), Hash: hash,
	}
	if n.Expires.IsZero() {
		k.Expires = time.Time{}
	}
	if err := a.store.InsertKey(ctx, k); err != nil {
		return Key{}, "", fmt.Errorf("create a key for %s: %w", n.Owner, err)
	}
	return k, text, nil
}

// RevokeKey ends a key, for good. On other replicas it takes at most five seconds.
func (a *Authenticator) RevokeKey(ctx context.Context, id string) error {
	if err := a.store.RevokeKey(ctx, id, time.Now()); err != nil {
		return fmt.Errorf("revoke key %.40q: %w", id, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known.remove(id)
	return nil
}

// Keys lists all keys, also those that have ended.
func (a *Authenticator) Keys(ctx context.Context) ([]Key, error) { return a.store.Keys(ctx) }

// DisablePerson ends all keys and tokens of a person, until EnablePerson.
func (a *Authenticator) DisablePerson(ctx context.Context, name string) error {
	if err := a.store.SetDisabled(ctx, name, time.Now()); err != nil {
		return fmt.Errorf("disable %.100q: %w", name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgetLocked(Changes{People: []string{name}})
	return nil
}

// EnablePerson takes DisablePerson back. Keys that were revoked stay so.
func (a *Authenticator) EnablePerson(ctx context.Context, name string) error {
	if err := a.store.SetDisabled(ctx, name, time.Time{}); err != nil {
		return fmt.Errorf("enable %.100q: %w", name, err)
	}
	return nil
}

// People lists whoever owns a key or has shown a token.
func (a *Authenticator) People(ctx context.Context) ([]Person, error) { return a.store.People(ctx) }
