package web

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
)

func TestKeyDoor_onlyPeople(t *testing.T) {
	s := newTestSite(t, false)
	_, agent := s.key("ada", false, "shop", auth.Admin)
	parent, person := s.key("ada", true, "shop", auth.Lead)
	_, machine, err := s.keys.CreateKey(t.Context(), auth.NewKey{Owner: "ada", Person: true, Project: "shop", Role: auth.Lead, Machine: "laptop", Parent: parent.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, key, want string }{
		{"an agent's key", agent, "agent’s key"},
		{"a machine's key", machine.Reveal(), "belongs to the machine"},
		{"no key", "hello", "not a key"},
		{"nothing", "", "not a key"},
	} {
		b := s.browser()
		status, body := b.post("/signin", url.Values{"key": {c.key}})
		if status != http.StatusForbidden || !strings.Contains(body, c.want) || b.session() != "" {
			t.Errorf("sign in with %s = %d, cookie %q: %s", c.name, status, b.session(), body)
		}
		if c.key != "" && strings.Contains(body, c.key) && c.key != "hello" {
			t.Errorf("the answer to %s repeats the key", c.name)
		}
	}
	b := s.browser()
	if status, _ := b.post("/signin", url.Values{"key": {person}}); status != http.StatusSeeOther || b.session() == "" {
		t.Fatalf("sign in with a person's key = %d, cookie %q", status, b.session())
	}
	// A key that is no browser's session is none, whoever has it.
	for _, key := range []string{agent, person, machine.Reveal(), "", "x"} {
		if c, err := s.door.Caller(t.Context(), key); err == nil {
			t.Errorf("Caller of a key that is no session = %+v", c)
		}
	}
	keys, err := s.keys.Keys(t.Context())
	if err != nil || len(keys) != 4 || !strings.HasPrefix(keys[3].Machine, browserPrefix) || keys[3].Parent != parent.ID || !keys[3].Person {
		t.Errorf("Keys = %+v, %v: want one more, of a browser", keys, err)
	}
}

func TestKeyDoor_ends(t *testing.T) {
	s := newTestSite(t, false)
	parent, key := s.key("ada", true, "shop", auth.Lead)
	signIn := func() *browser {
		b := s.browser()
		if status, body := b.post("/signin", url.Values{"key": {key}}); status != http.StatusSeeOther {
			t.Fatalf("sign in = %d %s", status, body)
		}
		return b
	}
	b := signIn()
	if status, body := b.get("/"); status != http.StatusOK || strings.Contains(body, `name="project"`) {
		t.Fatalf("GET / = %d, or one may choose among one project: %s", status, body)
	}
	old := b.session()
	if status, body := b.send("/signout", url.Values{}); status != http.StatusSeeOther {
		t.Fatalf("sign out = %d %s", status, body)
	}
	if b.session() != "" {
		t.Error("the cookie is still there")
	}
	replay := s.browser()
	replay.headers.Set("Cookie", "bossman-"+port(s.url)+"="+old)
	if status, _ := replay.get("/"); status != http.StatusSeeOther {
		t.Errorf("GET / with the cookie of a session that has ended = %d, want a redirect to the sign-in page", status)
	}
	b = signIn()
	if _, err := s.keys.RevokeKey(t.Context(), parent.ID, "test"); err != nil {
		t.Fatal(err)
	}
	if status, _ := b.get("/"); status != http.StatusSeeOther {
		t.Errorf("GET / after the parent was revoked = %d", status)
	}
	if status, _ := b.send("/inbox/q-1", url.Values{}); status != http.StatusUnauthorized {
		t.Errorf("POST after the parent was revoked = %d", status)
	}
}

func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

func TestSoloDoor_linkWorksOnce(t *testing.T) {
	caller := access.Local(auth.Admin, "shop")
	caller.Person = true
	d := NewSoloDoor(func(context.Context) (*access.Caller, error) { return caller, nil })
	s := newTestSite(t, false)
	s.start(d, false)
	link := d.Link()
	b := s.browser()
	status, body := b.get(link)
	if status != http.StatusOK || !strings.Contains(body, `data-auto="load"`) || b.session() != "" {
		t.Fatalf("GET of the link = %d, cookie %q: %s", status, b.session(), body)
	}
	_, key, _ := strings.Cut(link, "=")
	form := url.Values{"link": {key}}
	if status, _ := b.post("/signin", form); status != http.StatusSeeOther || b.session() == "" {
		t.Fatalf("POST of the link = %d, cookie %q", status, b.session())
	}
	if status, _ := b.get("/"); status != http.StatusOK {
		t.Errorf("GET / = %d", status)
	}
	other := s.browser()
	if status, body := other.post("/signin", form); status != http.StatusForbidden || !strings.Contains(body, "used already") {
		t.Errorf("the link again = %d %s", status, body)
	}
	for _, bad := range []string{"", "x", key[:10], key + "A"} {
		if _, _, err := d.Enter(t.Context(), bad, nil); err == nil {
			t.Errorf("Enter(%q) made a session", bad)
		}
	}
	late := d.Link()
	d.mu.Lock()
	for k := range d.links {
		d.links[k] = time.Now().Add(-time.Second)
	}
	d.mu.Unlock()
	if _, _, err := d.Enter(t.Context(), late[strings.IndexByte(late, '=')+1:], nil); err == nil {
		t.Error("Enter took a link that is too old")
	}
}

func TestCookie(t *testing.T) {
	s := newTestSite(t, false)
	_, key := s.key("ada", true, "shop", auth.Lead)
	b := s.browser()
	resp, _ := b.do(http.MethodPost, "/signin", url.Values{"key": {key}})
	c := resp.Header.Get("Set-Cookie")
	if !strings.HasPrefix(c, "bossman-"+port(s.url)+"=") || !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Strict") || !strings.Contains(c, "Path=/") || strings.Contains(c, "Secure") {
		t.Errorf("Set-Cookie on loopback = %q", c)
	}
	s.Site.o.TLS = true
	jar, _ := cookiejar.New(nil)
	b.Jar = jar
	resp, _ = b.do(http.MethodPost, "/signin", url.Values{"key": {key}})
	c = resp.Header.Get("Set-Cookie")
	if !strings.HasPrefix(c, "__Host-bossman=") || !strings.Contains(c, "Secure") || strings.Contains(c, "Domain") {
		t.Errorf("Set-Cookie behind TLS = %q", c)
	}
}

func TestSignIn_returns(t *testing.T) {
	s := newTestSite(t, false)
	_, key := s.key("ada", true, "shop", auth.Lead)
	b := s.browser()
	resp, _ := b.do(http.MethodGet, "/inbox?only=questions", nil)
	if got, want := resp.Header.Get("Location"), "/signin?to="+url.QueryEscape("/inbox?only=questions"); got != want {
		t.Errorf("Location = %q, want %q", got, want)
	}
	for to, want := range map[string]string{"/inbox?only=questions": "/inbox?only=questions", "//evil.example": "/", "https://evil.example": "/", "/\\evil.example": "/", "/signin": "/", "": "/"} {
		resp, _ := s.browser().do(http.MethodPost, "/signin", url.Values{"key": {key}, "to": {to}})
		if got := resp.Header.Get("Location"); got != want {
			t.Errorf("sign in with to=%q leads to %q, want %q", to, got, want)
		}
	}
}
