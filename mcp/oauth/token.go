package oauth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Token is an access token for a server.
type Token struct {
	Access  string    `json:"access_token"`
	Refresh string    `json:"refresh_token,omitzero"`
	Type    string    `json:"token_type"` // "Bearer" or "DPoP"
	Expires time.Time `json:"expires,omitzero"`
	Scopes  []string  `json:"scopes,omitzero"` // requested or granted
	Key     []byte    `json:"key,omitzero"`    // private key that a DPoP token is bound to
	Client  string    `json:"client_id"`       // client that it was issued to
}

// expiryMargin is how long before its expiry a token is no longer used.
const expiryMargin = 30 * time.Second

func (t *Token) expired() bool {
	return !t.Expires.IsZero() && time.Now().After(t.Expires.Add(-expiryMargin))
}

// A tokenRequest holds the parameters of a token request.
type tokenRequest struct {
	server   *serverMetadata
	client   *Registration
	resource string
	scopes   []string
	dpopKey  *dpopKey // nil for a bearer token
}

// requestToken sends a token request.
func (t *Transport) requestToken(ctx context.Context, a *tokenRequest, form url.Values) (*Token, error) {
	if a.resource != "" {
		form.Set("resource", a.resource)
	}
	var answer struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Type    string `json:"token_type"`
		Expires int64  `json:"expires_in"`
		Scope   string `json:"scope"`
	}
	header, err := t.post(ctx, a, form, &answer)
	if refusal, ok := errors.AsType[*Error](refusalIn(err)); ok && refusal.Code == "use_dpop_nonce" && a.dpopKey != nil {
		a.dpopKey.saveNonce(a.server.Token, header, "")
		_, err = t.post(ctx, a, form, &answer)
	}
	if err != nil {
		return nil, fmt.Errorf("token from %s: %w", a.server.Issuer, refusalIn(err))
	}
	if answer.Access == "" || strings.ContainsAny(answer.Access, "\r\n \t") {
		return nil, fmt.Errorf("token from %s: the response contains no token", a.server.Issuer)
	}
	tok := &Token{Access: answer.Access, Refresh: answer.Refresh, Type: "Bearer", Scopes: a.scopes, Client: a.client.ClientID}
	if answer.Scope != "" {
		tok.Scopes = union(a.scopes, strings.Fields(answer.Scope))
	}
	if answer.Expires > 0 {
		tok.Expires = time.Now().Add(time.Duration(min(answer.Expires, 1<<31)) * time.Second)
	}
	if strings.EqualFold(answer.Type, "DPoP") {
		if a.dpopKey == nil {
			return nil, fmt.Errorf("token from %s: it is bound to a key that was not sent", a.server.Issuer)
		}
		tok.Type, tok.Key = "DPoP", a.dpopKey.marshal()
	}
	return tok, nil
}

// post sends a form to the token endpoint, with the client's authentication.
func (t *Transport) post(ctx context.Context, a *tokenRequest, form url.Values, v any) (http.Header, error) {
	switch a.client.AuthMethod {
	case authBasic:
	case authPost:
		form.Set("client_id", a.client.ClientID)
		form.Set("client_secret", a.client.ClientSecret)
	case authJWT:
		assertion, err := t.o.clientAssertion(a.client.ClientID, a.server.Issuer)
		if err != nil {
			return nil, err
		}
		form.Set("client_id", a.client.ClientID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	default:
		form.Set("client_id", a.client.ClientID)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if a.client.AuthMethod == authBasic {
		pair := url.QueryEscape(a.client.ClientID) + ":" + url.QueryEscape(a.client.ClientSecret)
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	}
	if a.dpopKey != nil {
		proof, _, err := a.dpopKey.proof(http.MethodPost, a.server.Token, "")
		if err != nil {
			return nil, err
		}
		r.Header.Set("DPoP", proof)
	}
	return t.egress.do(r, v)
}

// refresh replaces an expired token.
func (t *Transport) refresh(ctx context.Context, a *tokenRequest, old *Token) (*Token, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}}
	rq := *a
	rq.scopes = old.Scopes
	if len(old.Key) > 0 {
		key, err := parseDPoPKey(old.Key)
		if err != nil {
			return nil, err
		}
		rq.dpopKey = key
	}
	tok, err := t.requestToken(ctx, &rq, form)
	if err == nil && tok.Refresh == "" {
		tok.Refresh = old.Refresh // the old one stays valid
	}
	return tok, err
}

// union returns the elements of both lists without duplicates, in order.
func union(a, b []string) []string {
	var all []string
	seen := map[string]bool{}
	for _, list := range [][]string{a, b} {
		for _, s := range list {
			if !seen[s] {
				seen[s] = true
				all = append(all, s)
			}
		}
	}
	return all
}
