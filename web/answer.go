package web

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/permission"
	"github.com/bossman-dev/bossman/internal/visible"
)

// postAnswer answers a question. The form names the version of the question that the person
// saw; if it is not that any more, nothing is sent, and what was typed stays on the page.
func postAnswer(q *request) error {
	question, err := q.question(access.Answer)
	if err != nil {
		return err
	}
	choice, typed := q.PostForm.Get("answer"), strings.TrimSpace(q.PostForm.Get("text"))
	if err := question.CheckOpen(); err != nil {
		return q.showAsk(question, typed, "Not sent. "+closedWords(&question), http.StatusConflict)
	}
	_, isPermission := permission.In(&question)
	version, seen := q.PostForm.Get("version"), false
	for _, listed := range []bool{false, true} {
		if listed && !shownWhole(&question) {
			continue // it is answered on its own page only
		}
		if subtle.ConstantTimeCompare([]byte(version), []byte(askVersion(&question, listed))) == 1 {
			seen = true
		}
	}
	if !seen {
		return q.showAsk(question, typed, "Not sent. The question is not the one that you saw. Look at it as it is now.", http.StatusConflict)
	}
	answer, why := theAnswer(&question, isPermission, choice, typed)
	if why != "" {
		return q.showAsk(question, typed, why, http.StatusUnprocessableEntity)
	}
	_, err = q.site.board.Answer(q.Context(), q.caller.Actor, question.ID, answer)
	if errors.Is(err, board.ErrConflict) { // somebody was quicker
		if now, failed := q.site.board.Question(q.Context(), question.ID); failed == nil && now.State != board.QuestionOpen {
			return q.showAsk(now, typed, "Not sent. "+closedWords(&now), http.StatusConflict)
		}
	}
	if errors.Is(err, board.ErrInvalid) {
		return q.showAsk(question, typed, "Not sent. "+visible.Text(err.Error()), http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	notice := "answered"
	if question.AskerLeft() {
		notice = "kept"
	}
	return q.redirect(q.link("/inbox"), notice)
}

// closedWords says how a question ended.
func closedWords(q *board.Question) string {
	switch {
	case q.State == board.QuestionWithdrawn:
		return fmt.Sprintf("%v was withdrawn, because its task has ended.", q.ID)
	case q.ByDefault():
		return fmt.Sprintf("%v has its default as the answer, because nobody answered in time: “%s”.", q.ID, line(q.Answer, 200))
	}
	return fmt.Sprintf("%s answered %v already: “%s”.", visible.Line(q.AnsweredBy), q.ID, line(q.Answer, 200))
}

// theAnswer decides what is sent, from the button that was pressed and the text that was
// typed, or says why nothing is.
func theAnswer(q *board.Question, isPermission bool, choice, typed string) (answer, why string) {
	known := slices.Contains(q.Options, choice)
	switch {
	case choice != "" && !known:
		return "", "Not sent. That is not one of the choices."
	case isPermission && choice == "":
		return "", "Not sent. Choose whether to allow it."
	case isPermission && choice == "no" && typed != "":
		// The agent is told the words. They must not be taken for a yes.
		if slices.ContainsFunc(q.Options, func(o string) bool { return strings.EqualFold(o, typed) }) {
			return "", "Not sent. The text contradicts the button."
		}
		return typed, ""
	case isPermission && typed != "":
		return "", "Not sent. A text goes to the agent only if you do not allow it. Remove the text, or press Do not allow."
	case choice != "" && typed != "":
		return choice + ". " + typed, ""
	case choice != "":
		return choice, ""
	case typed != "":
		return typed, ""
	}
	return "", "Not sent. Choose an answer, or write one."
}

// maxAnswers is how many answers of a project are remembered.
const maxAnswers = 200

// answers remembers the questions of each project that were answered last, for the inbox and
// to find earlier answers to the same question. The follower adds their ids; they are read
// when a page needs them, and again if something of their task was erased.
type answers struct {
	mu  sync.Mutex
	ids map[string][]board.QuestionID
	got map[board.QuestionID]board.Question
	// dropped counts how often questions were dropped from got. One that was read before that is not kept.
	dropped int
}

func newAnswers() *answers {
	a := &answers{}
	a.reset()
	return a
}

// reset forgets everything.
func (a *answers) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids, a.got = map[string][]board.QuestionID{}, map[board.QuestionID]board.Question{}
	a.dropped++
}

// drop drops the questions of a task.
func (a *answers) drop(task board.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.got, func(_ board.QuestionID, q board.Question) bool { return q.Claim.Task == task })
	a.dropped++
}

// add notes an event that answers a question, or one that says that something was erased.
func (a *answers) add(e board.Event) {
	if e.Kind == board.EventErased {
		a.drop(e.Task)
	}
	if e.Kind != board.EventAnswered || e.Detail.Question == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := a.ids[e.Task.Project]
	if slices.Contains(ids, e.Detail.Question) {
		return
	}
	ids = append(ids, e.Detail.Question)
	slices.Sort(ids)
	if len(ids) > maxAnswers {
		delete(a.got, ids[0])
		ids = ids[1:]
	}
	a.ids[e.Task.Project] = ids
}

// of returns the answered questions of a project, newest first. Of many that were not read
// yet, it reads the newest ones now and others when it is asked again.
func (a *answers) of(ctx context.Context, b access.Board, project string) (list []board.Question) {
	const atOnce = 40
	a.mu.Lock()
	ids := slices.Clone(a.ids[project])
	a.mu.Unlock()
	read := 0
	for _, id := range slices.Backward(ids) {
		a.mu.Lock()
		q, ok := a.got[id]
		dropped := a.dropped
		a.mu.Unlock()
		if !ok {
			if read++; read > atOnce {
				break
			}
			var err error
			if q, err = b.Question(ctx, id); err != nil || q.Project != project {
				continue
			}
			a.mu.Lock()
			if a.dropped == dropped {
				a.got[id] = q
			}
			a.mu.Unlock()
		}
		list = append(list, q)
	}
	return list
}

// A similarAnswer is an earlier answer to the same question.
type similarAnswer struct {
	Task     board.ID
	TaskPath string
	Answer   string
	By       string
	At       moment
}

// addSimilar adds to questions what people answered when the same was asked before.
func (q *request) addSimilar(ctx context.Context, list []ask, now time.Time) {
	const most = 2
	for i := range list {
		a := &list[i]
		for _, old := range q.site.answers.of(ctx, q.site.board, a.Project) {
			if len(a.Similar) == most || old.ID == a.ID || old.AnsweredAs != board.ByPerson || old.Answer == board.Erased || strings.TrimSpace(old.Text) != a.asked {
				continue
			}
			v := q.newAnswered(&old, now)
			a.Similar = append(a.Similar, similarAnswer{v.Task, v.TaskPath, v.Answer, v.By, v.At})
		}
	}
}

// answeredToday lists the newest answers of the last 24 hours, and says who gave them.
func (q *request) answeredToday(ctx context.Context, now time.Time) (list []answeredView, tally string) {
	var all []board.Question
	for _, slug := range q.slugs {
		all = append(all, q.site.answers.of(ctx, q.site.board, slug)...)
	}
	all = slices.DeleteFunc(all, func(x board.Question) bool { return now.Sub(x.AnsweredAt) > hours*time.Hour })
	slices.SortFunc(all, func(a, b board.Question) int { return b.AnsweredAt.Compare(a.AnsweredAt) })
	people, agents, defaults := 0, 0, 0
	for i := range all {
		switch {
		case all[i].ByDefault():
			defaults++
		case all[i].AnsweredAs == board.ByAgent:
			agents++
		default:
			people++
		}
		if i < maxAnswered {
			list = append(list, q.newAnswered(&all[i], now))
		}
	}
	if len(all) == 0 {
		return nil, ""
	}
	return list, fmt.Sprintf("%d by people, %d by agents, %d by default", people, agents, defaults)
}
