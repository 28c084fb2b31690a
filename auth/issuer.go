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
	// fetchTime and fetchSize bound one document of an issuer.
	fetchTime = 5 * time.Second
	fetchSize = 64 << 10
	// keysLife is how long its keys are used before they are fetched anew, so that one
	// that was withdrawn ends; keysMost how long if it cannot be reached.
	keysLife = 10 * time.Minute
	keysMost = time.Hour
	// An unknown key makes us ask again, but only if the last answer is this old, and
	// after a failure not at once: forged tokens must not make us flood the issuer.
	askAgain   = 5 * time.Second
	retryAfter = time.Second
)

var usualAlgorithms = []string{oidc.RS256, oidc.PS256, oidc.ES256, oidc.EdDSA}

// allowedAlgorithms have a public key. With one that has a shared secret our public
// knowledge of the issuer's key would be enough to sign.
var allowedAlgorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// Check refuses options about tokens that cannot be meant so.
func (o *Options) Check() error {
	if o.Issuer == "" {
		if o.Audience != "" || len(o.Rules) > 0 {
			return invalid("an audience or rules for tokens need an issuer")
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
			return invalid("tokens cannot be signed with %.20q; there are %s", alg, strings.Join(allowedAlgorithms, ", "))
		}
	}
	for _, r := range o.Rules {
		switch {
		case r.Claim == "" || r.Value == "":
			return invalid("a rule for tokens needs a claim and its value")
		case !validProject(r.Project):
			return invalid("%.40q, in a rule for tokens, cannot be a project's short name, nor is it * for every project", r.Project)
		case r.Role <= None || r.Role > Admin:
			return invalid("a rule for tokens needs a role: %s", strings.Join(roleNames[1:], ", "))
		}
	}
	return nil
}

// checkURL wants https, or http on this machine.
func checkURL(what, s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.RawQuery != "" {
		return invalid("the %s of tokens is a URL, without a query, such as https://bossman.example/mcp", what)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return invalid("the %s of tokens, %.200q, does not begin with https", what, s)
	}
	return nil
}

// An issuer checks the tokens of an authorization server. It finds its keys when the
// first token comes.
type issuer struct {
	o      *Options
	algs   []string
	client *http.Client
	turn   chan struct{} // of whoever looks for the first keys

	mu   sync.Mutex
	keys *keys // nil: none yet
	// failed is the last failure to find them.
	failed   error
	failedAt time.Time
}

// keys are an issuer's, since a time.
type keys struct {
	*oidc.RemoteKeySet
	fetch *seldom
	since time.Time
	tried time.Time // when newer ones were looked for last
}

func newIssuer(o *Options) *issuer {
	i := &issuer{o: o, algs: o.Algorithms, turn: make(chan struct{}, 1)}
	if len(i.algs) == 0 {
		i.algs = usualAlgorithms
	}
	next := http.DefaultTransport
	if o.Client != nil && o.Client.Transport != nil {
		next = o.Client.Transport
	}
	i.client = &http.Client{
		Timeout: fetchTime, Transport: bounded{next},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("too many redirects")
			}
			return nil
		},
	}
	return i
}

// verify checks a token: errRefused if it opens nothing, any other error if that
// cannot be found out now.
func (i *issuer) verify(ctx context.Context, raw string) (claims, error) {
	if err := checkHeader(raw, i.algs); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*fetchTime)
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
		return nil, refused("its claims are not JSON, or there is one twice")
	}
	return c, c.check(i.o, time.Now())
}

// verifying is the issuer's keys for one token. It keeps what was signed, and the
// error as it was.
type verifying struct {
	issuer  *issuer
	payload []byte
	err     error
}

func (v *verifying) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	v.payload, v.err = v.issuer.verifySignature(ctx, jwt)
	return v.payload, v.err
}

func (i *issuer) verifySignature(ctx context.Context, jwt string) ([]byte, error) {
	old, renew := i.current()
	if !renew {
		return old.VerifySignature(ctx, jwt)
	}
	if old == nil { // one looks, the others wait
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
	set, err := i.discover(context.WithoutCancel(ctx)) // a caller who leaves must not fail the others
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

// current gives the keys that may be used, nil if there are none, and whether the
// caller has to look for newer ones.
func (i *issuer) current() (set *keys, renew bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.keys == nil || time.Since(i.keys.since) >= keysMost {
		return nil, true
	}
	renew = time.Since(i.keys.since) > keysLife && time.Since(i.keys.tried) > retryAfter
	if renew {
		i.keys.tried = time.Now() // the others go on meanwhile
	}
	return i.keys, renew
}

// discover finds where the issuer has its keys: where OpenID Connect puts it, or
// where OAuth does.
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
			client, fetch := *i.client, &seldom{next: i.client.Transport}
			client.Transport = fetch
			set := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), &client), jwks)
			return &keys{RemoteKeySet: set, fetch: fetch, since: time.Now()}, nil
		}
		all = errors.Join(all, err)
	}
	return nil, all
}

// metadata reads the address of the keys out of an issuer's document about itself.
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
		return "", fmt.Errorf("%w: %s is not what it should be", errFetch, where)
	}
	if doc.Issuer != i.o.Issuer {
		return "", fmt.Errorf("%w: %s is about the issuer %.200q, and %q is configured", errFetch, where, doc.Issuer, i.o.Issuer)
	}
	if err := checkURL("keys", doc.JWKS); err != nil {
		return "", fmt.Errorf("%w: %w", errFetch, err)
	}
	return doc.JWKS, nil
}

// errFetch is for an issuer that cannot be asked now.
var errFetch = errors.New("cannot be reached")

// errRecent refuses to fetch again what was fetched just now.
var errRecent = errors.New("the keys are fresh")

// bounded fetches small documents. Whatever goes wrong is errFetch.
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
		return nil, fmt.Errorf("%w: %s has more than %d bytes", errFetch, r.URL.Redacted(), fetchSize)
	case !jsontext.Value(text).IsValid():
		return nil, fmt.Errorf("%w: %s is not JSON", errFetch, r.URL.Redacted())
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	return res, nil
}

// seldom fetches an issuer's keys, and not again at once.
type seldom struct {
	next http.RoundTripper

	mu  sync.Mutex
	at  time.Time // of the last fetch
	err error     // its outcome
}

func (s *seldom) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch since := time.Since(s.at); {
	case s.at.IsZero():
	case s.err == nil && since < askAgain:
		return nil, errRecent
	case s.err != nil && since < retryAfter:
		return nil, s.err
	}
	var res *http.Response
	res, s.err = s.next.RoundTrip(r)
	s.at = time.Now()
	return res, s.err
}
