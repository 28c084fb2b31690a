package web

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/permission"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/push"
)

// tapPage is what tap.html shows: what a link would answer, or that it has.
type tapPage struct {
	Title   string
	Words   string
	Project string
	Task    string
	Text    template.HTML
	Command string
	Answer  string // the label of the button; empty: there is nothing to answer
	Path    string
	Look    string // the page of the question
}

// showTap shows what a link would answer. It changes nothing: mail and chat programs open
// links by themselves.
func showTap(q *request) error {
	link, err := q.openTap()
	if err != nil {
		return q.refuseTap(err)
	}
	o, err := q.site.o.Push.Offer(q.Context(), link)
	if err != nil {
		return q.refuseTap(err)
	}
	p := tapPage{
		Title: "Question " + o.Question.ID.String(), Words: "You answer as " + visible.Line(o.Caller.Name) + ".", Project: o.Question.Project,
		Answer: "Answer: " + visible.Line(o.Answer), Text: markdown(o.Question.Text), Path: push.TapPath + link, Look: questionPath(o.Question.ID),
	}
	if task := o.Question.Claim.Task; !task.IsZero() {
		p.Task = task.String()
	}
	if x, ok := permission.In(&o.Question); ok {
		p.Title, p.Command = "Permission "+o.Question.ID.String(), x.Use
		p.Answer = permissionOptions([]string{o.Answer}, false)[0].Label
	}
	return q.show(page{Template: "tap", Title: p.Title, Main: p})
}

// postTap answers as the link says. The link is what allows it, so no session is needed.
func postTap(q *request) error {
	link, err := q.openTap()
	if err != nil {
		return q.refuseTap(err)
	}
	o, err := q.site.o.Push.Answer(q.Context(), link)
	if o.Caller != nil && o.Caller.Principal != "" {
		q.note(access.Answer, o.Question.Project, o.Question.Claim.Task)
		q.act.Caller, q.act.Via = o.Caller, "one-tap link"
	}
	if err != nil {
		return q.refuseTap(err)
	}
	q.site.changed()
	return q.show(page{Template: "tap", Title: "Sent", Main: tapPage{
		Title: "Sent.", Words: "The agent has your answer to " + o.Question.ID.String() + ": “" + line(o.Question.Answer, 200) + "”.", Look: questionPath(o.Question.ID),
	}})
}

// openTap returns the link of a request. The address is a secret until it is used: it is not
// logged.
func (q *request) openTap() (string, error) {
	link := q.PathValue("link")
	q.URL = &url.URL{Path: push.TapPath}
	if q.site.o.Push == nil {
		return "", push.ErrLink
	}
	return link, nil
}

// refuseTap says why a link does nothing.
func (q *request) refuseTap(err error) error {
	p := problem{Title: "Not sent."}
	switch {
	case errors.Is(err, push.ErrExpired):
		p.Status, p.Text = http.StatusGone, "The link has expired. The inbox has the question, if it is still open."
	case errors.Is(err, push.ErrChanged):
		p.Status, p.Text = http.StatusConflict, "The question is not the one that the link was made for. The inbox has it as it is now."
	case errors.Is(err, board.ErrConflict):
		p.Status, p.Text = http.StatusConflict, "The question is answered already, or was withdrawn. A link works once."
	case errors.Is(err, push.ErrLink), errors.Is(err, board.ErrDenied), errors.Is(err, board.ErrNotFound):
		p.Status, p.Text = http.StatusForbidden, "The link is not valid, or its owner may not answer any more."
	default:
		return err
	}
	return q.show(page{Template: "tap", Title: p.Title, Status: p.Status, Main: tapPage{Title: p.Title, Words: p.Text, Look: "/inbox"}})
}

// serveWorker serves the script that shows notifications. Its address never changes: a
// browser's subscription belongs to it.
func serveWorker(q *request) error {
	q.w.Header().Set("Content-Type", contentTypes[".js"])
	_, _ = q.w.Write(q.site.files.plain["worker.js"])
	return nil
}
