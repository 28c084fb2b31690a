package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Match is a claim that has a value: it is it, contains it in a list, or, for
// scope, has it among its words. A claim inside another is named with a dot,
// realm_access.roles.
type Match struct{ Claim, Value string }

// A Rule gives a role in a project, or in EveryProject, to tokens that match.
type Rule struct {
	Claim, Value string
	Project      string
	Role         Role
}

// Scope is the OAuth scope for a role: bossman:worker.
func Scope(r Role) string { return scopePrefix + r.String() }

const scopePrefix = "bossman:"

// token tells who shows an access token.
func (a *Authenticator) token(ctx context.Context, raw, from string) (*Principal, error) {
	sum := sha256.Sum256([]byte(raw))
	name := "tok " + string(sum[:])
	e, err := a.remembered(name)
	if e != nil || err != nil {
		return e.who(), err
	}
	if err := a.failures.full(from, ""); err != nil {
		return nil, err
	}
	c, err := a.issuer.verify(ctx, raw)
	switch {
	case errors.Is(err, errRefused):
		a.log.Debug("token refused", "err", err)
		return nil, a.failures.add(from, "")
	case err != nil:
		return nil, unavailable(err)
	}
	e, err = a.lookUp(ctx, name, func(ctx context.Context) (*entry, error) { return a.findOwner(ctx, c) })
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, a.failures.add(from, "")
	}
	return e.principal, nil
}

func (e *entry) who() *Principal {
	if e == nil {
		return nil
	}
	return e.principal
}

// findOwner asks the store for the owner of a token, and adds one who is new, so that
// it can be disabled. Nil is that it is.
func (a *Authenticator) findOwner(ctx context.Context, c claims) (*entry, error) {
	e := &entry{revoked: make(chan struct{})}
	e.principal = c.principal(&a.o, e.revoked)
	p, err := a.store.Person(ctx, e.principal.Owner)
	if errors.Is(err, ErrNotFound) {
		err = a.store.InsertPerson(ctx, e.principal.Owner, time.Now())
	}
	if err != nil || !p.Disabled.IsZero() {
		return nil, err
	}
	return e, nil
}

// claims are what a token says.
type claims map[string]jsontext.Value

// text is a claim that is a text, else "".
func (c claims) text(name string) string {
	var s string
	if v, ok := c[name]; !ok || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// list is a claim that is a text or a list of texts.
func (c claims) list(name string) []string {
	v, ok := c.find(name)
	if !ok {
		return nil
	}
	var s string
	if json.Unmarshal(v, &s) == nil {
		return []string{s}
	}
	var list []string
	if json.Unmarshal(v, &list) != nil {
		return nil
	}
	return list
}

// find looks for a claim, and then for one inside another.
func (c claims) find(name string) (jsontext.Value, bool) {
	if v, ok := c[name]; ok {
		return v, true
	}
	outer, inner, ok := strings.Cut(name, ".")
	if !ok {
		return nil, false
	}
	v, ok := c[outer]
	if !ok {
		return nil, false
	}
	var below claims
	if json.Unmarshal(v, &below) != nil {
		return nil, false
	}
	return below.find(inner)
}

// moment is a claim that is a time, in seconds. It reports false if there is none.
func (c claims) moment(name string) (time.Time, bool) {
	var seconds float64
	v, ok := c[name]
	if !ok || json.Unmarshal(v, &seconds) != nil || seconds < 0 || seconds > maxSeconds {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0).UTC(), true
}

const maxSeconds = 1 << 40

// scopes are the words of scope, or of scp.
func (c claims) scopes() []string {
	list := c.list("scope")
	if list == nil {
		list = c.list("scp")
	}
	return strings.Fields(strings.Join(list, " "))
}

func (c claims) match(m Match) bool {
	if m.Claim == "scope" {
		return slices.Contains(c.scopes(), m.Value)
	}
	return slices.Contains(c.list(m.Claim), m.Value)
}

// grants are the roles of a token.
func (c claims) grants(rules []Rule) map[string]Role {
	scoped := None
	for _, s := range c.scopes() {
		if name, ok := strings.CutPrefix(s, scopePrefix); ok {
			if r, err := ParseRole(name); err == nil {
				scoped = max(scoped, r)
			}
		}
	}
	grants := map[string]Role{}
	if len(rules) == 0 {
		if scoped > None {
			grants[EveryProject] = scoped
		}
		return grants
	}
	for _, r := range rules {
		if c.match(Match{r.Claim, r.Value}) {
			role := r.Role
			if scoped > None {
				role = min(role, scoped)
			}
			grants[r.Project] = max(grants[r.Project], role)
		}
	}
	return grants
}

// human reports whether a person stands behind a token.
func (c claims) human(m *Match) bool {
	if m != nil {
		return c.match(*m)
	}
	sub := c.text("sub")
	return sub != c.text("client_id") && sub != c.text("azp") && c.text("gty") != "client-credentials"
}

func (c claims) principal(o *Options, revoked <-chan struct{}) *Principal {
	id := sha256.Sum256([]byte(c.text("iss") + "\n" + c.text("sub")))
	expires, _ := c.moment("exp")
	p := &Principal{
		ID: "tok:" + hex.EncodeToString(id[:16]), Person: c.human(o.Human), Grants: c.grants(o.Rules),
		Expires: expires, Revoked: revoked, Owner: c.text(ownerClaim(o)),
	}
	names := []string{"name", "preferred_username", "email"}
	if o.NameClaim != "" {
		names = []string{o.NameClaim}
	}
	p.Name = p.Owner
	for _, n := range names {
		if s := c.text(n); checkName("a person", s) == nil {
			p.Name = s
			break
		}
	}
	return p
}

func ownerClaim(o *Options) string {
	if o.OwnerClaim == "" {
		return "sub"
	}
	return o.OwnerClaim
}

// errRefused is for a token that opens nothing, whatever is tried again.
var errRefused = errors.New("auth: token refused")

// skew is by how much another clock may be ahead.
const skew = time.Minute

// check refuses a token whose signature is good, but that is not for us, not now, or
// not to be used by whoever has it.
func (c claims) check(o *Options, now time.Time) error {
	expires, ok := c.moment("exp")
	switch {
	case c.text("iss") != o.Issuer:
		return refused("another issuer")
	case !slices.Contains(c.list("aud"), o.Audience):
		return refused("another audience")
	case !ok || !now.Before(expires):
		return refused("expired")
	case c.text("sub") == "" || len(c.text("sub")) > 255:
		return refused("no subject")
	case checkName("a person", c.text(ownerClaim(o))) != nil:
		return refused("no owner")
	}
	for _, name := range []string{"nbf", "iat"} {
		if _, there := c[name]; there {
			if t, ok := c.moment(name); !ok || now.Add(skew).Before(t) {
				return refused("not yet valid")
			}
		}
	}
	if typ, there := c["typ"]; there && !strings.EqualFold(c.text("typ"), "Bearer") {
		return refused("its typ is " + typ.String())
	}
	if _, there := c["cnf"]; there {
		return refused("it is bound to a key that its sender must show, and we do not look at")
	}
	return nil
}

func refused(why string) error { return &refusal{why} }

type refusal struct{ why string }

func (r *refusal) Error() string { return errRefused.Error() + ": " + r.why }
func (r *refusal) Unwrap() error { return errRefused }

// checkHeader refuses what is not an access token, before anything is computed.
func checkHeader(raw string, algorithms []string) error {
	head, rest, _ := strings.Cut(raw, ".")
	if strings.Count(rest, ".") != 1 {
		return refused("not a token")
	}
	text, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return refused("not a token")
	}
	var h struct {
		Alg string `json:"alg"`
		Typ string `json:"typ"`
	}
	if json.Unmarshal(text, &h) != nil {
		return refused("not a token")
	}
	if !slices.Contains(algorithms, h.Alg) {
		return refused("its algorithm is not allowed")
	}
	typ := strings.TrimPrefix(strings.ToLower(h.Typ), "application/")
	if typ != "" && typ != "jwt" && typ != "at+jwt" {
		return refused("another type")
	}
	return nil
}
