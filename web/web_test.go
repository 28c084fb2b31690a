package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/push"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/bossman-dev/bossman/web/webtest"
)

// A testSite is a site with a board in a file, keys, and a server.
type testSite struct {
	*Site
	t     *testing.T
	board *board.Board
	keys  *auth.Authenticator
	door  *KeyDoor
	url   string
	push  *push.Sender // nil: none

	gateway   *gateway.Gateway // nil: none
	directory Directory        // nil: none

	mu   sync.Mutex
	acts []Act // what Options.Audit was told

	server *httptest.Server
}

// newTestSite starts a site on an empty board with the projects shop and api. Its pages are
// live if run is set.
func newTestSite(t *testing.T, run bool) *testSite {
	t.Helper()
	s := openTestSite(t, filepath.Join(t.TempDir(), "board.db"))
	for _, slug := range []string{"shop", "api"} {
		if err := s.board.SetProject(t.Context(), board.Project{Slug: slug, Policy: board.PolicyPerson}); err != nil {
			t.Fatal(err)
		}
	}
	s.door = NewKeyDoor(s.keys, callers(s.board))
	s.start(s.door, run)
	return s
}

// openTestSite opens a board, and serves nothing yet.
func openTestSite(t *testing.T, path string) *testSite {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &testSite{t: t, board: board.New(store, nil), keys: auth.New(store, nil)}
}

// filledFile is a board with a day of work, made once.
var filledFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "bossman-web-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	clock, path := &webtest.Clock{}, filepath.Join(dir, "board.db")
	store, err := sqlite.Open(context.Background(), path, &sqlite.Options{Clock: clock.Now})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(webtest.Fill(context.Background(), board.New(store, nil), clock), store.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// callers returns what says who a principal is to a board, as a server does.
func callers(b *board.Board) CallerOf {
	return func(ctx context.Context, p *auth.Principal) (*access.Caller, error) {
		c := &access.Caller{Actor: board.Actor{Principal: p.ID, Owner: p.ID, Name: p.Name, Person: p.Person}, Roles: map[string]auth.Role{}, Role: p.Best()}
		projects, err := b.Projects(ctx)
		for _, project := range projects {
			if role := p.Role(project.Slug); role > auth.None {
				c.Roles[project.Slug] = role
			}
		}
		return c, err
	}
}

// newFilledSite starts a site on a board with a day of work: the projects shop, api and
// warehouse, see webtest. Its pages are live.
func newFilledSite(t *testing.T) *testSite {
	t.Helper()
	file, err := filledFile()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "board.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openTestSite(t, path)
	s.door = NewKeyDoor(s.keys, callers(s.board))
	s.start(s.door, true)
	until(t, "the past was read", func() bool {
		s.stats.mu.Lock()
		defer s.stats.mu.Unlock()
		return s.stats.complete
	})
	return s
}

func (s *testSite) audited(_ context.Context, a Act) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acts = append(s.acts, a)
}

// start serves the site.
func (s *testSite) start(d Door, run bool) {
	s.t.Helper()
	site, err := New(Options{Board: s.board, Door: d, Zone: time.UTC, Push: s.push, Gateway: s.gateway, Directory: s.directory, Audit: s.audited})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Site = site
	if run {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{}, 2)
		go func() { _ = s.board.Run(ctx); done <- struct{}{} }()
		go func() { _ = site.Run(ctx); done <- struct{}{} }()
		s.t.Cleanup(func() { cancel(); <-done; <-done })
		for !site.running.Load() || site.hub.cursor() == "" {
			time.Sleep(time.Millisecond)
		}
	}
	s.server = httptest.NewServer(site)
	s.t.Cleanup(s.server.Close)
	s.url = s.server.URL
}

// key makes a key.
func (s *testSite) key(owner string, person bool, project string, role auth.Role) (auth.Key, string) {
	s.t.Helper()
	k, secret, err := s.keys.CreateKey(s.t.Context(), auth.NewKey{Owner: owner, Person: person, Project: project, Role: role})
	if err != nil {
		s.t.Fatal(err)
	}
	return k, secret.Reveal()
}

// A browser is a client that keeps cookies and follows no redirect by itself.
type browser struct {
	t    *testing.T
	site *testSite
	http.Client
	headers http.Header
}

func (s *testSite) browser() *browser {
	jar, _ := cookiejar.New(nil)
	return &browser{
		t: s.t, site: s, headers: http.Header{},
		Client: http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// signedIn returns a browser of a person who has a role in a project.
func (s *testSite) signedIn(owner, project string, role auth.Role) *browser {
	s.t.Helper()
	_, key := s.key(owner, true, project, role)
	b := s.browser()
	if status, body := b.post("/signin", url.Values{"key": {key}}); status != http.StatusSeeOther {
		s.t.Fatalf("POST /signin = %d %s", status, body)
	}
	return b
}

func (b *browser) do(method, path string, form url.Values) (*http.Response, string) {
	b.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.site.url+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for k, v := range b.headers {
		r.Header[k] = v
	}
	resp, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp, string(text)
}

func (b *browser) get(path string) (int, string) {
	b.t.Helper()
	resp, body := b.do(http.MethodGet, path, nil)
	return resp.StatusCode, body
}

func (b *browser) post(path string, form url.Values) (int, string) {
	b.t.Helper()
	resp, body := b.do(http.MethodPost, path, form)
	return resp.StatusCode, body
}

// session is the cookie of the browser.
func (b *browser) session() string {
	u, _ := url.Parse(b.site.url)
	for _, c := range b.Jar.Cookies(u) {
		if strings.HasPrefix(c.Name, "bossman-") {
			return c.Value
		}
	}
	return ""
}

// send posts a form with the session's token.
func (b *browser) send(path string, form url.Values) (int, string) {
	b.t.Helper()
	form.Set("token", formToken(b.session()))
	return b.post(path, form)
}

// TestServeSample serves a filled board for a person to look at, until the test is ended:
// BOSSMAN_WEB=127.0.0.1:8484 go test ./web -run TestServeSample -timeout 0
func TestServeSample(t *testing.T) {
	addr := os.Getenv("BOSSMAN_WEB")
	if addr == "" {
		t.Skip("BOSSMAN_WEB names no address")
	}
	s := newFilledSite(t)
	caller := access.Local(auth.Admin, "shop", "api", "warehouse")
	caller.Name, caller.Person = "Ada Lindqvist", true
	solo := NewSoloDoor(func(context.Context) (*access.Caller, error) { return caller, nil })
	s.start(solo, true)
	mux := http.NewServeMux()
	mux.Handle("/", s.Site)
	t.Logf("http://%s%s", addr, solo.Link())
	if err := os.WriteFile(filepath.Join(os.TempDir(), "bossman-web-link"), []byte("http://"+addr+solo.Link()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Fatal(http.ListenAndServe(addr, mux))
}
