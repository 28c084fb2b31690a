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

	jsonv2 "github.com/go-json-experiment/json"
)

// An Error is an authorization server's refusal.
type Error struct {
	Code        string `json:"error"` // such as "invalid_grant"
	Description string `json:"error_description"`
}

func (e *Error) Error() string {
	if e.Description == "" {
		return fmt.Sprintf("oauth: refused: %.100q", e.Code)
	}
	return fmt.Sprintf("oauth: refused: %.100q: %.300q", e.Code, e.Description)
}

// asError reads the refusal in a response.
func asError(err error) error {
	if e, ok := errors.AsType[*statusError](err); ok {
		var refusal Error
		if jsonv2.Unmarshal(e.body, &refusal) == nil && refusal.Code != "" {
			return &refusal
		}
	}
	return err
}

// A Token lets us use a server.
type Token struct {
	Access  string    `json:"access_token"`
	Refresh string    `json:"refresh_token,omitzero"`
	Type    string    `json:"token_type"` // "Bearer" or "DPoP"
	Expires time.Time `json:"expires,omitzero"`
	Scopes  []string  `json:"scopes,omitzero"` // that were asked for or granted
	Key     []byte    `json:"key,omitzero"`    // that a token of type DPoP is bound to
	Client  string    `json:"client_id"`       // whom it was given to
}

// early is how long before its end a token is no longer used.
const early = 30 * time.Second

func (t *Token) expired() bool {
	return !t.Expires.IsZero() && time.Now().After(t.Expires.Add(-early))
}

// An asking is what a token is asked for.
type asking struct {
	as       *serverMetadata
	client   *Registration
	resource string
	scopes   []string
	dpop     *dpopKey // nil: the token is for whoever has it
}

// ask sends a token request.
func (t *Transport) ask(ctx context.Context, a *asking, form url.Values) (*Token, error) {
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
	if refusal, ok := errors.AsType[*Error](asError(err)); ok && refusal.Code == "use_dpop_nonce" && a.dpop != nil {
		a.dpop.heard(a.as.Token, header)
		_, err = t.post(ctx, a, form, &answer)
	}
	if err != nil {
		return nil, fmt.Errorf("token from %s: %w", a.as.Issuer, asError(err))
	}
	if answer.Access == "" || strings.ContainsAny(answer.Access, "\r\n \t") {
		return nil, fmt.Errorf("token from %s: there is none in the answer", a.as.Issuer)
	}
	tok := &Token{Access: answer.Access, Refresh: answer.Refresh, Type: "Bearer", Scopes: a.scopes, Client: a.client.ClientID}
	if answer.Scope != "" {
		tok.Scopes = union(a.scopes, strings.Fields(answer.Scope))
	}
	if answer.Expires > 0 {
		tok.Expires = time.Now().Add(time.Duration(min(answer.Expires, 1<<31)) * time.Second)
	}
	if strings.EqualFold(answer.Type, "DPoP") {
		if a.dpop == nil {
			return nil, fmt.Errorf("token from %s: it is bound to a key that we did not show", a.as.Issuer)
		}
		tok.Type, tok.Key = "DPoP", a.dpop.encoded()
	}
	return tok, nil
}

// post sends a form to the token endpoint, with the proof of who we are.
func (t *Transport) post(ctx context.Context, a *asking, form url.Values, v any) (http.Header, error) {
	switch a.client.AuthMethod {
	case authBasic:
	case authPost:
		form.Set("client_id", a.client.ClientID)
		form.Set("client_secret", a.client.ClientSecret)
	case authJWT:
		assertion, err := t.o.clientAssertion(a.client.ClientID, a.as.Issuer)
		if err != nil {
			return nil, err
		}
		form.Set("client_id", a.client.ClientID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	default:
		form.Set("client_id", a.client.ClientID)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.as.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if a.client.AuthMethod == authBasic {
		pair := url.QueryEscape(a.client.ClientID) + ":" + url.QueryEscape(a.client.ClientSecret)
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	}
	if a.dpop != nil {
		proof, err := a.dpop.proof(http.MethodPost, a.as.Token, "")
		if err != nil {
			return nil, err
		}
		r.Header.Set("DPoP", proof)
	}
	return t.egress.do(r, v)
}

// refresh asks for another token in place of one that has expired.
func (t *Transport) refresh(ctx context.Context, a *asking, old *Token) (*Token, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}}
	again := *a
	again.scopes = old.Scopes
	if len(old.Key) > 0 {
		key, err := readKey(old.Key)
		if err != nil {
			return nil, err
		}
		again.dpop = key
	}
	tok, err := t.ask(ctx, &again, form)
	if err == nil && tok.Refresh == "" {
		tok.Refresh = old.Refresh // it may be used again
	}
	return tok, err
}

// union is both lists without anything twice, in order.
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
