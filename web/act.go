package web

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A taskAction is something that a person can do to a task, as a form of its page.
type taskAction struct {
	Act, Word string // Word opens the form
	Class     string
	Path      string
	Label     string // of its text; empty: it has none, and Word is its button
	Hint      string
	Button    string
	// Dependents is set if it asks what becomes of the tasks that depend on this one.
	Dependents []choice
	Version    string
	Typed      string
	Error      string
}

// A draftAction is what the person typed into a form, and why it was not sent.
type draftAction struct {
	act, text, dependents string
	why                   string
}

// An actKind is a kind of action: when it can be done, by whom, and how.
type actKind struct {
	taskAction
	verb *access.Verb
	fits func(r *reviewed) bool
	do   func(q *request, r *reviewed, text string) (to board.ID, err error)
	said string // the notice afterwards
}

func open(r *reviewed) bool { return !r.Task.Status.Terminal() }

// actKinds are the actions in the order of their buttons. Each uses the method of the board
// that the command line uses.
var actKinds = []actKind{
	{
		taskAction{Act: "start", Word: "Start", Class: "go"},
		access.Update,
		func(r *reviewed) bool { return r.Task.Hold && r.Task.Status == board.Pending },
		func(q *request, r *reviewed, _ string) (board.ID, error) {
			t, err := q.site.board.Update(q.Context(), q.caller.Actor, r.Task.ID, board.Edit{Hold: new(false)})
			return t.ID, err
		}, "started",
	},
	{
		taskAction{Act: "retry", Word: "Retry", Class: "go", Label: "A note for the next attempt", Button: "Retry", Hint: "The failures are forgotten."},
		access.Review,
		func(r *reviewed) bool { return r.Task.Status == board.Failed },
		func(q *request, r *reviewed, text string) (board.ID, error) {
			out, err := q.site.board.Review(q.Context(), q.caller.Actor, r.Task.ID, board.Decision{Verdict: board.Retry, Note: text, Attempt: r.Task.Attempt})
			return out.Task, err
		}, "retried",
	},
	{
		taskAction{Act: "reopen", Word: "Reopen", Label: "What is to be different this time", Button: "Reopen", Hint: "A new task with the same text is created. It gets the result of this one and your note."},
		access.Reopen,
		func(r *reviewed) bool { return r.Task.Status.Terminal() },
		func(q *request, r *reviewed, text string) (board.ID, error) {
			t, err := q.site.board.Reopen(q.Context(), q.caller.Actor, r.Task.ID, text)
			return t.ID, err
		}, "reopened",
	},
	{
		taskAction{Act: "release", Word: "Release", Label: "Why", Button: "Release", Hint: "The task goes back to the queue. No failure is counted; a late report of its agent is rejected."},
		access.Release,
		func(r *reviewed) bool {
			return r.Task.Status == board.InProgress || r.Task.Status == board.Pending && !r.Task.NotBefore.IsZero() || r.Task.Status == board.InReview && r.Review != nil
		},
		func(q *request, r *reviewed, text string) (board.ID, error) {
			t, err := q.site.board.Release(q.Context(), q.caller.Actor, r.Task.ID, text)
			return t.ID, err
		}, "released",
	},
	{
		taskAction{Act: "done", Word: "Mark done", Label: "What was done", Button: "Mark done", Hint: "By your own word: without evidence, check, review or landing. The history says so."},
		access.MarkDone,
		open,
		func(q *request, r *reviewed, text string) (board.ID, error) {
			out, err := q.site.board.MarkDone(q.Context(), q.caller.Actor, r.Task.ID, text, true)
			return out.Task, err
		}, "done",
	},
	{
		taskAction{Act: "cancel", Word: "Cancel task", Class: "no", Label: "Why", Button: "Cancel the task"},
		access.Cancel,
		open,
		func(q *request, r *reviewed, text string) (board.ID, error) {
			_, err := q.site.board.Cancel(q.Context(), q.caller.Actor, r.Task.ID, text, board.Dependents(q.PostForm.Get("dependents")))
			return r.Task.ID, err
		}, "cancelled",
	},
}

func init() {
	maps.Copy(notices, map[string]string{
		"created": "Created.", "saved": "Saved. An agent that holds the task is told.", "unchanged": "Nothing was changed.", "planned": "The tasks of the plan are on the board.",
		"started": "Started. The next agent that asks can get it.", "retried": "It is on the board again.", "reopened": "This is the new task.",
		"released": "It is back on the board. No failure was counted.", "done": "Marked done.", "cancelled": "Cancelled.",
	})
}

// version names the state of a task that a person saw. A form that was made for another one
// changes nothing.
func (r *reviewed) version() string {
	return fmt.Sprintf("%s.%d.%v", r.Task.Status, r.Task.Attempt, r.Task.Hold)
}

// actions lists what the caller can do to a task now, with what was typed before.
func (q *request) actions(r *reviewed, typed draftAction) (list []taskAction) {
	for _, k := range actKinds {
		if !k.fits(r) || !q.may(k.verb, r.Task.ID.Project) {
			if typed.act == k.Act && typed.why != "" && k.Label != "" { // what was typed is not lost
				a := k.taskAction
				a.Typed, a.Error = typed.text, typed.why
				list = append(list, a)
			}
			continue
		}
		a := k.taskAction
		a.Path, a.Version = taskPath(r.Task.ID)+"/"+k.Act, r.version()
		if k.Act == "cancel" {
			if r.Task.Status == board.InProgress {
				a.Hint = "Its agent is told why with its next call."
			}
			if slices.ContainsFunc(r.Dependents, func(t board.Task) bool { return !t.Status.Terminal() }) {
				a.Dependents = []choice{{"keep", "stay blocked", typed.dependents != "unblock" && typed.dependents != "cancel"}, {"unblock", "go on without it", typed.dependents == "unblock"}, {"cancel", "are cancelled, too", typed.dependents == "cancel"}}
			}
		}
		if k.Act == "release" && r.Task.Status == board.Pending {
			a.Word, a.Button, a.Hint = "End the wait", "End the wait", "It is ready at once."
		}
		if k.Act == "done" && r.Task.Status == board.InReview {
			a.Hint = "It is accepted without landing. To land it, review it."
		}
		if typed.act == k.Act {
			a.Typed, a.Error = typed.text, typed.why
		}
		list = append(list, a)
	}
	return list
}

// postAct returns the handler of an action.
func postAct(act string) func(*request) error {
	return func(q *request) error {
		k := actKinds[slices.IndexFunc(actKinds, func(k actKind) bool { return k.Act == act })]
		id, err := q.task(k.verb)
		if err != nil {
			return err
		}
		typed := draftAction{act: act, text: strings.TrimSpace(q.PostForm.Get("text")), dependents: q.PostForm.Get("dependents")}
		again := func(why string, status int) error {
			typed.why = why
			return q.showTaskOf(id, typed, status)
		}
		r, _, err := q.readTask(q.Context(), id)
		if err != nil {
			return err
		}
		if q.PostForm.Get("version") != r.version() || !k.fits(&r) {
			return again(fmt.Sprintf("Not done. %v is %s now. Look at it as it is, then decide.", id, stateWord(&r.Task)), http.StatusConflict)
		}
		to, err := k.do(q, &r, typed.text)
		if why, status := refusal(err); why != "" {
			return again("Not done. "+why, status)
		}
		if err != nil {
			return err
		}
		return q.redirect(q.link(taskPath(to)), k.said)
	}
}

// stateWord is the state of a task within a sentence.
func stateWord(t *board.Task) string { return strings.ToLower(stateShape(t.State()).Word) }

// refusal is an error that a person can do something about, in words and with its status;
// empty for others.
func refusal(err error) (string, int) {
	switch {
	case errors.Is(err, board.ErrConflict):
		return sentence(err), http.StatusConflict
	case errors.Is(err, board.ErrInvalid):
		return sentence(err), http.StatusUnprocessableEntity
	case errors.Is(err, board.ErrDenied):
		return sentence(err), http.StatusForbidden
	}
	return "", 0
}

// sentence is an error of the board as a sentence for people, without its kind.
func sentence(err error) string {
	text := visible.Text(err.Error())
	for _, kind := range []error{board.ErrConflict, board.ErrInvalid, board.ErrDenied} {
		text = strings.TrimPrefix(text, kind.Error()+": ")
	}
	if text == "" {
		return ""
	}
	text = cut(capital(text), 1000)
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// capital is a text with a capital letter at its beginning.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}
