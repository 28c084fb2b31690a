package oauth

import (
	"context"
	"crypto"
	"net/http"
)

// Options configures a Transport. What is required depends on the authorization
// server; the zero value is for servers that need no token.
type Options struct {
	// Base sends the requests to the server. Default: http.DefaultTransport.
	Base http.RoundTripper
	// Store stores registrations and tokens. Default: in memory.
	Store Store

	// Authorize shows the user a URL at which to consent, and returns the URL
	// to which the user was redirected, which begins with Redirect. Loopback
	// implements it. The URL is https, or http on this machine, and safe to
	// display.
	Authorize func(ctx context.Context, address string) (string, error)
	Redirect  string
	// Grant is a grant without user consent, used instead of Authorize.
	Grant Grant

	// ClientID and ClientSecret are the credentials at the authorization server
	// Issuer, if the client is registered already. They are sent to no other
	// server. If Issuer is empty, it is the first one that the server names.
	ClientID, ClientSecret string
	Issuer                 string
	// Key authenticates the client instead of a secret; KeyID is its name.
	Key   crypto.Signer
	KeyID string
	// ClientMetadataURL is the URL of a client ID metadata document, for authorization
	// servers that support it.
	ClientMetadataURL string
	// ClientName is shown to the user.
	ClientName string
	// Scopes are always requested, in addition to those that the server names.
	Scopes []string
	// DPoP binds tokens to a key whenever the authorization server supports it.
	// If false, tokens are bound only when the server requires it.
	DPoP bool
	// Egress sends requests to authorization servers. Default: a client that
	// does not connect to private addresses, unless the server itself has one.
	Egress *http.Client
}
