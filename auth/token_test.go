package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

const audience = "https://bossman.example/mcp"

// An authority is an authorization server of our own, on a real socket.
type authority struct {
	*httptest.Server
	fetched atomic.Int64 // how often its keys were
	asked   atomic.Int64 // how often its metadata was

	mu       sync.Mutex
	keys     map[string]crypto.Signer
	broken   bool            // it answers with 500
	metadata map[string]any  // instead of the usual
	places   map[string]bool // where its metadata is; nil: where OpenID Connect has it
	jwks     func() []byte   // instead of the usual
}

func newAuthority(t *testing.T) *authority {
	s := &authority{keys: map[string]crypto.Signer{"one": rsaKey(t)}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

var rsaKeys = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// rsaKey is one key, since to make one takes long.
func rsaKey(*testing.T) *rsa.PrivateKey { return rsaKeys() }

func ecKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (s *authority) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		http.Error(w, "out of order", http.StatusInternalServerError)
		return
	}
	places := s.places
	if places == nil {
		places = map[string]bool{"/.well-known/openid-configuration": true}
	}
	switch {
	case places[r.URL.Path]:
		s.asked.Add(1)
		doc := s.metadata
		if doc == nil {
			doc = map[string]any{"issuer": s.URL, "jwks_uri": s.URL + "/keys", "id_token_signing_alg_values_supported": []string{"HS256", "none", "RS256"}}
		}
		_ = json.MarshalWrite(w, doc)
	case r.URL.Path == "/keys":
		s.fetched.Add(1)
		if s.jwks != nil {
			_, _ = w.Write(s.jwks())
			return
		}
		var list []map[string]any
		for id, k := range s.keys {
			list = append(list, jwk(id, k))
		}
		_ = json.MarshalWrite(w, map[string]any{"keys": list})
	default:
		http.NotFound(w, r)
	}
}

func jwk(id string, k crypto.Signer) map[string]any {
	b64 := base64.RawURLEncoding.EncodeToString
	switch k := k.(type) {
	case *rsa.PrivateKey:
		return map[string]any{"kty": "RSA", "kid": id, "use": "sig", "n": b64(k.N.Bytes()), "e": b64(big.NewInt(int64(k.E)).Bytes())}
	case *ecdsa.PrivateKey:
		point, _ := k.PublicKey.Bytes()
		return map[string]any{"kty": "EC", "crv": "P-256", "kid": id, "x": b64(point[1:33]), "y": b64(point[33:])}
	}
	panic("no such key")
}

// sign makes a token out of JSON.
func sign(t *testing.T, key any, header, payload string) string {
	t.Helper()
	b64 := base64.RawURLEncoding.EncodeToString
	input := b64([]byte(header)) + "." + b64([]byte(payload))
	sum := sha256.Sum256([]byte(input))
	var sig []byte
	var err error
	switch k := key.(type) {
	case *rsa.PrivateKey:
		sig, err = rsa.SignPKCS1v15(nil, k, crypto.SHA256, sum[:])
	case *ecdsa.PrivateKey:
		var r, s *big.Int
		r, s, err = ecdsa.Sign(rand.Reader, k, sum[:])
		if err == nil {
			sig = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	case []byte:
		m := hmac.New(sha256.New, k)
		m.Write([]byte(input))
		sig = m.Sum(nil)
	case nil:
	}
	if err != nil {
		t.Fatal(err)
	}
	return input + "." + b64(sig)
}

// claimsOf is what a good token says, changed by edits.
func (s *authority) claimsOf(edits map[string]any) string {
	now := time.Now().Unix()
	c := map[string]any{
		"iss": s.URL, "aud": audience, "sub": "user-1", "exp": now + 300, "iat": now, "name": "Ada", "client_id": "claude",
		"scope": "openid bossman:lead", "groups": []string{"eng", "all"},
	}
	maps.Copy(c, edits)
	for k, v := range edits {
		if v == nil {
			delete(c, k)
		}
	}
	text, err := json.Marshal(c, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(text)
}

const goodHeader = `{"alg":"RS256","typ":"at+jwt","kid":"one"}`

func (s *authority) token(t *testing.T, edits map[string]any) string {
	t.Helper()
	return sign(t, s.keys["one"], goodHeader, s.claimsOf(edits))
}

func (s *authority) authenticator(m Store, edit func(*Options)) *Authenticator {
	o := &Options{Issuer: s.URL, Audience: audience, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if edit != nil {
		edit(o)
	}
	if err := o.Check(); err != nil {
		panic(err)
	}
	return New(m, o)
}

func TestToken_good(t *testing.T) {
	s := newAuthority(t)
	m := newMemory()
	a := s.authenticator(m, staff)
	raw := s.token(t, nil)
	p := opens(t, a, raw)
	if !strings.HasPrefix(p.ID, "tok:") || len(p.ID) != 36 || p.Name != "user-1 alias Ada" || p.Owner != "user-1" || !p.Person || p.Key != "" ||
		p.Role("web") != Lead || p.Expires.IsZero() || over(p) {
		t.Errorf("Token() = %+v", p)
	}
	for range 10 {
		if opens(t, a, raw) != p {
			t.Error("another principal for the same token")
		}
	}
	if s.asked.Load() != 1 || s.fetched.Load() != 1 || m.asked() != 1 {
		t.Errorf("the issuer was asked %d times and its keys fetched %d times, the store %d", s.asked.Load(), s.fetched.Load(), m.asked())
	}
	// A newer token of the same subject is the same principal to everybody else.
	if q := opens(t, a, s.token(t, map[string]any{"jti": "2"})); q.ID != p.ID {
		t.Errorf("ID = %s, then %s", p.ID, q.ID)
	}
	// Its owner is known from now on, and can be disabled.
	if err := a.DisablePerson(t.Context(), "user-1"); err != nil {
		t.Fatal(err)
	}
	if !over(p) {
		t.Error("a disabled person's token goes on")
	}
	for _, raw := range []string{raw, s.token(t, map[string]any{"jti": "3"})} {
		if _, err := a.Token(t.Context(), raw); err != ErrUnauthenticated {
			t.Errorf("Token(disabled) = %v", err)
		}
	}
}

// TestToken_noRole: a valid token without a role adds nobody to the store, however many
// there are. Its owner is added with the first token that has one.
func TestToken_noRole(t *testing.T) {
	s := newAuthority(t)
	m := newMemory()
	a := s.authenticator(m, func(o *Options) { o.Rules = []Rule{{"groups", "eng", "web", Lead}} })
	for _, sub := range []string{"user-1", "user-2", "user-3"} {
		if p := opens(t, a, s.token(t, map[string]any{"sub": sub, "groups": []string{"all"}})); p.Best() != None || p.Owner != sub {
			t.Errorf("Token(%s) = %+v, want no role", sub, p)
		}
	}
	if people, err := a.People(t.Context()); len(people) != 0 || err != nil {
		t.Errorf("People() = %v, %v, want nobody", people, err)
	}
	p := opens(t, a, s.token(t, map[string]any{"sub": "user-2"}))
	if people, _ := a.People(t.Context()); p.Role("web") != Lead || len(people) != 1 || people[0].Name != "user-2" {
		t.Errorf("Token(user-2) = %+v, then People() = %v", p, people)
	}
	// Once added, a person is disabled with all tokens, also those without a role.
	if err := a.DisablePerson(t.Context(), "user-2"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Token(t.Context(), s.token(t, map[string]any{"sub": "user-2", "groups": nil})); err != ErrUnauthenticated {
		t.Errorf("Token(disabled) = %v, want ErrUnauthenticated", err)
	}
}

// TestToken_refused is what must not open anything, whatever else is right.
func TestToken_refused(t *testing.T) {
	s := newAuthority(t)
	stranger := newAuthority(t)
	other := ecKey(t)
	now := time.Now().Unix()
	public := s.keys["one"].Public().(*rsa.PublicKey)
	good := s.claimsOf(nil)
	for what, raw := range map[string]string{
		"another audience":         s.token(t, map[string]any{"aud": "https://other.example/mcp"}),
		"a longer audience":        s.token(t, map[string]any{"aud": audience + "/"}),
		"other audiences":          s.token(t, map[string]any{"aud": []string{"a", "b"}}),
		"no audience":              s.token(t, map[string]any{"aud": nil}),
		"an ID token's audience":   s.token(t, map[string]any{"aud": "claude", "nonce": "n"}),
		"another issuer":           s.token(t, map[string]any{"iss": stranger.URL}),
		"no issuer":                s.token(t, map[string]any{"iss": nil}),
		"another issuer's key":     sign(t, other, `{"alg":"ES256","kid":"one"}`, good),
		"a stranger's token":       sign(t, other, `{"alg":"ES256","kid":"two"}`, stranger.claimsOf(nil)),
		"expired":                  s.token(t, map[string]any{"exp": now - 1}),
		"no end":                   s.token(t, map[string]any{"exp": nil}),
		"an end that is a text":    s.token(t, map[string]any{"exp": "2999-01-01"}),
		"not yet valid":            s.token(t, map[string]any{"nbf": now + 120}),
		"from the future":          s.token(t, map[string]any{"iat": now + 3600}),
		"no subject":               s.token(t, map[string]any{"sub": nil}),
		"a subject that acts":      s.token(t, map[string]any{"sub": "a\x1b[2J"}),
		"a refresh token":          s.token(t, map[string]any{"typ": "Refresh"}),
		"bound to a key":           s.token(t, map[string]any{"cnf": map[string]any{"jkt": "x"}}),
		"alg none":                 sign(t, nil, `{"alg":"none"}`, good),
		"alg None":                 sign(t, nil, `{"alg":"None"}`, good),
		"alg none, signed":         sign(t, s.keys["one"], `{"alg":"none","kid":"one"}`, good),
		"HS256 with our key":       sign(t, public.N.Bytes(), `{"alg":"HS256","kid":"one"}`, good),
		"an algorithm we left out": sign(t, s.keys["one"], `{"alg":"RS512","kid":"one"}`, good),
		"no algorithm":             sign(t, s.keys["one"], `{"kid":"one"}`, good),
		"another type":             sign(t, s.keys["one"], `{"alg":"RS256","typ":"logout+jwt","kid":"one"}`, good),
		"a proof":                  sign(t, s.keys["one"], `{"alg":"RS256","typ":"dpop+jwt","kid":"one"}`, good),
		"something critical":       sign(t, s.keys["one"], `{"alg":"RS256","kid":"one","crit":["x"],"x":1}`, good),
		"a header twice":           sign(t, s.keys["one"], `{"alg":"RS256","alg":"none","kid":"one"}`, good),
		"a claim twice":            sign(t, s.keys["one"], goodHeader, `{"sub":"user-2",`+good[1:]),
		"claims that are no JSON":  sign(t, s.keys["one"], goodHeader, `hello`),
		"its own key":              sign(t, other, fmt.Sprintf(`{"alg":"ES256","jwk":%s}`, mustJSON(jwk("x", other))), good),
		"keys from elsewhere":      sign(t, other, fmt.Sprintf(`{"alg":"ES256","kid":"x","jku":%q}`, stranger.URL+"/keys"), good),
		"changed":                  changed(s.token(t, nil)),
		"cut off":                  strings.TrimSuffix(s.token(t, nil), "A")[:100],
		"no signature":             s.token(t, nil)[:strings.LastIndex(s.token(t, nil), ".")+1],
		"two parts":                "a.b",
		"five parts":               "a.b.c.d.e",
		"JSON":                     `{"payload":"x","signatures":[]}`,
	} {
		a := s.authenticator(newMemory(), nil)
		if p, err := a.Token(t.Context(), raw); err != ErrUnauthenticated || p != nil {
			t.Errorf("%s: Token() = %+v, %v, want ErrUnauthenticated", what, p, err)
		}
	}
	opens(t, s.authenticator(newMemory(), nil), s.token(t, nil))
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// changed makes another claim of a signed one.
func changed(raw string) string {
	parts := strings.Split(raw, ".")
	text, _ := base64.RawURLEncoding.DecodeString(parts[1])
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(text), "lead", "boss", 1)))
	return strings.Join(parts, ".")
}

// TestToken_accepted is what differs between issuers.
func TestToken_accepted(t *testing.T) {
	s := newAuthority(t)
	s.keys["two"] = ecKey(t)
	now := time.Now().Unix()
	for what, raw := range map[string]string{
		"several audiences":   s.token(t, map[string]any{"aud": []string{"a", audience}}),
		"typ JWT":             sign(t, s.keys["one"], `{"alg":"RS256","typ":"JWT","kid":"one"}`, s.claimsOf(nil)),
		"no typ and no kid":   sign(t, s.keys["one"], `{"alg":"RS256"}`, s.claimsOf(nil)),
		"the long type":       sign(t, s.keys["one"], `{"alg":"RS256","typ":"application/at+jwt","kid":"one"}`, s.claimsOf(nil)),
		"a bearer by claim":   s.token(t, map[string]any{"typ": "Bearer"}),
		"a clock ahead":       s.token(t, map[string]any{"nbf": now + 30, "iat": now + 30}),
		"ES256":               sign(t, s.keys["two"], `{"alg":"ES256","kid":"two"}`, s.claimsOf(nil)),
		"an end in fractions": s.token(t, map[string]any{"exp": float64(now) + 100.5}),
	} {
		if _, err := s.authenticator(newMemory(), nil).Token(t.Context(), raw); err != nil {
			t.Errorf("%s: Token() = %v", what, err)
		}
	}
}

func TestToken_grants(t *testing.T) {
	s := newAuthority(t)
	rules := []Rule{
		{"groups", "eng", "web", Lead},
		{"groups", "all", "*", Viewer},
		{"realm_access.roles", "boss", "*", Admin},
		{"scope", "deploy", "shop", Worker},
		{"https://x.example/team", "red", "red", Worker},
	}
	for what, c := range map[string]struct {
		claims map[string]any
		rules  []Rule
		want   map[string]Role
	}{
		"scopes alone":         {nil, nil, map[string]Role{"*": Lead}},
		"the highest scope":    {map[string]any{"scope": "bossman:viewer bossman:admin bossman:god"}, nil, map[string]Role{"*": Admin}},
		"scopes as a list":     {map[string]any{"scope": nil, "scp": []string{"bossman:worker"}}, nil, map[string]Role{"*": Worker}},
		"no scope":             {map[string]any{"scope": "openid"}, nil, map[string]Role{}},
		"groups":               {map[string]any{"scope": nil}, rules, map[string]Role{"web": Lead, "*": Viewer}},
		"groups, narrowed":     {map[string]any{"scope": "bossman:worker"}, rules, map[string]Role{"web": Worker, "*": Viewer}},
		"no group, but scopes": {map[string]any{"groups": nil, "scope": "bossman:admin"}, rules, map[string]Role{}},
		"a claim in another":   {map[string]any{"groups": nil, "scope": nil, "realm_access": map[string]any{"roles": []string{"boss"}}}, rules, map[string]Role{"*": Admin}},
		"a group as a text":    {map[string]any{"scope": nil, "groups": "eng"}, rules, map[string]Role{"web": Lead}},
		"a scope by rule":      {map[string]any{"groups": nil, "scope": "a deploy"}, rules, map[string]Role{"shop": Worker}},
		"a name with dots":     {map[string]any{"groups": nil, "scope": nil, "https://x.example/team": "red"}, rules, map[string]Role{"red": Worker}},
		"groups that are none": {map[string]any{"groups": map[string]any{"eng": true}, "scope": nil}, rules, map[string]Role{}},
		"groups in words":      {map[string]any{"groups": "all eng", "scope": nil}, rules, map[string]Role{}},
	} {
		p := opens(t, s.authenticator(newMemory(), func(o *Options) { o.Rules = c.rules }), s.token(t, c.claims))
		if !maps.Equal(p.Grants, c.want) {
			t.Errorf("%s: grants are %v, want %v", what, p.Grants, c.want)
		}
	}
}

// staff takes tokens of the group eng for those of people.
func staff(o *Options) { o.Person = []Match{{"groups", "eng"}} }

func TestToken_people(t *testing.T) {
	s := newAuthority(t)
	for what, c := range map[string]struct {
		claims      map[string]any
		edit        func(*Options)
		person      bool
		name, owner string
	}{
		"nobody said who":     {nil, nil, false, "user-1 alias Ada", "user-1"},
		"by a claim":          {nil, staff, true, "user-1 alias Ada", "user-1"},
		"not by a claim":      {nil, func(o *Options) { o.Person = []Match{{"groups", "people"}} }, false, "user-1 alias Ada", "user-1"},
		"by the second":       {nil, func(o *Options) { o.Person = []Match{{"kind", "person"}, {"groups", "eng"}} }, true, "user-1 alias Ada", "user-1"},
		"by a truth":          {map[string]any{"human": true}, func(o *Options) { o.Person = []Match{{"human", "true"}} }, true, "user-1 alias Ada", "user-1"},
		"by a lie":            {map[string]any{"human": false}, func(o *Options) { o.Person = []Match{{"human", "true"}} }, false, "user-1 alias Ada", "user-1"},
		"a program":           {map[string]any{"sub": "claude", "name": nil}, staff, false, "claude", "claude"},
		"a program, by azp":   {map[string]any{"sub": "ci", "client_id": nil, "azp": "ci", "name": nil}, staff, false, "ci", "ci"},
		"a program, by gty":   {map[string]any{"gty": "client-credentials"}, staff, false, "user-1 alias Ada", "user-1"},
		"a program for Ada":   {map[string]any{"act": map[string]any{"sub": "claude"}}, staff, false, "user-1 alias Ada", "user-1"},
		"an owner by claim":   {map[string]any{"email": "ada@example.org"}, func(o *Options) { o.OwnerClaim = "email" }, false, "ada@example.org alias Ada", "ada@example.org"},
		"a name by claim":     {map[string]any{"nick": "A."}, func(o *Options) { o.NameClaim = "nick" }, false, "user-1 alias A.", "user-1"},
		"a name that acts":    {map[string]any{"name": "A\x1b]0;x\x07", "preferred_username": "ada"}, nil, false, "user-1 alias ada", "user-1"},
		"another's subject":   {map[string]any{"name": "user-2"}, staff, true, "user-1 alias user-2", "user-1"},
		"a name with a kind":  {map[string]any{"name": "bob (person)"}, nil, false, "user-1 alias bob [person]", "user-1"},
		"its own subject":     {map[string]any{"name": "User-1"}, nil, false, "user-1", "user-1"},
		"a name turned round": {map[string]any{"name": "\u202eada"}, nil, false, "user-1", "user-1"},
	} {
		p := opens(t, s.authenticator(newMemory(), c.edit), s.token(t, c.claims))
		if p.Person != c.person || p.Name != c.name || p.Owner != c.owner {
			t.Errorf("%s: person %t, name %q, owner %q", what, p.Person, p.Name, p.Owner)
		}
	}
	if _, err := s.authenticator(newMemory(), func(o *Options) { o.OwnerClaim = "email" }).Token(t.Context(), s.token(t, nil)); err != ErrUnauthenticated {
		t.Errorf("a token without the owner's claim: %v", err)
	}
}

// TestIssuer_rotates: a new key is found at once, and forged tokens do not make us
// flood the issuer.
func TestIssuer_rotates(t *testing.T) {
	s := newAuthority(t)
	a := s.authenticator(newMemory(), nil)
	opens(t, a, s.token(t, nil))
	s.mu.Lock()
	s.keys["two"] = ecKey(t)
	s.mu.Unlock()
	a.issuer.keys.fetch.at = time.Now().Add(-refetch) // as if it were a while ago
	two := sign(t, s.keys["two"], `{"alg":"ES256","kid":"two"}`, s.claimsOf(nil))
	// The library's first fetch has answered, and may not have ended: who joins it gets
	// the old keys.
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		if _, err := a.Token(t.Context(), two); err == nil {
			break
		}
	}
	opens(t, a, two)
	if n := s.fetched.Load(); n != 2 {
		t.Errorf("the keys were fetched %d times, want 2", n)
	}
	forger := ecKey(t)
	for i := range 50 {
		raw := sign(t, forger, fmt.Sprintf(`{"alg":"ES256","kid":"k%d"}`, i), s.claimsOf(nil))
		if _, err := a.Token(t.Context(), raw); err != ErrUnauthenticated {
			t.Fatalf("Token(forged) = %v", err)
		}
	}
	if n := s.fetched.Load(); n != 2 {
		t.Errorf("forged tokens made us fetch the keys %d times", n-2)
	}
	// A key that was withdrawn ends when the keys are old.
	s.mu.Lock()
	withdrawn := s.keys["one"]
	delete(s.keys, "one")
	s.mu.Unlock()
	a.issuer.keys.since = time.Now().Add(-keysLife - time.Second)
	if _, err := a.Token(t.Context(), sign(t, withdrawn, goodHeader, s.claimsOf(map[string]any{"jti": "new"}))); err != ErrUnauthenticated {
		t.Errorf("Token(withdrawn key) = %v", err)
	}
}

// TestIssuer_unreachable: nobody is told that their token is bad.
func TestIssuer_unreachable(t *testing.T) {
	s := newAuthority(t)
	raw := s.token(t, nil)
	unavailable := func(what string, a *Authenticator) {
		t.Helper()
		if p, err := a.Token(t.Context(), raw); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnauthenticated) || p != nil {
			t.Errorf("%s: Token() = %v, %v, want ErrUnavailable", what, p, err)
		}
	}
	set := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		f()
	}
	set(func() { s.broken = true })
	a := s.authenticator(newMemory(), nil)
	unavailable("broken", a)
	unavailable("broken, again", a)
	// What cannot be right is refused without asking it.
	if _, err := a.Token(t.Context(), sign(t, nil, `{"alg":"none"}`, "{}")); err != ErrUnauthenticated {
		t.Errorf("Token(none) = %v", err)
	}
	set(func() { s.broken = false })
	a.issuer.failedAt = time.Now().Add(-retryAfter)
	opens(t, a, raw)

	// Its keys are known: it may be away for a while.
	set(func() { s.broken = true })
	a.issuer.keys.since = time.Now().Add(-keysLife - time.Second)
	opens(t, a, s.token(t, map[string]any{"jti": "2"}))
	a.issuer.keys.since, a.issuer.keys.tried = time.Now().Add(-maxKeysLife-time.Second), time.Time{}
	raw = s.token(t, map[string]any{"jti": "3"})
	unavailable("away for too long", a)
	set(func() { s.broken = false })

	for what, edit := range map[string]func(){
		"another issuer's metadata": func() { s.metadata = map[string]any{"issuer": "https://evil.example", "jwks_uri": s.URL + "/keys"} },
		"keys without TLS":          func() { s.metadata = map[string]any{"issuer": s.URL, "jwks_uri": "http://evil.example/keys"} },
		"no keys' address":          func() { s.metadata = map[string]any{"issuer": s.URL} },
		"keys that are too large": func() {
			s.jwks = func() []byte { return []byte(`{"keys":[],"x":"` + strings.Repeat("a", fetchSize) + `"}`) }
		},
		"keys that are no JSON": func() { s.jwks = func() []byte { return []byte(`<html>`) } },
		"no metadata":           func() { s.places = map[string]bool{} },
	} {
		set(func() {
			s.metadata, s.jwks, s.places = nil, nil, nil
			edit()
		})
		unavailable(what, s.authenticator(newMemory(), nil))
	}
	set(func() {
		s.metadata, s.jwks, s.places = nil, nil, map[string]bool{"/.well-known/oauth-authorization-server": true}
	})
	opens(t, s.authenticator(newMemory(), nil), raw)

	s.Close()
	unavailable("gone", s.authenticator(newMemory(), nil))
	m := newMemory()
	m.setDown(errDown)
	unavailable("the store", s.authenticator(m, nil))
}

func TestOptions_check(t *testing.T) {
	good := Options{Issuer: "https://id.example", Audience: audience, Rules: []Rule{{"groups", "eng", "web", Lead}}}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	if err := new(Options).Check(); err != nil {
		t.Errorf("Check() of none = %v", err)
	}
	for what, edit := range map[string]func(*Options){
		"no TLS":              func(o *Options) { o.Issuer = "http://id.example" },
		"no audience":         func(o *Options) { o.Audience = "" },
		"an audience's name":  func(o *Options) { o.Audience = "bossman" },
		"a query":             func(o *Options) { o.Audience += "?x" },
		"a password":          func(o *Options) { o.Issuer = "https://u:p@id.example" },
		"no issuer":           func(o *Options) { o.Issuer = "" },
		"a shared secret":     func(o *Options) { o.Algorithms = []string{"RS256", "HS256"} },
		"alg none":            func(o *Options) { o.Algorithms = []string{"none"} },
		"a rule's project":    func(o *Options) { o.Rules = []Rule{{"groups", "eng", "Web", Lead}} },
		"a rule's role":       func(o *Options) { o.Rules = []Rule{{"groups", "eng", "web", None}} },
		"a person's value":    func(o *Options) { o.Person = []Match{{"groups", ""}} },
		"a person's claim":    func(o *Options) { o.Person = []Match{{"", "eng"}} },
		"a person, no issuer": func(o *Options) { *o = Options{Person: []Match{{"groups", "eng"}}} },
		"a rule's claim":      func(o *Options) { o.Rules = []Rule{{"", "eng", "web", Lead}} },
	} {
		o := good
		edit(&o)
		if err := o.Check(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: Check() = %v", what, err)
		}
	}
}

func TestChallenge(t *testing.T) {
	a := New(newMemory(), &Options{Issuer: "https://id.example", Audience: audience})
	const where = `resource_metadata="https://bossman.example/.well-known/oauth-protected-resource/mcp"`
	for got, want := range map[string]string{
		a.Challenge(ErrMissing):         `Bearer scope="bossman:worker", ` + where,
		a.Challenge(ErrUnauthenticated): `Bearer error="invalid_token", scope="bossman:worker", ` + where,
		a.Challenge(ErrMalformed):       `Bearer error="invalid_request", scope="bossman:worker", ` + where,
		a.StepUp(Lead):                  `Bearer error="insufficient_scope", error_description="this needs the role lead", scope="bossman:lead", ` + where,
	} {
		if got != want {
			t.Errorf("challenge is %s, want %s", got, want)
		}
	}
	keys := New(newMemory(), nil)
	if got := keys.Challenge(ErrMissing); got != `Bearer realm="bossman"` {
		t.Errorf("Challenge() without an issuer = %s", got)
	}
	root := New(newMemory(), &Options{Issuer: "https://id.example", Audience: "https://bossman.example/"})
	if got := root.Challenge(ErrMissing); got != `Bearer scope="bossman:worker", resource_metadata="https://bossman.example/.well-known/oauth-protected-resource"` {
		t.Errorf("Challenge() of a root = %s", got)
	}
}
