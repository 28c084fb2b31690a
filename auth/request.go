package auth

import (
	"net"
	"net/http"
	"strings"
)

// Request authenticates a request by X-Api-Token or by Authorization: Bearer. A request with
// more than one credential is rejected.
func (a *Authenticator) Request(r *http.Request) (*Principal, error) {
	token, err := credential(r.Header)
	if err != nil {
		return nil, err
	}
	return a.check(r.Context(), token, a.o.ClientIP(r))
}

// maxCredential is the maximum length of a key or a token, in bytes.
const maxCredential = 16 << 10

// credential returns the credential in the headers of a request.
func credential(h http.Header) (string, error) {
	keys, bearers := h.Values("X-Api-Token"), h.Values("Authorization")
	switch {
	case len(keys)+len(bearers) == 0:
		return "", ErrMissing
	case len(keys)+len(bearers) > 1:
		return "", ErrMalformed
	}
	token := ""
	if len(keys) == 1 {
		token = keys[0]
	} else {
		scheme, rest, _ := strings.Cut(bearers[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", ErrMissing
		}
		token = strings.TrimLeft(rest, " ")
	}
	if token == "" || len(token) > maxCredential || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == ',' }) {
		return "", ErrMalformed
	}
	return token, nil
}

// KeyID returns the id of the key that a request presents, empty if it presents no well-formed one. The key may have ended,
// or never have been one.
func KeyID(r *http.Request) string {
	token, err := credential(r.Header)
	if err != nil {
		return ""
	}
	id, _, ok := parseKey(token)
	if !ok {
		return ""
	}
	return id
}

// remoteHost returns the remote address of the connection.
func remoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
