package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

const (
	// maxForm bounds what a form may send, in bytes.
	maxForm = 256 << 10
	// maxProjects is how many projects a page shows together.
	maxProjects = 20
)

// A request is one request of a caller.
type request struct {
	*http.Request
	site *Site
	w    http.ResponseWriter
	// caller and session are set if the route requires somebody who is signed in.
	caller  *access.Caller
	session string
	// project is the one that the address names, empty for all.
	project string
	// cursor is a position in the feed from before anything was read for the page.
	cursor board.Cursor
	// slugs are the projects that the page is about, all of which the caller may see.
	slugs []string
	// act is what a form does, for the audit.
	act Act
}

// serve returns the handler of a route: it finds out who calls, and whether that is allowed.
func (s *Site) serve(route Route) http.HandlerFunc {
	serve := func(q *request) {
		q.Body = http.MaxBytesReader(q.w, q.Body, maxForm)
		if err := q.run(route); err != nil {
			q.fail(err)
		}
	}
	if route.Method == http.MethodPost && s.o.Audit != nil {
		return s.audited(route, serve)
	}
	return func(w http.ResponseWriter, r *http.Request) { serve(&request{Request: r, site: s, w: w}) }
}

func (q *request) run(route Route) error {
	if route.Verb == nil {
		return route.handle(q)
	}
	if err := q.enter(); err != nil {
		return err
	}
	if err := q.caller.MayAnywhere(route.Verb); err != nil {
		return err
	}
	if q.Method == http.MethodPost {
		if err := q.checkToken(); err != nil {
			return err
		}
		defer q.site.changed()
	}
	if after := q.Header.Get("Bossman-After"); after != "" && q.isPart() {
		q.site.awaitCursor(q.Context(), board.Cursor(after))
	}
	if err := q.choose(); err != nil {
		return err
	}
	return route.handle(q)
}

// enter finds out who calls.
func (q *request) enter() error {
	session := q.cookie()
	if session == "" {
		return errSignedOut
	}
	c, err := q.site.door.Caller(q.Context(), session)
	if err != nil {
		return err
	}
	if !c.Person { // no Door should let one in
		return ErrNotPerson
	}
	q.caller, q.session = c, session
	if admit := q.site.o.Admit; admit != nil {
		return admit(q.Request, c)
	}
	return nil
}

// choose reads the project from the address, and decides which ones the page is about.
func (q *request) choose() error {
	q.cursor = q.site.hub.cursor()
	all := q.caller.Projects(access.Summary)
	q.project = q.URL.Query().Get("project")
	if q.project == "" {
		if len(all) == 1 {
			q.project = all[0]
		}
		q.slugs = all[:min(len(all), maxProjects)]
		return nil
	}
	if err := q.caller.May(access.Summary, q.project); err != nil {
		return err
	}
	q.slugs = []string{q.project}
	return nil
}

// task returns the task that the address names, if the caller may do something to it.
func (q *request) task(v *access.Verb) (board.ID, error) {
	id, err := board.ParseID(q.PathValue("task"))
	if err != nil {
		return id, board.ErrNotFound
	}
	q.note(v, id.Project, id)
	return id, q.caller.May(v, id.Project)
}

// may reports whether the caller may do something in a project.
func (q *request) may(v *access.Verb, project string) bool { return q.caller.May(v, project) == nil }

// link returns the address of a page within the site that keeps the chosen project. The
// rest are keys and values of the query.
func (q *request) link(path string, query ...string) string {
	v := url.Values{}
	if q.URL.Query().Get("project") != "" {
		v.Set("project", q.project)
	}
	for i := 0; i+1 < len(query); i += 2 {
		if query[i+1] != "" {
			v.Set(query[i], query[i+1])
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// redirect answers a form: the browser gets another page, with a message to show if it is not
// empty. The message is one of the words in notices, never text from a request.
func (q *request) redirect(path, notice string) error {
	if notice != "" {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		path += sep + "said=" + url.QueryEscape(notice)
	}
	http.Redirect(q.w, q.Request, path, http.StatusSeeOther)
	return nil
}

// A page is what a template shows.
type page struct {
	// Template is the name of its file without the ending.
	Template string
	Title    string
	// Follow says which events concern the page: "*", projects, or a task, separated by
	// spaces.
	Follow string
	// Current is the path of the entry of the navigation that it belongs to.
	Current string
	// Status is the status of the answer; default 200.
	Status int
	// Main is what the template is executed with.
	Main any

	// The rest is set by show.
	Frame frame
}

// show writes a page, or only its changing part if the script asks for that. If the browser
// has the same already, it writes nothing.
func (q *request) show(p page) error {
	body, err := q.render(p)
	if err != nil {
		return err
	}
	return q.write(p.Status, body)
}

// showCached is show for a page that costs more to build than to send: those who have the
// same rights share one rendering.
func (q *request) showCached(build func(ctx context.Context) (page, error)) error {
	key := q.partKey()
	body, err := q.site.parts.do(key, q.site.version.Load(), q.site.running.Load(), func() ([]byte, error) {
		// Others may wait for it, so it must not end with this request.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(q.Context()), 20*time.Second)
		defer cancel()
		q.warm(ctx)
		p, err := build(ctx)
		if err != nil {
			return nil, err
		}
		return q.render(p)
	})
	if err != nil {
		return err
	}
	return q.write(0, body)
}

// showFresh is showCached without sharing.
func (q *request) showFresh(build func(ctx context.Context) (page, error)) error {
	p, err := build(q.Context())
	if err != nil {
		return err
	}
	return q.show(p)
}

// warm reads what most pages need of their projects at once, not one after the other. Errors
// come again when the page reads it.
func (q *request) warm(ctx context.Context) {
	if !q.site.running.Load() { // nothing would be kept
		return
	}
	var wg sync.WaitGroup
	for _, slug := range q.slugs {
		wg.Go(func() { _, _ = q.site.inbox(ctx, slug) })
		wg.Go(func() { _, _ = q.site.summary(ctx, slug) })
	}
	wg.Wait()
}

// isPart reports whether the script asks for the changing part of a page.
func (q *request) isPart() bool { return q.Header.Get("Bossman-Part") != "" }

// partKey names what a rendering depends on, besides the time.
func (q *request) partKey() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %v %q %v", q.URL.RequestURI(), q.isPart(), q.caller.Name, q.caller.Person)
	for _, slug := range slices.Sorted(maps.Keys(q.caller.Roles)) {
		fmt.Fprintf(&b, " %s=%v", slug, q.caller.Roles[slug])
	}
	return b.String()
}

// render executes the template of a page. The token of forms is still the placeholder.
func (q *request) render(p page) ([]byte, error) {
	t := q.site.pages[p.Template]
	if t == nil {
		return nil, fmt.Errorf("web: there is no template %q", p.Template)
	}
	var err error
	if p.Frame, err = q.frame(p); err != nil {
		return nil, err
	}
	name := "layout"
	switch {
	case q.isPart():
		name = "shell"
	case q.caller == nil:
		name = "bare"
	}
	return execute(t, name, p)
}

func execute(t *template.Template, name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return b.Bytes(), nil
}

// write sends a rendered page with the caller's own token in its forms.
func (q *request) write(status int, body []byte) error {
	token := "" // nobody's form
	if q.session != "" {
		token = formToken(q.session)
	}
	// The placeholder leaves in no page: in a text it would become the token of whoever reads that.
	body = bytes.ReplaceAll(body, []byte(q.site.placeholder), []byte(token))
	h := q.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Vary", "Bossman-Part")
	if status == 0 {
		status = http.StatusOK
	}
	w, done := q.compressed()
	q.w.WriteHeader(status)
	_, err := io.Copy(w, bytes.NewReader(body))
	if err = errors.Join(err, done()); err != nil {
		q.site.log.Debug("sending a page failed", "err", err)
	}
	return nil
}
