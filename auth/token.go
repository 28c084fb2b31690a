package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Match matches a claim that equals a value, is a list that contains it, or, for scope,
// has it among its words. A nested claim is written with dots: realm_access.roles.
type Match struct{ Claim, Value string }

// A Rule gives tokens with a claim a role in a project, or in EveryProject.
type Rule struct {
	Claim, Value string
	Project      string
	Role         Role
}

// Scope returns the OAuth scope of a role, such as bossman:worker.
func Scope(r Role) string { return scopePrefix + r.String() }

const scopePrefix = "bossman:"

// token authenticates the holder of an access token.
func (a *Authenticator) token(ctx context.Context, raw, from string) (*Principal, error) {
	sum := sha256.Sum256([]byte(raw))
	name := "tok " + string(sum[:])
	e, err := a.cached(name)
	if e != nil || err != nil {
		return e.who(), err
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

// who returns the principal of an entry, which may be nil.
func (e *entry) who() *Principal {
	if e == nil {
		return nil
	}
	return e.principal
}

// findOwner reads the owner of a token from the store, and adds a new one, so that it can
// be disabled. An owner without a role is not added: there may be any number of them at the
// issuer, and they can do nothing here. It returns nil if the owner is disabled.
func (a *Authenticator) findOwner(ctx context.Context, c claims) (*entry, error) {
	e := &entry{revoked: make(chan struct{})}
	e.principal = c.principal(&a.o, e.revoked)
	p, err := a.store.Person(ctx, e.principal.Owner)
	if errors.Is(err, ErrNotFound) {
		err = nil
		if e.principal.Best() > None {
			err = a.store.InsertPerson(ctx, e.principal.Owner, time.Now())
		}
	}
	if err != nil || !p.Disabled.IsZero() {
		return nil, err
	}
	return e, nil
}

// claims are the claims of a token.
type claims map[string]jsontext.Value

// text returns a claim that is a string, else "".
func (c claims) text(name string) string {
	var s string
	if v, ok := c[name]; !ok || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// list returns a claim that is a string, true or false, or a list of strings.
func (c claims) list(name string) []string {
	v, ok := c.find(name)
	if !ok {
		return nil
	}
	var s string
	if json.Unmarshal(v, &s) == nil {
		return []string{s}
	}
	var is bool
	if json.Unmarshal(v, &is) == nil {
		return []string{strconv.FormatBool(is)}
	}
	var list []string
	if json.Unmarshal(v, &list) != nil {
		return nil
	}
	return list
}

// find returns a claim, which may be nested.
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

// timeClaim returns a claim that is a time in seconds, and whether there is one.
func (c claims) timeClaim(name string) (time.Time, bool) {
	var seconds float64
	v, ok := c[name]
	if !ok || json.Unmarshal(v, &seconds) != nil || seconds < 0 || seconds > maxSeconds {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0).UTC(), true
}

const maxSeconds = 1 << 40

// scopes returns the words of scope, or of scp.
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

// roles returns the roles of a token by project.
func (c claims) roles(rules []Rule) map[string]Role {
	scoped := None
	for _, s := range c.scopes() {
		if name, ok := strings.CutPrefix(s, scopePrefix); ok {
			if r, err := ParseRole(name); err == nil {
				scoped = max(scoped, r)
			}
		}
	}
	roles := map[string]Role{}
	if len(rules) == 0 {
		if scoped > None {
			roles[EveryProject] = scoped
		}
		return roles
	}
	for _, r := range rules {
		if c.match(Match{r.Claim, r.Value}) {
			role := r.Role
			if scoped > None {
				role = min(role, scoped)
			}
			roles[r.Project] = max(roles[r.Project], role)
		}
	}
	return roles
}

// person reports whether a token is a person's: one of the matches says so, and nothing in
// the token says otherwise.
func (c claims) person(matches []Match) bool {
	return slices.ContainsFunc(matches, c.match) && !c.program()
}

// program reports whether a token says of itself that a program got it for itself, or that
// a program uses it on somebody's behalf (act of RFC 8693). Many tokens of programs do not
// say so.
func (c claims) program() bool {
	sub := c.text("sub")
	for _, client := range []string{"client_id", "azp", "cid", "appid"} {
		if c.text(client) == sub {
			return true
		}
	}
	for _, name := range []string{sub, c.text("preferred_username")} {
		for _, shape := range []string{"service-account-", "system:serviceaccount:", "repo:", "project_path:", "spiffe://"} {
			if strings.HasPrefix(name, shape) { // Keycloak, Kubernetes, GitHub, GitLab, SPIFFE
				return true
			}
		}
	}
	_, acts := c["act"]
	return acts || c.text("gty") == "client-credentials" || c.text("idtyp") == "app"
}

func (c claims) principal(o *Options, revoked <-chan struct{}) *Principal {
	id := sha256.Sum256([]byte(c.text("iss") + "\n" + c.text("sub")))
	expires, _ := c.timeClaim("exp")
	p := &Principal{
		ID: "tok:" + hex.EncodeToString(id[:16]), Person: c.person(o.Person), Grants: c.roles(o.Rules),
		Expires: expires, Revoked: revoked, Owner: c.text(ownerClaim(o)),
	}
	names := []string{"name", "preferred_username", "email"}
	if o.NameClaim != "" {
		names = []string{o.NameClaim}
	}
	p.Name = p.Owner
	for _, n := range names {
		if s := c.text(n); checkName("a person", s) == nil {
			p.Name = alias(p.Owner, s)
			break
		}
	}
	return p
}

// alias is the display name of an owner whom the issuer calls by another name. The owner
// stands first, because users can change that name at many issuers, and two may have the
// same one; and without parentheses, in which others say what an author is.
func alias(owner, name string) string {
	if strings.EqualFold(owner, name) {
		return owner
	}
	return owner + " alias " + strings.NewReplacer("(", "[", ")", "]").Replace(name)
}

func ownerClaim(o *Options) string {
	if o.OwnerClaim == "" {
		return "sub"
	}
	return o.OwnerClaim
}

// errRefused is the error for a token that is not valid.
var errRefused = errors.New("auth: token refused")

// skew is how far another clock may be ahead.
const skew = time.Minute

// check checks the claims of a token whose signature is valid.
func (c claims) check(o *Options, now time.Time) error {
	expires, ok := c.timeClaim("exp")
	switch {
	case c.text("iss") != o.Issuer:
		return refused("wrong issuer")
	case !slices.Contains(c.list("aud"), o.Audience):
		return refused("wrong audience")
	case !ok || !now.Before(expires):
		return refused("expired")
	case c.text("sub") == "" || len(c.text("sub")) > 255:
		return refused("no subject")
	case checkName("a person", c.text(ownerClaim(o))) != nil:
		return refused("no owner")
	}
	for _, name := range []string{"nbf", "iat"} {
		if _, there := c[name]; there {
			if t, ok := c.timeClaim(name); !ok || now.Add(skew).Before(t) {
				return refused("not yet valid")
			}
		}
	}
	if typ, there := c["typ"]; there && !strings.EqualFold(c.text("typ"), "Bearer") {
		return refused("wrong typ " + typ.String())
	}
	if _, there := c["cnf"]; there {
		return refused("sender-constrained tokens (cnf) are not supported")
	}
	return nil
}

// refused is an errRefused with its reason.
func refused(why string) error { return &refusal{why} }

type refusal struct{ why string }

func (r *refusal) Error() string { return errRefused.Error() + ": " + r.why }
func (r *refusal) Unwrap() error { return errRefused }

// checkHeader rejects what is not an access token, before the signature is verified.
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
		return refused("algorithm not allowed")
	}
	typ := strings.TrimPrefix(strings.ToLower(h.Typ), "application/")
	if typ != "" && typ != "jwt" && typ != "at+jwt" {
		return refused("wrong type")
	}
	return nil
}
