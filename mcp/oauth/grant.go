package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

const (
	grantJWT      = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeIDToken   = "urn:ietf:params:oauth:token-type:id_token"
	typeIDJAG     = "urn:ietf:params:oauth:token-type:id-jag"
)

// A Grant is a right to a token that no person has to agree to.
type Grant interface {
	form(ctx context.Context, t *Transport, a *asking) (url.Values, error)
}

var (
	_ Grant = ClientCredentials{}
	_ Grant = Assertion{}
	_ Grant = Enterprise{}
)

// ClientCredentials is the right of the program itself, which proves who it is with
// its secret or its key.
type ClientCredentials struct{}

func (ClientCredentials) form(context.Context, *Transport, *asking) (url.Values, error) {
	return url.Values{"grant_type": {"client_credentials"}}, nil
}

// Assertion is a right that somebody else has written down, such as the platform
// that a workload runs on. JWT is asked for it, for an authorization server, each
// time that a token is needed.
type Assertion struct {
	JWT func(ctx context.Context, issuer string) (string, error)
}

func (g Assertion) form(ctx context.Context, _ *Transport, a *asking) (url.Values, error) {
	jwt, err := g.JWT(ctx, a.as.Issuer)
	if err != nil {
		return nil, fmt.Errorf("oauth: assertion for %s: %w", a.as.Issuer, err)
	}
	return url.Values{"grant_type": {grantJWT}, "assertion": {jwt}}, nil
}

// Enterprise is the right that an organisation gives its people: its identity
// provider is shown who the person is, and says what they may use.
type Enterprise struct {
	Token        string // the identity provider's token endpoint
	ClientID     string // who we are there
	ClientSecret string
	// IDToken is what the person got when they logged in.
	IDToken func(ctx context.Context) (string, error)
}

func (g Enterprise) form(ctx context.Context, t *Transport, a *asking) (url.Values, error) {
	id, err := g.IDToken(ctx)
	if err != nil {
		return nil, fmt.Errorf("oauth: who the person is: %w", err)
	}
	provider := &asking{
		as:     &serverMetadata{Issuer: g.Token, Token: g.Token},
		client: &Registration{ClientID: g.ClientID, ClientSecret: g.ClientSecret, AuthMethod: authNone},
	}
	if g.ClientSecret != "" {
		provider.client.AuthMethod = authPost
	}
	form := url.Values{
		"grant_type":           {grantExchange},
		"requested_token_type": {typeIDJAG},
		"subject_token":        {id},
		"subject_token_type":   {typeIDToken},
		"audience":             {a.as.Issuer},
		"resource":             {a.resource},
	}
	if len(a.scopes) > 0 {
		form.Set("scope", strings.Join(a.scopes, " "))
	}
	var answer struct {
		Token string `json:"access_token"`
		Type  string `json:"issued_token_type"`
	}
	if _, err := t.post(ctx, provider, form, &answer); err != nil {
		return nil, fmt.Errorf("identity provider: %w", asError(err))
	}
	if answer.Token == "" || answer.Type != typeIDJAG {
		return nil, errors.New("oauth: the identity provider gave something else than was asked for")
	}
	return url.Values{"grant_type": {grantJWT}, "assertion": {answer.Token}}, nil
}
