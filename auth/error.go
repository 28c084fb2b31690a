package auth

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// What a caller can do about an error decides its kind; errors.Is finds it. People read
// these texts, so they do not begin with the name of the package.
var (
	// ErrUnauthenticated: the request has no valid credential. It does not say
	// why: a key that is unknown, wrong, revoked or expired looks the same.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrMissing is ErrUnauthenticated for a request without any credential.
	ErrMissing = fmt.Errorf("%w: no credential", ErrUnauthenticated)
	// ErrMalformed is ErrUnauthenticated for a request with several credentials, or
	// one that is none.
	ErrMalformed = fmt.Errorf("%w: send one credential, in X-Api-Token or as Authorization: Bearer", ErrUnauthenticated)
	// ErrUnavailable: the store or the issuer cannot be reached, so it is not known
	// who calls. Try again.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooMany: too many failures before this one. It is a *LimitError.
	ErrTooMany = errors.New("too many failures")
	// ErrNotFound: there is no such key or person.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the request itself is wrong; repeat it corrected.
	ErrInvalid = errors.New("invalid")
	// ErrDenied: a key may not be created so. The text says why, and what may be done.
	ErrDenied = errors.New("not allowed")
	// ErrConflict: it does not fit the state now.
	ErrConflict = errors.New("conflict")
)

// A LimitError is an ErrTooMany with the time to wait.
type LimitError struct{ After time.Duration }

func (e *LimitError) Error() string { return fmt.Sprintf("%v; wait %v", ErrTooMany, e.After) }

func (e *LimitError) Unwrap() error { return ErrTooMany }

// Status returns the HTTP status for an error of Token or Request, and the seconds for
// Retry-After, if the status is 429 or 503.
func Status(err error) (status, retryAfter int) {
	if e, ok := errors.AsType[*LimitError](err); ok {
		return http.StatusTooManyRequests, max(1, int((e.After+time.Second-1)/time.Second))
	}
	switch {
	case errors.Is(err, ErrUnavailable):
		return http.StatusServiceUnavailable, 1
	case errors.Is(err, ErrMalformed):
		return http.StatusBadRequest, 0
	}
	return http.StatusUnauthorized, 0
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

func denied(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDenied, fmt.Sprintf(format, args...))
}

// unavailable wraps err in ErrUnavailable.
func unavailable(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
