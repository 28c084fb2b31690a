package server

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/bossman-dev/bossman/auth"
)

// sparePrefix begins the keys for one run.
const sparePrefix = "bossman_local_"

// A spareKey opens a server that has no keys, from its own machine, as long as it
// runs.
type spareKey struct {
	text auth.Secret
	who  *auth.Principal
}

func newSpareKey() *spareKey {
	return &spareKey{
		text: auth.Secret(sparePrefix + strings.ToLower(rand.Text()+rand.Text())),
		who: &auth.Principal{
			ID: "key:local", Name: "local", Person: true, Owner: "local",
			Grants: map[string]auth.Role{auth.EveryProject: auth.Admin},
		},
	}
}

// IsSpareKey reports whether a text looks like a key for one run.
func IsSpareKey(text string) bool { return strings.HasPrefix(text, sparePrefix) }

// principal is whoever shows the key, or nil.
func (k *spareKey) principal(r *http.Request) *auth.Principal {
	shown := r.Header.Get("X-Api-Token")
	if shown == "" {
		shown, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	if subtle.ConstantTimeCompare([]byte(shown), []byte(k.text.Reveal())) != 1 {
		return nil
	}
	return k.who
}
