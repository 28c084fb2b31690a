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
	"sync/atomic"
	"time"
)

// An Authenticator authenticates callers by their keys and tokens. It caches the results,
// so that most calls need no query. It is safe for concurrent use.
type Authenticator struct {
	store    Store
	o        Options
	log      *slog.Logger
	issuer   *issuer // nil: no tokens
	failures failures
	direct   atomic.Int32 // keys that are being looked for
	bulk     bulk
	told     map[string]int // how often Options.Revoked is still to be told of a key; used by Run

	mu      sync.Mutex
	known   *lru[string, *entry]
	invalid *lru[string, time.Time] // ids of keys that are not valid, and when the store said so
	version int64                   // of the changes that known reflects; -1 at first
	polling bool                    // Run is running
	fresh   time.Time               // when the changes were last read successfully
	down    error                   // why they could not be read since
	used    map[string]time.Time    // last uses of keys, to be written by Run
	expired []string                // ids of keys that were evicted after their end, for Run
}

// Options configures an Authenticator. The zero value selects the defaults, without tokens.
type Options struct {
	// Poll is the interval at which Run reads revocations; default 1 s.
	Poll time.Duration
	// Size is the maximum number of cached keys and tokens; default 65,536. Revoked is
	// closed for those that are evicted.
	Size int
	// ClientIP returns the address of a request's client, for counting failures; default
	// the remote address. A program behind a trusted proxy can read a header instead.
	ClientIP func(*http.Request) string
	// Logger logs what concerns the operator; default slog.Default().
	Logger *slog.Logger
	// Revoked, if not nil, is called by Run with the ids of principals after this process
	// has begun to reject them, because their key was revoked or has expired, or their owner
	// was disabled; or because their key was lowered. Expired keys are among them only if
	// this process has them in its cache.
	// It is called again with the next polls for keys that have ended: a call that had begun
	// before may end after.
	// Tokens are among them only if this process has them in its cache.
	Revoked func(ctx context.Context, principals []string)

	// Issuer is the URL of the OAuth 2.1 authorization server whose access tokens are
	// accepted, as in their claim iss. Empty: only keys are accepted.
	Issuer string
	// Audience is the URL of this server, such as https://bossman.example/mcp. Only
	// tokens for this audience are accepted.
	Audience string
	// Rules map a token's claims to roles. With rules, a scope limits the roles:
	// bossman:worker allows at most the role worker. Without rules, the scopes themselves
	// are roles in every project.
	Rules []Rule
	// Algorithms are the accepted signature algorithms; default RS256, PS256, ES256 and
	// EdDSA. Algorithms with a shared secret, and none, are never accepted.
	Algorithms []string
	// OwnerClaim is the claim with the owner of a token; default sub. Users must not be
	// able to change it. NameClaim is the claim with the name that is shown beside
	// the owner; default name, preferred_username or email.
	OwnerClaim, NameClaim string
	// Person matches the tokens of people: those with one of these claims, unless the token
	// itself says that a program got it for itself, or uses it for somebody. Empty: no token
	// is a person's. Issuers have no common way to tell people from programs.
	Person []Match
	// Client fetches the issuer's keys; default a client of its own.
	Client *http.Client
}

const (
	defaultPoll = time.Second
	defaultSize = 1 << 16
	// grace is how long a cached result is valid without another query.
	grace = 5 * time.Second
	// queryTimeout is the timeout of a query.
	queryTimeout = 3 * time.Second
	// maxDirect is the maximum number of keys that are looked for at once with a query
	// each.
	maxDirect = 16
	// invalidSize is the maximum number of cached ids of keys that are not valid.
	invalidSize = 1 << 14
)

// New returns an Authenticator with a store. Options.Check validates the options.
func New(s Store, o *Options) *Authenticator {
	a := &Authenticator{store: s, version: -1, used: map[string]time.Time{}, told: map[string]int{}}
	if o != nil {
		a.o = *o
	}
	if a.o.Poll <= 0 {
		a.o.Poll = defaultPoll
	}
	if a.o.Size <= 0 {
		a.o.Size = defaultSize
	}
	if a.o.ClientIP == nil {
		a.o.ClientIP = remoteHost
	}
	if a.log = a.o.Logger; a.log == nil {
		a.log = slog.Default()
	}
	a.bulk.read = s.KeysByID
	a.invalid = newLRU[string, time.Time](invalidSize, nil)
	a.known = newLRU(a.o.Size, a.evictedLocked)
	if a.o.Issuer != "" {
		a.issuer = newIssuer(&a.o)
	}
	return a
}

// An entry is a cached credential that the store knows. A key is cached as soon as its id
// is used, even with a wrong secret, so that guessing needs no queries.
type entry struct {
	principal *Principal
	hash      [32]byte // of a key's secret; zero for a token, which is cached by its hash
	revoked   chan struct{}
	// Guarded by the Authenticator's mutex.
	checked time.Time // when the store was queried
	noted   time.Time // when its last use was recorded
}

// evictedLocked is called for every entry that is removed from the cache.
func (a *Authenticator) evictedLocked(_ string, e *entry) {
	close(e.revoked)
	if a.polling && e.principal.Key != "" && e.principal.expired(time.Now()) {
		a.expired = append(a.expired, e.principal.Key)
	}
}

// Token authenticates the holder of a key or an access token.
func (a *Authenticator) Token(ctx context.Context, token string) (*Principal, error) {
	return a.check(ctx, token, "")
}

// check is Token for a client at an address, which may be empty.
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
	if p.expired(time.Now()) {
		return nil, ErrUnauthenticated
	}
	return p, nil
}

func (a *Authenticator) key(ctx context.Context, text, from string) (*Principal, error) {
	id, hash, ok := parseKey(text)
	if !ok {
		return nil, a.failures.add(from, "")
	}
	e, err := a.cached(id)
	if err != nil {
		return nil, err
	}
	if e == nil && !a.isInvalid(id) {
		// A good key is found however many wrong ones came from its address, or with its
		// id: these only cost it a short wait.
		find := a.store.Key
		if a.direct.Add(1) > maxDirect || a.failures.full(from, id) {
			find = a.bulk.key
		}
		defer a.direct.Add(-1)
		if e, err = a.lookUp(ctx, id, func(ctx context.Context) (*entry, error) { return a.findKey(ctx, find, id) }); err != nil {
			return nil, err
		}
	}
	var want [32]byte // also compare for an unknown id, in constant time
	if e != nil {
		want = e.hash
	}
	if subtle.ConstantTimeCompare(hash[:], want[:]) != 1 || e == nil {
		return nil, a.failures.add(from, id)
	}
	a.note(e)
	return e.principal, nil
}

// findKey reads a key from the store. It returns nil if the key is not valid.
func (a *Authenticator) findKey(ctx context.Context, find func(context.Context, string) (Key, error), id string) (*entry, error) {
	k, err := find(ctx, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	if now := time.Now(); err != nil || k.Ended(now) {
		if k.OwnerDisabled.IsZero() { // so that a person who is enabled again need not wait
			a.mu.Lock()
			defer a.mu.Unlock()
			a.invalid.put(id, now)
		}
		return nil, nil
	}
	e := &entry{hash: k.Hash, revoked: make(chan struct{}), noted: k.LastUsed}
	e.principal = k.principal(e.revoked)
	return e, nil
}

// isInvalid reports whether the store had no valid key with an id within the last seconds,
// so that somebody who keeps sending an old key costs no queries.
func (a *Authenticator) isInvalid(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked, ok := a.invalid.get(id)
	return ok && time.Since(asked) < grace
}

// cached returns a valid cached entry; nil if the store must be queried.
func (a *Authenticator) cached(name string) (*entry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if a.polling && a.down != nil && now.Sub(a.fresh) > grace {
		return nil, unavailable(a.down)
	}
	e, ok := a.known.get(name)
	if !ok || now.Sub(e.checked) > grace && now.Sub(a.fresh) > grace || e.principal.expired(now) { // it may have been renewed
		return nil, nil
	}
	return e, nil
}

// lookUp queries the store with find and caches the result. If Run reads a revocation
// during the query, lookUp queries again, so that none is missed.
func (a *Authenticator) lookUp(ctx context.Context, name string, find func(context.Context) (*entry, error)) (*entry, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
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
		e = a.cacheLocked(name, e, asked)
		a.mu.Unlock()
		return e, nil
	}
}

// since returns the version of the changes that the cache reflects.
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

// cacheLocked caches an entry. It keeps an existing entry of the same credential, whose
// Revoked is in use.
func (a *Authenticator) cacheLocked(name string, e *entry, asked time.Time) *entry {
	if e == nil {
		a.known.remove(name)
		return nil
	}
	if old, ok := a.known.get(name); ok && old.principal.sameAs(e.principal) {
		old.checked = asked
		return old
	}
	e.checked = asked
	a.known.put(name, e)
	return e
}

// noteEvery is the minimum interval between two records of a key's last use.
const noteEvery = time.Minute

// note records a key's last use, for Run to write.
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

// CreateKey creates a key. The secret text is returned only here, and not stored.
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
		Machine: n.Machine, Parent: n.Parent, CreatedBy: n.By,
		Created: now, Expires: n.Expires.UTC().Truncate(time.Microsecond), Hash: hash,
	}
	if n.Expires.IsZero() {
		k.Expires = time.Time{}
	}
	if err := a.store.InsertKey(ctx, k, k.allowed); err != nil {
		return Key{}, "", fmt.Errorf("create key for %s: %w", n.Owner, err)
	}
	return k, text, nil
}

// RenewKey renews a machine's key instead of creating another one: if the key with this id
// is valid, and is what CreateKey would create from n, it expires when n says, and RenewKey
// returns it. Otherwise the error is ErrNotFound.
func (a *Authenticator) RenewKey(ctx context.Context, id string, n NewKey) (Key, error) {
	k, err := a.store.Key(ctx, id)
	if err != nil {
		return Key{}, fmt.Errorf("renew key %.40q: %w", id, err)
	}
	if k.Ended(time.Now()) || k.Machine == "" || k.Machine != n.Machine || k.Owner != n.Owner || k.Person != n.Person ||
		k.Parent != n.Parent || k.CreatedBy != n.By || k.Project != n.Project || k.Role != n.Role {
		return Key{}, fmt.Errorf("renew key %.40q: %w: it is another one", id, ErrNotFound)
	}
	k.Expires = n.Expires.UTC().Truncate(time.Microsecond)
	if err := a.store.RenewKey(ctx, id, k.Expires); err != nil {
		return Key{}, fmt.Errorf("renew key %.40q: %w", id, err)
	}
	return k, nil
}

// RevokeKey revokes a key permanently, with all keys that were created from it, and returns
// their ids. It takes effect on other replicas within five seconds. by is as in
// Key.RevokedBy.
func (a *Authenticator) RevokeKey(ctx context.Context, id, by string) ([]string, error) {
	ids, err := a.store.RevokeKey(ctx, id, by, time.Now())
	if err != nil {
		return nil, fmt.Errorf("revoke key %.40q: %w", id, err)
	}
	a.forget(Changes{Keys: ids})
	return ids, nil
}

// LowerKey limits a key, and all keys that were created from it, to a role, and to a project
// or EveryProject. It returns their ids. They keep only what they had before and what is
// allowed now. On other replicas it takes effect within five seconds: streams end, as with
// RevokeKey, and clients come back with the rights that are left.
func (a *Authenticator) LowerKey(ctx context.Context, id, project string, role Role, by string) ([]string, error) {
	k, err := a.store.Key(ctx, id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("lower key %.40q: %w", id, err)
	case k.Ended(time.Now()):
		return nil, fmt.Errorf("%w: key %s of %s is not valid any more", ErrConflict, k.ID, k.Owner)
	case role <= None || role > k.Role:
		return nil, invalid("key %s of %s has the role %v, and can only be lowered; for more rights create a new key", k.ID, k.Owner, k.Role)
	case !validProject(project) || k.Project != EveryProject && project != EveryProject && project != k.Project:
		return nil, invalid("key %s of %s is valid in %s, and not in %.40q", k.ID, k.Owner, k.Project, project)
	}
	ids, err := a.store.LowerKey(ctx, id, project, role, by, time.Now())
	if err != nil {
		return nil, fmt.Errorf("lower key %.40q: %w", id, err)
	}
	a.forget(Changes{Keys: ids})
	return ids, nil
}

// Keys lists all keys, including those that are no longer valid.
func (a *Authenticator) Keys(ctx context.Context) ([]Key, error) { return a.store.Keys(ctx) }

// Principals lists the ids of the principals of a person's keys, including those that are
// no longer valid.
func (a *Authenticator) Principals(ctx context.Context, owner string) ([]string, error) {
	keys, err := a.store.Keys(ctx)
	var ids []string
	for _, k := range keys {
		if k.Owner == owner {
			ids = append(ids, KeyPrincipal(k.ID))
		}
	}
	return ids, err
}

// DisablePerson invalidates all keys and tokens of a person, until EnablePerson.
func (a *Authenticator) DisablePerson(ctx context.Context, name string) error {
	if err := a.store.SetDisabled(ctx, name, time.Now()); err != nil {
		return fmt.Errorf("disable %.100q: %w", name, err)
	}
	a.forget(Changes{People: []string{name}})
	return nil
}

// EnablePerson undoes DisablePerson. Revoked keys stay revoked.
func (a *Authenticator) EnablePerson(ctx context.Context, name string) error {
	if err := a.store.SetDisabled(ctx, name, time.Time{}); err != nil {
		return fmt.Errorf("enable %.100q: %w", name, err)
	}
	return nil
}

// People lists the people who own a key or have used a token with a role.
func (a *Authenticator) People(ctx context.Context) ([]Person, error) { return a.store.People(ctx) }
