package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/push"
	"github.com/bossman-dev/bossman/web"
)

// A pushSite is a server's site on a database, which sends notifications.
type pushSite struct {
	*site
	sender  *push.Sender
	cluster *pgtest.Cluster
	db      string
	key     string // of a person who administers everything
}

func newPushSite(t *testing.T) *pushSite {
	t.Helper()
	s := &pushSite{site: &site{addr: "127.0.0.1:0"}, cluster: pgtest.Shared(t)}
	s.db = s.cluster.Database(t)
	store := s.cluster.OpenIn(t, s.db, nil)
	s.board = board.New(store, nil)
	if err := s.board.SetProject(t.Context(), board.Project{Slug: "shop", Policy: board.PolicyTrust}); err != nil {
		t.Fatal(err)
	}
	keys := auth.New(store, nil)
	_, secret, err := keys.CreateKey(t.Context(), auth.NewKey{Owner: "Ada Lindqvist", Person: true, Project: auth.EveryProject, Role: auth.Admin, By: "shell:ops"})
	if err != nil {
		t.Fatal(err)
	}
	s.key = secret.Reveal()
	s.sender, err = push.New(t.Context(), push.Options{
		Store: store.Push(), Board: s.board, Keys: store, Secrets: store.SealKeys().Keys, URL: "https://bossman.example.org", Local: true, Tick: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	door := web.NewKeyDoor(keys, func(_ context.Context, p *auth.Principal) (*access.Caller, error) {
		return &access.Caller{
			Actor: board.Actor{Principal: p.ID, Owner: p.ID, Name: p.Owner, Person: true}, Role: p.Best(), Roles: map[string]auth.Role{"shop": p.Role("shop")},
		}, nil
	})
	if s.pages, err = web.New(web.Options{Board: s.board, Door: door, Directory: keys, Push: s.sender}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{}, 3)
	for _, run := range []func(context.Context) error{s.board.Run, s.pages.Run, s.sender.Run} {
		go func() { _ = run(ctx); ended <- struct{}{} }()
	}
	t.Cleanup(func() {
		cancel()
		for range 3 {
			<-ended
		}
	})
	s.listen(t)
	s.url = "http://" + s.addr
	t.Cleanup(func() { _ = s.server.Close() })
	return s
}

// ask puts a question of an agent on the board.
func (s *pushSite) ask(t *testing.T, q board.NewQuestion) board.Question {
	t.Helper()
	if _, _, err := s.board.Create(t.Context(), board.Actor{Principal: "local", Name: "Ada", Person: true}, board.NewTask{Project: "shop", Title: "Guest checkout"}, ""); err != nil {
		t.Fatal(err)
	}
	agent := board.Actor{Principal: "key:crew", Owner: "p-" + time.Now().String()}
	h, err := s.board.Next(t.Context(), agent, board.Wish{Projects: []string{"shop"}})
	if err != nil {
		t.Fatal(err)
	}
	agent.Worker, q.Claim = h.Claim.Worker.Name, h.Claim.Handle
	asked, err := s.board.Ask(t.Context(), agent, q)
	if err != nil {
		t.Fatal(err)
	}
	return asked
}

// link returns the path of a one-tap link, as a phone gets it.
func (s *pushSite) link(t *testing.T) string {
	t.Helper()
	messages := make(chan []byte, 10)
	phone := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		messages <- body
	}))
	t.Cleanup(phone.Close)
	if _, err := s.sender.Add(t.Context(), push.Target{Kind: push.Ntfy, Key: strings.Split(s.key, "_")[1], Name: "phone", URL: phone.URL, Topic: "boss", Events: []string{"question.asked"}, Text: true}); err != nil {
		t.Fatal(err)
	}
	s.ask(t, board.NewQuestion{Text: "Is a voucher **taken off** before shipping?\n\nThe total decides whether shipping is free.", Options: []string{"Before shipping", "After shipping"}})
	select {
	case body := <-messages:
		var m struct{ Actions []struct{ URL string } }
		if err := json.Unmarshal(body, &m); err != nil || len(m.Actions) != 2 {
			t.Fatalf("the phone got %s, %v", body, err)
		}
		return strings.TrimPrefix(m.Actions[0].URL, "https://bossman.example.org")
	case <-time.After(15 * time.Second):
		t.Fatal("the phone got nothing")
	}
	return ""
}

// TestPush signs in, turns notifications on, gets one in the service worker, adds a webhook, and
// shows each page in every window: nothing scrolls sideways, nothing complains, no policy is
// broken.
func TestPush(t *testing.T) {
	s := newPushSite(t)
	ctx := newBrowser(t)
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	text := func(js string) string {
		t.Helper()
		v, err := chromedp.Run(ctx, chromedp.Evaluate[string](js, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatalf("%s: %v", js, err)
		}
		return v
	}
	eventually := func(what, js, want string) {
		t.Helper()
		got := ""
		for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			v, err := chromedp.Run(ctx, chromedp.Evaluate[string](js, chromedp.EvalAwaitPromise))
			if got = v; err == nil && strings.Contains(got, want) { // an error: the page is on its way
				return
			}
		}
		t.Fatalf("%s: %q, want %q", what, got, want)
	}
	if _, err := chromedp.Call(ctx, browser.SetPermission, browser.SetPermissionParams{Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: browser.PermissionSettingGranted, Origin: s.url}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	registrations := chromedp.Events(ctx, serviceworker.WorkerRegistrationUpdated)
	registered := make(chan serviceworker.RegistrationID, 10)
	go func() {
		for e, err := range registrations {
			if err != nil {
				return
			}
			for _, r := range e.Registrations {
				if !r.IsDeleted && strings.HasPrefix(r.ScopeURL, s.url) {
					select {
					case registered <- r.RegistrationID:
					default:
					}
				}
			}
		}
	}()
	if _, err := chromedp.Call(ctx, serviceworker.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	told := complaints(ctx, s.url)
	do(chromedp.Navigate(s.url+"/signin?to=/settings"), chromedp.WaitVisible(chromedp.ID("k")))
	text(`(() => { document.querySelector('#k').value = ` + quoted(s.key) + `; document.querySelector('form').requestSubmit(); return '' })()`)
	eventually("signed in", `location.pathname + (document.querySelector('#push-state')?.textContent || '')`, "shows no notifications yet")

	// The push service is out of reach here, so the subscription is one of the test's.
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(service.Close)
	text(`(async () => {
		const pair = await crypto.subtle.generateKey({name: 'ECDH', namedCurve: 'P-256'}, true, ['deriveBits']);
		const raw = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey)), secret = crypto.getRandomValues(new Uint8Array(16));
		const encode = b => btoa(String.fromCharCode(...b)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
		PushManager.prototype.subscribe = async o => {
			if (!o.userVisibleOnly || o.applicationServerKey.length !== 65) throw new Error('wrong options');
			return {endpoint: '` + service.URL + `/one', toJSON: () => ({endpoint: '` + service.URL + `/one', keys: {p256dh: encode(raw), auth: encode(secret)}})};
		};
		document.querySelector('#push-on [name=text]').click();
		document.querySelector('#push-on').requestSubmit();
		return '';
	})()`)
	eventually("turned on", `document.querySelector('main').textContent`, "You are notified of what happens from now on")
	eventually("listed", `document.querySelector('table')?.textContent || ''`, "on Linux")

	// A message reaches the service worker under the content security policy, and is shown.
	q := s.ask(t, board.NewQuestion{Text: "Which cart wins?", Options: []string{"Merge both", "The guest's"}})
	eventually("service worker", `navigator.serviceWorker.ready.then(r => r.active.state)`, "activated")
	message, err := json.Marshal(map[string]any{"title": "Question in shop", "body": "Which cart wins?", "url": "https://evil.example/inbox/" + q.ID.String(), "tag": q.ID.String(), "actions": []map[string]string{{"label": "Merge both", "url": "https://bossman.example.org/tap/x.y"}}})
	if err != nil {
		t.Fatal(err)
	}
	// Some time after its start, Chromium forgets the notifications that no desktop shows, and
	// there is no desktop here: so the message is delivered until its notification stays.
	registration, shown := <-registered, ""
	for end := time.Now().Add(30 * time.Second); shown != "Question in shop | Which cart wins? | Merge both"; {
		if time.Now().After(end) {
			t.Fatalf("the notification is %q", shown)
		}
		if _, err := chromedp.Call(ctx, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: s.url, RegistrationID: registration, Data: string(message)}); err != nil {
			t.Fatal(err)
		}
		shown = text(`(async () => {
			const r = await navigator.serviceWorker.ready;
			for (let i = 0; i < 20; i++) {
				const list = await r.getNotifications();
				if (list.length) return list.map(n => n.title + ' | ' + n.body + ' | ' + (n.actions || []).map(a => a.title)).join('\n');
				await new Promise(f => setTimeout(f, 50));
			}
			return '';
		})()`)
	}

	// A webhook, and one that did not get what happened.
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	t.Cleanup(broken.Close)
	do(chromedp.Navigate(s.url+"/admin?tab=webhooks"), chromedp.WaitVisible(chromedp.ID("hookform")))
	text(`(() => { const f = document.querySelector('#hookform'); f.elements.name.value = 'The chat of the team'; f.elements.url.value = '` + broken.URL + `/hooks/a/long/path/to/a/receiver'; f.querySelector('button').click(); return '' })()`)
	eventually("secret", `document.querySelector('#secret')?.textContent || ''`, "whsec_")
	if err := shoot(ctx, "webhook-made"); err != nil {
		t.Fatal(err)
	}
	s.ask(t, board.NewQuestion{Text: "Shall guests see the voucher field?", Options: []string{"yes", "no"}})
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		s.cluster.Exec(t, s.db, `UPDATE push_deliveries SET tries = 6, next_at = now() WHERE dead_at IS NULL AND error <> ''`)
		if dead, err := s.sender.Dead(t.Context(), nil, 1); err == nil && len(dead) == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no dead letter")
		}
	}
	axe := readAxe(t)
	tap := s.link(t)
	for name, path := range map[string]string{"settings": "/settings", "webhooks": "/admin?tab=webhooks", "letters": "/inbox", "badlink": "/tap/x.y", "tap": tap} {
		for _, w := range windows {
			if err := w.set(ctx); err != nil {
				t.Fatal(err)
			}
			do(chromedp.Navigate(s.url+path), chromedp.WaitVisible(chromedp.CSS("main")), painted)
			sticks, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](overflow))
			if err != nil {
				t.Fatal(err)
			}
			found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](axe+axeRun, chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range slices.Concat(sticks, found, told()) {
				if name != "badlink" || !strings.Contains(c, "403") {
					t.Errorf("%s %v: %s", name, w, c)
				}
			}
			if err := shoot(ctx, name+"-"+w.String()); err != nil {
				t.Fatal(err)
			}
		}
	}
	do(chromedp.Navigate(s.url + tap))
	text(`(() => { document.querySelector('form').requestSubmit(); return '' })()`)
	eventually("answered", `document.querySelector('main').textContent`, "The agent has your answer")

	// The service worker answers with the button of a notification, and leads nowhere else.
	do(chromedp.Navigate(s.url+"/settings"), chromedp.WaitVisible(chromedp.ID("shell")))
	script, err := os.ReadFile(harness.Dir("..", "web", "static", "worker.js"))
	if err != nil {
		t.Fatal(err)
	}
	for link, want := range map[string]string{s.link(t): "Sent", "/tap/x.y": "Not sent"} {
		if got := text(click(string(script), `{url: 'https://bossman.example.org/inbox', actions: [{label: 'one', url: 'https://bossman.example.org`+link+`'}]}`, "0")); got != want {
			t.Errorf("a button of a notification: %s, want %s", got, want)
		}
	}
	if got := text(click(string(script), `{url: 'https://evil.example/inbox/q-1'}`, "")); got != "opened "+s.url+"/inbox/q-1" {
		t.Errorf("a notification %s", got)
	}
	if c := told(); len(c) != 1 || !strings.Contains(c[0], "403") { // the link that is none
		t.Errorf("the browser complains of %q", c)
	}
	do(chromedp.Navigate(s.url+"/inbox"), chromedp.WaitVisible(chromedp.ID("letters")))
	text(`(() => { document.querySelector('#letters button[value=hook-discard]').click(); return '' })()`)
	eventually("discarded", `document.querySelector('main').textContent`, "Discarded.")
	if dead, err := s.sender.Dead(t.Context(), nil, 1); err != nil || len(dead) > 0 {
		t.Errorf("after it was discarded there are %d, %v", len(dead), err)
	}
}

// click runs the service worker's script in a page, clicks on a notification, and tells what came
// of it: real clicks need a desktop.
func click(script, data, action string) string {
	return `new Promise((done, fail) => {
		const on = {}, self = {addEventListener: (k, f) => { on[k] = f }, registration: {showNotification: title => done(title)}};
		((self, clients) => {` + script + `
		})(self, {openWindow: u => done('opened ' + u)});
		on.notificationclick({action: '` + action + `', notification: {data: ` + data + `, close() {}}, waitUntil: p => Promise.resolve(p).catch(fail)});
	})`
}

// shoot makes a picture if BOSSMAN_SHOTS names a directory.
func shoot(ctx context.Context, name string) error {
	dir := os.Getenv("BOSSMAN_SHOTS")
	if dir == "" {
		return nil
	}
	shot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o644)
}

// quoted is a text as JavaScript writes it.
func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
