package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/push"
)

// newPushSite starts a site on a database, with a Sender that runs.
func newPushSite(t *testing.T) (*testSite, *pgtest.Cluster, string) {
	t.Helper()
	cluster := pgtest.Shared(t)
	db := cluster.Database(t)
	store := cluster.OpenIn(t, db, nil)
	s := &testSite{t: t, board: board.New(store, nil), keys: auth.New(store, nil)}
	for _, slug := range []string{"shop", "api"} {
		if err := s.board.SetProject(t.Context(), board.Project{Slug: slug, Policy: board.PolicyPerson}); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	s.push, err = push.New(t.Context(), push.Options{
		Store: store.Push(), Board: s.board, Keys: store, Secrets: store.SealKeys().Keys, URL: "https://bossman.example.org", Local: true, Tick: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.push.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	s.door = NewKeyDoor(s.keys, callers(s.board))
	s.start(s.door, true)
	return s, cluster, db
}

// A mailbox gets what is sent to it.
type mailbox struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	status int
}

func newMailbox(t *testing.T) *mailbox {
	m := &mailbox{status: http.StatusOK}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m.mu.Lock()
		m.bodies = append(m.bodies, string(body))
		status := m.status
		m.mu.Unlock()
		w.WriteHeader(status)
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *mailbox) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.bodies)
}

func (m *mailbox) answer(status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status = status
}

// TestSettings: a person adds a topic, is told of a question, and answers with one tap; a
// link works once, and only as it was made.
func TestSettings(t *testing.T) {
	s, _, _ := newPushSite(t)
	phone := newMailbox(t)
	b := s.signedIn("ada", "shop", auth.Worker)
	form := url.Values{"act": {"ntfy"}, "url": {phone.URL}, "topic": {"boss"}, "events": {"question.asked"}, "text": {"1"}}
	if status, body := b.send("/settings", form); status != http.StatusSeeOther {
		t.Fatalf("adding a topic = %d %s", status, body)
	}
	_, body := b.get("/settings?said=notified")
	for _, want := range []string{"/boss", "questions and permissions", "with text", "Saved.", `data-vapid="` + s.push.PublicKey() + `"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the settings do not show %q", want)
		}
	}
	for name, bad := range map[string]url.Values{
		"no topic":   {"act": {"ntfy"}, "url": {phone.URL}, "events": {"question.asked"}},
		"no events":  {"act": {"ntfy"}, "url": {phone.URL}, "topic": {"x"}},
		"a file":     {"act": {"ntfy"}, "url": {"file:///etc/passwd"}, "topic": {"x"}, "events": {"question.asked"}},
		"a bad key":  {"act": {"browser"}, "endpoint": {phone.URL}, "p256dh": {"x"}, "auth": {"y"}, "events": {"question.asked"}},
		"link-local": {"act": {"ntfy"}, "url": {"http://169.254.169.254/"}, "topic": {"x"}, "events": {"question.asked"}},
	} {
		if status, body := b.send("/settings", bad); status != http.StatusUnprocessableEntity || !strings.Contains(body, "Not saved") {
			t.Errorf("adding a target with %s = %d", name, status)
		}
	}
	q := s.ask(board.NewQuestion{Text: "Which cart wins?", Options: []string{"Merge both", "The guest's"}})
	until(t, "the phone is told", func() bool { return len(phone.all()) == 1 })
	var m struct {
		Actions []struct{ Label, URL string }
	}
	if err := json.Unmarshal([]byte(phone.all()[0]), &m); err != nil || len(m.Actions) != 2 {
		t.Fatalf("the phone got %s, %v", phone.all()[0], err)
	}
	link := strings.TrimPrefix(m.Actions[1].URL, "https://bossman.example.org")
	anybody := s.browser() // no session is needed
	for range 2 {          // looking changes nothing
		if status, body := anybody.get(link); status != http.StatusOK || !strings.Contains(body, "Which cart wins?") || !strings.Contains(body, "You answer as ada.") || !strings.Contains(body, "Answer: The guest") {
			t.Errorf("GET the link = %d %s", status, body)
		}
	}
	anybody.headers = http.Header{"Sec-Fetch-Site": {"cross-site"}}
	if status, _ := anybody.post(link, url.Values{}); status != http.StatusForbidden {
		t.Errorf("a page of another site answers: %d", status)
	}
	anybody.headers = http.Header{}
	for _, forged := range []string{link + "A", "/tap/x.y", "/tap/" + strings.Repeat("A", 100) + "." + strings.Repeat("B", 43)} {
		for _, send := range []func() (int, string){func() (int, string) { return anybody.get(forged) }, func() (int, string) { return anybody.post(forged, url.Values{}) }} {
			if status, body := send(); status != http.StatusForbidden || strings.Contains(body, "cart") {
				t.Errorf("a forged link = %d %s", status, body)
			}
		}
	}
	if status, body := anybody.post(link, url.Values{}); status != http.StatusOK || !strings.Contains(body, "The agent has your answer") {
		t.Errorf("POST the link = %d %s", status, body)
	}
	if now, err := s.board.Question(t.Context(), q.ID); err != nil || now.Answer != "The guest's" || now.AnsweredBy != "ada" {
		t.Errorf("the question is %+v, %v", now, err)
	}
	other := strings.TrimPrefix(m.Actions[0].URL, "https://bossman.example.org")
	for _, again := range []string{link, other} {
		if status, body := anybody.post(again, url.Values{}); status != http.StatusConflict || !strings.Contains(body, "answered already") {
			t.Errorf("a replayed link = %d %s", status, body)
		}
		if status, _ := anybody.get(again); status != http.StatusConflict {
			t.Errorf("GET a used link = %d", status)
		}
	}
	s.mu.Lock()
	acts := slices.Clone(s.acts)
	s.mu.Unlock()
	if i := slices.IndexFunc(acts, func(a Act) bool { return a.Via == "one-tap link" && a.Status == http.StatusOK }); i < 0 || acts[i].Caller.Name != "ada" || acts[i].Verb != "answer" || acts[i].Task.String() != "shop-1" || strings.Contains(acts[i].Form, link) {
		t.Errorf("the audit has %+v", acts)
	}
	// Somebody else's targets are not there.
	eve := s.signedIn("eve", "shop", auth.Admin)
	id := regexp.MustCompile(`name="target" value="(\d+)"`).FindStringSubmatch(body)[1]
	for _, act := range []string{"test", "remove"} {
		if status, _ := eve.send("/settings", url.Values{"act": {act}, "target": {id}}); status != http.StatusNotFound {
			t.Errorf("eve may %s ada's target: %d", act, status)
		}
		if status, _ := eve.send("/admin", url.Values{"act": {"hook-" + act}, "target": {id}}); status != http.StatusNotFound {
			t.Errorf("eve may %s ada's target as a webhook: %d", act, status)
		}
	}
	if status, _ := b.send("/settings", url.Values{"act": {"test"}, "target": {id}}); status != http.StatusSeeOther || len(phone.all()) != 2 {
		t.Errorf("a test = %d, and the phone got %d", status, len(phone.all()))
	}
	phone.answer(http.StatusForbidden)
	if status, body := b.send("/settings", url.Values{"act": {"test"}, "target": {id}}); status != http.StatusUnprocessableEntity || !strings.Contains(body, "it answered 403") {
		t.Errorf("a test that fails = %d", status)
	}
	if status, _ := b.send("/settings", url.Values{"act": {"remove"}, "target": {id}}); status != http.StatusSeeOther {
		t.Errorf("removing = %d", status)
	}
	if _, body := b.get("/settings"); strings.Contains(body, "/boss") {
		t.Error("the topic is still there")
	}
}

// TestTap_risky: a risky permission has no link, only the way to its page.
func TestTap_risky(t *testing.T) {
	s, _, _ := newPushSite(t)
	phone := newMailbox(t)
	b := s.signedIn("ada", "shop", auth.Lead)
	b.send("/settings", url.Values{"act": {"ntfy"}, "url": {phone.URL}, "topic": {"boss"}, "events": {"question.asked"}, "text": {"1"}})
	s.ask(board.NewQuestion{Text: migrate, Options: permits, HumanOnly: true})
	until(t, "the phone is told", func() bool { return len(phone.all()) == 1 })
	if text := phone.all()[0]; strings.Contains(text, "/tap/") || !strings.Contains(text, `"label":"Look","url":"https://bossman.example.org/inbox/q-1"`) {
		t.Errorf("the phone got %s", text)
	}
}

// TestWebhooks: an administrator adds a webhook, sees its secret once, tests, disables and
// removes it; what did not arrive is in the inbox.
func TestWebhooks(t *testing.T) {
	s, cluster, db := newPushSite(t)
	box := newMailbox(t)
	b := s.signedIn("ada", "shop", auth.Admin)
	form := func(project string) url.Values {
		return url.Values{"act": {"hook-add"}, "name": {"CI " + hostile[0]}, "url": {box.URL + "/hook?key=hidden"}, "of": {project}, "events": {"question.*"}}
	}
	for project, want := range map[string]int{"api": http.StatusNotFound, "*": http.StatusNotFound, "ghost": http.StatusNotFound} {
		if status, _ := b.send("/admin", form(project)); status != want {
			t.Errorf("adding a webhook for %s = %d, want %d", project, status, want)
		}
	}
	if status, body := b.send("/admin", url.Values{"act": {"hook-add"}, "name": {"x"}, "url": {"nowhere"}, "of": {"shop"}, "events": {"question.*"}}); status != http.StatusUnprocessableEntity || !strings.Contains(body, "Not saved") {
		t.Errorf("adding a webhook without an address = %d", status)
	}
	status, body := b.send("/admin", form("shop"))
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/=&#;]+`).FindString(body)
	if status != http.StatusOK || secret == "" || !strings.Contains(body, "shown once") {
		t.Fatalf("adding a webhook = %d %s", status, body)
	}
	checkInert(t, "POST /admin", body)
	id := regexp.MustCompile(`name="target" value="(\d+)"`).FindStringSubmatch(body)[1]
	_, body = b.get("/admin?tab=webhooks")
	checkInert(t, "/admin?tab=webhooks", body)
	if !strings.Contains(body, "ada is responsible") {
		t.Errorf("the list does not name the owner: %s", body)
	}
	if strings.Contains(body, "whsec_") || strings.Contains(body, "hidden&") || strings.Contains(body, "key=hidden") || !strings.Contains(body, "/hook") {
		t.Errorf("the list shows the secret, or not the address: %s", body)
	}
	if status, _ := b.send("/admin", url.Values{"act": {"hook-test"}, "target": {id}}); status != http.StatusSeeOther || len(box.all()) != 1 || !strings.Contains(box.all()[0], `"type":"test"`) {
		t.Errorf("a test = %d, and the receiver got %q", status, box.all())
	}
	for _, x := range []*browser{s.signedIn("lea", "shop", auth.Lead), s.signedIn("eve", "api", auth.Admin)} {
		for _, act := range []string{"test", "disable", "remove"} {
			if status, _ := x.send("/admin", url.Values{"act": {"hook-" + act}, "target": {id}}); status != http.StatusForbidden && status != http.StatusNotFound {
				t.Errorf("somebody else may %s it: %d", act, status)
			}
		}
	}
	for _, act := range []string{"disable", "enable"} {
		if status, _ := b.send("/admin", url.Values{"act": {"hook-" + act}, "target": {id}}); status != http.StatusSeeOther {
			t.Errorf("%s = %d", act, status)
		}
	}
	box.answer(http.StatusInternalServerError)
	s.ask(board.NewQuestion{Text: "Which cart wins?"})
	until(t, "it was tried", func() bool { return len(box.all()) == 2 })
	until(t, "it is a dead letter", func() bool { // the last try
		cluster.Exec(t, db, `UPDATE push_deliveries SET tries = 6, next_at = now() - interval '1 s' WHERE dead_at IS NULL AND error <> ''`)
		_, body = b.get("/inbox")
		return strings.Contains(body, "Not delivered")
	})
	checkInert(t, "/inbox", body)
	if _, others := s.signedIn("lea", "shop", auth.Lead).get("/inbox"); strings.Contains(others, "Not delivered") {
		t.Error("a lead sees dead letters")
	}
	letter := regexp.MustCompile(`name="letter" value="([^"]+)"`).FindStringSubmatch(body)[1]
	if status, _ := s.signedIn("eve", "api", auth.Admin).send("/admin", url.Values{"act": {"hook-again"}, "letter": {letter}}); status != http.StatusNotFound {
		t.Errorf("an administrator of another project sends it again: %d", status)
	}
	box.answer(http.StatusOK)
	before := len(box.all())
	if status, _ := b.send("/admin", url.Values{"act": {"hook-again"}, "letter": {letter}}); status != http.StatusSeeOther {
		t.Errorf("sending again = %d", status)
	}
	until(t, "it arrived", func() bool { return len(box.all()) == before+1 })
	until(t, "the inbox is empty", func() bool { _, body = b.get("/inbox"); return !strings.Contains(body, "Not delivered") })
	if status, _ := b.send("/admin", url.Values{"act": {"hook-remove"}, "target": {id}}); status != http.StatusSeeOther {
		t.Errorf("removing = %d", status)
	}
	boss := s.signedIn("boss", auth.EveryProject, auth.Admin)
	status, body = boss.send("/admin", form("*"))
	if status != http.StatusOK || !strings.Contains(body, "every project") {
		t.Errorf("adding a webhook for every project = %d", status)
	}
	if _, body := b.get("/admin?tab=webhooks"); strings.Contains(body, "every project") {
		t.Error("an administrator of one project sees that of every project")
	}

	// When the one who added it is disabled, another administrator takes it over.
	id = regexp.MustCompile(`name="target" value="(\d+)"`).FindStringSubmatch(body)[1]
	if err := s.keys.DisablePerson(t.Context(), "boss"); err != nil {
		t.Fatal(err)
	}
	before = len(box.all())
	s.ask(board.NewQuestion{Text: "Which cart is it?"})
	chief := s.signedIn("chief", auth.EveryProject, auth.Admin)
	until(t, "it is disabled", func() bool {
		_, body = chief.get("/admin?tab=webhooks")
		return strings.Contains(body, "boss is responsible for it, and may not administer its project any more")
	})
	if status, _ := chief.send("/admin", url.Values{"act": {"hook-enable"}, "target": {id}}); status != http.StatusSeeOther {
		t.Errorf("enabling = %d", status)
	}
	if _, body := chief.get("/admin?tab=webhooks"); !strings.Contains(body, "chief is responsible") || strings.Contains(body, "boss is responsible") {
		t.Errorf("after it was enabled: %s", body)
	}
	s.ask(board.NewQuestion{Text: "And this one?"})
	until(t, "it gets the next question only", func() bool { return len(box.all()) > before })
	if n := len(box.all()) - before; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestSettings_none: without a Sender there is nothing to set, and links do nothing.
func TestSettings_none(t *testing.T) {
	s := newTestSite(t, false)
	b := s.signedIn("ada", "shop", auth.Admin)
	if status, body := b.get("/settings"); status != http.StatusOK || !strings.Contains(body, "None are sent here") || strings.Contains(body, `href="/settings"`) {
		t.Errorf("GET /settings = %d", status)
	}
	if _, body := b.get("/admin"); strings.Contains(body, "Webhooks") {
		t.Error("the administration has webhooks")
	}
	for path, form := range map[string]url.Values{"/settings": {"act": {"ntfy"}}, "/admin": {"act": {"hook-add"}}} {
		if status, _ := b.send(path, form); status != http.StatusNotFound {
			t.Errorf("POST %s = %d", path, status)
		}
	}
	if status, _ := b.get("/tap/x.y"); status != http.StatusForbidden {
		t.Errorf("GET a link = %d", status)
	}
	if resp, body := b.do(http.MethodGet, "/worker.js", nil); resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/javascript") || !strings.Contains(body, "notificationclick") {
		t.Errorf("GET /worker.js = %d", resp.StatusCode)
	}
}
