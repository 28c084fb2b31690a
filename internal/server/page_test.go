package server

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/telemetry"
	"github.com/go-json-experiment/json"
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
	if open != 7 { // the sign-in, its form, the sign-out, files, links that answer, and the script that shows notifications
		t.Errorf("%d routes are open", open)
	}
}

// TestPages_ending: a server that ends lets go of the pages that follow it.
func TestPages_ending(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{})
	b := newBrowser(s)
	b.do(http.MethodPost, "/signin", url.Values{"key": {s.key("web", auth.Lead, true)}})
	res, err := b.Get(s.url + "/live")
	check(t, err)
	defer res.Body.Close()
	begun := time.Now()
	s.stop()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || time.Since(begun) > 5*time.Second {
		t.Errorf("the stream ended after %v with %v", time.Since(begun), err)
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

// TestPages_home: the project of a board in a file has its pages before the first task creates it, as it has its tools.
func TestPages_home(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{Project: "fresh"})
	b := newBrowser(s)
	if status, text := b.do(http.MethodPost, "/signin", url.Values{"key": {s.key(auth.EveryProject, auth.Lead, true)}}); status != http.StatusSeeOther {
		t.Fatalf("signing in = %d %.200s", status, text)
	}
	status, text := b.do(http.MethodGet, "/board/new?project=fresh", nil)
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(text)
	if status != http.StatusOK || token == nil {
		t.Fatalf("the form of a new task = %d %.500s", status, text)
	}
	if status, text := b.do(http.MethodPost, "/board/new?project=fresh", url.Values{"token": token[1:], "title": {"The first"}}); status != http.StatusSeeOther {
		t.Errorf("creating the first task = %d %.500s", status, text)
	}
}

// TestPages_audit: the audit stream says who signed in and out and what they did by forms, and who was refused.
func TestPages_audit(t *testing.T) {
	t.Parallel()
	var stream bytes.Buffer
	tel, err := telemetry.New(&telemetry.Options{Logger: slog.New(slog.DiscardHandler), Audit: &stream, Who: Who})
	check(t, err)
	s := newTestServer(t, Options{Telemetry: tel})
	b, token := newBrowser(s), ""
	send := func(path string, form url.Values, want int) {
		t.Helper()
		form.Set("token", token)
		if status, text := b.do(http.MethodPost, path, form); status != want {
			t.Errorf("POST %s = %d %.300s, want %d", path, status, text, want)
		}
	}
	agent, viewer, lead := s.key("web", auth.Admin, false), s.key("web", auth.Viewer, true), s.key("web", auth.Lead, true)
	send("/signin", url.Values{"key": {agent}}, http.StatusForbidden)
	send("/signin", url.Values{"key": {"nonsense"}}, http.StatusForbidden) // in the same second, most likely
	enter := func(key string) {
		t.Helper()
		send("/signin", url.Values{"key": {key}}, http.StatusSeeOther)
		_, text := b.do(http.MethodGet, "/", nil)
		if m := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(text); m != nil {
			token = m[1]
		}
	}
	enter(viewer)
	send("/board/new?project=web", url.Values{"title": {"Not mine to say"}}, http.StatusForbidden)
	send("/signout", url.Values{}, http.StatusSeeOther)
	enter(lead)
	send("/board/new?project=web", url.Values{"title": {"Paint the door"}}, http.StatusSeeOther)
	send("/task/web-1/cancel", url.Values{"version": {"old"}}, http.StatusConflict)
	send("/task/api-1/cancel", url.Values{"version": {"old"}}, http.StatusNotFound)
	send("/board/plan", url.Values{"text": {"# Rooms\n- [ ] Hall\n"}}, http.StatusOK) // a preview
	token = "forged"
	send("/board/new?project=web", url.Values{"title": {"By another site"}}, http.StatusForbidden)
	check(t, tel.Shutdown(t.Context()))
	var got []string
	for line := range strings.Lines(stream.String()) {
		var l struct {
			Principal, Owner, Kind, Key, Method, Verb, Project, Task, Outcome string
			Code                                                              int
			CreatedKey                                                        string `json:"created_key"`
		}
		check(t, json.Unmarshal([]byte(line), &l, json.MatchCaseInsensitiveNames(true)))
		if l.Outcome == "denied" && l.Verb == "sign_in" && l.Kind == "" {
			continue // the nonsense, if a second had passed
		}
		if l.Owner != "ada" || l.Principal != "key:"+l.Key || l.CreatedKey != map[bool]string{true: l.Key}[l.Verb == "sign_in" && l.Code == 0] {
			t.Errorf("a line says %s", line)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s %s %s %d", l.Kind, l.Verb, l.Method, l.Project, l.Task, l.Outcome, l.Code))
	}
	want := []string{
		"agent sign_in POST /signin   denied 403",
		"person sign_in POST /signin   ok 0",
		"person create POST /board/new   denied 403",
		"person sign_out POST /signout   ok 0",
		"person sign_in POST /signin   ok 0",
		"person create POST /board/new web web-1 ok 0",
		"person cancel POST /task/{task}/cancel web web-1 failed 409",
		"person cancel POST /task/{task}/cancel api api-1 failed 404",
		"person create POST /board/new   denied 403",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the audit stream says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, secret := range []string{agent, viewer, lead, "Paint the door", "nonsense"} {
		if strings.Contains(stream.String(), secret) {
			t.Errorf("the audit stream has %q", secret)
		}
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
