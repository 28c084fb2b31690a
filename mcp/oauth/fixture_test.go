package oauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A world is a server, and the authorization servers that it may name.
type world struct {
	t      *testing.T
	server *httptest.Server
	as     [2]*authServer

	mu       sync.Mutex
	current  int      // which authorization server is named
	resource string   // in the metadata, if not the server's own
	issuer   string   // likewise, if not that of an authorization server
	scope    string   // in the challenge
	want     []string // the scopes of a good token
	noPRM    bool
	header   string // in place of resource_metadata in the challenge
	asked    []string
	strays   []string // what was asked for that is not there
}

// An authServer is one that agrees to everything, and writes down what it is asked.
type authServer struct {
	*httptest.Server
	mu       sync.Mutex
	metadata map[string]any
	iss      func(issuer string) string // in the redirect; "" is none
	good     map[string]string          // access tokens, and their scopes
	refresh  map[string]bool
	codes    map[string]url.Values
	forms    []url.Values
	headers  []http.Header
	count    int
	clients  int
	answer   func(form url.Values) (int, any) // in place of a token
	expires  int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t}
	for i := range w.as {
		w.as[i] = newAuthServer(t)
	}
	w.server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) url() string { return w.server.URL + "/mcp" }

func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") && !w.noPRM, r.URL.Path == "/prm":
		reply(rw, 200, map[string]any{
			"resource": cmp.Or(w.resource, w.url()), "authorization_servers": []string{cmp.Or(w.issuer, w.as[w.current].URL)},
		})
		return
	case r.URL.Path != "/mcp":
		w.strays = append(w.strays, r.URL.Path)
		http.NotFound(rw, r)
		return
	}
	w.asked = append(w.asked, r.Header.Get("Authorization"))
	as := w.as[w.current]
	scheme, access, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	as.mu.Lock()
	scopes, ok := as.good[access]
	as.mu.Unlock()
	challenge := "Bearer realm=\"a, b\""
	if w.header != "" {
		challenge += `, resource_metadata="` + w.header + `"`
	}
	if w.scope != "" {
		challenge += `, scope="` + w.scope + `"`
	}
	if !ok || scheme != "Bearer" {
		rw.Header().Set("WWW-Authenticate", challenge)
		rw.WriteHeader(401)
		return
	}
	for _, s := range w.want {
		if !slices.Contains(strings.Fields(scopes), s) {
			rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+s+`"`)
			rw.WriteHeader(403)
			return
		}
	}
	_, _ = rw.Write([]byte("welcome"))
}

func newAuthServer(t *testing.T) *authServer {
	a := &authServer{good: map[string]string{}, refresh: map[string]bool{}, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	a.iss = func(issuer string) string { return issuer }
	a.metadata = map[string]any{
		"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
		"registration_endpoint": a.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"}, "authorization_response_iss_parameter_supported": true,
	}
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		reply(w, 200, a.metadata)
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.clients++
		reply(w, 201, map[string]any{"client_id": fmt.Sprintf("client-%d-of-%s", a.clients, a.URL)})
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		q := r.URL.Query()
		a.count++
		code := fmt.Sprint("code", a.count)
		a.codes[code] = q
		back := url.Values{"code": {code}, "state": {q.Get("state")}}
		if iss := a.iss(a.URL); iss != "" {
			back.Set("iss", iss)
		}
		w.Header().Set("Location", q.Get("redirect_uri")+"?"+back.Encode())
		w.WriteHeader(302)
	})
	mux.HandleFunc("/token", a.token)
	return a
}

func (a *authServer) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = r.ParseForm()
	a.forms = append(a.forms, r.PostForm)
	a.headers = append(a.headers, r.Header)
	if a.answer != nil {
		if status, v := a.answer(r.PostForm); status != 0 {
			reply(w, status, v)
			return
		}
	}
	scope := r.PostForm.Get("scope")
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		q := a.codes[r.PostForm.Get("code")]
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if q == nil || q.Get("code_challenge") != rawURL.EncodeToString(sum[:]) || q.Get("resource") != r.PostForm.Get("resource") || q.Get("client_id") != r.PostForm.Get("client_id") {
			reply(w, 400, Error{Code: "invalid_grant"})
			return
		}
		scope = q.Get("scope")
	case "refresh_token":
		if !a.refresh[r.PostForm.Get("refresh_token")] {
			reply(w, 400, Error{Code: "invalid_grant"})
			return
		}
	}
	a.count++
	access, refresh := fmt.Sprint("access", a.count), fmt.Sprint("refresh", a.count)
	a.good[access], a.refresh[refresh] = scope, true
	answer := map[string]any{"access_token": access, "token_type": "bearer", "refresh_token": refresh}
	if a.expires != 0 {
		answer["expires_in"] = a.expires
	}
	reply(w, 200, answer)
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// agree visits an address as a person would.
func agree(ctx context.Context, address string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.Header.Get("Location") == "" {
		return "", errors.New("not sent back")
	}
	return res.Header.Get("Location"), nil
}

// client makes a client for the world's server.
func (w *world) client(o Options) *http.Client {
	w.t.Helper()
	if o.Authorize == nil && o.Grant == nil {
		o.Authorize = agree
	}
	o.Redirect = cmp.Or(o.Redirect, "http://127.0.0.1:3000/callback")
	tr, err := NewTransport(w.url(), &o)
	if err != nil {
		w.t.Fatal(err)
	}
	return &http.Client{Transport: tr}
}

// visit sends a request with a body, and tells how it went.
func (w *world) visit(c *http.Client) string {
	w.t.Helper()
	res, err := c.Post(w.url(), "application/json", strings.NewReader("{}"))
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	return res.Status
}
