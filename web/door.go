package web

import (
	"context"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/access"
)

// A Door decides who may see the site. Its sessions are secrets that a browser keeps in a
// cookie. An implementation is safe for concurrent use.
type Door interface {
	// Enter makes a session for whoever has a key, which came with a request. The error says
	// in plain words why not. The zero time means that the session ends with the process.
	Enter(ctx context.Context, key string, r *http.Request) (session string, expires time.Time, err error)
	// Caller returns who a session belongs to, always a person. The error is an
	// auth.ErrUnauthenticated if the session is not valid.
	Caller(ctx context.Context, session string) (*access.Caller, error)
	// Leave ends a session. Ending one that has ended is no error.
	Leave(ctx context.Context, session string) error
	// Keys reports whether people sign in with a key that they type.
	Keys() bool
}
