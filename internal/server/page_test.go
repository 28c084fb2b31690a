package server

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/auth"
)

// A testBrowser keeps cookies and follows no redirect.
type testBrowser struct {
	t testing.TB
	http.Client
	url string
}

func newBrowser(s *testServer) *testBrowser {
	jar, err := cookiejar.New(nil)
	check(s.t.(*testing.T), err)
	return &testBrowser{s.t, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, s.url}
}

// do sends a request, a form if there is one, and returns the status and the body.
func (b *testBrowser) do(method, path string, form url.Values) (int, string) {
	b.t.Helper()
	r, err := http.NewRequest(method, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.url)
	}
	res, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// TestPages_nobody: without a session no page but the sign-in is served, and nothing is changed.
func TestPages_nobody(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{})
	b := newBrowser(s)
	wild := regexp.MustCompile(`\{[a-z$]+\}`)
	open := 0
	for _, r := range s.site.Routes() {
		if r.Verb == nil {
			open++
			continue
		}
		path := wild.ReplaceAllString(strings.TrimSuffix(r.Pattern, "{$}"), "web-1")
		want := map[string]int{http.MethodGet: http.StatusSeeOther, http.MethodPost: http.StatusUnauthorized}[r.Method]
		if status, text := b.do(r.Method, path, map[bool]url.Values{true: {}}[r.Method == http.MethodPost]); status != want {
			t.Errorf("%s %s = %d %.100s, want %d", r.Method, path, status, text, want)
		}
	}
	if open != 4 { // the sign-in, its form, the sign-out, and files
		t.Errorf("%d routes are open", open)
	}
}

// TestPages: a person signs in with a key, sees the board, and is out when the key is revoked; an agent's key
// does not open the door.
func TestPages(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{})
	b := newBrowser(s)
	if status, text := b.do(http.MethodPost, "/signin", url.Values{"key": {s.key("web", auth.Admin, false)}}); status != http.StatusForbidden || !strings.Contains(text, "an agent’s key") {
		t.Errorf("an agent signs in: %d %.200s", status, text)
	}
	key := s.key("web", auth.Lead, true)
	if status, text := b.do(http.MethodPost, "/signin", url.Values{"key": {key}}); status != http.StatusSeeOther {
		t.Fatalf("signing in = %d %.200s", status, text)
	}
	for _, path := range []string{"/", "/inbox", "/board", "/review", "/timeline", "/landing"} {
		if status, text := b.do(http.MethodGet, path, nil); status != http.StatusOK || !strings.Contains(text, "<main") || strings.Contains(text, "api") {
			t.Errorf("%s = %d %.100s", path, status, text)
		}
	}
	if status, _ := b.do(http.MethodGet, "/admin", nil); status != http.StatusForbidden {
		t.Errorf("a lead sees the administration: %d", status)
	}
	admin := newBrowser(s)
	admin.do(http.MethodPost, "/signin", url.Values{"key": {s.key("web", auth.Admin, true)}})
	if status, text := admin.do(http.MethodGet, "/admin", nil); status != http.StatusOK || !strings.Contains(text, strings.Split(key, "_")[1]) {
		t.Errorf("an admin sees %d, without the key of the other: %.2000s", status, text)
	}
	if _, err := s.keys.RevokeKey(t.Context(), strings.Split(key, "_")[1], "test"); err != nil {
		t.Fatal(err)
	}
	if status, _ := b.do(http.MethodGet, "/", nil); status != http.StatusSeeOther {
		t.Errorf("after the key was revoked the page = %d", status)
	}
}

// TestPages_host: pages are served under the names of the server alone.
func TestPages_host(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{Hosts: []string{"bossman.example.org"}})
	for host, want := range map[string]int{"bossman.example.org": http.StatusOK, "evil.example.org": http.StatusForbidden, "127.0.0.1": http.StatusForbidden} {
		r, err := http.NewRequest(http.MethodGet, s.url+"/signin", nil)
		check(t, err)
		r.Host = host
		res, err := http.DefaultClient.Do(r)
		check(t, err)
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("the sign-in under %s = %d, want %d", host, res.StatusCode, want)
		}
	}
}
