package oauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const ok = "200 OK"

// A token is asked for once, and used from then on.
func TestTransport_authorizesOnce(t *testing.T) {
	w := newWorld(t)
	w.scope = "read write"
	c := w.client(Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := w.visit(c); got != ok {
				t.Errorf("visit = %s", got)
			}
		})
	}
	wg.Wait()
	as := w.as[0]
	if len(as.forms) != 1 || as.clients != 1 {
		t.Errorf("asked for %d tokens as %d clients, want one", len(as.forms), as.clients)
	}
	q := as.codes["code1"]
	if q.Get("scope") != "read write" || q.Get("resource") != w.url() || as.forms[0].Get("resource") != w.url() {
		t.Errorf("asked %v, then %v", q, as.forms[0])
	}
}

// Who logs in first is not asked when the server is.
func TestTransport_login(t *testing.T) {
	w := newWorld(t)
	c := w.client(Options{})
	if err := c.Transport.(*Transport).Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.visit(c); got != ok || len(w.asked) != 1 {
		t.Errorf("visit = %s after %q", got, w.asked)
	}
	// Who does not want to wait for the person need not.
	w = newWorld(t)
	asked, agreed := make(chan struct{}), make(chan struct{})
	c = w.client(Options{Authorize: func(ctx context.Context, address string) (string, error) {
		close(asked)
		<-agreed
		return agree(ctx, address)
	}})
	tr := c.Transport.(*Transport)
	done := make(chan error)
	go func() { done <- tr.Login(t.Context()) }()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := tr.Login(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Login = %v, want the deadline", err)
	}
	close(agreed)
	if err := <-done; err != nil {
		t.Errorf("Login = %v", err)
	}
}

// What cannot be trusted leads to no token.
func TestTransport_refuses(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(w *world)
		want string
		far  bool // a code may be asked for, but no token
	}{
		"metadata about another server":   {func(w *world) { w.resource = "https://evil.example/mcp" }, "is about", false},
		"metadata about a deeper path":    {func(w *world) { w.resource = w.server.URL + "/mcp/x" }, "is about", false},
		"metadata about a similar path":   {func(w *world) { w.resource = w.server.URL + "/mc" }, "is about", false},
		"another issuer":                  {func(w *world) { w.as[0].metadata["issuer"] = "https://evil.example" }, "has issuer", false},
		"the issuer with a slash":         {func(w *world) { w.as[0].metadata["issuer"] = w.as[0].URL + "/" }, "has issuer", false},
		"codes without protection":        {func(w *world) { delete(w.as[0].metadata, "code_challenge_methods_supported") }, "S256", false},
		"a token endpoint without TLS":    {func(w *world) { w.as[0].metadata["token_endpoint"] = "http://evil.example/token" }, "not https", false},
		"a script for an endpoint":        {func(w *world) { w.as[0].metadata["authorization_endpoint"] = "javascript:alert(1)" }, "not allowed", false},
		"no way to register":              {func(w *world) { delete(w.as[0].metadata, "registration_endpoint") }, "does not know this client", false},
		"metadata elsewhere, without TLS": {func(w *world) { w.header = "http://evil.example/prm" }, "not https", false},
		"metadata in a file":              {func(w *world) { w.header = "file:///etc/passwd" }, "not allowed", false},
		"a redirect by somebody else":     {func(w *world) { w.as[0].iss = func(string) string { return "https://evil.example" } }, "another authorization server", true},
		"a redirect by nearly the same":   {func(w *world) { w.as[0].iss = func(i string) string { return i + "/" } }, "another authorization server", true},
		"a redirect by nobody":            {func(w *world) { w.as[0].iss = func(string) string { return "" } }, "does not name", true},
		"a bound token that we did not want": {func(w *world) {
			w.as[0].answer = func(url.Values) (int, any) {
				return 200, map[string]any{"access_token": "x", "token_type": "DPoP"}
			}
		}, "bound to a key", true},
		"no token": {func(w *world) { w.as[0].answer = func(url.Values) (int, any) { return 200, map[string]any{} } }, "contains no token", true},
		"an endless answer": {func(w *world) {
			w.as[0].answer = func(url.Values) (int, any) {
				return 200, map[string]any{"access_token": strings.Repeat("x", 100<<10)}
			}
		}, "larger than", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.set(w)
			if got := w.visit(w.client(Options{})); !strings.Contains(got, c.want) {
				t.Errorf("visit = %s, want %s", got, c.want)
			}
			if !c.far && (len(w.as[0].forms) > 0 || len(w.as[0].codes) > 0) {
				t.Error("the authorization server was asked all the same")
			}
			for _, a := range w.asked {
				if a != "" {
					t.Errorf("the server was shown %q", a)
				}
			}
		})
	}
}

// More scopes are asked for when the server wants them, but not for ever.
func TestTransport_stepsUp(t *testing.T) {
	w := newWorld(t)
	w.scope = "read"
	c := w.client(Options{})
	w.visit(c)
	w.want = []string{"read", "write"}
	if got := w.visit(c); got != ok {
		t.Errorf("visit = %s", got)
	}
	as := w.as[0]
	if q := as.codes["code3"]; q.Get("scope") != "read write" {
		t.Errorf("asked for %q, want both scopes", q.Get("scope"))
	}
	w.want = []string{"never"}
	as.answer = func(form url.Values) (int, any) {
		as.count++
		as.good["poor"] = "read"
		return 200, map[string]any{"access_token": "poor"}
	}
	before := len(as.forms)
	for range 5 {
		if got := w.visit(c); got != "403 Forbidden" {
			t.Errorf("visit = %s, want the refusal", got)
		}
	}
	if n := len(as.forms) - before; n > maxSteps {
		t.Errorf("asked for %d tokens, want at most %d", n, maxSteps)
	}
}

// A server that changes its authorization server shows neither what the other gave.
func TestTransport_migration(t *testing.T) {
	w := newWorld(t)
	c := w.client(Options{})
	if got := w.visit(c); got != ok {
		t.Fatal(got)
	}
	w.mu.Lock()
	w.current = 1
	w.mu.Unlock()
	if got := w.visit(c); got != ok {
		t.Fatal(got)
	}
	for _, f := range w.as[1].forms {
		if strings.Contains(f.Encode(), url.QueryEscape(w.as[0].URL)) || f.Get("refresh_token") != "" {
			t.Errorf("the second was shown %v", f)
		}
	}
	// Who was told its name for one does not use it for another.
	w = newWorld(t)
	c = w.client(Options{ClientID: "me", ClientSecret: "secret"})
	w.as[0].metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	if got := w.visit(c); got != ok || w.as[0].forms[0].Get("client_secret") != "secret" {
		t.Fatal(got)
	}
	w.mu.Lock()
	w.current = 1
	w.mu.Unlock()
	if got := w.visit(c); !strings.Contains(got, "not the authorization server of the configured client id") || len(w.as[1].forms) > 0 {
		t.Errorf("visit = %s, and the other was asked %v", got, w.as[1].forms)
	}
}

// A token that has expired is exchanged for another without asking anybody, also by
// the next process.
func TestTransport_refreshes(t *testing.T) {
	w := newWorld(t)
	w.as[0].expires = 1 // too short to be used twice
	store, err := OpenFiles(filepath.Join(t.TempDir(), "tokens"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var asked atomic.Int32
	o := Options{Store: store, Authorize: func(ctx context.Context, address string) (string, error) {
		asked.Add(1)
		return agree(ctx, address)
	}}
	c := w.client(o)
	for range 3 {
		if got := w.visit(c); got != ok {
			t.Errorf("visit = %s", got)
		}
	}
	w.as[0].expires = 3600
	if got := w.visit(w.client(o)); got != ok {
		t.Errorf("visit by the next process = %s", got)
	}
	if got := w.visit(w.client(o)); got != ok || asked.Load() != 1 || w.as[0].clients != 1 {
		t.Errorf("visit = %s, having asked %d times as %d clients; want once", got, asked.Load(), w.as[0].clients)
	}
	// When all of it is taken back, the person is asked again.
	w.as[0].mu.Lock()
	clear(w.as[0].good)
	clear(w.as[0].refresh)
	w.as[0].mu.Unlock()
	if got := w.visit(w.client(o)); got != ok || asked.Load() != 2 {
		t.Errorf("visit = %s, having asked %d times; want twice", got, asked.Load())
	}
}

// A program that waits for the person at another address each time uses its token all
// the same, and registers again only when the person has to agree.
func TestTransport_otherRedirect(t *testing.T) {
	w := newWorld(t)
	store := &Memory{}
	for _, redirect := range []string{"http://127.0.0.1:1001/callback", "http://127.0.0.1:1002/callback"} {
		if got := w.visit(w.client(Options{Store: store, Redirect: redirect})); got != ok {
			t.Errorf("visit = %s", got)
		}
	}
	as := w.as[0]
	if as.clients != 1 || len(as.codes) != 1 {
		t.Errorf("registered %d times, agreed %d times; want once", as.clients, len(as.codes))
	}
	as.mu.Lock()
	clear(as.good)
	clear(as.refresh)
	as.mu.Unlock()
	if got := w.visit(w.client(Options{Store: store, Redirect: "http://127.0.0.1:1003/callback"})); got != ok || as.clients != 2 {
		t.Errorf("visit = %s as %d clients, want a second", got, as.clients)
	}
}

// A server of 2025-03-26 is its own authorization server.
func TestTransport_withoutMetadata(t *testing.T) {
	w := newWorld(t)
	w.noPRM = true
	got := w.visit(w.client(Options{}))
	if !strings.Contains(got, "register at "+w.server.URL) {
		t.Errorf("visit = %s, want an attempt at the server itself", got)
	}
}

func TestTransport_grants(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.as[0].metadata["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt"}
	w.as[0].metadata["scopes_supported"] = []string{"offline_access"}
	if got := w.visit(w.client(Options{Grant: ClientCredentials{}, ClientID: "me", Key: key})); got != ok {
		t.Errorf("by a key: %s", got)
	}
	f := w.as[0].forms[0]
	if strings.Count(f.Get("client_assertion"), ".") != 2 || f.Has("scope") {
		t.Errorf("asked with %v", f)
	}
	// A right that is refused is not tried twice, and nothing else is tried.
	w = newWorld(t)
	w.as[0].answer = func(url.Values) (int, any) { return 400, Error{Code: "invalid_grant"} }
	c := w.client(Options{ClientID: "me", Grant: Assertion{JWT: func(context.Context, string) (string, error) { return "a.b.c", nil }}})
	if got := w.visit(c); !strings.Contains(got, "invalid_grant") || len(w.as[0].forms) != 1 {
		t.Errorf("visit = %s after %d requests", got, len(w.as[0].forms))
	}
}

// Tokens go to the server they are for, and nowhere else.
func TestTransport_otherServers(t *testing.T) {
	w := newWorld(t)
	c := w.client(Options{})
	w.visit(c)
	var got string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
	defer other.Close()
	if _, err := c.Get(other.URL); err != nil || got != "" {
		t.Errorf("another server was shown %q, %v", got, err)
	}
}

func TestChallenges(t *testing.T) {
	for in, want := range map[string]string{
		`Bearer`:                                       "bearer",
		`Bearer scope="a b", error=x`:                  "bearer error=x scope=a b",
		`Basic realm="x, Bearer scope=\"y\""`:          `basic realm=x, Bearer scope="y"`,
		`Basic abc, Bearer realm="r" , scope = "s"`:    "basic abc bearer realm=r scope=s",
		`DPoP algs="ES256", Bearer error="e"`:          "dpop algs=ES256 bearer error=e",
		`Bearer scope="first", scope="second"`:         "bearer scope=first",
		`Bearer SCOPE="x"`:                             "bearer scope=x",
		`Bearer scope="no end`:                         "bearer",
		`="x"`:                                         "",
		`Bearer a=b=c, d="e"`:                          "bearer a=b=c d=e",
		"Bearer error_description=\"say \\\"hi\\\" \"": `bearer error_description=say "hi" `,
	} {
		var got []string
		for _, c := range parseChallenges(in) {
			got = append(got, c.scheme)
			for _, name := range []string{"a", "algs", "d", "error", "error_description", "realm", "scope"} {
				if v, ok := c.params[name]; ok && v != "" {
					got = append(got, name+"="+v)
				}
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("parseChallenges(%q) = %q, want %q", in, text, want)
		}
	}
}

func FuzzChallenges(f *testing.F) {
	f.Add(`Bearer scope="a \" b", error=x, Basic`)
	f.Fuzz(func(_ *testing.T, in string) { parseChallenges(in) })
}

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "tokens")
	f, err := OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := &Record{Issuer: "https://a.example", Client: &Registration{ClientID: "x"}, Tokens: map[string]Token{"https://s": {Access: "t", Key: []byte{1}}}}
	if err := f.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got, err := f.Load(t.Context(), r.Issuer)
	if err != nil || got.Tokens["https://s"].Access != "t" || got.Client.ClientID != "x" {
		t.Errorf("Load = %+v, %v", got, err)
	}
	if got, err := f.Load(t.Context(), "https://b.example"); got != nil || err != nil {
		t.Errorf("Load of another = %v, %v", got, err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 {
		t.Fatalf("there are %v", files)
	}
	info, err := os.Stat(files[0])
	folder, _ := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o600 || folder.Mode().Perm() != 0o700 {
		t.Errorf("modes %v and %v, %v", info.Mode(), folder.Mode(), err)
	}
	if err := os.Chmod(files[0], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(t.Context(), r.Issuer); err == nil {
		t.Error("Load of a file that everybody can read = nil")
	}
}

func TestLoopback(t *testing.T) {
	var shown string
	b, err := NewLoopback(func(address string) error {
		shown = address
		go func() {
			u, _ := url.Parse(address)
			for _, query := range []string{"", "?code=2&state=guessed", "?error=no", "?code=1&state=s"} {
				if res, err := http.Get(u.Query().Get("redirect_uri") + query); err == nil {
					res.Body.Close()
				}
			}
		}()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	back, err := b.Authorize(t.Context(), "https://as.example/authorize?state=s&redirect_uri="+url.QueryEscape(b.Redirect()))
	if err != nil || back != b.Redirect()+"?code=1&state=s" || shown == "" {
		t.Errorf("Authorize = %q, %v", back, err)
	}
	if _, err := b.Authorize(t.Context(), "javascript:alert(1)"); err == nil {
		t.Error("Authorize at a script = nil")
	}
}
