package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
	"time"
)

// cookieName returns the name of the session's cookie. With the prefix __Host- a browser
// takes it only over TLS and from this very host. On loopback without TLS, several sites
// differ in their ports alone, which cookies do not know, so the name has it.
func (s *Site) cookieName(r *http.Request) string {
	if s.secure(r) {
		return "__Host-bossman"
	}
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil || strings.Trim(port, "0123456789") != "" {
		port = "80"
	}
	return "bossman-" + port
}

// cookie returns the session that a request has, or "".
func (q *request) cookie() string {
	c, err := q.Cookie(q.site.cookieName(q.Request))
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie gives the browser a session, or takes it away if it is empty.
func (q *request) setCookie(session string, expires time.Time) {
	c := &http.Cookie{
		Name: q.site.cookieName(q.Request), Value: session, Path: "/", Expires: expires,
		Secure: q.site.secure(q.Request), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if session == "" {
		c.MaxAge = -1
	}
	http.SetCookie(q.w, c)
}

// formToken returns the token that the forms of a session carry. It is derived from the
// session, so that every replica knows it and none has to keep it.
func formToken(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("bossman form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// checkToken rejects a form that this session was not given.
func (q *request) checkToken() error {
	if err := q.ParseForm(); err != nil {
		return err
	}
	if !hmac.Equal([]byte(q.PostForm.Get("token")), []byte(formToken(q.session))) {
		return errToken
	}
	return nil
}
