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

	"github.com/bossman-dev/bossman/internal/egress"
)

// Client authentication methods.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authJWT   = "private_key_jwt"
)

// A Registration is the client's registration at an authorization server.
type Registration struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret,omitzero"`
	AuthMethod   string `json:"token_endpoint_auth_method,omitzero"`
	Redirect     string `json:"redirect,omitzero"` // redirect URL that it was made for
	// SecretExpires is when the secret expires, in Unix seconds; 0 means never.
	SecretExpires int64 `json:"client_secret_expires_at,omitzero"`

	dynamic bool // by dynamic registration, not by configuration
}

func (r *Registration) expired() bool {
	return r.SecretExpires != 0 && time.Now().After(time.Unix(r.SecretExpires, 0).Add(-expiryMargin))
}

// errNoRegistration means that the client is unknown and cannot register.
var errNoRegistration = errors.New("oauth: the authorization server does not know this client and offers no registration")

// identify returns the client's registration at an authorization server: the
// configured one, a metadata document, or the stored one; nil if there is none
// yet.
func (t *Transport) identify(as *serverMetadata, stored *Registration) (*Registration, error) {
	switch {
	case t.o.ClientID != "":
		if t.clientIssuer == "" {
			t.clientIssuer = as.Issuer
		}
		if t.clientIssuer != as.Issuer {
			return nil, fmt.Errorf("oauth: %s is not the authorization server of the configured client id", as.Issuer)
		}
		r := &Registration{ClientID: t.o.ClientID, ClientSecret: t.o.ClientSecret}
		r.AuthMethod = t.authMethod(as, r)
		return r, nil
	case t.o.ClientMetadataURL != "" && as.Documents:
		r := &Registration{ClientID: t.o.ClientMetadataURL}
		r.AuthMethod = t.authMethod(as, r)
		return r, nil
	case stored != nil && stored.ClientID != "" && !stored.expired():
		stored.dynamic = true
		return stored, nil
	}
	return nil, nil
}

// ensureRegistered registers the client if it is unknown to the authorization
// server or registered for another redirect URL. The registration is stored at
// once, for others that share the store.
func (t *Transport) ensureRegistered(ctx context.Context, a *tokenRequest) error {
	switch {
	case a.client != nil && (!a.client.dynamic || a.client.Redirect == t.o.Redirect):
		return nil
	case a.server.Register == "" || t.o.Grant != nil:
		return errNoRegistration
	}
	r, err := t.register(ctx, a.server)
	if err != nil {
		return err
	}
	r.dynamic, a.client = true, r
	return updateRecord(ctx, t.o.Store, a.server.Issuer, func(record *Record) { record.Client = r })
}

// authMethod returns how to authenticate the client, of the methods that the
// server supports. By RFC 8414, client_secret_basic is the default.
func (t *Transport) authMethod(as *serverMetadata, r *Registration) string {
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

// register performs dynamic client registration (RFC 7591).
func (t *Transport) register(ctx context.Context, as *serverMetadata) (*Registration, error) {
	method := authBasic
	for _, m := range []string{authPost, authBasic, authNone} {
		if slices.Contains(as.ClientAuth, m) {
			method = m
		}
	}
	kind := "web"
	if u, err := url.Parse(t.o.Redirect); err == nil && (egress.IsLocal(u.Hostname()) || u.Scheme != "https") {
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
		return nil, fmt.Errorf("register at %s: %w", as.Issuer, refusalIn(err))
	}
	if reg.ClientID == "" || strings.ContainsAny(reg.ClientID, "\r\n") {
		return nil, fmt.Errorf("register at %s: the response contains no client_id", as.Issuer)
	}
	reg.Redirect = t.o.Redirect
	if reg.AuthMethod == "" {
		if reg.AuthMethod = method; reg.ClientSecret == "" {
			reg.AuthMethod = authNone
		}
	}
	return &reg, nil
}
