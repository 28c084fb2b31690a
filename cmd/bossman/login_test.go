package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// An issuer is a company's authorization server, where ada is logged in already.
type issuer struct {
	*httptest.Server
	key *ecdsa.PrivateKey

	mu    sync.Mutex
	codes map[string]string // the challenge, by code
	aud   string
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &issuer{key: key, codes: map[string]string{}}
	mux := http.NewServeMux()
	is.Server = httptest.NewServer(mux)
	t.Cleanup(is.Close)
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.MarshalWrite(w, v); err != nil {
			t.Error(err)
		}
	}
	about := func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": is.URL, "jwks_uri": is.URL + "/jwks", "authorization_endpoint": is.URL + "/authorize",
			"token_endpoint": is.URL + "/token", "registration_endpoint": is.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"grant_types_supported": []string{"authorization_code"}, "token_endpoint_auth_methods_supported": []string{"none"},
			"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"ES256"},
			"scopes_supported": []string{"bossman:lead"},
		})
	}
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", about)
	mux.HandleFunc("GET /.well-known/openid-configuration", about)
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) {
		pub, err := key.PublicKey.Bytes() // 4, x, y
		if err != nil {
			t.Error(err)
		}
		answer(w, map[string]any{"keys": []any{map[string]any{
			"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "1", "x": b64(pub[1:33]), "y": b64(pub[33:]),
		}}})
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		if err := json.UnmarshalRead(r.Body, &in); err != nil {
			t.Error(err)
		}
		in["client_id"] = "c1"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.MarshalWrite(w, in)
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		code := rand.Text()
		is.mu.Lock()
		is.codes[code], is.aud = q.Get("code_challenge"), q.Get("resource")
		is.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code="+code+"&state="+q.Get("state")+"&iss="+is.URL, http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		is.mu.Lock()
		defer is.mu.Unlock()
		if is.codes[r.FormValue("code")] != b64(sum[:]) {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		answer(w, map[string]any{"access_token": is.token(t), "token_type": "Bearer", "expires_in": 300})
	})
	return is
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// token is an access token of ada's.
func (is *issuer) token(t *testing.T) string {
	claims, err := json.Marshal(map[string]any{
		"iss": is.URL, "aud": is.aud, "sub": "ada", "name": "Ada", "client_id": "c1", "scope": "bossman:lead", "groups": []string{"eng"},
		"iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix(),
	})
	if err != nil {
		t.Fatal(err)
	}
	text := b64([]byte(`{"alg":"ES256","typ":"at+jwt","kid":"1"}`)) + "." + b64(claims)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, is.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return text + "." + b64(sig)
}

// TestLogin_browser: a person logs in as the company does, and the machine has a key that is
// theirs, for a day. Nobody is a person if the server was not told by which claim.
func TestLogin_browser(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	home := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config")}
	db := filepath.Join(t.TempDir(), "board.db")
	run := func(env []string, args ...string) (string, error) {
		t.Helper()
		cmd := exec.Command("bossman", args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	t.Run("not a person", func(t *testing.T) {
		out, err := is.login(t, env, is.serve(t, env, db))
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 4 || !strings.Contains(out, "does not take the token of ada for a person's") || !strings.Contains(out, "--oauth-person CLAIM=VALUE") {
			t.Errorf("login: %v\n%s", err, out)
		}
		if out, err := run(env, "key", "list", "--all", "--board", db, "--project", "shop"); err != nil || !strings.Contains(out, "No keys.") {
			t.Errorf("key list: %v\n%s", err, out)
		}
		if _, err := os.Stat(filepath.Join(home, ".config", "bossman", "credentials.toml")); err == nil {
			t.Error("a credential was stored")
		}
	})
	t.Run("a person", func(t *testing.T) {
		address := is.serve(t, env, db, "--oauth-person", "groups=eng")
		out, err := is.login(t, env, address)
		if err != nil || !strings.Contains(out, "as ada: shop (lead)") {
			t.Fatalf("login: %v\n%s", err, out)
		}
		if out, err := run(append(env, "BOSSMAN_BOARD=http://"+address), "task", "add", "Paint the door", "--project", "shop"); err != nil || !strings.Contains(out, "shop-1") {
			t.Errorf("task add: %v\n%s", err, out)
		}
		first := is.keys(t, run, env, db)
		if k := first[0]; len(first) != 1 || k.Owner != "ada" || !k.Person || time.Until(k.Expires) > 24*time.Hour || time.Until(k.Expires) < 23*time.Hour {
			t.Errorf("the machine's keys are %+v, want one of ada's, for a day", first)
		}
		// The issuer confirms it again: the machine keeps its key, for another day.
		if out, err := is.login(t, env, address); err != nil || !strings.Contains(out, "as ada: shop (lead)") {
			t.Fatalf("login again: %v\n%s", err, out)
		}
		if again := is.keys(t, run, env, db); len(again) != 1 || again[0].ID != first[0].ID || !again[0].Expires.After(first[0].Expires) {
			t.Errorf("after another login the keys are %+v, want %s, until later", again, first[0].ID)
		}
		if out, err := run(append(env, "BOSSMAN_BOARD=http://"+address), "status"); err != nil || !strings.Contains(out, "1 ready") {
			t.Errorf("status: %v\n%s", err, out)
		}
	})
}

type listedKey struct {
	ID      string    `json:"id"`
	Owner   string    `json:"owner"`
	Person  bool      `json:"person"`
	Expires time.Time `json:"expires_at"`
}

// keys lists the keys of a board.
func (*issuer) keys(t *testing.T, run func([]string, ...string) (string, error), env []string, db string) []listedKey {
	t.Helper()
	out, err := run(env, "key", "list", "--json", "--board", db, "--project", "shop")
	var list struct {
		Keys []listedKey `json:"keys"`
	}
	if err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list.Keys) == 0 {
		t.Fatalf("key list: %v\n%s", err, out)
	}
	return list.Keys
}

// serve starts a server that accepts the issuer's tokens, and returns its address.
func (is *issuer) serve(t *testing.T, env []string, db string, more ...string) string {
	t.Helper()
	address := freeAddress(t)
	server := exec.Command("bossman", append([]string{
		"serve", "--board", db, "--project", "shop", "--http", address,
		"--oauth-issuer", is.URL, "--oauth-audience", "http://" + address + "/mcp", "--oauth-grant", "groups=eng:shop:lead",
	}, more...)...)
	server.Env = env
	lines, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	waitFor(t, lines, regexp.MustCompile(`"msg":"serving"`))
	return address
}

// login logs in with a browser, and returns what bossman login says.
func (is *issuer) login(t *testing.T, env []string, address string) (string, error) {
	t.Helper()
	login := exec.Command("bossman", "login", "http://"+address, "--browser", "--machine", "laptop")
	login.Env = env
	said, w := io.Pipe()
	var out strings.Builder
	login.Stdout, login.Stderr = w, w
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- login.Wait()
		w.Close()
	}()
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		out.WriteString(lines.Text() + "\n")
		if where := strings.TrimSpace(lines.Text()); strings.HasPrefix(where, is.URL) {
			res, err := http.Get(where)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("the person's browser at %s: %v, %v", where, res, err)
			}
			res.Body.Close()
		}
	}
	return out.String(), <-ended
}

// waitFor reads lines until one matches, and goes on reading behind the scenes.
func waitFor(t *testing.T, r io.Reader, want *regexp.Regexp) string {
	t.Helper()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if found := want.FindString(lines.Text()); found != "" {
			go func() { _, _ = io.Copy(io.Discard, r) }()
			return found
		}
		t.Log(lines.Text())
	}
	t.Fatalf("nothing like %v was said", want)
	return ""
}
