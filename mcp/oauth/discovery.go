package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// resourceMetadata is what a server says about its protection (RFC 9728).
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
	DPoP     []string `json:"dpop_signing_alg_values_supported"`
	Bound    bool     `json:"dpop_bound_access_tokens_required"`
}

// serverMetadata is what an authorization server says about itself (RFC 8414).
type serverMetadata struct {
	Issuer        string   `json:"issuer"`
	Authorize     string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Register      string   `json:"registration_endpoint"`
	Scopes        []string `json:"scopes_supported"`
	Grants        []string `json:"grant_types_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	ClientAuth    []string `json:"token_endpoint_auth_methods_supported"`
	Documents     bool     `json:"client_id_metadata_document_supported"`
	IssInRedirect bool     `json:"authorization_response_iss_parameter_supported"`
	DPoP          []string `json:"dpop_signing_alg_values_supported"`

	guessed bool // there was none, and this is what 2025-03-26 assumes
}

var errNone = errors.New("oauth: there is no metadata")

// findResource finds what protects the server: where its challenge says, or an
// earlier one has said, or at one of two places that all servers have.
func (t *Transport) findResource(ctx context.Context, c challenge) (*resourceMetadata, error) {
	named := c.params["resource_metadata"]
	if address := cmp.Or(named, t.place); address != "" {
		var m resourceMetadata
		err := t.egress.get(ctx, address, &m)
		if err == nil {
			t.place = address
			return &m, t.checkResource(&m)
		}
		if named != "" {
			return nil, err
		}
		t.place = "" // it has moved
	}
	origin := t.server.Scheme + "://" + t.server.Host
	const place = "/.well-known/oauth-protected-resource"
	places := []string{origin + place}
	if path := strings.TrimSuffix(t.server.EscapedPath(), "/"); path != "" {
		places = []string{origin + place + path, origin + place}
	}
	for _, address := range places {
		var m resourceMetadata
		err := t.egress.get(ctx, address, &m)
		if err == nil {
			return &m, t.checkResource(&m)
		}
		if e, ok := errors.AsType[*statusError](err); !ok || e.code >= 500 {
			return nil, err
		}
	}
	return nil, errNone
}

// checkResource refuses metadata about something else: a token that it leads to
// could be used there.
func (t *Transport) checkResource(m *resourceMetadata) error {
	u, err := url.Parse(m.Resource)
	if err != nil || m.Resource == "" || u.Fragment != "" ||
		!strings.EqualFold(u.Scheme, t.server.Scheme) || !strings.EqualFold(u.Host, t.server.Host) {
		return fmt.Errorf("oauth: metadata of %s is about %q", t.server.Redacted(), m.Resource)
	}
	within := strings.TrimSuffix(u.EscapedPath(), "/")
	path := strings.TrimSuffix(t.server.EscapedPath(), "/")
	if path != within && !strings.HasPrefix(path, within+"/") || u.RawQuery != "" && u.RawQuery != t.server.RawQuery {
		return fmt.Errorf("oauth: metadata of %s is about %q", t.server.Redacted(), m.Resource)
	}
	if len(m.Servers) == 0 {
		return fmt.Errorf("oauth: metadata of %s names no authorization server", t.server.Redacted())
	}
	return nil
}

// findServer finds the metadata of an authorization server. Its issuer must be the
// very text that led there.
func (t *Transport) findServer(ctx context.Context, issuer string) (*serverMetadata, error) {
	if err := t.egress.check(issuer); err != nil {
		return nil, err
	}
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, err
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	const server, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	places := []string{origin + server, origin + openid}
	if path != "" {
		places = []string{origin + server + path, origin + openid + path, origin + path + openid}
	}
	for _, address := range places {
		var m serverMetadata
		err := t.egress.get(ctx, address, &m)
		if err == nil {
			return &m, t.checkServer(&m, issuer)
		}
		if e, ok := errors.AsType[*statusError](err); !ok || e.code >= 500 {
			return nil, err
		}
	}
	return nil, errNone
}

func (t *Transport) checkServer(m *serverMetadata, issuer string) error {
	if m.Issuer != issuer {
		return fmt.Errorf("oauth: metadata of %q is by %q", issuer, m.Issuer)
	}
	for _, address := range []string{m.Authorize, m.Token, m.Register} {
		if address == "" {
			continue
		}
		if err := t.egress.check(address); err != nil {
			return err
		}
	}
	if m.Token == "" {
		return fmt.Errorf("oauth: %s has nowhere to ask for a token", issuer)
	}
	return nil
}

// discover finds out who may give tokens for the server.
func (t *Transport) discover(ctx context.Context, c challenge) (*resourceMetadata, *serverMetadata, error) {
	res, err := t.findResource(ctx, c)
	if errors.Is(err, errNone) {
		as, err := t.guess(ctx)
		return &resourceMetadata{Resource: t.resource()}, as, err
	}
	if err != nil {
		return nil, nil, err
	}
	issuer := res.Servers[0]
	if t.o.Issuer != "" {
		if !slices.Contains(res.Servers, t.o.Issuer) {
			return nil, nil, fmt.Errorf("oauth: %s no longer trusts %s", t.server.Redacted(), t.o.Issuer)
		}
		issuer = t.o.Issuer
	}
	as, err := t.findServer(ctx, issuer)
	if err != nil {
		return nil, nil, fmt.Errorf("authorization server %s: %w", issuer, err)
	}
	return res, as, nil
}

// guess is for servers of 2025-03-26, which are their own authorization server.
func (t *Transport) guess(ctx context.Context) (*serverMetadata, error) {
	origin := t.server.Scheme + "://" + t.server.Host
	as, err := t.findServer(ctx, origin)
	if errors.Is(err, errNone) {
		return &serverMetadata{
			Issuer: origin, Authorize: origin + "/authorize", Token: origin + "/token", Register: origin + "/register",
			Challenges: []string{"S256"}, guessed: true,
		}, nil
	}
	return as, err
}

// resource is the server's address in the form that names it.
func (t *Transport) resource() string {
	u := *t.server
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}
