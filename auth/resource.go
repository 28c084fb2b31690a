package auth

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
)

// MetadataPath is the default path of the document of Metadata.
const MetadataPath = "/.well-known/oauth-protected-resource"

// Metadata returns the protected resource metadata (RFC 9728), which tells clients where to
// get tokens, and its path on this server: MetadataPath and the path of the audience. Both
// are empty if there is no issuer.
func (a *Authenticator) Metadata() (path string, document []byte) {
	if a.issuer == nil {
		return "", nil
	}
	var scopes []string
	for r := Viewer; r <= Admin; r++ {
		scopes = append(scopes, Scope(r))
	}
	document, err := json.Marshal(struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{a.o.Audience, []string{a.o.Issuer}, scopes, []string{"header"}, "Bossman"})
	if err != nil {
		return "", nil // a URL that is not UTF-8
	}
	return a.metadataURL().Path, document
}

// metadataURL returns the URL of the document.
func (a *Authenticator) metadataURL() *url.URL {
	u, err := url.Parse(a.o.Audience)
	if err != nil {
		return &url.URL{Path: MetadataPath}
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: MetadataPath + strings.TrimSuffix(u.Path, "/")}
}

// Challenge returns the WWW-Authenticate header of a response with 400 or 401.
func (a *Authenticator) Challenge(err error) string {
	var params []string
	switch {
	case errors.Is(err, ErrMissing):
	case errors.Is(err, ErrMalformed):
		params = append(params, `error="invalid_request"`)
	default:
		params = append(params, `error="invalid_token"`)
	}
	return a.bearer(params, Worker)
}

// StepUp returns the WWW-Authenticate header of a response with 403 to a principal whose
// token needs the scope of a higher role.
func (a *Authenticator) StepUp(least Role) string {
	return a.bearer([]string{
		`error="insufficient_scope"`, fmt.Sprintf(`error_description="this needs the role %s"`, least),
	}, least)
}

// bearer returns a challenge. Without an issuer it has no parameters about tokens.
func (a *Authenticator) bearer(params []string, role Role) string {
	if a.issuer == nil {
		params = append([]string{`realm="bossman"`}, params...)
	} else {
		params = append(params, fmt.Sprintf(`scope="%s"`, Scope(role)), fmt.Sprintf(`resource_metadata="%s"`, a.metadataURL()))
	}
	return "Bearer " + strings.Join(params, ", ")
}
