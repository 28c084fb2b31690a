package push_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/push"
)

// TestSender_owner: a webhook ends with the rights of its owner, not with one of several keys, and goes on with another owner.
func TestSender_owner(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	lower := func(project string, role auth.Role) func(string, string) error {
		return func(_, key string) error { _, err := w.keys.LowerKey(ctx, key, project, role, "test"); return err }
	}
	revoke := func(_, key string) error { _, err := w.keys.RevokeKey(ctx, key, "test"); return err }
	type hook struct {
		name, project string
		change        func(name, key string) error
		ends          bool
		target        push.Target
		got           *receiver
	}
	s := w.sender(push.Options{})
	hooks := []*hook{
		{name: "disabled", project: auth.EveryProject, change: func(name, _ string) error { return w.keys.DisablePerson(ctx, name) }, ends: true},
		{name: "lowered", project: "web", change: lower(auth.EveryProject, auth.Lead), ends: true},
		{name: "narrowed", project: auth.EveryProject, change: lower("web", auth.Admin), ends: true},
		{name: "elsewhere", project: "web", change: lower("api", auth.Admin), ends: true},
		{name: "revoked", project: "web", change: revoke, ends: true},
		{name: "rotated", project: "web", change: func(name, key string) error {
			w.person(name, "web", auth.Admin)
			return revoke(name, key)
		}},
		{name: "agent", project: "web", change: func(name, key string) error { // an agent's key does not count
			if _, _, err := w.keys.CreateKey(ctx, auth.NewKey{Name: name, Owner: name, Project: "web", Role: auth.Admin, By: "test"}); err != nil {
				return err
			}
			return revoke(name, key)
		}, ends: true},
	}
	for _, h := range hooks {
		h.got = newReceiver(t, nil)
		key := w.person(h.name, auth.EveryProject, auth.Admin)
		h.target = w.add(s, push.Target{Kind: push.Webhook, Project: h.project, Owner: h.name, URL: h.got.URL, Events: []string{"task.created"}, Text: true})
		if err := h.change(h.name, key); err != nil {
			t.Fatal(err)
		}
	}
	w.run(s)
	w.task("One")
	for _, h := range hooks {
		if !h.ends {
			h.got.wait(t, 1)
			continue
		}
		until(t, h.name+" to be disabled", func() bool {
			now, err := s.Target(ctx, h.target.ID)
			return err == nil && !now.Disabled.IsZero() && strings.HasPrefix(now.Reason, h.name+" is responsible for it, and may not administer its project any more")
		})
	}
	time.Sleep(100 * time.Millisecond)
	w.person("boss", auth.EveryProject, auth.Admin)
	for _, h := range hooks {
		if n := len(h.got.all()); h.ends && n != 0 {
			t.Errorf("%s: %d requests", h.name, n)
		}
		if !h.ends {
			continue
		}
		if err := s.Enable(ctx, h.target.ID, "boss"); err != nil {
			t.Fatal(err)
		}
	}
	w.task("Two")
	for _, h := range hooks {
		h.got.wait(t, 1)
		if now, err := s.Target(ctx, h.target.ID); err != nil || h.ends && now.Owner != "boss" || !now.Disabled.IsZero() {
			t.Errorf("%s: %q, disabled %v, %v", h.name, now.Owner, now.Disabled, err)
		}
	}
}
