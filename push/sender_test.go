package push_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/push"
)

// TestSender_webhook: a webhook gets signed events of its project, with text only if it asks
// for it.
func TestSender_webhook(t *testing.T) {
	w := newWorld(t)
	s := w.sender(push.Options{})
	bare, full, other := newReceiver(t, nil), newReceiver(t, nil), newReceiver(t, nil)
	a := w.add(s, push.Target{Kind: push.Webhook, Project: "web", URL: bare.URL, Events: []string{"question.*"}})
	b := w.add(s, push.Target{Kind: push.Webhook, Project: auth.EveryProject, URL: full.URL, Events: []string{"question.*", "task.created"}, Text: true})
	w.add(s, push.Target{Kind: push.Webhook, Project: "api", URL: other.URL, Events: []string{"question.*", "task.*"}})
	w.run(s)
	q := w.ask(board.NewQuestion{Text: "Which cart wins, the secret one?", Options: []string{"Merge both", "The guest's"}})
	bare.wait(t, 1)
	if _, err := w.board.Answer(t.Context(), person, q.ID, "Merge both"); err != nil {
		t.Fatal(err)
	}
	// A question without a task makes no event, and is sent all the same.
	free, err := w.board.Ask(t.Context(), board.Actor{Principal: "key:crew", Owner: "p-x", Worker: "x"}, board.NewQuestion{Project: "web", Text: "May I begin?"})
	if err != nil {
		t.Fatal(err)
	}
	got := bare.wait(t, 3)
	types := map[string]string{}
	for _, r := range got {
		id, e := r.verified(t, a.Secret)
		if !strings.HasPrefix(id, "msg_") || e.Data.Project != "web" || strings.Contains(string(r.body), "cart") || strings.Contains(string(r.body), "Merge") || strings.Contains(string(r.body), "begin") {
			t.Errorf("%s: %s", id, r.body)
		}
		types[e.Type+" "+e.Data.Question] = e.Data.Task
	}
	for want, task := range map[string]string{"question.asked " + q.ID.String(): "web-1", "question.answered " + q.ID.String(): "web-1", "question.asked " + free.ID.String(): ""} {
		if got, ok := types[want]; !ok || got != task {
			t.Errorf("no %s about %q among %v", want, task, types)
		}
	}
	texts := map[string]event{}
	for _, r := range full.wait(t, 4) {
		_, e := r.verified(t, b.Secret)
		texts[e.Type] = e
	}
	if e := texts["question.answered"]; e.Data.Text != "Merge both" || e.Data.Title != "Guest checkout" || e.Data.URL != "https://bossman.example.org/inbox/"+q.ID.String() {
		t.Errorf("answered with text: %+v", e)
	}
	if e := texts["task.created"]; e.Data.Title != "Guest checkout" || e.Data.Task != "web-1" {
		t.Errorf("created with text: %+v", e)
	}
	if n := len(other.all()); n > 0 {
		t.Errorf("the webhook of another project got %d", n)
	}
}

// TestSender_retry: a delivery is tried again with the same id and a new signature, and is a
// dead letter after the last try, until somebody sends it again.
func TestSender_retry(t *testing.T) {
	w := newWorld(t)
	s := w.sender(push.Options{})
	var fails atomic.Bool
	fails.Store(true)
	r := newReceiver(t, func(int, request) int {
		if fails.Load() {
			return http.StatusInternalServerError
		}
		return http.StatusNoContent
	})
	target := w.add(s, push.Target{Kind: push.Webhook, Project: "web", URL: r.URL, Events: []string{"task.created"}})
	w.run(s)
	w.task("One")
	for n := 1; n <= 7; n++ {
		r.wait(t, n)
		if n < 7 {
			until(t, "stored failure", func() bool {
				now, err := s.Target(t.Context(), target.ID)
				return err == nil && now.Failures == n
			})
			w.due()
		}
	}
	var dead []push.Claimed
	until(t, "dead letter", func() bool {
		var err error
		dead, err = s.Dead(t.Context(), []string{"web"}, 10)
		return err == nil && len(dead) == 1
	})
	if d := dead[0].Delivery; d.Tries != 7 || d.Error != "it answered 500" || d.Type != "task.created" {
		t.Errorf("dead letter %+v", d)
	}
	if other, err := s.Dead(t.Context(), []string{"api"}, 10); err != nil || len(other) > 0 {
		t.Errorf("Dead(api) = %v, %v", other, err)
	}
	fails.Store(false)
	if err := s.SendAgain(t.Context(), dead[0].Delivery.ID); err != nil {
		t.Fatal(err)
	}
	got := r.wait(t, 8)
	for _, x := range got {
		if id, _ := x.verified(t, target.Secret); id != dead[0].Delivery.ID {
			t.Errorf("try with the id %s, want %s", id, dead[0].Delivery.ID)
		}
	}
	until(t, "success", func() bool {
		now, err := s.Target(t.Context(), target.ID)
		return err == nil && now.Failures == 0
	})
	if err := s.SendAgain(t.Context(), dead[0].Delivery.ID); !errors.Is(err, board.ErrNotFound) {
		t.Errorf("SendAgain of what has arrived = %v", err)
	}
}

// TestSender_gone: a receiver that answers 410 gets no more, until it is enabled.
func TestSender_gone(t *testing.T) {
	w := newWorld(t)
	s := w.sender(push.Options{})
	r := newReceiver(t, func(n int, _ request) int {
		if n == 1 {
			return http.StatusGone
		}
		return http.StatusOK
	})
	target := w.add(s, push.Target{Kind: push.Webhook, Project: "web", URL: r.URL, Events: []string{"task.created"}})
	w.run(s)
	w.task("One")
	until(t, "disabled target", func() bool {
		now, err := s.Target(t.Context(), target.ID)
		return err == nil && !now.Disabled.IsZero() && now.Reason != ""
	})
	w.task("Two")
	time.Sleep(200 * time.Millisecond)
	if n := len(r.all()); n != 1 {
		t.Errorf("%d requests to a receiver that is gone", n)
	}
	if err := s.Enable(t.Context(), target.ID, target.Owner); err != nil {
		t.Fatal(err)
	}
	three := w.task("Three")
	if _, e := r.wait(t, 2)[1].verified(t, target.Secret); e.Data.Task != three.ID.String() {
		t.Errorf("after it was enabled it gets %s, want only %v", e.Data.Task, three.ID)
	}
}

// TestSender_slow: receivers that do not answer delay no others.
func TestSender_slow(t *testing.T) {
	w := newWorld(t)
	s := w.sender(push.Options{})
	hang := make(chan struct{})
	slow := newReceiver(t, func(int, request) int { <-hang; return http.StatusOK })
	t.Cleanup(func() { close(hang) })
	fast := newReceiver(t, nil)
	for range 12 {
		w.add(s, push.Target{Kind: push.Webhook, Project: "web", URL: slow.URL, Events: []string{"task.created"}})
	}
	w.add(s, push.Target{Kind: push.Webhook, Project: "web", URL: fast.URL, Events: []string{"task.created"}})
	w.run(s)
	began := time.Now()
	for i := range 20 {
		w.task(fmt.Sprint("Task ", i))
	}
	fast.wait(t, 20)
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the fast receiver waited %v", took)
	}
}

// TestSender_browser: the message is encrypted for the browser, and offers one-tap answers only
// where the person sees all of a question that is safe to answer.
func TestSender_browser(t *testing.T) {
	w := newWorld(t)
	s := w.sender(push.Options{})
	service := newReceiver(t, func(int, request) int { return http.StatusCreated })
	key := w.person("ada", "web", auth.Lead)
	bare, full := newSubscription(t), newSubscription(t)
	w.add(s, bare.target(key, service.URL+"/bare"))
	withText := full.target(key, service.URL+"/full")
	withText.Text = true
	w.add(s, withText)
	w.run(s)
	next := func(n int) (bareShown, fullShown shown) {
		t.Helper()
		for _, r := range service.wait(t, 2*n)[2*n-2:] {
			checkVAPID(t, r, service.URL, s.PublicKey())
			if r.header.Get("Content-Encoding") != "aes128gcm" || r.header.Get("TTL") == "" || r.header.Get("TTL") == "0" {
				t.Errorf("header %v", r.header)
			}
			if r.path == "/bare" {
				bareShown = bare.shown(t, r)
			} else {
				fullShown = full.shown(t, r)
			}
		}
		return bareShown, fullShown
	}
	permits := []string{"yes", "yes, for this task", "no"}
	for i, c := range []struct {
		q      board.NewQuestion
		title  string
		labels string
	}{
		{board.NewQuestion{Text: "Which cart wins?", Options: []string{"Merge both", "The guest's"}}, "Question in web", "Merge both|The guest's"},
		{board.NewQuestion{Text: "What now?"}, "Question in web", ""},
		{board.NewQuestion{Text: strings.Repeat("Long ", 400), Options: []string{"a", "b"}}, "Question in web", ""},
		{board.NewQuestion{Text: "Which?", Options: []string{"a", "b", "c", "d"}}, "Question in web", ""},
		{board.NewQuestion{Text: "May claude use Bash?\n  | go test ./...", Options: permits, HumanOnly: true}, "Permission in web", "yes|no|yes, for this task"},
		{board.NewQuestion{Text: "May claude use Bash?\n  | rm -rf /", Options: permits, HumanOnly: true}, "Permission in web", ""},
		{board.NewQuestion{Text: "May claude use Bash?\n  | go test " + strings.Repeat("./x ", 400), Options: permits, HumanOnly: true}, "Permission in web", ""},
	} {
		q := w.ask(c.q)
		a, b := next(i + 1)
		url := "https://bossman.example.org/inbox/" + q.ID.String()
		if a.Title != c.title || a.URL != url || len(a.Actions) > 0 || !strings.HasPrefix(a.Body, q.ID.String()+" about web-") {
			t.Errorf("without text: %+v", a)
		}
		var labels []string
		for _, x := range b.Actions {
			labels = append(labels, x.Label)
			if !strings.HasPrefix(x.URL, "https://bossman.example.org/tap/") {
				t.Errorf("one-tap address %s", x.URL)
			}
		}
		if b.Title != c.title || b.URL != url || strings.Join(labels, "|") != c.labels || !strings.HasPrefix(b.Body, c.q.Text[:4]) {
			t.Errorf("with text: %+v, want the labels %s", b, c.labels)
		}
	}
}

// TestSender_ntfy publishes in a topic, with buttons.
func TestSender_ntfy(t *testing.T) {
	w := newWorld(t)
	s := w.sender(push.Options{})
	server := newReceiver(t, nil)
	w.add(s, push.Target{Kind: push.Ntfy, Key: w.person("ada", "web", auth.Lead), URL: server.URL, Topic: "boss", Secret: "tk_1", Events: []string{"question.asked"}, Text: true})
	w.run(s)
	w.ask(board.NewQuestion{Text: "Which cart wins?", Options: []string{"Merge both", "The guest's"}})
	var m struct {
		Topic, Title, Message, Click string
		Actions                      []struct{ Action, Label, URL, Method string }
	}
	r := server.wait(t, 1)[0]
	if err := json.Unmarshal(r.body, &m); err != nil {
		t.Fatal(err)
	}
	if r.header.Get("Authorization") != "Bearer tk_1" || m.Topic != "boss" || m.Message != "Which cart wins?" || m.Click != "https://bossman.example.org/inbox/q-1" || len(m.Actions) != 2 ||
		m.Actions[0].Action != "http" || m.Actions[0].Method != "POST" || m.Actions[0].Label != "Merge both" {
		t.Errorf("ntfy got %s", r.body)
	}
}

// TestSender_rights: what a person may not see any more is not sent, also if it was due
// already.
func TestSender_rights(t *testing.T) {
	for name, lose := range map[string]func(w *world, key string){
		"disabled": func(w *world, _ string) { check(w.t, w.keys.DisablePerson(w.t.Context(), "ada")) },
		"revoked":  func(w *world, key string) { _, err := w.keys.RevokeKey(w.t.Context(), key, "test"); check(w.t, err) },
		"lowered": func(w *world, key string) {
			_, err := w.keys.LowerKey(w.t.Context(), key, "web", auth.Viewer, "test")
			check(w.t, err)
		},
		"archived": func(w *world, _ string) {
			check(w.t, w.board.SetProject(w.t.Context(), board.Project{Slug: "web", Policy: board.PolicyTrust, Archived: true}))
		},
		"answered": func(w *world, _ string) {
			_, err := w.board.Answer(w.t.Context(), person, 1, "yes")
			check(w.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.sender(push.Options{})
			r := newReceiver(t, func(int, request) int { return http.StatusInternalServerError })
			key := w.person("ada", "web", auth.Worker)
			w.add(s, newSubscription(t).target(key, r.URL))
			stranger := newReceiver(t, nil)
			w.add(s, newSubscription(t).target(w.person("eve", "api", auth.Admin), stranger.URL))
			viewer := newReceiver(t, nil)
			w.add(s, newSubscription(t).target(w.person("vic", "web", auth.Viewer), viewer.URL))
			stop := w.run(s)
			w.ask(board.NewQuestion{Text: "Which?"})
			r.wait(t, 1)
			stop()
			lose(w, key)
			w.due()
			w.run(s)
			time.Sleep(300 * time.Millisecond)
			if n := len(r.all()); n != 1 {
				t.Errorf("%d requests after the right was lost", n-1)
			}
			if name != "archived" && name != "answered" { // nothing new either
				w.ask(board.NewQuestion{Text: "And which now?"})
				time.Sleep(300 * time.Millisecond)
				if n := len(r.all()); n != 1 {
					t.Errorf("%d new requests after the right was lost", n-1)
				}
			}
			if n, m := len(stranger.all()), len(viewer.all()); n+m > 0 {
				t.Errorf("somebody of another project got %d, a viewer %d", n, m)
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSender_several: of several Senders on one database, each delivery is sent by one.
func TestSender_several(t *testing.T) {
	w := newWorld(t)
	r := newReceiver(t, nil)
	senders := []*push.Sender{w.sender(push.Options{}), w.sender(push.Options{}), w.sender(push.Options{})}
	if a, b := senders[0].PublicKey(), senders[1].PublicKey(); a != b {
		t.Errorf("the replicas have different keys: %s, %s", a, b)
	}
	var targets []push.Target
	for range 3 {
		targets = append(targets, w.add(senders[0], push.Target{Kind: push.Webhook, Project: "web", URL: r.URL, Events: []string{"task.created"}}))
	}
	for _, s := range senders {
		w.run(s)
	}
	const tasks = 60
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range tasks / 3 {
				w.task("One of many")
			}
		})
	}
	wg.Wait()
	r.wait(t, tasks*len(targets))
	time.Sleep(200 * time.Millisecond)
	got := map[string]int{}
	ids := map[string]int{}
	for _, x := range r.all() {
		var e event
		check(t, json.Unmarshal(x.body, &e))
		got[e.Data.Task]++
		ids[x.header.Get("webhook-id")]++
	}
	if len(got) != tasks || len(ids) != tasks*len(targets) || len(r.all()) != tasks*len(targets) {
		t.Errorf("%d tasks in %d deliveries with %d requests, want %d, %d, %[5]d", len(got), len(ids), len(r.all()), tasks, tasks*len(targets))
	}
}

// TestSender_dies: what a Sender was sending when it died, another sends with the same id.
func TestSender_dies(t *testing.T) {
	w := newWorld(t)
	hang, arrived := make(chan struct{}), make(chan struct{}, 1)
	r := newReceiver(t, func(n int, _ request) int {
		if n == 1 {
			arrived <- struct{}{}
			<-hang
		}
		return http.StatusOK
	})
	first, second := w.sender(push.Options{Lease: time.Second}), w.sender(push.Options{Lease: time.Second})
	target := w.add(first, push.Target{Kind: push.Webhook, Project: "web", URL: r.URL, Events: []string{"task.created"}})
	// It dies: its database is gone in the middle of the request, so it can store no outcome.
	ctx, kill := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = first.Run(ctx) }()
	w.task("One")
	<-arrived
	kill()
	w.run(second)
	got := r.wait(t, 2)
	close(hang)
	<-ended
	a, _ := got[0].verified(t, target.Secret)
	b, _ := got[1].verified(t, target.Secret)
	if a != b {
		t.Errorf("the second try has the id %s, want %s", b, a)
	}
	if took := got[1].at.Sub(got[0].at); took > 4*time.Second {
		t.Errorf("another Sender took over after %v", took)
	}
}

// TestSender_archived: events that were archived before they were sent are lost, later ones
// are not.
func TestSender_archived(t *testing.T) {
	w := newWorld(t)
	s := w.sender(push.Options{})
	r := newReceiver(t, nil)
	w.add(s, push.Target{Kind: push.Webhook, Project: "web", URL: r.URL, Events: []string{"task.created"}})
	w.task("Archived")
	w.cluster.Exec(t, w.db, `UPDATE meta SET floor_epoch = feed_epoch, floor_xid = pg_current_xact_id(), floor_id = 0`)
	w.run(s)
	until(t, "a new cursor", func() bool {
		later := w.task("Later")
		time.Sleep(100 * time.Millisecond)
		for _, x := range r.all() {
			if strings.Contains(string(x.body), later.ID.String()) {
				return true
			}
		}
		return false
	})
	for _, x := range r.all() {
		if strings.Contains(string(x.body), `"web-1"`) {
			t.Errorf("what was archived was sent: %s", x.body)
		}
	}
}

// TestSender_backlog: what waits for one target is sent as fast as the target takes it.
func TestSender_backlog(t *testing.T) {
	w := newWorld(t)
	s := w.sender(push.Options{Tick: time.Hour})
	r := newReceiver(t, nil)
	w.add(s, push.Target{Kind: push.Webhook, Project: "web", URL: r.URL, Events: []string{"task.created"}})
	const tasks = 300
	for range tasks {
		w.task("One of many")
	}
	began := time.Now()
	w.run(s)
	r.wait(t, tasks)
	if took := time.Since(began); took > 24*time.Second {
		t.Errorf("%d deliveries took %v", tasks, took)
	}
}
