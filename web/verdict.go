package web

import (
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// postReview does what one of the forms of a review asks for.
func postReview(q *request) error {
	switch q.PostForm.Get("act") {
	case "comment":
		return postComment(q)
	case "return":
		return postReturn(q)
	}
	return postVerdict(q)
}

// postVerdict accepts work, or sends it back with the comments on it and a note. The form
// names what the person saw; over anything else nothing is accepted.
func postVerdict(q *request) error {
	id, err := q.task(access.Review)
	if err != nil {
		return err
	}
	note := strings.TrimSpace(q.PostForm.Get("note"))
	d := board.Decision{Verdict: board.Verdict(q.PostForm.Get("verdict")), Note: note, Attempt: count(q.PostForm.Get("attempt"))}
	again := func(why string, status int) error {
		return q.showReviewOf(id, 0, reviewDraft{note: note, why: why}, status)
	}
	if d.Verdict != board.Accept && d.Verdict != board.Reject || d.Attempt == 0 {
		return again("Not sent. Choose whether to accept the work or to send it back.", http.StatusUnprocessableEntity)
	}
	r, err := q.readReview(q.Context(), id, 0)
	if err != nil {
		return err
	}
	if r.Task.Status == board.InReview && r.Task.Attempt != d.Attempt {
		return again(fmt.Sprintf("Not sent. You looked at attempt %d, and this is attempt %d. Look at it.", d.Attempt, r.Task.Attempt), http.StatusConflict)
	}
	if r.Task.Status == board.InReview && d.Verdict == board.Accept && subtle.ConstantTimeCompare([]byte(q.PostForm.Get("seen")), []byte(seenVersion(&r))) != 1 {
		why := "Not accepted. The task has changed since you loaded this page. Look at it, then accept it again."
		if n := len(r.comments); n > 0 {
			c := r.comments[n-1]
			why = fmt.Sprintf("Not accepted. %s has commented since you loaded this page, on %s: “%s” Look at it, then accept it again.", cmp.Or(line(c.By, 60), "Somebody"), line(c.Place(), 100), line(c.Text, 200))
		}
		return again(why, http.StatusConflict)
	}
	out, err := q.site.board.Review(q.Context(), q.caller.Actor, id, d)
	switch {
	case errors.Is(err, board.ErrConflict):
		return again("Not sent. "+visible.Text(err.Error())+".", http.StatusConflict)
	case errors.Is(err, board.ErrInvalid):
		why := visible.Text(err.Error()) + "."
		if d.Verdict == board.Reject && note == "" && len(r.comments) == 0 {
			why = "Say what has to change, or comment on a line: the next attempt is told."
		}
		return again("Not sent. "+why, http.StatusUnprocessableEntity)
	case errors.Is(err, board.ErrDenied):
		return again("Not sent. "+visible.Text(err.Error())+".", http.StatusForbidden)
	case err != nil:
		return err
	}
	return q.redirect(q.link("/review"), verdictNotice(d.Verdict, out.Status))
}

// verdictNotice is the word for what became of a task.
func verdictNotice(v board.Verdict, s board.Status) string {
	switch {
	case s == board.Landing:
		return "queued"
	case v == board.Accept:
		return "accepted"
	case s == board.Failed:
		return "sentlast"
	}
	return "sentback"
}

// postComment adds a comment. It stays on the board, and goes to the next attempt if the work
// is sent back.
func postComment(q *request) error {
	id, err := q.task(access.Comment)
	if err != nil {
		return err
	}
	text, file, place := strings.TrimSpace(q.PostForm.Get("text")), q.PostForm.Get("file"), strings.TrimSpace(q.PostForm.Get("place"))
	c := board.Comment{File: file, Line: count(q.PostForm.Get("line")), Text: text}
	if file == "" {
		c = board.CommentOn(place, text)
	}
	again := func(why string, status int) error {
		return q.showReviewOf(id, 0, reviewDraft{comment: text, place: cmp.Or(place, c.Place()), commentWhy: why}, status)
	}
	if text == "" || c.File == "" {
		return again("Not added. Name a file, and write the comment.", http.StatusUnprocessableEntity)
	}
	d, err := q.site.board.Get(q.Context(), id, 0)
	if err != nil {
		return err
	}
	if d.Task.Status != board.InReview || d.Task.Attempt != count(q.PostForm.Get("attempt")) {
		return again("Not added. The work is not what you saw: "+stateWords(d.Task)+". Your text is kept here.", http.StatusConflict)
	}
	switch err := q.site.board.Comment(q.Context(), q.caller.Actor, id, []board.Comment{c}); {
	case errors.Is(err, board.ErrConflict):
		return again("Not added. "+visible.Text(err.Error())+".", http.StatusConflict)
	case errors.Is(err, board.ErrInvalid):
		return again("Not added. "+visible.Text(err.Error())+".", http.StatusUnprocessableEntity)
	case err != nil:
		return err
	}
	n := 1
	if d.Doc.Result != nil {
		n += len(d.Doc.Result.Comments)
	}
	return q.redirect(q.backTo(id, "first", "file", "from")+"#c"+strconv.Itoa(n), "")
}

// stateWords says where a task is now.
func stateWords(t board.Task) string {
	return fmt.Sprintf("%v is %s at attempt %d", t.ID, strings.ReplaceAll(t.State().String(), "_", " "), t.Attempt)
}

// postReturn takes a task out of the landing queue: it is handed out again, with the reason.
func postReturn(q *request) error {
	id, err := q.task(access.Return)
	if err != nil {
		return err
	}
	note, attempt := strings.TrimSpace(q.PostForm.Get("note")), count(q.PostForm.Get("attempt"))
	again := func(why string, status int) error {
		return q.showReviewOf(id, 0, reviewDraft{note: note, returnWhy: why}, status)
	}
	if note == "" {
		return again("Not returned. Say why: the next attempt is told.", http.StatusUnprocessableEntity)
	}
	if attempt == 0 {
		return again("Not returned. The form does not say which attempt it is about.", http.StatusUnprocessableEntity)
	}
	_, err = q.site.board.Return(q.Context(), q.caller.Actor, id, board.Return{Kind: board.ReturnAsked, Attempt: attempt, Text: note})
	switch {
	case errors.Is(err, board.ErrConflict):
		return again("Not returned. "+visible.Text(err.Error())+".", http.StatusConflict)
	case errors.Is(err, board.ErrInvalid):
		return again("Not returned. "+visible.Text(err.Error())+".", http.StatusUnprocessableEntity)
	case err != nil:
		return err
	}
	return q.redirect(q.link("/landing"), "returned")
}
