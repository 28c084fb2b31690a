package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/permission"
	"github.com/bossman-dev/bossman/internal/visible"
)

const (
	// maxAsks is how many open questions the inbox shows, and maxAnswered how many answers.
	maxAsks, maxAnswered = 30, 12
	// maxAskText is how much of a question the inbox shows, and maxOption how much of an option, in bytes. If there is
	// more, it is answered on its page, which has all.
	maxAskText, maxOption = 1200, 120
)

// inboxPage is what inbox.html shows.
type inboxPage struct {
	Words    string
	Tabs     []tab
	Asks     []ask
	More     int
	Answered []answeredView
	Tally    string
	Letters  []letterView
}

type tab struct {
	Path, Word string
	Current    bool
}

// An ask is a question as a card shows it.
type ask struct {
	ID         board.QuestionID
	Path       string
	Shape      shape
	Kind       string
	PeopleOnly bool
	Project    string
	Task       board.ID
	TaskPath   string
	Title      string
	Since      moment
	Asker      string
	Waits      string // what the asker does meanwhile
	Overdue    *moment
	Head       string
	Text       template.HTML
	Cut        bool // the page of the question has more
	Permission *permission.Permission
	// Whole is the text of a permission, as it was asked.
	Whole string
	asked string // the text of the question
	// Dir is where it would be done, if the agent tells, or else its worktree.
	Dir, Host string
	Options   []option
	// Free is set if the answer may be in the person's own words.
	Free    bool
	Due     *dueFact
	DueLeft moment
	May     bool // the caller may answer
	Look    bool // it is answered on its own page only
	Version string
	Similar []similarAnswer
	Earlier []answeredView
	// Typed is what the person typed before, and Error why it was not sent.
	Typed string
	Error string
	// Closed is how a question ended that is not open.
	Closed *answeredView
}

// An option is a choice as a button.
type option struct {
	Value, Label string
	Class        string
}

// An answeredView is a question with its answer.
type answeredView struct {
	ID       board.QuestionID
	Path     string
	Text     string
	Answer   string
	Task     board.ID
	TaskPath string
	By       string
	At       moment
	Default  bool
}

// showInbox shows the questions that are open, and the answers of the last day.
func showInbox(q *request) error {
	letters, err := q.inboxLetters(q.Context())
	if err != nil {
		return err
	}
	show := q.showCached
	if len(letters) > 0 { // they come and go without an event of the board
		show = q.showFresh
	}
	return show(func(ctx context.Context) (page, error) {
		p, err := q.inboxPage(ctx)
		p.Letters = letters
		return page{Template: "inbox", Title: "Inbox", Current: "/inbox", Follow: strings.Join(q.slugs, " "), Main: p}, err
	})
}

func (q *request) inboxPage(ctx context.Context) (p inboxPage, err error) {
	only := q.URL.Query().Get("only")
	var all []ask
	var now time.Time
	permissions := 0
	for _, slug := range q.slugs {
		in, err := q.site.inbox(ctx, slug)
		if err != nil {
			return p, err
		}
		o, err := q.site.summary(ctx, slug)
		if err != nil {
			return p, err
		}
		now = in.Now
		claims := map[board.Handle]board.Claim{}
		for _, c := range o.Claims {
			claims[c.Handle] = c
		}
		for i := range in.Open {
			a := q.newAsk(&in.Open[i].Question, in.Open[i].Reported, now, true)
			a.Title = line(o.Titles[a.Task], 120)
			c := claims[in.Open[i].Question.Claim]
			a.setPlace(c.Where, 200)
			for _, e := range in.Open[i].Earlier {
				a.Earlier = append(a.Earlier, q.newAnswered(&e, now))
			}
			if a.Permission != nil {
				permissions++
			}
			all = append(all, a)
		}
	}
	p.Words = plural(len(all), "question is open.", "questions are open.") + " An answer reaches the agent at once; a parked task goes back to the agent that asked."
	if len(all) == 0 {
		p.Words = "No question is open."
	}
	for _, t := range []struct{ only, word string }{
		{"", fmt.Sprintf("Open %d", len(all))},
		{"questions", fmt.Sprintf("Only questions %d", len(all)-permissions)},
		{"permissions", fmt.Sprintf("Only permissions %d", permissions)},
	} {
		p.Tabs = append(p.Tabs, tab{q.link("/inbox", "only", t.only), t.word, t.only == only})
	}
	all = slices.DeleteFunc(all, func(a ask) bool {
		return only == "questions" && a.Permission != nil || only == "permissions" && a.Permission == nil
	})
	slices.SortStableFunc(all, func(a, b ask) int { // agents that stand still first, then by age
		return cmp.Or(cmp.Compare(toInt(a.Waits != waitsHere), toInt(b.Waits != waitsHere)), cmp.Compare(a.ID, b.ID))
	})
	p.Asks, p.More = all[:min(len(all), maxAsks)], max(0, len(all)-maxAsks)
	q.addSimilar(ctx, p.Asks, now)
	p.Answered, p.Tally = q.answeredToday(ctx, now)
	return p, nil
}

// What the asker does while it waits.
const (
	waitsHere = "is waiting"
	waitsGoes = "keeps working"
	waitsGone = "has left"
)

// newAsk builds the card of an open question. In a list its text is cut.
func (q *request) newAsk(question *board.Question, reported board.Status, now time.Time, listed bool) ask {
	a := ask{
		ID: question.ID, Path: q.link(questionPath(question.ID)), Shape: shape{"ask", "you", "Question"}, Kind: "Question", PeopleOnly: question.HumanOnly,
		Project: question.Project, Task: question.Claim.Task, Since: lasted(question.AskedAt, now), Asker: cmp.Or(visible.Line(question.Asker.Name), "an agent"),
		Waits: waitsGoes, Free: true, May: q.may(access.Answer, question.Project), Version: askVersion(question, listed), Due: q.site.due(question, now),
		Look: listed && !shownWhole(question), asked: strings.TrimSpace(question.Text),
	}
	if !a.Task.IsZero() {
		a.TaskPath = taskPath(a.Task)
	}
	switch {
	case reported == board.Done:
		a.Waits = "went on without the answer, and its task is done"
	case reported != "":
		a.Waits = "went on without the answer, and its task is " + map[board.Status]string{board.InReview: "in review", board.Landing: "waiting to be landed"}[reported]
	case question.AskerLeft():
		a.Waits = waitsGone
	case question.Blocking:
		a.Waits = waitsHere
	}
	if a.Due != nil {
		a.DueLeft = left(question.NeededBy, now)
		if a.Due.Overdue {
			a.Overdue = new(lasted(question.NeededBy, now))
		}
	}
	if p, ok := permission.In(question); ok {
		a.Permission, a.Kind, a.Shape, a.PeopleOnly = &p, "Permission", shape{"lock", "you", "Permission"}, false
		a.Whole = visible.Text(question.Text)
		a.Head = a.Asker + " wants to use " + p.Tool
		if isCommand(p.Tool) {
			a.Head = a.Asker + " wants to run"
		}
		a.Options, a.Dir = permissionOptions(question.Options, p.Risky), p.Dir
		return a
	}
	text := visible.Text(question.Text)
	first, rest := firstLine(text)
	if len(first) > 300 { // the whole is one paragraph
		first, rest = "", text
	}
	if listed && len(rest) > maxAskText {
		rest, a.Cut = cut(rest, maxAskText), true
	}
	a.Head = first
	if rest != "" {
		a.Text = markdown(rest)
	}
	for i, o := range question.Options {
		x := option{Value: o, Label: visible.Line(o)}
		if o == question.Default || question.Default == "" && i == 0 {
			x.Class = "go"
		}
		a.Options = append(a.Options, x)
	}
	return a
}

// setPlace sets the directory and the host from the asker's place, unless the question names a directory.
func (a *ask) setPlace(at board.Where, most int) {
	if a.Host = line(at.Host, 60); a.Dir == "" {
		a.Dir = line(at.Dir, most)
	}
}

// shownWhole reports whether a list shows all of a question, so that it can be answered there. A risky permission cannot.
func shownWhole(q *board.Question) bool {
	if p, ok := permission.In(q); ok && p.Risky {
		return false
	}
	return len(visible.Text(q.Text)) <= maxAskText && !slices.ContainsFunc(q.Options, func(o string) bool { return len(visible.Line(o)) > maxOption })
}

// permissionOptions are the choices of a permission, in words that name their effect. Of a
// risky one, none is the one to press first.
func permissionOptions(values []string, risky bool) (list []option) {
	for _, v := range values {
		o := option{Value: v, Label: visible.Line(v)}
		switch v {
		case "yes":
			o.Label = "Allow once"
			if !risky {
				o.Class = "go"
			}
		case "yes, for this task":
			o.Label = "Allow for this task"
		case "no":
			o.Label, o.Class = "Do not allow", "no"
		}
		list = append(list, o)
	}
	return list
}

// askVersion is a digest of what a person sees of a question before answering it. An answer
// carries it, so that nobody answers something else than what was shown. The versions of a
// list and of the question's own page differ.
func askVersion(q *board.Question, listed bool) string {
	h := sha256.New()
	fmt.Fprintf(h, "%v\n%v\n%q\n%q\n%q\n%v\n", listed, q.ID, q.Text, q.Options, q.Default, q.State)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// newAnswered shows a question that was answered.
func (q *request) newAnswered(question *board.Question, now time.Time) answeredView {
	v := answeredView{
		ID: question.ID, Path: q.link(questionPath(question.ID)), Text: line(question.Text, 120), Answer: line(question.Answer, 160), Task: question.Claim.Task,
		By: visible.Line(question.AnsweredBy), At: q.site.clock(question.AnsweredAt, now), Default: question.ByDefault(),
	}
	if p, ok := permission.In(question); ok {
		use, _ := firstLine(p.Use)
		v.Text = visible.Line(question.Asker.Name) + " may use " + p.Tool + ": " + cut(use, 80)
		v.Answer = permissionWord(question.Answer)
	}
	if !v.Task.IsZero() {
		v.TaskPath = taskPath(v.Task)
	}
	switch {
	case v.Default:
		v.By = "default taken, nobody answered in time"
	case question.State == board.QuestionWithdrawn:
		v.Answer, v.By = "Withdrawn.", "its task has ended"
	case question.AnsweredAs == board.ByAgent:
		v.By += " (agent)"
	}
	return v
}

func permissionWord(answer string) string {
	switch answer {
	case "yes":
		return "Allowed once."
	case "yes, for this task":
		return "Allowed for the task."
	case "no":
		return "Not allowed."
	case board.Erased:
		return board.Erased
	}
	return "Not allowed: " + line(answer, 120)
}

// showQuestion shows one question with all that is known about it.
func showQuestion(q *request) error {
	question, err := q.question(access.Question)
	if err != nil {
		return err
	}
	return q.showAsk(question, "", "", 0)
}

// question reads the question that the address names, if the caller may do this in its
// project.
func (q *request) question(v *access.Verb) (board.Question, error) {
	id, err := board.ParseQuestionID(q.PathValue("question"))
	if err != nil {
		return board.Question{}, board.ErrNotFound
	}
	question, err := q.site.board.Question(q.Context(), id)
	if err != nil {
		return question, err
	}
	q.note(v, question.Project, question.Claim.Task)
	return question, q.caller.May(v, question.Project)
}

// showAsk shows the page of a question, with what the person typed and why it was not sent.
func (q *request) showAsk(question board.Question, typed, why string, status int) error {
	ctx := q.Context()
	_, now, err := q.site.board.Workers(ctx, 0)
	if err != nil {
		return err
	}
	a := q.newAsk(&question, "", now, false)
	a.Typed, a.Error = typed, why
	follow := question.Project
	if !a.Task.IsZero() {
		d, err := q.site.board.Get(ctx, a.Task, 0)
		if err != nil {
			return err
		}
		a.Title = line(d.Task.Title, 160)
		for _, t := range d.Attempts {
			if t.Handle == question.Claim {
				a.setPlace(t.Where, 300)
			}
		}
	}
	earlier, err := board.Chat(ctx, q.site.board, question, 5)
	if err != nil {
		return err
	}
	for _, e := range earlier {
		a.Earlier = append(a.Earlier, q.newAnswered(&e, now))
	}
	if question.State != board.QuestionOpen {
		closed := q.newAnswered(&question, now)
		closed.Answer = visible.Text(question.Answer)
		if a.Permission != nil {
			closed.Answer = permissionWord(question.Answer)
		}
		a.Closed, a.May = &closed, false
	}
	list := []ask{a}
	q.addSimilar(ctx, list, now)
	return q.show(page{Template: "question", Title: a.Kind + " " + a.ID.String(), Current: "/inbox", Follow: follow, Status: status, Main: list[0]})
}
