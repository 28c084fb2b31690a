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

// A Grant is an OAuth grant that needs no user consent.
type Grant interface {
	form(ctx context.Context, t *Transport, a *tokenRequest) (url.Values, error)
}

var (
	_ Grant = ClientCredentials{}
	_ Grant = Assertion{}
	_ Grant = Enterprise{}
)

// ClientCredentials is the client credentials grant: the program authenticates
// itself with its secret or key.
type ClientCredentials struct{}

func (ClientCredentials) form(context.Context, *Transport, *tokenRequest) (url.Values, error) {
	return url.Values{"grant_type": {"client_credentials"}}, nil
}

// Assertion is the JWT bearer grant: a third party, such as the platform of a
// workload, issues the assertion. JWT is called for each token, with the issuer
// of the authorization server.
type Assertion struct {
	JWT func(ctx context.Context, issuer string) (string, error)
}

func (g Assertion) form(ctx context.Context, _ *Transport, a *tokenRequest) (url.Values, error) {
	jwt, err := g.JWT(ctx, a.server.Issuer)
	if err != nil {
		return nil, fmt.Errorf("oauth: assertion for %s: %w", a.server.Issuer, err)
	}
	return url.Values{"grant_type": {grantJWT}, "assertion": {jwt}}, nil
}

// Enterprise is the grant for organizations: their identity provider exchanges
// the user's ID token for an assertion.
type Enterprise struct {
	TokenURL     string // the identity provider's token endpoint
	ClientID     string // client id at the identity provider
	ClientSecret string
	// IDToken returns the ID token of the user's login.
	IDToken func(ctx context.Context) (string, error)
}

func (g Enterprise) form(ctx context.Context, t *Transport, a *tokenRequest) (url.Values, error) {
	id, err := g.IDToken(ctx)
	if err != nil {
		return nil, fmt.Errorf("oauth: ID token: %w", err)
	}
	provider := &tokenRequest{
		server: &serverMetadata{Issuer: g.TokenURL, Token: g.TokenURL},
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
		"audience":             {a.server.Issuer},
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
		return nil, fmt.Errorf("identity provider: %w", refusalIn(err))
	}
	if answer.Token == "" || answer.Type != typeIDJAG {
		return nil, errors.New("oauth: the identity provider did not return an ID-JAG token")
	}
	return url.Values{"grant_type": {grantJWT}, "assertion": {answer.Token}}, nil
}
