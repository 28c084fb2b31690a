package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/pageurl"
)

// errNoAuthorize means that the user must consent, but Authorize is not set.
var errNoAuthorize = errors.New("oauth: the user must consent, but Options.Authorize is not set")

// authorizeUser asks the user to consent, and returns the form to exchange for
// a token.
func (t *Transport) authorizeUser(ctx context.Context, a *tokenRequest) (url.Values, error) {
	switch {
	case t.o.Authorize == nil || t.o.Redirect == "":
		return nil, errNoAuthorize
	case a.server.Authorize == "":
		return nil, fmt.Errorf("oauth: %s has no authorization endpoint", a.server.Issuer)
	case !slices.Contains(a.server.Challenges, "S256"):
		return nil, fmt.Errorf("oauth: %s does not support PKCE with S256", a.server.Issuer)
	}
	if err := pageurl.Check(a.server.Authorize); err != nil { // the user will visit it
		return nil, fmt.Errorf("authorize at %s: %w: %w", a.server.Issuer, t.egress.Forbid(a.server.Authorize), err)
	}
	verifier := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	state := rand.Text()
	u, err := url.Parse(a.server.Authorize)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	for name, v := range map[string]string{
		"response_type":         "code",
		"client_id":             a.client.ClientID,
		"redirect_uri":          t.o.Redirect,
		"state":                 state,
		"code_challenge":        base64.RawURLEncoding.EncodeToString(sum[:]),
		"code_challenge_method": "S256",
		"resource":              a.resource,
		"scope":                 strings.Join(a.scopes, " "),
	} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if slices.Contains(a.scopes, offlineScope) {
		q.Set("prompt", "consent") // required to get a refresh token
	}
	if a.dpopKey != nil {
		q.Set("dpop_jkt", a.dpopKey.thumbprint())
	}
	u.RawQuery = q.Encode()
	redirect, err := t.o.Authorize(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("authorize at %s: %w", a.server.Issuer, err)
	}
	code, err := readRedirect(redirect, a.server, state)
	if err != nil {
		return nil, fmt.Errorf("authorize at %s: %w", a.server.Issuer, err)
	}
	return url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {code},
		"redirect_uri":  {t.o.Redirect},
		"code_verifier": {verifier},
	}, nil
}

// readRedirect returns the code in the URL to which the user was redirected. It
// believes nothing in the URL, not even an error, unless it comes from the
// authorization server that was asked.
func readRedirect(redirect string, as *serverMetadata, state string) (string, error) {
	u, err := url.Parse(redirect)
	if err != nil {
		return "", errors.New("invalid redirect URL")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", errors.New("invalid redirect URL")
	}
	for _, name := range []string{"state", "iss", "code", "error"} {
		if len(q[name]) > 1 {
			return "", fmt.Errorf("the redirect contains %s more than once", name)
		}
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1:
		return "", errors.New("the redirect does not belong to this request")
	case q.Has("iss") && q.Get("iss") != as.Issuer:
		return "", errors.New("the redirect comes from another authorization server")
	case !q.Has("iss") && as.IssInRedirect:
		return "", errors.New("the redirect does not name its authorization server")
	case q.Has("error"):
		return "", &Error{Code: q.Get("error"), Description: q.Get("error_description")}
	case q.Get("code") == "":
		return "", errors.New("the redirect contains no code")
	}
	return q.Get("code"), nil
}
