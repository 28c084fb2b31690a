package oauth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// The ways to prove to an authorization server who we are.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authJWT   = "private_key_jwt"
)

// A Registration is who we are to an authorization server.
type Registration struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret,omitzero"`
	AuthMethod   string `json:"token_endpoint_auth_method,omitzero"`
	Redirect     string `json:"redirect,omitzero"` // what it was made for
	Expires      int64  `json:"client_secret_expires_at,omitzero"`

	registered bool // by us, and not by somebody who told us
}

func (r *Registration) expired() bool {
	return r.Expires != 0 && time.Now().After(time.Unix(r.Expires, 0).Add(-early))
}

// errRegistration means that there is no way to become known.
var errRegistration = errors.New("oauth: the authorization server does not know us, and has no way to register")

// identify finds out who we are to an authorization server: what the program was
// told, a document that describes us, or what was registered before; nil if nobody
// yet.
func (t *Transport) identify(as *serverMetadata, kept *Registration) (*Registration, error) {
	switch {
	case t.o.ClientID != "":
		if t.known == "" {
			t.known = as.Issuer
		}
		if t.known != as.Issuer {
			return nil, fmt.Errorf("oauth: %s is not the authorization server that knows us", as.Issuer)
		}
		r := &Registration{ClientID: t.o.ClientID, ClientSecret: t.o.ClientSecret}
		r.AuthMethod = t.prove(as, r)
		return r, nil
	case t.o.Document != "" && as.Documents:
		r := &Registration{ClientID: t.o.Document}
		r.AuthMethod = t.prove(as, r)
		return r, nil
	case kept != nil && kept.ClientID != "" && !kept.expired():
		kept.registered = true
		return kept, nil
	}
	return nil, nil
}

// registered makes us known to an authorization server that does not know us, or
// knows us by another redirect. That is kept at once: others with the same store
// need not do it again.
func (t *Transport) registered(ctx context.Context, a *asking) error {
	switch {
	case a.client != nil && (!a.client.registered || a.client.Redirect == t.o.Redirect):
		return nil
	case a.as.Register == "" || t.o.Grant != nil:
		return errRegistration
	}
	r, err := t.register(ctx, a.as)
	if err != nil {
		return err
	}
	r.registered, a.client = true, r
	return keep(ctx, t.o.Store, a.as.Issuer, func(record *Record) { record.Client = r })
}

// prove chooses how we prove who we are, of what the server takes. By RFC 8414 a
// server that does not say takes a secret in the header.
func (t *Transport) prove(as *serverMetadata, r *Registration) string {
	takes := func(method string) bool { return slices.Contains(as.ClientAuth, method) }
	switch {
	case t.o.Key != nil && (len(as.ClientAuth) == 0 || takes(authJWT)):
		return authJWT
	case r.ClientSecret == "":
		return authNone
	case len(as.ClientAuth) == 0 || takes(authBasic):
		return authBasic
	case takes(authPost):
		return authPost
	}
	return authNone
}

// register makes us known to an authorization server (RFC 7591).
func (t *Transport) register(ctx context.Context, as *serverMetadata) (*Registration, error) {
	method := authBasic
	for _, m := range []string{authPost, authBasic, authNone} {
		if slices.Contains(as.ClientAuth, m) {
			method = m
		}
	}
	kind := "web"
	if u, err := url.Parse(t.o.Redirect); err == nil && (isLocal(u.Hostname()) || u.Scheme != "https") {
		kind = "native"
	}
	body, err := jsonv2.Marshal(map[string]any{
		"client_name":                t.o.ClientName,
		"redirect_uris":              []string{t.o.Redirect},
		"grant_types":                []string{"authorization_code", "refresh_token"},
		"response_types":             []string{"code"},
		"token_endpoint_auth_method": method,
		"application_type":           kind,
	})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, as.Register, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	var reg Registration
	if _, err := t.egress.do(r, &reg); err != nil {
		return nil, fmt.Errorf("register at %s: %w", as.Issuer, asError(err))
	}
	if reg.ClientID == "" || strings.ContainsAny(reg.ClientID, "\r\n") {
		return nil, fmt.Errorf("register at %s: the answer holds no client_id", as.Issuer)
	}
	reg.Redirect = t.o.Redirect
	if reg.AuthMethod == "" {
		if reg.AuthMethod = method; reg.ClientSecret == "" {
			reg.AuthMethod = authNone
		}
	}
	return &reg, nil
}
