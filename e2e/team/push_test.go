package team

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/e2e/internal/teamserver"
)

// A person is somebody at a browser, without a script.
type person struct {
	http.Client
	team  *teamserver.Team
	token string
}

// signIn signs somebody in with a key.
func signIn(t *testing.T, team *teamserver.Team, key string) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &person{team: team, Client: http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if status, body := p.send(t, "POST", "/signin", url.Values{"key": {key}}); status != http.StatusSeeOther {
		t.Fatalf("signing in = %d %s", status, body)
	}
	_, body := p.send(t, "GET", "/settings", nil)
	p.token = regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(body)[1]
	return p
}

// send sends a request, and gives the status and the page.
func (p *person) send(t *testing.T, method, path string, form url.Values) (int, string) {
	t.Helper()
	if form != nil && p.token != "" {
		form.Set("token", p.token)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, p.team.URL()+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", p.team.URL())
	}
	res, err := p.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// A hook is a receiver of webhooks that checks their signatures, and drops what it has.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	ids    []string // of all requests
	events []string // type and task, once for each id
	faults []string
	last   http.Header
	body   []byte
	hang   chan struct{} // if not nil, requests wait for it
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hook) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := r.Header.Get("webhook-id")
	h.mu.Lock()
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(h.secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + r.Header.Get("webhook-timestamp") + "." + string(body)))
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("webhook-signature") != want {
		h.faults = append(h.faults, "wrong signature "+r.Header.Get("webhook-signature"))
	}
	seen := false
	for _, x := range h.ids {
		seen = seen || x == id
	}
	h.ids = append(h.ids, id)
	var e struct {
		Type string
		Data struct{ Task string }
	}
	_ = json.Unmarshal(body, &e)
	if !seen {
		h.events = append(h.events, e.Type+" "+e.Data.Task)
	}
	h.last, h.body = r.Header.Clone(), body
	hang := h.hang
	h.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}
}

// wait waits until a number of requests came.
func (h *hook) wait(t *testing.T, n int) []string {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		h.mu.Lock()
		ids := append([]string(nil), h.ids...)
		h.mu.Unlock()
		if len(ids) >= n {
			return ids
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d requests came", len(ids), n)
		}
	}
}

// TestPush: a real server tells a program and a phone of an agent's question, and one tap
// answers it, once.
func TestPush(t *testing.T) {
	t.Parallel()
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	team := teamserver.Start(t, bossman, 2, "--push-local", "--url", "https://bossman.example.org", "--audit", audit)
	boss := signIn(t, team, team.Key(t, "--role", "admin", "--person", "boss"))
	agent := connect(t, team.MCP(), team.Key(t, "--role", "worker", "--owner", "crew"), nil)

	program := newHook(t)
	_, page := boss.send(t, "POST", "/admin", url.Values{"act": {"hook-add"}, "name": {"CI"}, "url": {program.URL}, "of": {teamserver.Project}, "events": {"question.*"}})
	found := regexp.MustCompile(`id="secret">(whsec_[^<]+)<`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no secret in %s", page)
	}
	secret := html.UnescapeString(found[1])
	program.mu.Lock()
	program.secret = secret
	program.mu.Unlock()

	messages := make(chan []byte, 10)
	phone := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		messages <- body
	}))
	t.Cleanup(phone.Close)
	if status, page := boss.send(t, "POST", "/settings", url.Values{"act": {"ntfy"}, "url": {phone.URL}, "topic": {"boss"}, "access": {"tk_canary"}, "events": {"question.asked"}, "text": {"1"}}); status != http.StatusSeeOther {
		t.Fatalf("adding a topic = %d %s", status, page)
	}

	call(t, agent, "create_task", args{"title": "Guest checkout", "description": "Let guests pay."})
	c := call(t, agent, "get_next_task", nil).facts.Claim
	asked := call(t, agent, "ask_question", args{"claim": c.Claim, "question": "Which cart wins?", "options": []string{"Merge both", "The guest's"}, "default": "The guest's"}).facts.ID
	program.wait(t, 1)
	var m struct {
		Message string
		Actions []struct{ Label, URL string }
	}
	select {
	case body := <-messages:
		if err := json.Unmarshal(body, &m); err != nil || len(m.Actions) != 2 || m.Message != "Which cart wins?" {
			t.Fatalf("the phone got %s, %v", body, err)
		}
	case <-time.After(patience):
		t.Fatal("the phone got nothing")
	}
	link, ok := strings.CutPrefix(m.Actions[0].URL, "https://bossman.example.org")
	if !ok {
		t.Fatalf("the link is %s", m.Actions[0].URL)
	}
	tap := func(method, path string) (int, string) {
		t.Helper()
		return (&person{team: team}).send(t, method, path, nil)
	}
	if status, page := tap("GET", link); status != http.StatusOK || !strings.Contains(page, "Merge both") {
		t.Errorf("looking at the link = %d %s", status, page)
	}
	if status, _ := tap("POST", link+"x"); status != http.StatusForbidden {
		t.Errorf("a forged link = %d", status)
	}
	if status, page := tap("POST", link); status != http.StatusOK {
		t.Errorf("the tap = %d %s", status, page)
	}
	says(t, call(t, agent, "get_answer", args{"question": asked}).text, "Merge both")
	for _, again := range []string{link, strings.TrimPrefix(m.Actions[1].URL, "https://bossman.example.org")} {
		if status, _ := tap("POST", again); status != http.StatusConflict {
			t.Errorf("a link after the answer = %d", status)
		}
	}
	program.wait(t, 2) // that it was answered
	verifyInPython(t, secret, program)

	// The replica that sends is killed; the other one sends the same again.
	team.Replicas[1].Kill()
	program.mu.Lock()
	program.hang = make(chan struct{})
	program.mu.Unlock()
	call(t, agent, "ask_question", args{"claim": c.Claim, "question": "And now?", "default": "go on"})
	ids := program.wait(t, 3)
	team.Replicas[0].Kill()
	program.mu.Lock()
	program.hang = nil
	program.mu.Unlock()
	team.Replicas[1].Start(t)
	if all := program.wait(t, 4); all[3] != ids[2] {
		t.Errorf("after the kill the id is %s, want %s", all[3], ids[2])
	}
	team.Replicas[0].Start(t)
	program.mu.Lock()
	defer program.mu.Unlock()
	if len(program.faults) > 0 || strings.Join(program.events, ", ") != "question.asked "+c.Task+", question.answered "+c.Task+", question.asked "+c.Task {
		t.Errorf("the program got %q, and complains of %q", program.events, program.faults)
	}
	lines, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"via":"one-tap link"`, `"verb":"answer"`, `"method":"POST /tap/{link}"`, `"method":"POST /admin"`, `"method":"POST /settings"`} {
		if !strings.Contains(string(lines), want) {
			t.Errorf("the audit has no %s:\n%s", want, lines)
		}
	}
	for _, canary := range []string{secret, "tk_canary", strings.TrimPrefix(link, "/tap/"), "cart"} {
		if strings.Contains(string(lines), canary) {
			t.Errorf("the audit has %q", canary)
		}
		for _, r := range team.Replicas {
			if strings.Contains(r.Log(), canary) {
				t.Errorf("the log of a replica has %q", canary)
			}
		}
	}
}

// verifyInPython runs what docs/push.md says about signatures.
func verifyInPython(t *testing.T, secret string, h *hook) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("there is no Python")
		return
	}
	text, err := os.ReadFile(harness.Dir("..", "docs", "push.md"))
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```python\n(.*?)```").FindStringSubmatch(string(text))
	if code == nil {
		t.Fatal("docs/push.md has no Python")
	}
	h.mu.Lock()
	headers := map[string]string{}
	for k := range h.last {
		headers[strings.ToLower(k)] = h.last.Get(k)
	}
	input, err := json.Marshal(map[string]any{"secret": secret, "headers": headers, "body": string(h.body)})
	h.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", code[1]+`
import json, sys
x = json.load(sys.stdin)
body = x["body"].encode()
assert verify(x["secret"], x["headers"], body)
assert not verify(x["secret"], x["headers"], body + b" ")
assert not verify("whsec_" + "A" * 44, x["headers"], body)
`)
	cmd.Stdin = strings.NewReader(string(input))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the code of docs/push.md: %v\n%s", err, out)
	}
}
