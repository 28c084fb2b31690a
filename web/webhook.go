package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/push"
)

// webhookEvents are what a webhook can be told of, in sets.
var webhookEvents = []struct{ value, word string }{
	{"question.*", "questions"},
	{"task.review task.done task.accepted task.rejected task.landed task.returned task.failed task.closed task.cancelled", "results of tasks"},
	{"task.*", "everything that happens to tasks"},
}

// hookForm is the form for a new webhook, with what was typed.
type hookForm struct {
	Name, URL string
	Projects  []choice
	Events    []choice
	Text      bool
	Error     string
}

// A letterView is a delivery that did not arrive.
type letterView struct {
	ID     string
	Type   string
	About  string
	Path   string
	Target string
	Error  string
	Tries  int
	At     moment
}

// hookScope lists the projects whose webhooks the caller may administer, with
// auth.EveryProject if that are all.
func (q *request) hookScope(ctx context.Context, s adminScope) ([]string, error) {
	scope := slices.Clone(s.slugs)
	every, err := q.adminOfAll(ctx)
	if every && q.URL.Query().Get("project") == "" {
		scope = append(scope, auth.EveryProject)
	}
	return scope, err
}

// adminOfAll reports whether the caller administers all projects, also those to come.
func (q *request) adminOfAll(ctx context.Context) (bool, error) {
	k, err := q.personKey(ctx)
	if err != nil {
		return false, err
	}
	return k.Project == auth.EveryProject && access.SetProject.Allows(k.Role, k.Person), nil
}

// addWebhooks lists webhooks.
func (q *request) addWebhooks(ctx context.Context, p *adminPage, s adminScope) error {
	if q.site.o.Push == nil {
		p.Words = "This server sends no webhooks: it needs a database."
		return nil
	}
	scope, err := q.hookScope(ctx, s)
	if err != nil {
		return err
	}
	all, err := q.site.o.Push.Targets(ctx, "")
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(t push.Target) bool { return !slices.Contains(scope, t.Project) })
	p.Words = plural(len(all), "webhook tells another program what happens.", "webhooks tell other programs what happens.")
	now := time.Now()
	for _, t := range pageOf(q, p, all) {
		p.Hooks = append(p.Hooks, newTargetView(&t, now))
	}
	if p.HookForm == nil {
		p.HookForm = &hookForm{Events: []choice{}}
	}
	for _, slug := range scope {
		c := choice{Value: slug, Word: slug}
		if slug == auth.EveryProject {
			c.Word = "Every project"
		}
		p.HookForm.Projects = append(p.HookForm.Projects, c)
	}
	if len(p.HookForm.Events) == 0 {
		for i, e := range webhookEvents {
			p.HookForm.Events = append(p.HookForm.Events, choice{e.value, e.word, i == 0})
		}
	}
	if p.Letters, err = q.letters(ctx, scope, now); err != nil {
		return err
	}
	return nil
}

// maxLetters is how many dead letters a page lists.
const maxLetters = 20

// letters lists what did not arrive at webhooks of projects.
func (q *request) letters(ctx context.Context, scope []string, now time.Time) (list []letterView, err error) {
	if q.site.o.Push == nil || len(scope) == 0 {
		return nil, nil
	}
	dead, err := q.site.o.Push.Dead(ctx, scope, maxLetters)
	for _, c := range dead {
		v := letterView{ID: c.Delivery.ID, Type: c.Delivery.Type, Target: line(c.Target.Name, 100), Error: line(c.Delivery.Error, 200), Tries: c.Delivery.Tries, At: ago(c.Delivery.Dead, now)}
		switch {
		case c.Delivery.Question != 0:
			v.About, v.Path = c.Delivery.Question.String(), questionPath(c.Delivery.Question)
		case !c.Delivery.Task.IsZero():
			v.About, v.Path = c.Delivery.Task.String(), taskPath(c.Delivery.Task)
		}
		list = append(list, v)
	}
	return list, err
}

// inboxLetters lists what did not arrive, for the inbox of somebody who administers webhooks.
func (q *request) inboxLetters(ctx context.Context) ([]letterView, error) {
	if q.site.o.Push == nil || q.caller.MayAnywhere(access.SetProject) != nil {
		return nil, nil
	}
	if any, err := q.site.dead.any(ctx, q.site.o.Push); !any || err != nil {
		return nil, err
	}
	var s adminScope
	for _, slug := range q.slugs {
		if q.may(access.SetProject, slug) {
			s.slugs = append(s.slugs, slug)
		}
	}
	scope, err := q.hookScope(ctx, s)
	if err != nil {
		return nil, err
	}
	return q.letters(ctx, scope, time.Now())
}

// deadAge is how long it is taken for granted that all webhooks got everything.
const deadAge = 2 * time.Second

// deadLetters remembers that there are none, so that inboxes need not ask.
type deadLetters struct {
	mu   sync.Mutex
	none time.Time // when there were none
}

// any reports whether there are dead letters.
func (d *deadLetters) any(ctx context.Context, p *push.Sender) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.none) < deadAge {
		return false, nil
	}
	dead, err := p.Dead(ctx, nil, 1)
	if err == nil && len(dead) == 0 {
		d.none = time.Now()
	}
	return len(dead) > 0, err
}

// mayHook checks that the caller may administer the webhooks of a project.
func (q *request) mayHook(project string) error {
	q.note(access.SetProject, project, board.ID{})
	if project != auth.EveryProject {
		return q.caller.May(access.SetProject, project)
	}
	every, err := q.adminOfAll(q.Context())
	if err == nil && !every {
		err = board.ErrNotFound
	}
	return err
}

// postWebhook does what a form of the administration says about webhooks; false if it is not
// about them.
func postWebhook(q *request) (bool, error) {
	act, ok := strings.CutPrefix(q.PostForm.Get("act"), "hook-")
	if !ok {
		return false, nil
	}
	if q.site.o.Push == nil {
		return true, board.ErrNotFound
	}
	switch act {
	case "add":
		return true, q.addWebhook()
	case "again", "discard":
		return true, q.postLetter(act)
	}
	id, err := strconv.ParseInt(q.PostForm.Get("target"), 10, 64)
	if err != nil {
		return true, board.ErrNotFound
	}
	t, err := q.site.o.Push.Target(q.Context(), push.TargetID(id))
	if err != nil {
		return true, err
	}
	if t.Personal() {
		return true, board.ErrNotFound
	}
	if err := q.mayHook(t.Project); err != nil {
		return true, err
	}
	notice := "hook" + act
	switch act {
	case "test":
		why, err := q.site.o.Push.Test(q.Context(), t.ID)
		if err != nil {
			return true, err
		}
		if why != "" {
			return true, q.showWebhooks(adminPage{Error: "The test did not arrive at " + line(t.Name, 100) + ": " + line(why, 300)}, http.StatusUnprocessableEntity)
		}
	case "disable":
		err = q.site.o.Push.Disable(q.Context(), t.ID, "Disabled by "+q.caller.Name+".")
	case "enable":
		k, err := q.personKey(q.Context())
		if err != nil {
			return true, err
		}
		if err := q.site.o.Push.Enable(q.Context(), t.ID, k.Owner); err != nil {
			return true, err
		}
	case "remove":
		err = q.site.o.Push.Remove(q.Context(), t.ID)
	default:
		err = board.ErrNotFound
	}
	if err != nil {
		return true, err
	}
	return true, q.redirect(q.link("/admin", "tab", "webhooks"), notice)
}

// addWebhook makes a webhook, and shows its secret once.
func (q *request) addWebhook() error {
	f := q.PostForm
	t := push.Target{
		Kind: push.Webhook, Project: f.Get("of"), Name: strings.TrimSpace(f.Get("name")), URL: strings.TrimSpace(f.Get("url")), Secret: push.NewSecret(),
		Text: f.Get("text") != "", CreatedBy: q.caller.Name,
	}
	for _, e := range webhookEvents {
		if slices.Contains(f["events"], e.value) {
			t.Events = append(t.Events, strings.Fields(e.value)...)
		}
	}
	if err := q.mayHook(t.Project); err != nil {
		return err
	}
	k, err := q.personKey(q.Context())
	if err != nil {
		return err
	}
	t.Owner = k.Owner
	made, err := q.site.o.Push.Add(q.Context(), t)
	if errors.Is(err, board.ErrInvalid) {
		form := &hookForm{Name: t.Name, URL: t.URL, Text: t.Text, Error: "Not saved: " + line(err.Error(), 300)}
		for _, e := range webhookEvents {
			form.Events = append(form.Events, choice{e.value, e.word, slices.Contains(f["events"], e.value)})
		}
		return q.showWebhooks(adminPage{HookForm: form}, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return q.showWebhooks(adminPage{Secret: made.Secret.Reveal(), SecretOf: line(made.Name, 100)}, 0)
}

// postLetter sends a dead letter again, or discards it.
func (q *request) postLetter(act string) error {
	c, err := q.site.o.Push.DeadLetter(q.Context(), q.PostForm.Get("letter"))
	if err != nil {
		return err
	}
	if err := q.mayHook(c.Target.Project); err != nil {
		return err
	}
	if act == "again" {
		err = q.site.o.Push.SendAgain(q.Context(), c.Delivery.ID)
	} else {
		err = q.site.o.Push.Discard(q.Context(), c.Delivery.ID)
	}
	if err != nil {
		return err
	}
	return q.redirect(q.link("/inbox"), "hook"+act)
}

// showWebhooks shows the list of webhooks in answer to a form.
func (q *request) showWebhooks(p adminPage, status int) error {
	p.Tab = "webhooks"
	return q.showAdmin(p, status)
}
