package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"

	"github.com/bossman-dev/bossman/mcp/oauth"
)

// document is the URL of this client's metadata document in the suite.
const document = "https://conformance-test.local/client-metadata.json"

// authorized returns a transport that gets tokens as the scenario requires.
func authorized(url string, s *setting) (http.RoundTripper, error) {
	o := &oauth.Options{
		Authorize:  agree,
		Redirect:   "http://localhost:3000/callback",
		ClientName: "bossman-conformance",
		ClientID:   s.ClientID, ClientSecret: s.ClientSecret, Issuer: s.Issuer,
		ClientMetadataURL: document,
	}
	switch scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO"); {
	case strings.HasPrefix(scenario, "auth/client-credentials-"):
		o.Grant = oauth.ClientCredentials{}
	case scenario == "auth/enterprise-managed-authorization":
		o.Grant = oauth.Enterprise{TokenURL: s.IDPToken, ClientID: s.IDPClient, IDToken: func(context.Context) (string, error) { return s.IDToken, nil }}
	case scenario == "auth/wif-jwt-bearer":
		o.Grant = oauth.Assertion{JWT: func(context.Context, string) (string, error) { return s.Workload, nil }}
	case strings.HasPrefix(scenario, "auth/dpop"):
		o.DPoP = true
	}
	if s.PrivateKey != "" {
		var err error
		if o.Key, err = oauth.ParseKey([]byte(s.PrivateKey)); err != nil {
			return nil, err
		}
	}
	return oauth.NewTransport(url, o)
}

// agree acts as the user: it visits the URL, and the suite redirects it at
// once.
func agree(ctx context.Context, address string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if back := res.Header.Get("Location"); back != "" {
		return back, nil
	}
	return "", errors.New("not redirected: " + res.Status)
}
