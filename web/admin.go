package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A Directory lists keys and people. *auth.Authenticator is one.
type Directory interface {
	Keys(ctx context.Context) ([]auth.Key, error)
	People(ctx context.Context) ([]auth.Person, error)
}

var _ Directory = (*auth.Authenticator)(nil)

// maxRowsAdmin is how many rows a page of the administration lists.
const maxRowsAdmin = 50

// adminPage is what admin.html shows.
type adminPage struct {
	Words          string
	Tabs           []tab
	Tab            string
	Solo           bool // there are no keys
	Keys           []keyView
	People         []personView
	Projects       []projectView
	Acts           []actView
	Since          *moment
	Earlier, Later string

	Hooks    []targetView
	HookForm *hookForm
	// Secret is that of a webhook which was just made, SecretOf its name.
	Secret, SecretOf string
	Letters          []letterView
	Error            string
}

type keyView struct {
	ID, Name, Owner string
	Kind            string
	Project, Role   string
	Used, Created   *moment
	By              string
	Expires         *moment
	Ended           string // why it is not valid
}

type personView struct {
	Name     string
	Keys     int
	Since    *moment
	Disabled *moment
}

type projectView struct {
	Slug, Name   string
	Path         string
	Policy, Land string
	Lease, Keep  string
	Skills       string
	Paused       string
	Archived     bool
	Open, Done   int
	Spent        string
}

type actView struct {
	At       moment
	Who      string
	Did      string
	Task     string
	TaskPath string
	Text     string
}

// adminTabs are the pages of the administration.
var adminTabs = []struct{ name, word string }{{"", "Keys"}, {"people", "People"}, {"projects", "Projects"}, {"webhooks", "Webhooks"}, {"audit", "Audit"}}

// showAdmin shows keys, people, projects, and what people did, to administrators.
func showAdmin(q *request) error {
	return q.showAdmin(adminPage{Tab: q.URL.Query().Get("tab")}, 0)
}

func (q *request) showAdmin(p adminPage, status int) error {
	p.Solo = q.site.o.Directory == nil
	if !slices.ContainsFunc(adminTabs, func(t struct{ name, word string }) bool { return t.name == p.Tab }) {
		p.Tab = ""
	}
	for _, t := range adminTabs {
		if t.name == "webhooks" && q.site.o.Push == nil {
			continue
		}
		p.Tabs = append(p.Tabs, tab{q.link("/admin", "tab", t.name), t.word, t.name == p.Tab})
	}
	ctx := q.Context()
	_, now, err := q.site.board.Workers(ctx, 0)
	if err != nil {
		return err
	}
	scope, err := q.adminScope(ctx)
	if err != nil {
		return err
	}
	switch p.Tab {
	case "people":
		err = q.addPeople(ctx, &p, scope, now)
	case "projects":
		err = q.addProjects(ctx, &p, scope)
	case "webhooks":
		err = q.addWebhooks(ctx, &p, scope)
	case "audit":
		err = q.addActs(ctx, &p, scope, now)
	default:
		err = q.addKeys(ctx, &p, scope, now)
	}
	if err != nil {
		return err
	}
	return q.show(page{Template: "admin", Title: "Keys and people", Current: "/admin", Follow: strings.Join(scope.slugs, " "), Status: status, Main: p})
}

// An adminScope is what an administrator may see.
type adminScope struct {
	slugs []string
	// all is set if that are all projects: then people and keys of every project, too.
	all bool
}

func (s adminScope) has(project string) bool { return s.all || slices.Contains(s.slugs, project) }

// adminScope finds out which projects the caller administers, of those that the page is about.
func (q *request) adminScope(ctx context.Context) (s adminScope, err error) {
	projects, err := q.site.board.Projects(ctx)
	if err != nil {
		return s, err
	}
	s.all = len(projects) > 0
	for _, p := range projects {
		s.all = s.all && q.may(access.SetProject, p.Slug)
	}
	for _, slug := range q.slugs {
		if q.may(access.SetProject, slug) {
			s.slugs = append(s.slugs, slug)
		}
	}
	if len(s.slugs) == 0 && q.project != "" {
		return s, q.caller.May(access.SetProject, q.project)
	}
	s.all = s.all && q.URL.Query().Get("project") == ""
	return s, nil
}

// pageOf cuts a list to the rows that the address asks for.
func pageOf[T any](q *request, p *adminPage, list []T) []T {
	first := min(count(q.URL.Query().Get("first")), max(0, len(list)-1))
	if first > 0 {
		p.Earlier = q.link("/admin", "tab", p.Tab, "first", nonZero(max(0, first-maxRowsAdmin)))
	}
	if first+maxRowsAdmin < len(list) {
		p.Later = q.link("/admin", "tab", p.Tab, "first", strconv.Itoa(first+maxRowsAdmin))
	}
	return list[first:min(first+maxRowsAdmin, len(list))]
}

// keysIn lists the keys that an administrator may see.
func (q *request) keysIn(ctx context.Context, s adminScope) ([]auth.Key, error) {
	if q.site.o.Directory == nil {
		return nil, nil
	}
	keys, err := q.site.o.Directory.Keys(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(keys, func(k auth.Key) bool { return !s.has(k.Project) }), nil
}

// addKeys lists keys: those that are valid first, then by use.
func (q *request) addKeys(ctx context.Context, p *adminPage, s adminScope, now time.Time) error {
	keys, err := q.keysIn(ctx, s)
	if err != nil {
		return err
	}
	valid := 0
	for i := range keys {
		valid += toInt(!keys[i].Ended(now))
	}
	p.Words = plural(valid, "key is valid.", "keys are valid.") + " A key is shown once, when it is made; here are the names."
	if p.Solo {
		p.Words = "This board has no keys: whoever may read its file may use it."
	}
	slices.SortStableFunc(keys, func(a, b auth.Key) int {
		return cmp.Or(cmp.Compare(toInt(a.Ended(now)), toInt(b.Ended(now))), b.LastUsed.Compare(a.LastUsed), b.Created.Compare(a.Created))
	})
	for _, k := range pageOf(q, p, keys) {
		v := keyView{ID: line(k.ID, 20), Name: line(k.Name, 100), Owner: line(k.Owner, 100), Kind: keyKind(k), Project: k.Project, Role: k.Role.String(), By: line(k.CreatedBy, 60), Created: new(ago(k.Created, now))}
		if k.Project == auth.EveryProject {
			v.Project = "every project"
		}
		if !k.LastUsed.IsZero() {
			v.Used = new(ago(k.LastUsed, now))
		}
		if !k.Expires.IsZero() {
			v.Expires = new(q.site.clock(k.Expires, now))
		}
		switch {
		case !k.Revoked.IsZero():
			v.Ended = "revoked " + agoText(now.Sub(k.Revoked))
			if k.RevokedBy != "" {
				v.Ended += " by " + line(k.RevokedBy, 60)
			}
		case !k.OwnerDisabled.IsZero():
			v.Ended = "its owner is disabled"
		case k.Ended(now):
			v.Ended = "expired"
		}
		p.Keys = append(p.Keys, v)
	}
	return nil
}

// keyKind says who uses a key.
func keyKind(k auth.Key) string {
	switch {
	case strings.HasPrefix(k.Machine, browserPrefix):
		return line(strings.TrimPrefix(k.Machine, browserPrefix), 60)
	case k.Machine != "":
		return "machine " + line(k.Machine, 60)
	case k.Person:
		return "person"
	}
	return "agents"
}

// addPeople lists the owners of keys.
func (q *request) addPeople(ctx context.Context, p *adminPage, s adminScope, now time.Time) error {
	if p.Solo {
		p.Words = "This board has no people with keys."
		return nil
	}
	keys, err := q.keysIn(ctx, s)
	if err != nil {
		return err
	}
	count := map[string]int{}
	for i := range keys {
		if !keys[i].Ended(now) {
			count[keys[i].Owner]++
		} else {
			count[keys[i].Owner] += 0
		}
	}
	people, err := q.site.o.Directory.People(ctx)
	if err != nil {
		return err
	}
	people = slices.DeleteFunc(people, func(x auth.Person) bool { _, known := count[x.Name]; return !s.all && !known })
	p.Words = plural(len(people), "person or program has keys or tokens.", "people and programs have keys or tokens.")
	for _, x := range pageOf(q, p, people) {
		v := personView{Name: line(x.Name, 100), Keys: count[x.Name], Since: new(ago(x.Created, now))}
		if !x.Disabled.IsZero() {
			v.Disabled = new(ago(x.Disabled, now))
		}
		p.People = append(p.People, v)
	}
	return nil
}

// addProjects lists projects and their rules.
func (q *request) addProjects(ctx context.Context, p *adminPage, s adminScope) error {
	p.Words = plural(len(s.slugs), "project.", "projects.")
	for _, slug := range pageOf(q, p, s.slugs) {
		o, err := q.site.summary(ctx, slug)
		if err != nil {
			return err
		}
		x := o.Project
		v := projectView{
			Slug: slug, Name: line(x.Name, 100), Path: "/?project=" + slug, Policy: string(x.Policy), Land: line(x.Land, 100), Lease: "default", Keep: "for ever",
			Skills: line(strings.Join(x.Skills, ", "), 200), Paused: visible.Line(x.PausedBy), Archived: x.Archived, Done: o.Counts.Status[board.Done],
			Open: o.Counts.Total() - o.Counts.Status[board.Done] - o.Counts.Status[board.Cancelled] - o.Counts.Status[board.Failed], Spent: cost(o.Spent.Cost, o.Spent.Cost > 0),
		}
		if x.Lease > 0 {
			v.Lease = span(x.Lease)
		}
		if x.Keep > 0 {
			v.Keep = span(x.Keep)
		}
		p.Projects = append(p.Projects, v)
	}
	return nil
}

// addActs lists what people did, from the feed and from the keys.
func (q *request) addActs(ctx context.Context, p *adminPage, s adminScope, now time.Time) error {
	type entry struct {
		at time.Time
		v  actView
	}
	var list []entry
	for _, a := range q.site.history.actsOf(s.slugs) {
		v := actView{At: q.site.clock(a.At, now), Who: line(a.Actor, 60), Did: actWord(a), Task: a.Task.String(), TaskPath: taskPath(a.Task), Text: line(a.Text, 160)}
		list = append(list, entry{a.At, v})
	}
	keys, err := q.keysIn(ctx, s)
	if err != nil {
		return err
	}
	for _, k := range keys {
		what := "the key " + line(k.ID, 20) + " of " + line(k.Owner, 60) + " (" + keyKind(k) + ", " + k.Role.String() + ")"
		list = append(list, entry{k.Created, actView{At: q.site.clock(k.Created, now), Who: cmp.Or(line(k.CreatedBy, 60), "somebody"), Did: "made " + what}})
		if !k.Revoked.IsZero() {
			list = append(list, entry{k.Revoked, actView{At: q.site.clock(k.Revoked, now), Who: cmp.Or(line(k.RevokedBy, 60), "somebody"), Did: "revoked " + what}})
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int { return b.at.Compare(a.at) })
	p.Words = "What people did: the last " + number(maxActs) + " acts of each project, and every key. The server’s audit log has all requests."
	if d := q.site.stats.day(nil, 0, now); !d.Complete {
		p.Since = new(q.site.clock(d.Since, now))
	}
	for _, e := range pageOf(q, p, list) {
		p.Acts = append(p.Acts, e.v)
	}
	return nil
}

// actWord says what a person did.
func actWord(a act) string {
	switch a.Kind {
	case board.EventEdited:
		return "edited " + strings.ReplaceAll(line(strings.Join(a.Fields, ", "), 80), "_", " ") + " of"
	case board.EventAnswered:
		return "answered a question of"
	case board.EventCommented:
		return "commented on"
	case board.EventRejected:
		return "sent back"
	case board.EventReturned:
		return "returned from the queue"
	case board.EventClosed:
		return "marked done"
	case board.EventErased:
		return "erased " + line(strings.Join(a.Fields, ", "), 40) + " of"
	}
	return strings.ReplaceAll(line(string(a.Kind), 30), "_", " ")
}

// postAdmin pauses or resumes the hand-out of a project.
func postAdmin(q *request) error {
	if done, err := postWebhook(q); done {
		return err
	}
	slug := q.PostForm.Get("project")
	var err error
	switch q.PostForm.Get("act") {
	case "pause":
		if err = q.mayDo(access.Pause, slug); err == nil {
			err = q.site.board.Pause(q.Context(), q.caller.Actor, slug)
		}
	case "resume":
		if err = q.mayDo(access.Resume, slug); err == nil {
			err = q.site.board.Resume(q.Context(), q.caller.Actor, slug)
		}
	default:
		return q.show(page{Template: "error", Title: "Not done.", Status: http.StatusUnprocessableEntity, Main: problem{Title: "Not done.", Text: "The form does not say what to do."}})
	}
	if err != nil && !errors.Is(err, board.ErrConflict) {
		return err
	}
	return q.redirect(q.link("/admin", "tab", "projects"), map[string]string{"pause": "paused", "resume": "resumed"}[q.PostForm.Get("act")])
}
