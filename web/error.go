package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

var (
	// ErrNotPerson means that a credential is an agent's: only people sign in.
	ErrNotPerson = errors.New("this is an agent's key, and only people sign in")
	// errSignedOut means that a request has no valid session.
	errSignedOut = errors.New("signed out")
	// errToken means that a form has no valid token.
	errToken = errors.New("the form was not made for this session")
)

// A BusyError refuses a request for now.
type BusyError struct {
	Why   string // a sentence
	After time.Duration
}

func (e *BusyError) Error() string { return e.Why }

// A problem is an error as a page shows it: what happened, what is safe, and what to do.
type problem struct {
	Status int
	Title  string
	Text   string
	Retry  bool
}

// explain translates an error. Texts of the board are for people; other texts are not shown.
func explain(err error) problem {
	text := visible.Text(err.Error())
	tooLarge := (*http.MaxBytesError)(nil)
	busy := (*BusyError)(nil)
	switch {
	case errors.As(err, &busy):
		return problem{http.StatusTooManyRequests, "Not now.", text, true}
	case errors.As(err, &tooLarge):
		return problem{http.StatusRequestEntityTooLarge, "Too long.", "The form is larger than this server accepts. Nothing was saved.", false}
	case errors.Is(err, errToken):
		return problem{http.StatusForbidden, "Not sent.", "The form is from another session. Nothing was changed. Go back, reload the page and send it again.", false}
	case errors.Is(err, board.ErrNotFound):
		return problem{http.StatusNotFound, "Nothing is here.", "It does not exist, or not for you.", false}
	case errors.Is(err, board.ErrDenied), errors.Is(err, ErrNotPerson):
		return problem{http.StatusForbidden, "Not allowed.", text, false}
	case errors.Is(err, board.ErrConflict):
		return problem{http.StatusConflict, "Not done.", text, false}
	case errors.Is(err, board.ErrInvalid):
		return problem{http.StatusUnprocessableEntity, "Not done.", text, false}
	case errors.Is(err, board.ErrUnknown):
		return problem{http.StatusBadGateway, "It is not known whether this was done.", "The database was lost in the middle. Look before you send it again.", true}
	case errors.Is(err, board.ErrReadOnly), errors.Is(err, board.ErrFull), errors.Is(err, board.ErrTooNew):
		return problem{http.StatusServiceUnavailable, "Not done.", text, false}
	case errors.Is(err, board.ErrUnavailable), errors.Is(err, auth.ErrUnavailable):
		return problem{http.StatusServiceUnavailable, "The board cannot be reached.", "Agents that hold a task go on. Nothing was changed.", true}
	}
	return problem{http.StatusInternalServerError, "This did not work.", "The server's log says why. Nothing is known to have changed.", true}
}

// fail answers a request that came to an error.
func (q *request) fail(err error) {
	if q.Context().Err() != nil {
		return // nobody is left to read it
	}
	if errors.Is(err, errSignedOut) || errors.Is(err, auth.ErrUnauthenticated) {
		q.askSignIn()
		return
	}
	p := explain(err)
	if p.Status == http.StatusInternalServerError {
		q.site.log.Error("serving a page failed", "path", visible.Line(q.URL.Path), "err", err)
	}
	if busy, ok := errors.AsType[*BusyError](err); ok {
		q.w.Header().Set("Retry-After", strconv.Itoa(int(max(time.Second, busy.After).Seconds())))
	} else if p.Status == http.StatusServiceUnavailable {
		q.w.Header().Set("Retry-After", strconv.Itoa(2))
	}
	if q.isPart() {
		http.Error(q.w, p.Title+" "+p.Text, p.Status)
		return
	}
	if show := q.show(page{Template: "error", Title: p.Title, Status: p.Status, Main: p}); show != nil {
		q.caller, q.session = nil, "" // the frame itself may be what fails
		if q.show(page{Template: "error", Title: p.Title, Status: p.Status, Main: p}) != nil {
			http.Error(q.w, p.Title+" "+p.Text, p.Status)
		}
	}
}

// askSignIn sends somebody who is not signed in to the sign-in page, and back afterwards.
func (q *request) askSignIn() {
	if q.Method != http.MethodGet || q.isPart() || q.Header.Get("Accept") == "text/event-stream" {
		http.Error(q.w, "you are signed out", http.StatusUnauthorized)
		return
	}
	if q.Header.Get("Sec-Fetch-Site") == "cross-site" {
		// The browser withholds a strict cookie when a link of another site is followed. Its
		// own reload sends it.
		q.w.Header().Set("Refresh", "0")
		q.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = q.w.Write([]byte("One moment.\n"))
		return
	}
	to := "/signin"
	if back := q.URL.RequestURI(); back != "/" {
		to += "?to=" + url.QueryEscape(back)
	}
	http.Redirect(q.w, q.Request, to, http.StatusSeeOther)
}

// serveUnknown answers a request for a path or a method that does not exist.
func (s *Site) serveUnknown(w http.ResponseWriter, r *http.Request) {
	q := &request{Request: r, site: s, w: w}
	for _, route := range routes {
		probe := r.Clone(r.Context())
		probe.Method = route.Method
		if _, pattern := s.mux.Handler(probe); pattern != "" {
			w.Header().Set("Allow", probe.Method)
			http.Error(w, "only "+probe.Method+" is served here", http.StatusMethodNotAllowed)
			return
		}
	}
	if err := q.enter(); err != nil {
		q.fail(err)
		return
	}
	if err := q.choose(); err != nil {
		q.project = ""
	}
	q.fail(board.ErrNotFound)
}
