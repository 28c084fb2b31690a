package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
)

const (
	// linkLife is how long a link can be used.
	linkLife = 10 * time.Minute
	// maxSessions bounds the sessions of a SoloDoor, and maxLinks the links that are not used.
	maxSessions, maxLinks = 100, 100
)

// A SoloDoor lets the person at this machine in, by links that work once. Its sessions are
// in memory and end with the process.
type SoloDoor struct {
	caller func(context.Context) (*access.Caller, error)

	mu       sync.Mutex
	links    map[string]time.Time // when each ends
	sessions map[string]bool
}

var _ Door = (*SoloDoor)(nil)

// NewSoloDoor returns a SoloDoor. caller returns the person at this machine, with the
// projects that there are now.
func NewSoloDoor(caller func(context.Context) (*access.Caller, error)) *SoloDoor {
	return &SoloDoor{caller: caller, links: map[string]time.Time{}, sessions: map[string]bool{}}
}

// Keys is false: people come in by a link.
func (d *SoloDoor) Keys() bool { return false }

// Link returns the path of a link that lets one browser in, once, within ten minutes.
func (d *SoloDoor) Link() string {
	key := rand.Text()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expireLocked()
	if len(d.links) < maxLinks {
		d.links[key] = time.Now().Add(linkLife)
	}
	return "/signin?link=" + key
}

func (d *SoloDoor) expireLocked() {
	for key, until := range d.links {
		if time.Now().After(until) {
			delete(d.links, key)
		}
	}
}

// Enter makes a session for a link that was not used yet.
func (d *SoloDoor) Enter(_ context.Context, key string, _ *http.Request) (string, time.Time, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expireLocked()
	found := ""
	for link := range d.links {
		if subtle.ConstantTimeCompare([]byte(link), []byte(key)) == 1 {
			found = link
		}
	}
	if found == "" {
		return "", time.Time{}, &signInError{text: "This link was used already, or is too old. Run bossman board again for a new one."}
	}
	delete(d.links, found)
	if len(d.sessions) >= maxSessions {
		clear(d.sessions)
	}
	session := rand.Text()
	d.sessions[session] = true
	return session, time.Time{}, nil
}

// Caller returns the person at this machine.
func (d *SoloDoor) Caller(ctx context.Context, session string) (*access.Caller, error) {
	d.mu.Lock()
	known := false
	for s := range d.sessions {
		if subtle.ConstantTimeCompare([]byte(s), []byte(session)) == 1 {
			known = true
		}
	}
	d.mu.Unlock()
	if !known {
		return nil, auth.ErrUnauthenticated
	}
	return d.caller(ctx)
}

// Leave ends a session.
func (d *SoloDoor) Leave(_ context.Context, session string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sessions, session)
	return nil
}
