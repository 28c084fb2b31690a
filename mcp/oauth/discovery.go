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

// resourceMetadata is the metadata of a protected resource (RFC 9728).
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
	DPoP     []string `json:"dpop_signing_alg_values_supported"`
	Bound    bool     `json:"dpop_bound_access_tokens_required"`
}

// serverMetadata is the metadata of an authorization server (RFC 8414).
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

	guessed bool // not found; these are the defaults of 2025-03-26
}

var errNoMetadata = errors.New("oauth: no metadata found")

// findResource gets the metadata of the server: from the URL in its challenge
// or in an earlier one, or from a well-known URL.
func (t *Transport) findResource(ctx context.Context, c challenge) (*resourceMetadata, error) {
	named := c.params["resource_metadata"]
	if address := cmp.Or(named, t.metadataURL); address != "" {
		var m resourceMetadata
		err := t.egress.get(ctx, address, &m)
		if err == nil {
			t.metadataURL = address
			return &m, t.checkResource(&m)
		}
		if named != "" {
			return nil, err
		}
		t.metadataURL = "" // it is no longer there
	}
	origin := t.server.Scheme + "://" + t.server.Host
	const wellKnown = "/.well-known/oauth-protected-resource"
	urls := []string{origin + wellKnown}
	if path := strings.TrimSuffix(t.server.EscapedPath(), "/"); path != "" {
		urls = []string{origin + wellKnown + path, origin + wellKnown}
	}
	for _, address := range urls {
		var m resourceMetadata
		err := t.egress.get(ctx, address, &m)
		if err == nil {
			return &m, t.checkResource(&m)
		}
		if e, ok := errors.AsType[*statusError](err); !ok || e.code >= 500 {
			return nil, err
		}
	}
	return nil, errNoMetadata
}

// checkResource rejects metadata of another resource: a token for it could be
// used there.
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

// findServer gets the metadata of an authorization server. Its issuer must be
// identical to the one requested.
func (t *Transport) findServer(ctx context.Context, issuer string) (*serverMetadata, error) {
	if err := t.egress.Check(issuer); err != nil {
		return nil, err
	}
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, err
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	const server, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	urls := []string{origin + server, origin + openid}
	if path != "" {
		urls = []string{origin + server + path, origin + openid + path, origin + path + openid}
	}
	for _, address := range urls {
		var m serverMetadata
		err := t.egress.get(ctx, address, &m)
		if err == nil {
			return &m, t.checkServer(&m, issuer)
		}
		if e, ok := errors.AsType[*statusError](err); !ok || e.code >= 500 {
			return nil, err
		}
	}
	return nil, errNoMetadata
}

func (t *Transport) checkServer(m *serverMetadata, issuer string) error {
	if m.Issuer != issuer {
		return fmt.Errorf("oauth: metadata of %q has issuer %q", issuer, m.Issuer)
	}
	for _, address := range []string{m.Authorize, m.Token, m.Register} {
		if address == "" {
			continue
		}
		if err := t.egress.Check(address); err != nil {
			return err
		}
	}
	if m.Token == "" {
		return fmt.Errorf("oauth: %s has no token endpoint", issuer)
	}
	return nil
}

// discover finds the authorization server for the server.
func (t *Transport) discover(ctx context.Context, c challenge) (*resourceMetadata, *serverMetadata, error) {
	res, err := t.findResource(ctx, c)
	if errors.Is(err, errNoMetadata) {
		as, err := t.defaultServer(ctx)
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

// defaultServer returns the authorization server of a server of 2025-03-26,
// which is the server itself.
func (t *Transport) defaultServer(ctx context.Context) (*serverMetadata, error) {
	origin := t.server.Scheme + "://" + t.server.Host
	as, err := t.findServer(ctx, origin)
	if errors.Is(err, errNoMetadata) {
		return &serverMetadata{
			Issuer: origin, Authorize: origin + "/authorize", Token: origin + "/token", Register: origin + "/register",
			Challenges: []string{"S256"}, guessed: true,
		}, nil
	}
	return as, err
}

// resource returns the canonical URL of the server.
func (t *Transport) resource() string {
	u := *t.server
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}
