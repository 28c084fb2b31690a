package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// fetchTimeout and fetchSize limit the fetch of one document of an issuer.
	fetchTimeout = 5 * time.Second
	fetchSize    = 64 << 10
	// keysLife is how long the issuer's keys are used before they are fetched again, so
	// that a withdrawn key ends. maxKeysLife is how long if the issuer cannot be reached.
	keysLife    = 10 * time.Minute
	maxKeysLife = time.Hour
	// The keys are fetched again for a token with an unknown key, but at most every
	// refetch, and every retryAfter after a failure: forged tokens must not flood the
	// issuer.
	refetch    = 5 * time.Second
	retryAfter = time.Second
)

var defaultAlgorithms = []string{oidc.RS256, oidc.PS256, oidc.ES256, oidc.EdDSA}

// allowedAlgorithms are the algorithms with a public key. With a shared-secret algorithm
// anybody could sign tokens with the public key.
var allowedAlgorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// Check validates the options about tokens.
func (o *Options) Check() error {
	if o.Issuer == "" {
		if o.Audience != "" || len(o.Rules)+len(o.Person) > 0 {
			return invalid("audience, rules and the claims of people require an issuer")
		}
		return nil
	}
	if err := checkURL("issuer", o.Issuer); err != nil {
		return err
	}
	if err := checkURL("audience", o.Audience); err != nil {
		return err
	}
	for _, alg := range o.Algorithms {
		if !slices.Contains(allowedAlgorithms, alg) {
			return invalid("invalid token algorithm %.20q: want one of %s", alg, strings.Join(allowedAlgorithms, ", "))
		}
	}
	for _, m := range o.Person {
		if m.Claim == "" || m.Value == "" {
			return invalid("a person is known by a claim and its value; one of them is empty")
		}
	}
	for _, r := range o.Rules {
		switch {
		case r.Claim == "" || r.Value == "":
			return invalid("a token rule needs a claim and a value")
		case !validProject(r.Project):
			return invalid("invalid project %.40q in a token rule: want a project name, or * for every project", r.Project)
		case r.Role <= None || r.Role > Admin:
			return invalid("a token rule needs a role: %s", strings.Join(roleNames[1:], ", "))
		}
	}
	return nil
}

// checkURL rejects URLs that are not https, or http on the local host.
func checkURL(what, s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.RawQuery != "" {
		return invalid("invalid token %s: want a URL without a query, such as https://bossman.example/mcp", what)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return invalid("invalid token %s %.200q: want https", what, s)
	}
	return nil
}

// An issuer verifies the tokens of an authorization server. It fetches the server's keys
// when it gets the first token.
type issuer struct {
	o      *Options
	algs   []string
	client *http.Client
	turn   chan struct{} // serializes the first fetch of keys

	mu   sync.Mutex
	keys *keys // nil at first
	// failed is the last failure to fetch them.
	failed   error
	failedAt time.Time
}

// keys are the keys of an issuer.
type keys struct {
	*oidc.RemoteKeySet
	fetch *throttle
	since time.Time
	tried time.Time // when a refetch was last tried
}

func newIssuer(o *Options) *issuer {
	i := &issuer{o: o, algs: o.Algorithms, turn: make(chan struct{}, 1)}
	if len(i.algs) == 0 {
		i.algs = defaultAlgorithms
	}
	next := http.DefaultTransport
	if o.Client != nil && o.Client.Transport != nil {
		next = o.Client.Transport
	}
	i.client = &http.Client{
		Timeout: fetchTimeout, Transport: bounded{next},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("too many redirects")
			}
			return nil
		},
	}
	return i
}

// verify verifies a token. The error is errRefused if the token is not valid, and any other
// error if it cannot be verified now.
func (i *issuer) verify(ctx context.Context, raw string) (claims, error) {
	if err := checkHeader(raw, i.algs); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*fetchTimeout)
	defer cancel()
	set := &verifying{issuer: i}
	v := oidc.NewVerifier(i.o.Issuer, set, &oidc.Config{ClientID: i.o.Audience, SupportedSigningAlgs: i.algs})
	_, err := v.Verify(ctx, raw)
	if errors.Is(set.err, errFetch) || set.err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("issuer %s: %w", i.o.Issuer, set.err)
	}
	if err != nil {
		return nil, refused(err.Error())
	}
	var c claims
	if json.Unmarshal(set.payload, &c) != nil {
		return nil, refused("claims are not valid JSON")
	}
	return c, c.check(i.o, time.Now())
}

// verifying is the key set for the verification of one token. It keeps the payload and the
// original error.
type verifying struct {
	issuer  *issuer
	payload []byte
	err     error
}

func (v *verifying) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	v.payload, v.err = v.issuer.verifySignature(ctx, jwt)
	return v.payload, v.err
}

// verifySignature verifies a token with the issuer's keys, which it fetches if necessary.
func (i *issuer) verifySignature(ctx context.Context, jwt string) ([]byte, error) {
	old, renew := i.current()
	if !renew {
		return old.VerifySignature(ctx, jwt)
	}
	if old == nil { // one call fetches, the others wait
		select {
		case i.turn <- struct{}{}:
			defer func() { <-i.turn }()
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", errFetch, ctx.Err())
		}
		if set, renew := i.current(); !renew {
			return set.VerifySignature(ctx, jwt)
		}
	}
	set, err := i.discover(context.WithoutCancel(ctx)) // the cancellation of one call must not fail others
	if err == nil {
		var payload []byte
		if payload, err = set.VerifySignature(ctx, jwt); !errors.Is(err, errFetch) {
			i.mu.Lock()
			defer i.mu.Unlock()
			i.keys, i.failed = set, nil
			return payload, err
		}
	}
	i.mu.Lock()
	if i.failed == nil || time.Since(i.failedAt) >= retryAfter {
		i.failed, i.failedAt = err, time.Now()
	}
	i.mu.Unlock()
	if old != nil {
		return old.VerifySignature(ctx, jwt)
	}
	return nil, err
}

// current returns the keys that may be used, or nil, and whether the caller has to fetch
// newer ones.
func (i *issuer) current() (set *keys, renew bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.keys == nil || time.Since(i.keys.since) >= maxKeysLife {
		return nil, true
	}
	renew = time.Since(i.keys.since) > keysLife && time.Since(i.keys.tried) > retryAfter
	if renew {
		i.keys.tried = time.Now() // other calls continue with the old keys
	}
	return i.keys, renew
}

// discover finds the issuer's keys, with the metadata of OpenID Connect or that of OAuth.
func (i *issuer) discover(ctx context.Context) (*keys, error) {
	i.mu.Lock()
	failed, at := i.failed, i.failedAt
	i.mu.Unlock()
	if failed != nil && time.Since(at) < retryAfter {
		return nil, failed
	}
	u, err := url.Parse(i.o.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFetch, err)
	}
	path := strings.TrimSuffix(u.Path, "/")
	var all error
	for _, place := range []string{path + "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server" + path} {
		where := url.URL{Scheme: u.Scheme, Host: u.Host, Path: place}
		jwks, err := i.metadata(ctx, where.String())
		if err == nil {
			client, fetch := *i.client, &throttle{next: i.client.Transport}
			client.Transport = fetch
			set := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), &client), jwks)
			return &keys{RemoteKeySet: set, fetch: fetch, since: time.Now()}, nil
		}
		all = errors.Join(all, err)
	}
	return nil, all
}

// metadata returns the URL of the keys from an issuer's metadata document.
func (i *issuer) metadata(ctx context.Context, where string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errFetch, err)
	}
	res, err := i.client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var doc struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	if err := json.UnmarshalRead(res.Body, &doc); err != nil {
		return "", fmt.Errorf("%w: %s is not a metadata document", errFetch, where)
	}
	if doc.Issuer != i.o.Issuer {
		return "", fmt.Errorf("%w: %s has the issuer %.200q, want %q", errFetch, where, doc.Issuer, i.o.Issuer)
	}
	if err := checkURL("keys", doc.JWKS); err != nil {
		return "", fmt.Errorf("%w: %w", errFetch, err)
	}
	return doc.JWKS, nil
}

// errFetch is the error if the issuer cannot be reached, or its answer cannot be used.
var errFetch = errors.New("cannot be reached")

// errRecent is the error if the keys were fetched just now.
var errRecent = errors.New("the keys were fetched just now")

// bounded is a transport for small JSON documents. All its errors are errFetch.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFetch, err)
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return res, nil
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s answers %s", errFetch, r.URL.Redacted(), res.Status)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, fetchSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errFetch, err)
	case len(text) > fetchSize:
		return nil, fmt.Errorf("%w: %s is larger than %d bytes", errFetch, r.URL.Redacted(), fetchSize)
	case !jsontext.Value(text).IsValid():
		return nil, fmt.Errorf("%w: %s is not JSON", errFetch, r.URL.Redacted())
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	return res, nil
}

// throttle is a transport that limits how often an issuer's keys are fetched.
type throttle struct {
	next http.RoundTripper

	mu  sync.Mutex
	at  time.Time // of the last fetch
	err error     // its outcome
}

func (s *throttle) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch since := time.Since(s.at); {
	case s.at.IsZero():
	case s.err == nil && since < refetch:
		return nil, errRecent
	case s.err != nil && since < retryAfter:
		return nil, s.err
	}
	var res *http.Response
	res, s.err = s.next.RoundTrip(r)
	s.at = time.Now()
	return res, s.err
}
