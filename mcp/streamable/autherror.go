package streamable

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// An AuthError refuses a request.
type AuthError struct {
	Status     int           // default 401
	Challenge  string        // WWW-Authenticate header of a 401 or 403; default "Bearer"
	Text       string        // message for the client
	RetryAfter time.Duration // when to retry; zero means that the header is omitted
}

func (e *AuthError) Error() string { return cmp.Or(e.Text, "not authenticated") }

func (h *Handler) authenticate(w http.ResponseWriter, r *http.Request) (mcp.Principal, bool) {
	p, err := h.o.Authenticate(r)
	if err == nil && p.ID == "" {
		h.log.Error("Options.Authenticate returned a principal without an ID")
		err = &AuthError{}
	}
	if err == nil {
		if p.Owner == "" {
			p.Owner = p.ID
		}
		return p, true
	}
	h.writeAuthError(w, err, h.peekID(w, r))
	return p, false
}

// writeAuthError writes err with its status, challenge and Retry-After, for the
// message with an id.
func (h *Handler) writeAuthError(w http.ResponseWriter, err error, id jsonrpc.ID) {
	e, ok := errors.AsType[*AuthError](err)
	if !ok {
		h.log.Debug("not authenticated", "err", err)
		e = &AuthError{}
	}
	status := cmp.Or(e.Status, http.StatusUnauthorized)
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		w.Header().Set("Www-Authenticate", cmp.Or(e.Challenge, "Bearer"))
	}
	if status == http.StatusServiceUnavailable {
		sendAway(w)
	}
	if e.RetryAfter > 0 {
		secs := (e.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(secs), 10))
	}
	h.refuseMessage(w, status, id, e.Error())
}
