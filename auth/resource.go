package auth

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// metadataPath begins the path of the protected resource metadata (RFC 9728), which tells
// clients where to get tokens. The path of the audience follows.
const metadataPath = "/.well-known/oauth-protected-resource"

// metadataURL returns the URL of the metadata.
func (a *Authenticator) metadataURL() *url.URL {
	u, err := url.Parse(a.o.Audience)
	if err != nil {
		return &url.URL{Path: metadataPath}
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: metadataPath + strings.TrimSuffix(u.Path, "/")}
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
