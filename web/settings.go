package web

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/push"
)

// settingsPage is what settings.html shows: where a person is notified.
type settingsPage struct {
	Off     bool   // this server sends no notifications
	Vapid   string // the key that browsers subscribe with
	Targets []targetView
	Error   string
	Until   *moment // when the person's key expires
	// URL and Topic are what the person typed.
	URL, Topic string
	Events     []choice
}

// A targetView is a row of a list of targets.
type targetView struct {
	ID       push.TargetID
	Name     string
	Kind     string
	Where    string
	Project  string
	Events   string
	Text     bool
	Made     moment
	By       string
	Owner    string // who is responsible for a webhook
	Disabled string // why
	Error    string // of the last try
}

// personEvents are what a person is told of.
var personEvents = []struct{ value, word string }{
	{"question.asked", "questions and permissions"}, {"task.review", "work to review"}, {"task.failed", "failed tasks"},
}

// showSettings shows where the person is notified.
func showSettings(q *request) error { return q.showSettings(settingsPage{URL: "https://ntfy.sh"}, 0) }

func (q *request) showSettings(p settingsPage, status int) error {
	for i, e := range personEvents {
		p.Events = append(p.Events, choice{e.value, e.word, i == 0})
	}
	if p.Off = q.site.o.Push == nil; !p.Off {
		k, err := q.personKey(q.Context())
		if err != nil {
			return err
		}
		targets, err := q.site.o.Push.Targets(q.Context(), k.ID)
		if err != nil {
			return err
		}
		now := time.Now()
		if !k.Expires.IsZero() {
			p.Until = new(q.site.clock(k.Expires, now))
		}
		for i := range targets {
			p.Targets = append(p.Targets, newTargetView(&targets[i], now))
		}
		p.Vapid = q.site.o.Push.PublicKey()
	}
	return q.show(page{Template: "settings", Title: "Notifications", Current: "/settings", Status: status, Main: p})
}

// personKey returns the key with which the caller signed in.
func (q *request) personKey(ctx context.Context) (auth.Key, error) {
	if q.site.o.Push == nil {
		return auth.Key{}, board.ErrNotFound
	}
	return q.site.o.Push.KeyOf(ctx, q.caller)
}

func newTargetView(t *push.Target, now time.Time) targetView {
	v := targetView{
		ID: t.ID, Name: line(t.Name, 100), Kind: string(t.Kind), Project: t.Project, Text: t.Text, Made: ago(t.Created, now), By: line(t.CreatedBy, 60), Owner: line(t.Owner, 100), Error: line(t.LastError, 200),
		Events: eventWordsOf(t.Events), Where: line(addressOf(t.URL), 80),
	}
	if t.Kind == push.Ntfy {
		v.Where += "/" + line(t.Topic, 64)
	}
	if t.Project == auth.EveryProject {
		v.Project = "every project"
	}
	if !t.Disabled.IsZero() {
		v.Disabled = "disabled " + agoText(now.Sub(t.Disabled)) + ". " + line(t.Reason, 200)
	}
	return v
}

// addressOf returns an address without its query, which may have a secret.
func addressOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.Host+u.Path, "/")
}

// eventWordsOf says in words which events are sent.
func eventWordsOf(events []string) string {
	var words []string
	for _, e := range slices.Concat(personEvents, webhookEvents) {
		if !slices.ContainsFunc(strings.Fields(e.value), func(v string) bool { return !slices.Contains(events, v) }) && !slices.Contains(words, e.word) {
			words = append(words, e.word)
		}
	}
	return strings.Join(words, ", ")
}

// postSettings adds, tests or removes a target of the person.
func postSettings(q *request) error {
	k, err := q.personKey(q.Context())
	if err != nil {
		return err
	}
	f := q.PostForm
	switch f.Get("act") {
	case "browser", "ntfy":
		return q.addTarget(k)
	case "forget":
		return q.forgetBrowser(k)
	}
	t, err := q.ownTarget(k, f.Get("target"))
	if err != nil {
		return err
	}
	switch f.Get("act") {
	case "test":
		why, err := q.site.o.Push.Test(q.Context(), t.ID)
		if err != nil {
			return err
		}
		if why != "" {
			return q.showSettings(settingsPage{Error: "The test did not arrive: " + line(why, 300)}, http.StatusUnprocessableEntity)
		}
		return q.redirect("/settings", "tested")
	case "remove":
		if err := q.site.o.Push.Remove(q.Context(), t.ID); err != nil {
			return err
		}
		return q.redirect("/settings", "unnotified")
	}
	return board.ErrNotFound
}

// ownTarget returns a target of a person by its number.
func (q *request) ownTarget(k auth.Key, no string) (push.Target, error) {
	id, err := strconv.ParseInt(no, 10, 64)
	if err != nil {
		return push.Target{}, board.ErrNotFound
	}
	t, err := q.site.o.Push.Target(q.Context(), push.TargetID(id))
	if err == nil && t.Key != k.ID {
		err = board.ErrNotFound
	}
	return t, err
}

// addTarget adds a browser or a topic.
func (q *request) addTarget(k auth.Key) error {
	f := q.PostForm
	t := push.Target{Kind: push.Browser, Key: k.ID, Name: browserName(q.UserAgent()), URL: f.Get("endpoint"), Text: f.Get("text") != "", CreatedBy: q.caller.Name}
	for _, e := range personEvents {
		if slices.Contains(f["events"], e.value) {
			t.Events = append(t.Events, e.value)
		}
	}
	if f.Get("act") == "ntfy" {
		t.Kind, t.URL, t.Topic = push.Ntfy, strings.TrimSpace(f.Get("url")), strings.TrimSpace(f.Get("topic"))
		t.Name, t.Secret = "ntfy", auth.Secret(strings.TrimSpace(f.Get("access")))
	} else {
		t.PublicKey = keyBytes(f.Get("p256dh"))
		t.AuthSecret = auth.Secret(keyBytes(f.Get("auth")))
	}
	_, err := q.site.o.Push.Add(q.Context(), t)
	if errors.Is(err, board.ErrInvalid) {
		return q.showSettings(settingsPage{Error: "Not saved: " + line(err.Error(), 300), URL: t.URL, Topic: t.Topic}, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return q.redirect("/settings", "notified")
}

// keyBytes decodes a key of a browser, which may or may not be padded.
func keyBytes(s string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return nil
	}
	return b
}

// forgetBrowser removes the browser that sends the form.
func (q *request) forgetBrowser(k auth.Key) error {
	targets, err := q.site.o.Push.Targets(q.Context(), k.ID)
	if err != nil {
		return err
	}
	for i := range targets {
		if t := &targets[i]; t.Kind == push.Browser && t.URL == q.PostForm.Get("endpoint") {
			if err := q.site.o.Push.Remove(q.Context(), t.ID); err != nil {
				return err
			}
		}
	}
	return q.redirect("/settings", "unnotified")
}
