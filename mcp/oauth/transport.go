package oauth

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
)

// offline is the scope that brings a token for asking again without the person.
const offline = "offline_access"

// Options say who we are and how to agree. What is needed depends on the server's
// authorization server; the zero value is for servers that want no token.
type Options struct {
	// Base carries the requests to the server. Nil: http.DefaultTransport.
	Base http.RoundTripper
	// Store keeps registrations and tokens. Nil: in memory.
	Store Store

	// Authorize shows the person an address, to agree there, and returns the address
	// that they were sent back to, at Redirect. Loopback has one. The address is https,
	// or http on this machine, and safe to show; see mcp.CheckURL.
	Authorize func(ctx context.Context, address string) (string, error)
	Redirect  string
	// Grant is a right that no person has to agree to, in place of Authorize.
	Grant Grant

	// ClientID and ClientSecret are what the authorization server Issuer knows us by,
	// if we are registered already. They are shown to no other. Without Issuer it is
	// the first that the server names.
	ClientID, ClientSecret string
	Issuer                 string
	// Key proves who we are in place of a secret; KeyID is its name.
	Key   crypto.Signer
	KeyID string
	// Document is the address of a document that describes us, for authorization
	// servers that read it.
	Document string
	// ClientName is shown to the person.
	ClientName string
	// Scopes are asked for in any case, besides those that the server names.
	Scopes []string
	// DPoP binds tokens to a key, wherever the authorization server can do that.
	// Otherwise it is done where the server wants it.
	DPoP bool
	// Egress sends requests to authorization servers. Nil: a client that reaches no
	// private addresses, unless the server has one.
	Egress *http.Client
}

// A Transport sends requests to one server with the tokens that it wants. Requests
// to other servers go without.
type Transport struct {
	server *url.URL
	o      Options
	egress *egress
	held   atomic.Pointer[held]

	turn  chan struct{}  // holds one while a token is asked for; guards what follows
	steps map[string]int // how often each set of scopes was asked for because the server wanted more
	known string         // the issuer that ClientID is for
	place string         // where the server said that its metadata is
}

// held is the token in use.
type held struct {
	issuer string
	token  *Token
	key    *dpopKey
	asking *asking
}

var _ http.RoundTripper = (*Transport)(nil)

// NewTransport makes a transport for the server at an address.
func NewTransport(server string, o *Options) (*Transport, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("oauth: %q is not the address of a server", server)
	}
	u.Fragment = ""
	t := &Transport{server: u, turn: make(chan struct{}, 1), steps: map[string]int{}}
	if o != nil {
		t.o = *o
	}
	t.known = t.o.Issuer
	if t.o.Base == nil {
		t.o.Base = http.DefaultTransport
	}
	if t.o.Store == nil {
		t.o.Store = &Memory{}
	}
	t.o.ClientName = cmp.Or(t.o.ClientName, "Bossman")
	if u, err := url.Parse(t.o.Redirect); err != nil || u.Scheme == "http" && !isLocal(u.Hostname()) {
		return nil, fmt.Errorf("oauth: redirect %q must be https or on this machine", t.o.Redirect)
	}
	t.egress = newEgress(isLocal(u.Hostname()))
	if t.o.Egress != nil {
		t.egress.http = t.o.Egress
	}
	return t, nil
}

// Blocked is how many addresses were refused that the server, or what it named, sent
// us to: none is asked for, and nothing is sent there.
func (t *Transport) Blocked() int64 { return t.egress.blocked.Load() }

// Limits on how often one request may lead to asking for a token.
const (
	maxTries   = 5
	maxRenewed = 2 // because the token was not good
	maxSteps   = 2 // with the same scopes, because they were not enough
)

// RoundTrip sends a request. If the server wants a token, or a better one, that is
// asked for, and the request is sent again.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != t.server.Scheme || r.URL.Host != t.server.Host {
		return t.o.Base.RoundTrip(r)
	}
	h := t.held.Load()
	if h != nil && h.token.expired() && h.token.Refresh != "" {
		if next, err := t.renew(r.Context(), h, challenge{}, false); err == nil {
			h = next
		}
	}
	renewed := 0
	for try := 1; ; try++ {
		req, err := t.dress(r, h, try > 1)
		if err != nil {
			return nil, err
		}
		res, err := t.o.Base.RoundTrip(req)
		if err != nil || res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
			if err == nil && h != nil && h.key != nil {
				h.key.heard(r.URL.String(), res.Header)
			}
			return res, err
		}
		if try == maxTries || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
			return res, nil
		}
		c := find(challenges(res.Header))
		switch {
		case res.StatusCode == http.StatusUnauthorized && h != nil && h.key != nil && h.key.heard(r.URL.String(), res.Header):
			// the same token with another proof
		case res.StatusCode == http.StatusUnauthorized && renewed < maxRenewed:
			renewed++
			if h, err = t.renew(r.Context(), h, c, false); err != nil {
				discard(res)
				return nil, err
			}
		case res.StatusCode == http.StatusForbidden && c.params["error"] == "insufficient_scope":
			next, err := t.renew(r.Context(), h, c, true)
			if errors.Is(err, errEnough) {
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

// Login asks for a token before the server wants one. A person may take longer to
// agree than a request is given.
func (t *Transport) Login(ctx context.Context) error {
	_, err := t.renew(ctx, t.held.Load(), challenge{}, false)
	return err
}

func discard(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	_ = res.Body.Close()
}

// dress is the request with a token on it.
func (t *Transport) dress(r *http.Request, h *held, again bool) (*http.Request, error) {
	req := r.Clone(r.Context())
	if again && r.GetBody != nil {
		var err error
		if req.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	if h == nil {
		return req, nil
	}
	req.Header.Set("Authorization", h.token.Type+" "+h.token.Access)
	if h.key != nil {
		proof, err := h.key.proof(r.Method, r.URL.String(), h.token.Access)
		if err != nil {
			return nil, err
		}
		req.Header.Set("DPoP", proof)
	}
	return req, nil
}

// errEnough means that asking for the same scopes once more would not help.
var errEnough = errors.New("oauth: the scopes were asked for, and are not enough")

// renew asks for a token in place of the one that was used, if nobody else has done
// that meanwhile. With more set, the one used was good, but not good for enough.
func (t *Transport) renew(ctx context.Context, used *held, c challenge, more bool) (*held, error) {
	select {
	case t.turn <- struct{}{}: // a person may take long: the others need not wait for ever
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if now := t.held.Load(); now != used {
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
	a := &asking{as: as, resource: resource.Resource}
	if a.client, err = t.identify(as, record.Client); err != nil {
		return nil, err
	}
	kept, have := record.Tokens[a.resource]
	a.scopes = t.scopes(resource, as, c, &kept, more)
	if more {
		key := strings.Join(slices.Sorted(slices.Values(a.scopes)), " ")
		if t.steps[key]++; t.steps[key] > maxSteps {
			return nil, errEnough
		}
	}
	var tok *Token
	if have && !more {
		if tok, err = t.reuse(ctx, a, used, &kept); err != nil {
			return nil, err
		}
	}
	if tok == nil {
		if err := t.registered(ctx, a); err != nil {
			return nil, err
		}
		if tok, err = t.obtain(ctx, a, resource, c); err != nil {
			return nil, err
		}
	}
	next := &held{issuer: as.Issuer, token: tok, asking: a}
	if len(tok.Key) > 0 {
		if next.key = a.dpop; next.key == nil {
			if next.key, err = readKey(tok.Key); err != nil {
				return nil, err
			}
		}
	}
	if err := keep(ctx, t.o.Store, as.Issuer, func(r *Record) { r.put(a.resource, tok) }); err != nil {
		return nil, err
	}
	t.held.Store(next)
	return next, nil
}

// reuse is a token that was kept for this client, or one in exchange for it,
// without asking anybody; nil if there is none. A failure that says nothing about
// the token is no reason to ask the person.
func (t *Transport) reuse(ctx context.Context, a *asking, used *held, kept *Token) (*Token, error) {
	if a.client == nil || a.client.ClientID != kept.Client {
		return nil, nil
	}
	if (used == nil || used.token.Access != kept.Access) && !kept.expired() {
		return kept, nil
	}
	if kept.Refresh == "" {
		return nil, nil
	}
	tok, err := t.refresh(ctx, a, kept)
	refusal, refused := errors.AsType[*Error](err)
	if !refused {
		return tok, err
	}
	if refusal.Code == "invalid_client" && a.client.registered {
		a.client = nil // it has been forgotten
		return nil, nil
	}
	// Another process may have been first: such a token is good for once.
	record, err := t.o.Store.Load(ctx, a.as.Issuer)
	if err != nil || record == nil {
		return nil, err
	}
	if now := record.Tokens[a.resource]; now.Access != kept.Access && now.Client == kept.Client && !now.expired() {
		return &now, nil
	}
	return nil, nil
}

// obtain asks for a token.
func (t *Transport) obtain(ctx context.Context, a *asking, resource *resourceMetadata, c challenge) (*Token, error) {
	if slices.Contains(a.as.DPoP, "ES256") && (t.o.DPoP || c.scheme == "dpop" || resource.Bound || len(resource.DPoP) > 0) {
		var err error
		if a.dpop, err = newDPoPKey(); err != nil {
			return nil, err
		}
	}
	if t.o.Grant == nil {
		form, err := t.byCode(ctx, a)
		if err != nil {
			return nil, err
		}
		return t.ask(ctx, a, form)
	}
	form, err := t.o.Grant.form(ctx, t, a)
	if err != nil {
		return nil, err
	}
	if len(a.scopes) > 0 {
		form.Set("scope", strings.Join(a.scopes, " "))
	}
	return t.ask(ctx, a, form)
}

// scopes are what to ask for: what the server's challenge names, or else what its
// metadata does, besides what the program wants; and if that was not enough, also
// what was asked for before.
func (t *Transport) scopes(resource *resourceMetadata, as *serverMetadata, c challenge, before *Token, more bool) []string {
	named := resource.Scopes
	if s, ok := c.params["scope"]; ok {
		named = strings.Fields(s)
	}
	scopes := union(t.o.Scopes, named)
	if more {
		scopes = union(before.Scopes, scopes)
	}
	if t.o.Grant == nil && slices.Contains(as.Scopes, offline) {
		scopes = union(scopes, []string{offline})
	} else {
		scopes = slices.DeleteFunc(scopes, func(s string) bool { return s == offline && !slices.Contains(as.Scopes, offline) })
	}
	return scopes
}
