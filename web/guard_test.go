package web

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// address fills in the wildcards of a pattern.
func address(pattern string) string {
	return strings.NewReplacer("{$}", "", "{question}", "q-1", "{task}", "shop-1", "{hash}", "x", "{name}", "app.js", "{project}", "shop", "{link}", "x.y").Replace(pattern)
}

// ask puts a question of an agent on the board, with a task.
func (s *testSite) ask(n board.NewQuestion) board.Question {
	s.t.Helper()
	return s.askAs("key:crew", n)
}

func (s *testSite) askAs(principal string, n board.NewQuestion) board.Question {
	s.t.Helper()
	person := board.Actor{Principal: "local", Name: "ada", Person: true}
	if _, _, err := s.board.Create(s.t.Context(), person, board.NewTask{Project: "shop", Title: "Guest checkout"}, ""); err != nil {
		s.t.Fatal(err)
	}
	agent := board.Actor{Principal: principal, Owner: "p-" + principal[4:]}
	h, err := s.board.Next(s.t.Context(), agent, board.Wish{Projects: []string{"shop"}})
	if err != nil {
		s.t.Fatal(err)
	}
	agent.Worker, n.Claim = h.Claim.Worker.Name, h.Claim.Handle
	q, err := s.board.Ask(s.t.Context(), agent, n)
	if err != nil {
		s.t.Fatal(err)
	}
	return q
}

// TestRoutes_roles calls each route as each role: what the table of verbs does not allow is
// refused, and what needs a session sends strangers away.
func TestRoutes_roles(t *testing.T) {
	s := newTestSite(t, false)
	s.ask(board.NewQuestion{Text: "Which cart wins?", Options: []string{"Merge both", "The guest's"}})
	for _, r := range s.Routes() {
		path := address(r.Pattern)
		stranger := s.browser()
		var status int
		if r.Method == http.MethodPost {
			status, _ = stranger.post(path, url.Values{})
		} else {
			status, _ = stranger.get(path)
		}
		if r.Verb != nil && status != http.StatusUnauthorized && status != http.StatusSeeOther {
			t.Errorf("%s %s without a session = %d", r.Method, r.Pattern, status)
		}
		if r.Verb == nil || r.Pattern == "/live" {
			continue
		}
		for role := auth.Viewer; role <= auth.Admin; role++ {
			b := s.signedIn("p"+role.String(), "shop", role)
			if r.Method == http.MethodPost {
				status, _ = b.send(path, url.Values{})
			} else {
				status, _ = b.get(path)
			}
			if allowed := r.Verb.Allows(role, true); allowed == (status == http.StatusForbidden) {
				t.Errorf("%s %s as %v = %d, allowed is %v", r.Method, r.Pattern, role, status, allowed)
			}
		}
		// Somebody of another project sees nothing of it.
		b := s.signedIn("outsider", "api", auth.Admin)
		if !strings.Contains(r.Pattern, "{") || r.Pattern == "/{$}" {
			if status, body := b.get(path); status != http.StatusOK || strings.Contains(body, "Which cart wins") || strings.Contains(body, "shop") {
				t.Errorf("GET %s as somebody of another project = %d, and it shows the project", path, status)
			}
			if status, _ := b.get(path + "?project=shop"); status != http.StatusNotFound {
				t.Errorf("GET %s?project=shop as somebody of another project = %d", path, status)
			}
			continue
		}
		if r.Method == http.MethodPost {
			status, _ = b.send(path, url.Values{})
		} else {
			status, _ = b.get(path)
		}
		if status != http.StatusNotFound {
			t.Errorf("%s %s as somebody of another project = %d", r.Method, path, status)
		}
	}
}

// TestRoutes_forged sends forms that this session was not given, and forms of other sites.
func TestRoutes_forged(t *testing.T) {
	s := newTestSite(t, false)
	q := s.ask(board.NewQuestion{Text: "Which cart wins?", Options: []string{"Merge both", "The guest's"}})
	b, other := s.signedIn("ada", "shop", auth.Lead), s.signedIn("bob", "shop", auth.Lead)
	form := func(token string) url.Values {
		return url.Values{"token": {token}, "version": {askVersion(&q, true)}, "answer": {"Merge both"}}
	}
	for name, token := range map[string]string{"no token": "", "a forged one": "AAAA", "that of another session": formToken(other.session()), "the session itself": b.session()} {
		if status, body := b.post("/inbox/q-1", form(token)); status != http.StatusForbidden || !strings.Contains(body, "another session") || strings.Contains(body, "You see 0 projects") {
			t.Errorf("a form with %s = %d", name, status)
		}
		if status, _ := b.post("/signout", url.Values{"token": {token}}); status != http.StatusForbidden {
			t.Errorf("a sign-out with %s = %d", name, status)
		}
	}
	good := form(formToken(b.session()))
	for name, h := range map[string]http.Header{
		"of another site":   {"Sec-Fetch-Site": {"cross-site"}},
		"of a sister site":  {"Sec-Fetch-Site": {"same-site"}},
		"of another origin": {"Origin": {"https://evil.example"}},
		"of no origin":      {"Origin": {"null"}},
	} {
		b.headers = h
		if status, _ := b.post("/inbox/q-1", good); status != http.StatusForbidden {
			t.Errorf("a form %s = %d", name, status)
		}
	}
	b.headers = http.Header{}
	if now, err := s.board.Question(t.Context(), q.ID); err != nil || now.State != board.QuestionOpen {
		t.Fatalf("the question is %v, %v", now.State, err)
	}
	b.headers = http.Header{"Sec-Fetch-Site": {"same-origin"}}
	if status, body := b.post("/inbox/q-1", good); status != http.StatusSeeOther {
		t.Errorf("the form = %d %s", status, body)
	}
}

func TestHeaders(t *testing.T) {
	s := newTestSite(t, false)
	b := s.signedIn("ada", "shop", auth.Lead)
	for _, path := range []string{"/", "/inbox", "/signin", "/nothing", s.files.address("style.css"), s.files.address("app.js"), "/static/x/none"} {
		resp, _ := b.do(http.MethodGet, path, nil)
		for k, want := range map[string]string{"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "X-Frame-Options": "DENY"} {
			if got := resp.Header.Get(k); got != want {
				t.Errorf("GET %s: %s = %q, want %q", path, k, got, want)
			}
		}
		cache := resp.Header.Get("Cache-Control")
		if want := strings.HasPrefix(path, "/static/"+s.files.hash); strings.Contains(cache, "immutable") != want || !want && cache != "no-store" {
			t.Errorf("GET %s: Cache-Control = %q", path, cache)
		}
	}
	if status, _ := b.post("/", url.Values{}); status != http.StatusMethodNotAllowed {
		t.Errorf("POST / = %d", status)
	}
	if status, _ := b.get("/nothing"); status != http.StatusNotFound {
		t.Errorf("GET /nothing = %d", status)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/", nil)
	r.Host = "evil.example"
	resp, err := b.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("GET / with the host evil.example = %d", resp.StatusCode)
	}
	if n := len(s.files.plain["app.js"]); n > 30<<10 {
		t.Errorf("the script has %d bytes", n)
	}
}

// TestCrossSiteLink: a link on another site leads to the page, although the browser withholds
// the cookie at first.
func TestCrossSiteLink(t *testing.T) {
	s := newTestSite(t, false)
	b := s.browser()
	b.headers = http.Header{"Sec-Fetch-Site": {"cross-site"}}
	resp, _ := b.do(http.MethodGet, "/inbox", nil)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Refresh") != "0" {
		t.Errorf("GET /inbox from another site = %d, Refresh %q", resp.StatusCode, resp.Header.Get("Refresh"))
	}
}

// testCaller is somebody who may see a project.
func testCaller(project string) *access.Caller { return access.Local(auth.Viewer, project) }

// TestPlaceholder: what stands for the token of forms is in no page, so that no text can have it.
func TestPlaceholder(t *testing.T) {
	s := newTestSite(t, false)
	in := s.signedIn("ada", "shop", auth.Lead)
	for _, b := range []*browser{s.browser(), in} {
		for _, path := range []string{"/signin", "/", "/board", "/nowhere", "/task/shop-99", "/signout"} {
			for _, part := range []string{"", "1"} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Bossman-Part", part)
				resp, err := b.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || strings.Contains(string(body), s.placeholder) {
					t.Errorf("GET %s, part %q, has the placeholder: %v", path, part, err)
				}
			}
		}
	}
}
