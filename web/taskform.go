package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/planfile"
	"github.com/bossman-dev/bossman/internal/visible"
)

// taskForm is what taskform.html shows: the fields of a task that is created or edited.
type taskForm struct {
	New      bool
	Heading  string
	ID       board.ID // of a task that is edited
	Path     string   // where it is sent to
	BackPath string
	Error    string
	// Now is what the task says by now, where somebody else has changed it.
	Now      []wasView
	Projects []choice
	fields
	Priorities []choice
	Kinds      []choice // of evidence
	Known      string   // the skills of the project
	// Version names the text that the person saw, and Key makes sure that a form that is sent
	// twice creates one task.
	Version, Key string
	More         bool // the rarer fields are in use
}

// fields are the values of a form, as text.
type fields struct {
	Project, Title, Description, Acceptance      string
	Priority, Skills, Areas, After, Parent, Wait string
	Failures                                     string
	Wants                                        []string
	Draft                                        bool
}

// showNew shows an empty form for a task.
func showNew(q *request) error {
	return q.showForm(taskForm{New: true, fields: fields{Priority: board.Normal.String(), Failures: "3"}}, 0)
}

// showForm shows a form.
func (q *request) showForm(f taskForm, status int) error {
	ctx := q.Context()
	f.Heading, f.Path, f.BackPath = "New task", q.link("/board/new"), q.link("/board")
	if !f.New {
		f.Heading, f.Path, f.BackPath = "Edit "+f.ID.String(), taskPath(f.ID)+"/edit", taskPath(f.ID)
	}
	if f.New {
		slugs := q.caller.Projects(access.Create)
		if f.Project == "" {
			f.Project = q.project
		}
		for _, slug := range slugs {
			f.Projects = append(f.Projects, choice{slug, slug, slug == f.Project})
		}
		f.Key = "web-" + rand.Text()
	}
	var known []string
	for _, slug := range q.slugs {
		if f.Project != "" && slug != f.Project {
			continue
		}
		o, err := q.site.summary(ctx, slug)
		if err != nil {
			return err
		}
		known = append(known, o.Project.Skills...)
	}
	slices.Sort(known)
	f.Known = line(strings.Join(slices.Compact(known), ", "), 300)
	for _, p := range []board.Priority{board.Urgent, board.High, board.Normal, board.Low} {
		f.Priorities = append(f.Priorities, choice{p.String(), p.String(), p.String() == f.Priority})
	}
	for _, k := range board.EvidenceKinds {
		f.Kinds = append(f.Kinds, choice{string(k), string(k), slices.Contains(f.Wants, string(k))})
	}
	f.More = f.Skills+f.Areas+f.After+f.Parent+f.Wait != "" || len(f.Wants) > 0 || f.Failures != "3" || f.Error != ""
	follow := strings.Join(q.slugs, " ")
	if !f.New {
		follow = f.ID.String()
	}
	return q.show(page{Template: "taskform", Title: f.Heading, Current: "/board", Follow: follow, Status: status, Main: f})
}

// sent reads the fields that were sent.
func (q *request) sent() fields {
	get := func(name string) string {
		return strings.TrimSpace(strings.ReplaceAll(q.PostForm.Get(name), "\r\n", "\n"))
	}
	return fields{
		Project: get("in"), Title: get("title"), Description: get("description"), Acceptance: get("acceptance"), Priority: get("priority"),
		Skills: get("skills"), Areas: get("areas"), After: get("after"), Parent: get("parent"), Wait: get("lease"), Failures: get("failures"),
		Wants: q.PostForm["evidence"], Draft: get("draft") != "",
	}
}

// task reads the fields as a task of a project, or says what is wrong with one.
func (f fields) task(project string) (n board.NewTask, why string) {
	n = board.NewTask{
		Project: project, Title: f.Title, Description: f.Description, Acceptance: f.Acceptance, Skills: board.SplitList(f.Skills), Areas: board.SplitList(f.Areas),
		Wants: planfile.EvidenceKinds(f.Wants), Hold: f.Draft,
	}
	var err error
	if n.Priority, err = board.ParsePriority(cmp.Or(f.Priority, board.Normal.String())); err != nil {
		return n, sentence(err)
	}
	for _, name := range strings.FieldsFunc(f.After, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' }) {
		id, err := board.ParseIDIn(project, name)
		if err != nil {
			return n, sentence(err)
		}
		n.DependsOn = append(n.DependsOn, id)
	}
	if f.Parent != "" {
		if n.Parent, err = board.ParseIDIn(project, f.Parent); err != nil {
			return n, sentence(err)
		}
	}
	if f.Wait != "" {
		if n.Lease, err = time.ParseDuration(strings.ReplaceAll(strings.ReplaceAll(f.Wait, " ", ""), "min", "m")); err != nil {
			return n, "The lease is a time such as 30m or 2h."
		}
	}
	if f.Failures != "" {
		if n.MaxFailures, err = strconv.Atoi(f.Failures); err != nil || n.MaxFailures < 1 {
			return n, "The number of failures is a whole number, at least 1."
		}
	}
	return n, ""
}

// postNew creates a task.
func postNew(q *request) error {
	f := q.sent()
	again := func(why string, status int) error {
		return q.showForm(taskForm{New: true, fields: f, Error: "Not created. " + why}, status)
	}
	if f.Project == "" {
		f.Project = q.project
	}
	if f.Project == "" {
		return again("Choose a project.", http.StatusUnprocessableEntity)
	}
	if err := q.mayDo(access.Create, f.Project); err != nil {
		return err
	}
	n, why := f.task(f.Project)
	if why != "" {
		return again(why, http.StatusUnprocessableEntity)
	}
	t, _, err := q.site.board.Create(q.Context(), q.caller.Actor, n, cut(q.PostForm.Get("key"), 60))
	if errors.Is(err, board.ErrNotFound) {
		return again("A task that it depends on, or that it is a part of, does not exist.", http.StatusUnprocessableEntity)
	}
	if why, status := refusal(err); why != "" {
		return again(why, status)
	}
	if err != nil {
		return err
	}
	q.note(access.Create, f.Project, t.ID)
	return q.redirect(q.link(taskPath(t.ID)), "created")
}

// fieldsOf are the values of a task, and what it depends on itself. Hidden characters are
// spelled out: a person sees what is edited, and what is not edited is not sent.
func (q *request) fieldsOf(ctx context.Context, id board.ID) (f fields, d board.Dossier, err error) {
	if d, err = q.site.board.Get(ctx, id, 0); err != nil {
		return f, d, err
	}
	t := &d.Task
	f = fields{
		Project: id.Project, Title: visible.Text(t.Title), Description: visible.Text(strings.TrimSpace(d.Doc.Description)), Acceptance: visible.Text(strings.TrimSpace(d.Doc.Acceptance)),
		Priority: t.Priority.String(), Skills: visible.Text(strings.Join(t.Skills, ", ")), Areas: visible.Text(strings.Join(t.Areas, ", ")), Parent: t.Parent.String(), Failures: strconv.Itoa(t.MaxFailures), Draft: t.Hold,
	}
	if t.Lease > 0 {
		f.Wait = t.Lease.String()
	}
	for _, k := range t.Wants {
		f.Wants = append(f.Wants, string(k))
	}
	inherited := map[board.ID]bool{}
	if !t.Parent.IsZero() {
		parent, err := q.site.board.Get(ctx, t.Parent, 0)
		if err != nil && !errors.Is(err, board.ErrNotFound) {
			return f, d, err
		}
		for _, b := range parent.Blockers {
			inherited[b.ID] = true
		}
	}
	var after []string
	for _, b := range d.Blockers {
		if !inherited[b.ID] {
			after = append(after, b.ID.String())
		}
	}
	f.After = strings.Join(after, ", ")
	return f, d, nil
}

// version is a digest of the values that a person sees before editing them.
func (f fields) version() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []any{f.Title, f.Description, f.Acceptance, f.Priority, f.Skills, f.Areas, f.After, f.Parent, f.Wait, f.Failures, f.Wants, f.Draft}))
	return hex.EncodeToString(sum[:8])
}

// showEdit shows the form of a task that exists.
func showEdit(q *request) error {
	id, err := q.task(access.Update)
	if err != nil {
		return err
	}
	f, d, err := q.fieldsOf(q.Context(), id)
	if err != nil {
		return err
	}
	form := taskForm{ID: id, fields: f, Version: f.version()}
	if d.Task.Status.Terminal() {
		return q.redirect(taskPath(id), "")
	}
	return q.showForm(form, 0)
}

// postEdit changes what the person changed in the form. If somebody else has changed the task
// since the form was shown, nothing is saved, and the form shows both.
func postEdit(q *request) error {
	id, err := q.task(access.Update)
	if err != nil {
		return err
	}
	f := q.sent()
	f.Project = id.Project
	now, d, err := q.fieldsOf(q.Context(), id)
	if err != nil {
		return err
	}
	again := func(why string, changed []wasView, status int) error {
		return q.showForm(taskForm{ID: id, fields: f, Error: "Not saved. " + why, Now: changed, Version: now.version()}, status)
	}
	if d.Task.Status.Terminal() {
		return again(fmt.Sprintf("%v is %s and cannot be changed.", id, stateWord(&d.Task)), nil, http.StatusConflict)
	}
	if q.PostForm.Get("version") != now.version() {
		return again("Somebody has changed the task since you opened this form. Look at what it says now, then save again.", now.differing(f), http.StatusConflict)
	}
	n, why := f.task(id.Project)
	if why != "" {
		return again(why, nil, http.StatusUnprocessableEntity)
	}
	e, any := f.edit(now, n)
	if !any {
		return q.redirect(taskPath(id), "unchanged")
	}
	_, err = q.site.board.Update(q.Context(), q.caller.Actor, id, e)
	if errors.Is(err, board.ErrNotFound) {
		return again("A task that it depends on, or that it is a part of, does not exist.", nil, http.StatusUnprocessableEntity)
	}
	if why, status := refusal(err); why != "" {
		return again(why, nil, status)
	}
	if err != nil {
		return err
	}
	return q.redirect(taskPath(id), "saved")
}

// edit is the change from the values of now to those of f, which n has as a task.
func (f fields) edit(now fields, n board.NewTask) (e board.Edit, any bool) {
	set := func(changed bool, do func()) {
		if changed {
			any = true
			do()
		}
	}
	set(f.Title != now.Title, func() { e.Title = &n.Title })
	set(f.Description != now.Description, func() { e.Description = &n.Description })
	set(f.Acceptance != now.Acceptance, func() { e.Acceptance = &n.Acceptance })
	set(f.Priority != now.Priority, func() { e.Priority = &n.Priority })
	set(f.Skills != now.Skills, func() { e.Skills = &n.Skills })
	set(f.Areas != now.Areas, func() { e.Areas = &n.Areas })
	set(!slices.Equal(f.Wants, now.Wants), func() { e.Wants = &n.Wants })
	set(f.After != now.After, func() { e.DependsOn = &n.DependsOn })
	set(f.Parent != now.Parent, func() { e.Parent = &n.Parent })
	set(f.Draft != now.Draft, func() { e.Hold = &n.Hold })
	set(f.Wait != now.Wait, func() { e.Lease = &n.Lease })
	set(f.Failures != now.Failures, func() { e.MaxFailures = &n.MaxFailures })
	return e, any
}

// differing lists the values that are not those of typed.
func (f fields) differing(typed fields) (list []wasView) {
	for _, x := range []struct{ name, now, typed string }{
		{"Title", f.Title, typed.Title},
		{"Description", f.Description, typed.Description},
		{"Accepted when", f.Acceptance, typed.Acceptance},
		{"Priority", f.Priority, typed.Priority},
		{"Skills", f.Skills, typed.Skills},
		{"Areas", f.Areas, typed.Areas},
		{"Depends on", f.After, typed.After},
		{"Part of", f.Parent, typed.Parent},
		{"Evidence", strings.Join(f.Wants, ", "), strings.Join(typed.Wants, ", ")},
		{"Lease", f.Wait, typed.Wait},
		{"Failures", f.Failures, typed.Failures},
		{"Held", strconv.FormatBool(f.Draft), strconv.FormatBool(typed.Draft)},
	} {
		if x.now != x.typed {
			list = append(list, wasView{x.name, cut(visible.Text(cmp.Or(x.now, "(empty)")), 2000)})
		}
	}
	return list
}
