package streamable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/mcp"
)

// metadataPath begins the path of the metadata of a Resource.
const metadataPath = "/.well-known/oauth-protected-resource"

// A Resource describes a server that takes OAuth tokens, as in RFC 9728.
type Resource struct {
	URL                  string   // of the MCP endpoint, as clients know it
	AuthorizationServers []string // URLs of the issuers whose tokens are accepted
	Scopes               []string // that tokens can have; may be empty
	Name                 string   // for people; may be empty
}

// BearerAuth authenticates requests by OAuth bearer tokens, and serves the
// metadata that tells clients where to get them.
//
//	auth := streamable.Bearer(verify, streamable.Resource{
//		URL:                  "https://draw.example/mcp",
//		AuthorizationServers: []string{"https://login.example"},
//	})
//	h := streamable.NewHandler(s, &streamable.Options{Authenticate: auth.Authenticate, Hosts: []string{"draw.example"}})
//	mux.Handle("/mcp", h)
//	mux.Handle(auth.MetadataPath(), auth)
type BearerAuth struct {
	verify   func(ctx context.Context, token string) (mcp.Principal, error)
	metadata url.URL
	document []byte
}

var _ http.Handler = (*BearerAuth)(nil)

// Bearer returns a BearerAuth. verify must check the token's signature, expiry
// and audience. Its errors refuse the request: a *ScopeError with 403, an
// *AuthError as it says, with a challenge if it has none, and any other with
// 401. Bearer panics if r.URL is not an absolute http or https URL.
func Bearer(verify func(ctx context.Context, token string) (mcp.Principal, error), r Resource) *BearerAuth {
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Fragment != "" || strings.ContainsAny(r.URL, "\"\\") {
		panic(fmt.Sprintf("streamable: the URL of a Resource is %q, want that of the endpoint", r.URL))
	}
	document, err := jsonv2.Marshal(struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers,omitempty"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name,omitzero"`
	}{r.URL, r.AuthorizationServers, r.Scopes, []string{"header"}, r.Name})
	if err != nil {
		panic(fmt.Sprintf("streamable: a Resource cannot be encoded: %v", err))
	}
	return &BearerAuth{
		verify:   verify,
		metadata: url.URL{Scheme: u.Scheme, Host: u.Host, Path: metadataPath + strings.TrimSuffix(u.Path, "/"), RawQuery: u.RawQuery},
		document: document,
	}
}

// MetadataPath returns the path at which the BearerAuth must be mounted.
func (b *BearerAuth) MetadataPath() string { return b.metadata.Path }

// ServeHTTP serves the metadata, which anybody may read.
func (b *BearerAuth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(b.document)
}

// Authenticate identifies the sender of a request, for Options.Authenticate.
func (b *BearerAuth) Authenticate(r *http.Request) (mcp.Principal, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch token = strings.TrimLeft(token, " "); {
	case !strings.EqualFold(scheme, "Bearer"):
		return mcp.Principal{}, &AuthError{Challenge: b.challenge(""), Text: "a bearer token is required"}
	case !isToken(token):
		return mcp.Principal{}, &AuthError{Status: http.StatusBadRequest, Text: "the bearer token is malformed"}
	}
	p, err := b.verify(r.Context(), token)
	if err == nil {
		return p, nil
	}
	if e, ok := errors.AsType[*ScopeError](err); ok {
		challenge := b.challenge("insufficient_scope")
		if scopes := strings.Join(e.Missing, " "); scopes != "" && !strings.ContainsAny(scopes, "\"\\\r\n") {
			challenge += fmt.Sprintf(`, scope="%s"`, scopes)
		}
		return mcp.Principal{}, &AuthError{Status: http.StatusForbidden, Challenge: challenge, Text: e.Error()}
	}
	if e, ok := errors.AsType[*AuthError](err); ok {
		with := *e
		with.Challenge = cmp.Or(e.Challenge, b.challenge("invalid_token"))
		return mcp.Principal{}, &with
	}
	return mcp.Principal{}, &AuthError{Challenge: b.challenge("invalid_token"), Text: "the bearer token is not accepted"}
}

// challenge returns a WWW-Authenticate header.
func (b *BearerAuth) challenge(code string) string {
	c := "Bearer "
	if code != "" {
		c += fmt.Sprintf(`error="%s", `, code)
	}
	return c + fmt.Sprintf(`resource_metadata="%s"`, &b.metadata)
}

// isToken reports whether s has the form of a bearer token (RFC 6750).
func isToken(s string) bool {
	body := strings.TrimRight(s, "=")
	for i := range len(body) {
		c := body[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-._~+/", rune(c)) {
			return false
		}
	}
	return body != ""
}

// A ScopeError says which scopes a token lacks.
type ScopeError struct{ Missing []string }

func (e *ScopeError) Error() string {
	return "the token lacks the scope " + strings.Join(e.Missing, " ")
}
