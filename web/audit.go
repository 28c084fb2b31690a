package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// The names of what is no verb of the board.
const (
	signInAct  = "sign_in"
	signOutAct = "sign_out"
	approveAct = "approve_definition"
)

// An Act is something that somebody did by a form, or was refused.
type Act struct {
	// Caller is who did it; nil for a sign-in that was refused.
	Caller *access.Caller
	// Refused is whose key it was that may not sign in, if it is known.
	Refused *auth.Principal
	// Form is the method and the path of the form, without what they are about.
	Form string
	// Verb is the name of a verb of package access, sign_in, sign_out or approve_definition.
	Verb    string
	Project string
	Task    board.ID
	// Via is "one-tap link" for an answer by a link, and empty for a form of a page.
	Via string
	// Key is the id of the key that is the session, for a sign-in.
	Key string
	// Status is that of the answer: below 400, it was done.
	Status int
	Took   time.Duration
}

// note notes what a form is about, for the audit.
func (q *request) note(v *access.Verb, project string, task board.ID) {
	q.act.Verb, q.act.Project, q.act.Task = v.Name, project, task
}

// mayDo reports whether the caller may do what a form asks for in a project, and notes it.
func (q *request) mayDo(v *access.Verb, project string) error {
	q.note(v, project, board.ID{})
	return q.caller.May(v, project)
}

// audited returns a handler of forms that tells Options.Audit what was done.
func (s *Site) audited(route Route, serve func(q *request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer := &statusWriter{ResponseWriter: w}
		q := &request{Request: r, site: s, w: answer}
		begun := time.Now()
		q.act.Form = route.Method + " " + route.Pattern
		if route.Verb != nil {
			q.act.Verb = route.Verb.Name
		}
		defer func() { // also if it panics
			q.act.Status, q.act.Took = answer.status, time.Since(begun)
			if q.act.Status == 0 {
				q.act.Status = http.StatusInternalServerError
			}
			if q.act.Caller == nil {
				q.act.Caller = q.caller
			}
			// What nobody who is known has sent is not an act. The server counts it as a request
			// that was refused.
			if q.act.Verb != "" && (q.act.Caller != nil || q.act.Verb == signInAct) {
				s.o.Audit(context.WithoutCancel(r.Context()), q.act)
			}
		}()
		serve(q)
	}
}

// noteSession notes whose session begins or ends.
func (q *request) noteSession(act, session string) {
	q.act.Verb = act
	if q.site.o.Audit == nil {
		return
	}
	c, err := q.site.door.Caller(q.Context(), session)
	if err != nil {
		return
	}
	q.act.Caller = c
	if id, isKey := strings.CutPrefix(c.Principal, auth.KeyPrincipal("")); isKey && act == signInAct {
		q.act.Key = id
	}
}

// A statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap supports http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
