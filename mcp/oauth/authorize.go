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

	"github.com/bossman-dev/bossman/mcp"
)

// errAuthorize means that a person would have to agree, and there is none.
var errAuthorize = errors.New("oauth: a person has to agree, and there is no way to ask")

// byCode asks the person to agree, and returns what is to be exchanged for a token.
func (t *Transport) byCode(ctx context.Context, a *asking) (url.Values, error) {
	switch {
	case t.o.Authorize == nil || t.o.Redirect == "":
		return nil, errAuthorize
	case a.as.Authorize == "":
		return nil, fmt.Errorf("oauth: %s has nowhere to agree", a.as.Issuer)
	case !slices.Contains(a.as.Challenges, "S256"):
		return nil, fmt.Errorf("oauth: %s does not protect codes with S256", a.as.Issuer)
	}
	if err := mcp.CheckURL(a.as.Authorize); err != nil { // a person is to visit it
		return nil, fmt.Errorf("authorize at %s: %w: %w", a.as.Issuer, t.egress.forbid(a.as.Authorize), err)
	}
	verifier := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	state := rand.Text()
	u, err := url.Parse(a.as.Authorize)
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
	if slices.Contains(a.scopes, offline) {
		q.Set("prompt", "consent") // or there would be no refresh token
	}
	if a.dpop != nil {
		q.Set("dpop_jkt", a.dpop.thumbprint())
	}
	u.RawQuery = q.Encode()
	back, err := t.o.Authorize(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("authorize at %s: %w", a.as.Issuer, err)
	}
	code, err := readRedirect(back, a.as, state)
	if err != nil {
		return nil, fmt.Errorf("authorize at %s: %w", a.as.Issuer, err)
	}
	return url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {code},
		"redirect_uri":  {t.o.Redirect},
		"code_verifier": {verifier},
	}, nil
}

// readRedirect reads the code from the address that the person was sent back to.
// Unless it comes from the authorization server that was asked, nothing of it is
// believed, not even an error.
func readRedirect(back string, as *serverMetadata, state string) (string, error) {
	u, err := url.Parse(back)
	if err != nil {
		return "", errors.New("the redirect cannot be read")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", errors.New("the redirect cannot be read")
	}
	for _, name := range []string{"state", "iss", "code", "error"} {
		if len(q[name]) > 1 {
			return "", fmt.Errorf("the redirect holds %s more than once", name)
		}
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1:
		return "", errors.New("the redirect is not the answer to this request")
	case q.Has("iss") && q.Get("iss") != as.Issuer:
		return "", errors.New("the redirect comes from another authorization server")
	case !q.Has("iss") && as.IssInRedirect:
		return "", errors.New("the redirect does not say from which authorization server it comes")
	case q.Has("error"):
		return "", &Error{Code: q.Get("error"), Description: q.Get("error_description")}
	case q.Get("code") == "":
		return "", errors.New("the redirect holds no code")
	}
	return q.Get("code"), nil
}
