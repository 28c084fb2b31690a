package auth

import (
	"context"
	"slices"
	"strings"
	"time"
)

const (
	// writeEvery is the interval at which the last uses of keys are written.
	writeEvery = 10 * time.Second
	// finalTimeout is the timeout of the write when Run ends.
	finalTimeout = 2 * time.Second
)

// Run reads revocations, evicts expired credentials, and writes the last uses of keys, until
// ctx ends. Without Run, each credential is queried again after five seconds, Revoked is
// never closed, and no last use is written.
func (a *Authenticator) Run(ctx context.Context) error {
	a.mu.Lock()
	a.polling = true
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.polling = false
		a.mu.Unlock()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalTimeout)
		defer cancel()
		a.writeUsed(last)
	}()
	tick := time.NewTicker(a.o.Poll)
	defer tick.Stop()
	written := time.Now()
	for {
		a.expire(ctx)
		a.poll(ctx)
		if time.Since(written) >= writeEvery {
			written = time.Now()
			a.writeUsed(ctx)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// poll reads the changes since the last poll, and evicts what was revoked.
func (a *Authenticator) poll(ctx context.Context) {
	look, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	asked := time.Now()
	version, err := a.since(look)
	var c Changes
	if err == nil {
		c, err = a.store.Changes(look, version)
	}
	if ctx.Err() != nil {
		return
	}
	evicted, err := a.apply(c, version, asked, err)
	if err == nil && a.o.Revoked != nil && len(c.Keys)+len(c.People) > 0 {
		a.tellRevoked(ctx, c, evicted)
	}
}

// apply evicts what was revoked since a version, and returns the ids of the principals that
// forgetLocked returns.
func (a *Authenticator) apply(c Changes, version int64, asked time.Time, err error) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		if a.down == nil {
			a.log.Warn("reading revoked keys failed", "err", err)
		}
		a.down = err
		return nil, err
	}
	if c.Version < version { // the store was restored from a backup
		a.known.removeIf(func(string, *entry) bool { return true })
	}
	evicted := a.forgetLocked(c)
	a.version, a.fresh, a.down = c.Version, asked, nil
	return evicted, nil
}

// tellAgain is how many times Options.Revoked is told of a key after the first.
const tellAgain = 3

// tellRevoked calls Options.Revoked for what has just changed.
func (a *Authenticator) tellRevoked(ctx context.Context, c Changes, evicted []string) {
	for _, id := range c.Keys {
		evicted = append(evicted, KeyPrincipal(id))
	}
	for _, name := range c.People {
		principals, err := a.Principals(ctx, name)
		if err != nil {
			a.log.Warn("reading the keys of a disabled person failed", "err", err)
		}
		evicted = append(evicted, principals...)
	}
	slices.Sort(evicted)
	evicted = slices.Compact(evicted)
	a.o.Revoked(ctx, evicted)
	for _, principal := range evicted {
		if id, ok := strings.CutPrefix(principal, KeyPrincipal("")); ok {
			a.told[id] = tellAgain
		}
	}
}

// forget evicts what was revoked, lowered or disabled.
func (a *Authenticator) forget(c Changes) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgetLocked(c)
}

// forgetLocked evicts what was revoked, lowered or disabled. It returns the ids of the
// principals of people that were disabled, and of keys whose parent was revoked.
func (a *Authenticator) forgetLocked(c Changes) (evicted []string) {
	for _, id := range c.Keys {
		a.known.remove(id)
	}
	if len(c.Keys)+len(c.People) > 0 {
		a.known.removeIf(func(_ string, e *entry) bool {
			gone := slices.Contains(c.People, e.principal.Owner) || e.principal.parent != "" && slices.Contains(c.Keys, e.principal.parent)
			if gone {
				evicted = append(evicted, e.principal.ID)
			}
			return gone
		})
	}
	return evicted
}

// expire evicts expired credentials. It calls Options.Revoked for keys that have expired, and
// again for those that were revoked with the last polls, if they have ended: a key may have
// been renewed, or only lowered.
func (a *Authenticator) expire(ctx context.Context) {
	now := time.Now()
	a.mu.Lock()
	a.known.removeIf(func(_ string, e *entry) bool { return e.principal.expired(now) })
	ids := a.expired
	a.expired = nil
	a.mu.Unlock()
	for id, left := range a.told {
		ids = append(ids, id)
		if a.told[id]--; left == 1 {
			delete(a.told, id)
		}
	}
	if len(ids) == 0 || a.o.Revoked == nil {
		return
	}
	look, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	keys, err := a.store.KeysByID(look, ids)
	if err != nil {
		a.log.Warn("reading keys that have ended failed", "err", err)
	}
	var ended []string
	for _, k := range keys {
		if k.Ended(now) {
			ended = append(ended, KeyPrincipal(k.ID))
		}
	}
	if len(ended) > 0 {
		a.o.Revoked(ctx, ended)
	}
}

// writeUsed writes the recorded last uses. If it fails, the next call tries again.
func (a *Authenticator) writeUsed(ctx context.Context) {
	a.mu.Lock()
	used := a.used
	a.used = map[string]time.Time{}
	a.mu.Unlock()
	if len(used) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err := a.store.Used(ctx, used)
	if err == nil {
		return
	}
	a.log.Warn("writing the last uses of keys failed", "err", err)
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, at := range used {
		if at.After(a.used[id]) {
			a.used[id] = at
		}
	}
}
