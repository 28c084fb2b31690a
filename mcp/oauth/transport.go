package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bossman-dev/bossman/internal/egress"
)

// The path to a token:
//
//	401, or 403 with more scopes
//	   │
//	   ▼
//	discovery.go     metadata of the server and of its authorization server
//	   │
//	   ▼
//	register.go      the client id: configured, a metadata document, or dynamic
//	   │             registration
//	   ▼
//	authorize.go     the user consents       grant.go   or no user is involved
//	   │                                         │
//	   └───────────────► token.go ◄──────────────┘
//	                        │
//	                        ▼
//	                     store.go    stored by issuer: nothing from one authorization
//	                                 server is ever sent to another

// offlineScope is the scope that requests a refresh token.
const offlineScope = "offline_access"

// A Transport sends requests to one server with the required token. Requests to
// other servers are sent without it.
type Transport struct {
	server  *url.URL
	o       Options
	egress  fetcher
	current atomic.Pointer[activeToken]

	lock         chan struct{}  // held while a token is requested; guards the following
	stepUps      map[string]int // how often each set of scopes was requested because the server required more
	clientIssuer string         // the issuer that ClientID belongs to
	metadataURL  string         // where the server said that its metadata is
}

// An activeToken is the token in use.
type activeToken struct {
	issuer  string
	token   *Token
	key     *dpopKey
	request *tokenRequest
}

var _ http.RoundTripper = (*Transport)(nil)

// NewTransport returns a transport for the server at a URL.
func NewTransport(server string, o *Options) (*Transport, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("oauth: %q is not a valid server URL", server)
	}
	u.Fragment = ""
	t := &Transport{server: u, lock: make(chan struct{}, 1), stepUps: map[string]int{}}
	if o != nil {
		t.o = *o
	}
	t.clientIssuer = t.o.Issuer
	if t.o.Base == nil {
		t.o.Base = http.DefaultTransport
	}
	if t.o.Store == nil {
		t.o.Store = &Memory{}
	}
	t.o.ClientName = cmp.Or(t.o.ClientName, "Bossman")
	if u, err := url.Parse(t.o.Redirect); err != nil || u.Scheme == "http" && !egress.IsLocal(u.Hostname()) {
		return nil, fmt.Errorf("oauth: redirect %q must be https or on this machine", t.o.Redirect)
	}
	t.egress = fetcher{egress.New(egress.IsLocal(u.Hostname()))}
	if t.o.Egress != nil {
		t.egress.HTTP = t.o.Egress
	}
	return t, nil
}

// Blocked returns how many URLs named by the server were refused. Nothing was
// sent to them.
func (t *Transport) Blocked() int64 { return t.egress.Blocked() }

// Limits on the tokens requested for one request.
const (
	maxTries   = 5
	maxRenewed = 2 // because the token was rejected
	maxSteps   = 2 // with the same scopes, because they were insufficient
)

// RoundTrip sends a request. If the server requires a token, or another one,
// RoundTrip gets it and sends the request again.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != t.server.Scheme || r.URL.Host != t.server.Host {
		return t.o.Base.RoundTrip(r)
	}
	h := t.current.Load()
	if h != nil && h.token.expired() && h.token.Refresh != "" {
		if next, err := t.renewToken(r.Context(), h, challenge{}, false); err == nil {
			h = next
		}
	}
	renewed := 0
	for try := 1; ; try++ {
		req, nonce, err := t.withToken(r, h, try > 1)
		if err != nil {
			return nil, err
		}
		res, err := t.o.Base.RoundTrip(req)
		if err != nil || res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
			if err == nil && h != nil && h.key != nil {
				h.key.saveNonce(r.URL.String(), res.Header, nonce)
			}
			return res, err
		}
		if try == maxTries || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
			return res, nil
		}
		c := findChallenge(challenges(res.Header))
		switch {
		case res.StatusCode == http.StatusUnauthorized && h != nil && h.key != nil && h.key.saveNonce(r.URL.String(), res.Header, nonce):
			// same token, new proof
		case res.StatusCode == http.StatusUnauthorized && renewed < maxRenewed:
			renewed++
			if h, err = t.renewToken(r.Context(), h, c, false); err != nil {
				discard(res)
				return nil, err
			}
		case res.StatusCode == http.StatusForbidden && c.params["error"] == "insufficient_scope":
			next, err := t.renewToken(r.Context(), h, c, true)
			if errors.Is(err, errNotEnoughScope) {
				return res, nil
			}
			if err != nil {
				discard(res)
				return nil, err
			}
			h = next
		default:
			return res, nil
		}
		discard(res)
	}
}

// Login gets a token before the server asks for one. Use it when the user may
// need longer to consent than a request may take.
func (t *Transport) Login(ctx context.Context) error {
	_, err := t.renewToken(ctx, t.current.Load(), challenge{}, false)
	return err
}

func discard(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	_ = res.Body.Close()
}

// withToken returns the request with a token, and the nonce in its proof, if any.
func (t *Transport) withToken(r *http.Request, h *activeToken, retry bool) (req *http.Request, nonce string, err error) {
	req = r.Clone(r.Context())
	if retry && r.GetBody != nil {
		if req.Body, err = r.GetBody(); err != nil {
			return nil, "", err
		}
	}
	if h == nil {
		return req, "", nil
	}
	req.Header.Set("Authorization", h.token.Type+" "+h.token.Access)
	if h.key != nil {
		var proof string
		if proof, nonce, err = h.key.proof(r.Method, r.URL.String(), h.token.Access); err != nil {
			return nil, "", err
		}
		req.Header.Set("DPoP", proof)
	}
	return req, nonce, nil
}

// errNotEnoughScope means that requesting the same scopes again would not help.
var errNotEnoughScope = errors.New("oauth: the granted scopes are not sufficient")

// renewToken replaces the token used, unless another goroutine has done so. If
// more is set, the token was valid but lacked scopes.
func (t *Transport) renewToken(ctx context.Context, used *activeToken, c challenge, more bool) (*activeToken, error) {
	select {
	case t.lock <- struct{}{}: // the user may take long, so waiting ends with ctx
		defer func() { <-t.lock }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if now := t.current.Load(); now != used {
		return now, nil
	}
	resource, as, err := t.discover(ctx, c)
	if err != nil {
		return nil, err
	}
	record, err := t.o.Store.Load(ctx, as.Issuer)
	if err != nil {
		return nil, err
	}
	if record == nil {
		record = &Record{}
	}
	a := &tokenRequest{server: as, resource: resource.Resource}
	if a.client, err = t.identify(as, record.Client); err != nil {
		return nil, err
	}
	stored, have := record.Tokens[a.resource]
	a.scopes = t.scopes(resource, as, c, &stored, more)
	if more {
		key := strings.Join(slices.Sorted(slices.Values(a.scopes)), " ")
		if t.stepUps[key]++; t.stepUps[key] > maxSteps {
			return nil, errNotEnoughScope
		}
	}
	var tok *Token
	if have && !more {
		if tok, err = t.reuse(ctx, a, used, &stored); err != nil {
			return nil, err
		}
	}
	if tok == nil {
		if err := t.ensureRegistered(ctx, a); err != nil {
			return nil, err
		}
		if tok, err = t.obtain(ctx, a, resource, c); err != nil {
			return nil, err
		}
	}
	next := &activeToken{issuer: as.Issuer, token: tok, request: a}
	if len(tok.Key) > 0 {
		if next.key = a.dpopKey; next.key == nil {
			if next.key, err = parseDPoPKey(tok.Key); err != nil {
				return nil, err
			}
		}
	}
	if err := updateRecord(ctx, t.o.Store, as.Issuer, func(r *Record) { r.setToken(a.resource, tok) }); err != nil {
		return nil, err
	}
	t.current.Store(next)
	return next, nil
}

// reuse returns the stored token of this client, or refreshes it, without
// involving the user. It returns nil if that is not possible. A failure that
// does not concern the token is returned as an error, so that the user is not
// asked needlessly.
func (t *Transport) reuse(ctx context.Context, a *tokenRequest, used *activeToken, stored *Token) (*Token, error) {
	if a.client == nil || a.client.ClientID != stored.Client {
		return nil, nil
	}
	if (used == nil || used.token.Access != stored.Access) && !stored.expired() {
		return stored, nil
	}
	if stored.Refresh == "" {
		return nil, nil
	}
	tok, err := t.refresh(ctx, a, stored)
	refusal, refused := errors.AsType[*Error](err)
	if !refused {
		return tok, err
	}
	if refusal.Code == "invalid_client" && a.client.dynamic {
		a.client = nil // the server has lost the registration
		return nil, nil
	}
	// Another process may have used the refresh token, which is valid only
	// once.
	record, err := t.o.Store.Load(ctx, a.server.Issuer)
	if err != nil || record == nil {
		return nil, err
	}
	if now := record.Tokens[a.resource]; now.Access != stored.Access && now.Client == stored.Client && !now.expired() {
		return &now, nil
	}
	return nil, nil
}

// obtain requests a new token.
func (t *Transport) obtain(ctx context.Context, a *tokenRequest, resource *resourceMetadata, c challenge) (*Token, error) {
	if slices.Contains(a.server.DPoP, "ES256") && (t.o.DPoP || c.scheme == "dpop" || resource.Bound || len(resource.DPoP) > 0) {
		var err error
		if a.dpopKey, err = newDPoPKey(); err != nil {
			return nil, err
		}
	}
	if t.o.Grant == nil {
		form, err := t.authorizeUser(ctx, a)
		if err != nil {
			return nil, err
		}
		return t.requestToken(ctx, a, form)
	}
	form, err := t.o.Grant.form(ctx, t, a)
	if err != nil {
		return nil, err
	}
	if len(a.scopes) > 0 {
		form.Set("scope", strings.Join(a.scopes, " "))
	}
	return t.requestToken(ctx, a, form)
}

// scopes returns the scopes to request: those in the server's challenge, or
// else in its metadata, and those of the program. If more is set, it includes
// the ones requested before.
func (t *Transport) scopes(resource *resourceMetadata, as *serverMetadata, c challenge, before *Token, more bool) []string {
	named := resource.Scopes
	if s, ok := c.params["scope"]; ok {
		named = strings.Fields(s)
	}
	scopes := union(t.o.Scopes, named)
	if more {
		scopes = union(before.Scopes, scopes)
	}
	if t.o.Grant == nil && slices.Contains(as.Scopes, offlineScope) {
		scopes = union(scopes, []string{offlineScope})
	} else {
		scopes = slices.DeleteFunc(scopes, func(s string) bool { return s == offlineScope && !slices.Contains(as.Scopes, offlineScope) })
	}
	return scopes
}
