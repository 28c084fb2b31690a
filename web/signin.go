package web

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/internal/visible"
)

// signInPage is what signin.html shows.
type signInPage struct {
	Server string
	Keys   bool   // people type a key
	Link   string // the link that they came by
	To     string // where to go afterwards
	Error  string
}

// showSignIn shows the form. A link that lets somebody in is sent by a form as well: looking
// at an address changes nothing.
func showSignIn(q *request) error {
	v := q.URL.Query()
	return q.showSignIn(signInPage{Link: v.Get("link"), To: localPath(v.Get("to"))}, 0)
}

func (q *request) showSignIn(p signInPage, status int) error {
	p.Server, p.Keys = cmp.Or(q.site.o.Name, visible.Line(q.Host)), q.site.door.Keys()
	return q.show(page{Template: "signin", Title: "Sign in", Status: status, Main: p})
}

// postSignIn makes a session. One that the browser had before ends.
func postSignIn(q *request) error {
	if err := q.ParseForm(); err != nil {
		return err
	}
	f := q.PostForm
	p := signInPage{Link: f.Get("link"), To: localPath(f.Get("to"))}
	session, expires, err := q.site.door.Enter(q.Context(), strings.TrimSpace(cmp.Or(f.Get("key"), p.Link)), q.Request)
	if err != nil {
		q.act.Verb = signInAct
	}
	if why, ok := errors.AsType[*signInError](err); ok {
		p.Error, p.Link, q.act.Refused = why.text, "", why.principal
		return q.showSignIn(p, http.StatusForbidden)
	}
	if errors.Is(err, auth.ErrTooMany) {
		p.Error = "Too many wrong keys came from this address. Wait a minute; a valid key is accepted at any time."
		return q.showSignIn(p, http.StatusTooManyRequests)
	}
	if err != nil {
		return err
	}
	if old := q.cookie(); old != "" {
		if err := q.site.door.Leave(q.Context(), old); err != nil {
			q.site.log.Warn("ending the earlier session of a browser failed", "err", err)
		}
	}
	q.noteSession(signInAct, session)
	q.setCookie(session, expires)
	return q.redirect(cmp.Or(p.To, "/"), "")
}

// postSignOut ends the session.
func postSignOut(q *request) error {
	if q.session = q.cookie(); q.session == "" {
		return q.redirect("/signin", "")
	}
	q.noteSession(signOutAct, q.session)
	if err := q.checkToken(); err != nil {
		return err
	}
	if err := q.site.door.Leave(q.Context(), q.session); err != nil {
		return err
	}
	q.site.hub.signOut(q.session)
	q.setCookie("", unixStart)
	return q.redirect("/signin", "")
}

// localPath returns a path of this site with its query, or "" for any other address.
func localPath(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(to, "/signin") || strings.ContainsFunc(to, func(c rune) bool { return c <= ' ' || c == '\\' || c >= 0x7f }) {
		return ""
	}
	return to
}
