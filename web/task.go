package web

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

const (
	// maxNeighbours is how many tasks of each side the graph of a task draws, and maxChildren how
	// many parts of a task are listed.
	maxNeighbours, maxChildren = 6, 20
	// maxAttempts is how many attempts the page of a task shows.
	maxAttempts = 20
	// recentEvents is how many events the page of a task looks at, and shownEvents how many
	// of them it shows.
	recentEvents, shownEvents = 200, 20
)

// taskPage is what task.html shows.
type taskPage struct {
	ID       board.ID
	Path     string
	Title    string
	State    shape
	Priority string
	By       string
	Created  moment
	Heading  []string // more facts below the title
	Strips   []taskStrip
	// Description and Acceptance are Markdown; empty if there is none.
	Description, Acceptance template.HTML
	Why, Prior              string // why it is done again, and what it builds on
	Redoes                  bool   // an earlier task, whose people's and agents' words Prior has
	ReasonsWord             string
	Reasons                 []string
	Log                     *logView
	Tries                   []attemptView
	TriesCost               string
	MoreTries               int
	Facts                   []fact
	Resume                  string
	Graph                   *graphView
	Parent                  *taskRef
	Parts                   []taskRef
	MoreParts               int
	PartsWord               string
	Result                  *resultView
	Evidence                []proof
	Wanted                  []string // kinds of evidence that are required, and not there yet
	Questions               []answeredView
	Events                  []eventView
	EventCount              string
	HistoryPath             string
	EditPath                string
	Actions                 []taskAction
}

// A taskStrip is a message above the task. Code is what a machine wrote.
type taskStrip struct {
	message
	Code string
}

// A fact is a name and a value. Code is a value that a machine wrote.
type fact struct {
	Name, Text, Code, After string
	Lease                   *leaseBar
	At                      *moment
}

// A taskRef is a link to a task.
type taskRef struct {
	ID    board.ID
	Path  string
	Title string
	State shape
}

// A resultView is what was reported.
type resultView struct {
	Worker, Summary, Branch, Landed, Check string
	Uncommitted                            string
	Artifacts                              []string
}

func newTaskRef(t *board.Task) taskRef {
	return taskRef{t.ID, taskPath(t.ID), line(t.Title, 160), stateShape(t.State())}
}

// showTask shows all that is known about a task.
func showTask(q *request) error {
	id, err := q.task(access.Get)
	if err != nil {
		return err
	}
	return q.showTaskOf(id, draftAction{}, 0)
}

// showTaskOf shows the page of a task, with what the person typed into one of its forms and
// why it was not sent.
func (q *request) showTaskOf(id board.ID, typed draftAction, status int) error {
	ctx := q.Context()
	r, reasons, err := q.readTask(ctx, id)
	if err != nil {
		return err
	}
	p := taskPage{
		ID: id, Path: taskPath(id), Title: line(r.Task.Title, 300), State: stateShape(r.Task.State()), By: line(r.Task.CreatedBy, 60),
		Created: ago(r.Task.CreatedAt, r.Now), HistoryPath: taskPath(id) + "/history", EventCount: plural(int(r.Task.Seq), "event", "events"),
	}
	q.addSpec(&r, &p, reasons)
	if err := q.addAttempts(ctx, &r, &p); err != nil {
		return err
	}
	q.addFacts(&r, &p)
	q.addTaskStrips(&r, &p)
	p.Graph = neighbours(&r)
	for i := range r.Questions {
		if r.Questions[i].State != board.QuestionOpen && len(p.Questions) < maxAnswered {
			p.Questions = append(p.Questions, q.newAnswered(&r.Questions[i], r.Now))
		}
	}
	for _, e := range r.Events[max(0, len(r.Events)-shownEvents):] {
		p.Events = append(p.Events, q.newEvent(e, r.Now))
	}
	slices.Reverse(p.Events)
	p.Actions = q.actions(&r, typed)
	if typed.why != "" && typed.text == "" && typed.act == "start" { // its form has no place for words
		p.Strips = append([]taskStrip{{message: message{Class: "err", Shape: "fail", Head: typed.why}}}, p.Strips...)
	}
	if !r.Task.Status.Terminal() && q.may(access.Update, id.Project) {
		p.EditPath = taskPath(id) + "/edit"
	}
	follow := []string{id.String()}
	for _, t := range slices.Concat(r.Blockers[:min(len(r.Blockers), 20)], r.Dependents[:min(len(r.Dependents), 20)]) {
		follow = append(follow, t.ID.String())
	}
	return q.show(page{Template: "task", Title: id.String(), Current: "/board", Follow: strings.Join(follow, " "), Status: status, Main: p})
}

// readTask reads a task, why it is not handed out, and its newest events.
func (q *request) readTask(ctx context.Context, id board.ID) (r reviewed, reasons []board.Reason, err error) {
	if r.Dossier, reasons, err = q.site.board.Why(ctx, id); err != nil {
		return r, nil, err
	}
	if r.runs, err = q.site.board.Runs(ctx, id); err != nil {
		return r, nil, err
	}
	if first := r.Task.Seq - recentEvents; len(r.Events) > 0 && r.Task.Seq > int64(len(r.Events)) {
		if r.Events, err = q.site.board.Events(ctx, id, max(0, first), recentEvents); err != nil {
			return r, nil, err
		}
	}
	r.attempt, r.current = r.Task.Attempt, true
	return r, reasons, nil
}

// addSpec adds what is to be done, and why it is not handed out.
func (q *request) addSpec(r *reviewed, p *taskPage, reasons []board.Reason) {
	t := &r.Task
	if t.Priority != board.Normal {
		p.Priority = t.Priority.String()
	}
	if text := strings.TrimSpace(r.Doc.Description); text != "" && text != t.Title {
		p.Description = markdown(text)
	}
	if r.Doc.Acceptance != "" {
		p.Acceptance = markdown(r.Doc.Acceptance)
	}
	open := 0
	for _, d := range r.Dependents {
		open += toInt(!d.Status.Terminal())
	}
	if open > 0 && t.Status != board.Done {
		p.Heading = append(p.Heading, "blocks "+number(open))
	}
	if t.Failures > 0 && !t.Status.Terminal() {
		p.Heading = append(p.Heading, fmt.Sprintf("%d of %d attempts failed", t.Failures, t.MaxFailures))
	}
	if len(r.Events) > 0 && r.Events[0].Kind == board.EventCreated {
		made := r.Events[0]
		p.Why, p.Prior = cut(visible.Text(made.Detail.Why), 2000), cut(visible.Text(made.Detail.Prior), 2000)
		p.Redoes = made.Redoes()
	}
	p.ReasonsWord = "Why it is not handed out"
	if t.Status == board.Landing {
		p.ReasonsWord = "Why it has not landed"
	} else if t.Ready() {
		p.ReasonsWord = "What happens next"
	}
	if t.Status == board.Pending || t.Status == board.Landing {
		for _, x := range reasons[:min(len(reasons), 8)] {
			p.Reasons = append(p.Reasons, cut(visible.Text(x.Text), 400))
		}
	}
	if !t.Parent.IsZero() {
		p.Parent = &taskRef{ID: t.Parent, Path: taskPath(t.Parent)}
	}
	for i := range r.Children[:min(len(r.Children), maxChildren)] {
		p.Parts = append(p.Parts, newTaskRef(&r.Children[i]))
	}
	p.MoreParts = len(r.Children) - len(p.Parts)
	p.PartsWord = fmt.Sprintf("%d of %d done", t.DoneChildren, len(r.Children))
	if res := r.Doc.Result; res != nil {
		p.Result = &resultView{
			Worker: line(res.Worker, 60), Summary: cut(visible.Text(res.Summary), 4000), Branch: line(res.Branch, 120), Landed: line(res.Landed, 12),
			Check: line(res.Check, 200), Uncommitted: res.NotCommitted(),
		}
		for _, a := range res.Artifacts[:min(len(res.Artifacts), 20)] {
			p.Result.Artifacts = append(p.Result.Artifacts, line(a, 200))
		}
		if p.Evidence = proofs(res); len(p.Evidence) > 30 {
			p.Evidence = p.Evidence[:30]
		}
	}
	for _, kind := range t.Wants {
		if !slices.ContainsFunc(p.Evidence, func(e proof) bool { return e.Kind == string(kind) }) {
			p.Wanted = append(p.Wanted, line(string(kind), 20))
		}
	}
}

// addFacts adds what stands beside the task.
func (q *request) addFacts(r *reviewed, p *taskPage) {
	t := &r.Task
	add := func(f fact) {
		if f.Text != "" || f.Code != "" || f.Lease != nil || f.At != nil {
			p.Facts = append(p.Facts, f)
		}
	}
	total, priced := int64(0), false
	for _, run := range r.runs {
		total, priced = total+run.Cost, priced || run.Priced
	}
	if a, ok := r.tryOf(t.Attempt); ok {
		run, known := r.runOf(a.Attempt)
		name := "Last agent"
		if r.Claim != nil {
			name = "Agent"
		}
		add(fact{Name: name, Text: cmp.Or(line(a.Worker.Name, 60), "an agent") + ", " + makerOf(run.Agent, a.Where.Client).Name})
		add(fact{Name: "Model", Text: line(run.Model, 80)})
		if c := r.Claim; c != nil {
			add(fact{Name: "Claim", Code: c.Handle.String()})
			add(fact{Name: "Lease", Lease: newLease(*c, r.Now), At: new(left(c.LeaseUntil, r.Now))})
		}
		add(fact{Name: "Branch", Code: line(cmp.Or(a.Where.Branch, a.Where.Ordered), 120)})
		add(fact{Name: "Commit", Code: line(a.Where.Head, 12), After: uncommitted(a.Where.Uncommitted)})
		add(fact{Name: "Directory", Code: line(a.Where.Dir, 200), After: prefixed("on ", line(a.Where.Host, 60))})
		if known && run.Tokens != (board.Tokens{}) {
			add(fact{Name: "Tokens", Text: fmt.Sprintf("%s in, %s cached, %s out", short(run.Tokens.In), short(run.Tokens.Cached), short(run.Tokens.Out))})
		}
		if known && run.Priced && run.Cost != total {
			add(fact{Name: "Cost", Text: board.Dollars(run.Cost) + " this attempt, " + board.Dollars(total) + " in all"})
		} else if priced {
			add(fact{Name: "Cost", Text: board.Dollars(total)})
		}
		if r.Claim != nil || t.Status == board.Waiting {
			p.Resume = resumeCommand(run, a, q.caller.Principal)
		}
	}
	add(fact{Name: "Skills", Text: line(strings.Join(t.Skills, ", "), 200)})
	add(fact{Name: "Areas", Code: line(strings.Join(t.Areas, ", "), 200)})
	if t.Lease > 0 {
		add(fact{Name: "Own lease", Text: span(t.Lease)})
	}
	if !t.EndedAt.IsZero() {
		add(fact{Name: "Ended", At: new(ago(t.EndedAt, r.Now))})
	}
}

func uncommitted(n int) string {
	if n == 0 {
		return ""
	}
	return "and " + plural(n, "uncommitted file", "uncommitted files")
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// short is a number in at most three digits or so: 412 k.
func short(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%d k", n/1000)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + " M"
}

// resumeCommand is the command with which a person goes on with the session of a run, where
// it was; empty if there is none.
func resumeCommand(r board.Run, a board.Attempt, principal string) string {
	command := r.ResumeWith(&a, principal)
	if command == "" {
		return ""
	}
	return fmt.Sprintf("cd %s && %s %s", visible.ShellWord(a.Where.Dir), command, visible.ShellWord(r.Session))
}

// addTaskStrips says what needs the person.
func (q *request) addTaskStrips(r *reviewed, p *taskPage) {
	add := func(m message) { p.Strips = append(p.Strips, taskStrip{message: m}) }
	for i := range r.Questions {
		question := &r.Questions[i]
		if question.State != board.QuestionOpen || len(p.Strips) == 3 {
			continue
		}
		n := q.site.questionNeed(&board.AskedQuestion{Question: *question}, r.Now)
		p.Strips = append(p.Strips, taskStrip{message{Class: "you", Shape: n.Shape.ID, Head: n.Before, Path: q.link(n.Path), Word: n.Act}, n.Code})
		if waits(question) {
			p.State = shape{n.Shape.ID, "you", "Waiting for you"}
		}
	}
	switch r.Task.Status {
	case board.InReview:
		add(message{Class: "you", Shape: "eye", Head: "Reported done.", Text: "It waits for a review.", Path: reviewPath(r.Task.ID), Word: "Review"})
	case board.Failed:
		why := ""
		if a, ok := r.tryOf(r.Task.Attempt); ok {
			why = line(a.Reason, 300)
		}
		add(message{Class: "err", Shape: "fail", Head: "Failed " + times(r.Task.Failures) + ".", Text: why})
	}
	if r.Task.State() == board.StateWaiting {
		p.State = shape{"ask", "you", "Waiting for you"}
	}
	if c := r.Claim; c != nil && len(p.Strips) == 0 {
		if quiet := silence(*c, q.site.activity.of(q.Context(), c.Handle), r.Now); quiet > 0 {
			add(message{Class: "err", Shape: "quiet", Head: line(c.Worker.Name, 60) + " has been silent for " + span(quiet) + ".", Text: "When its lease runs out, the next agent gets the task."})
		}
	}
}

// neighbours draws what a task depends on, and what depends on it; nil if that is nothing.
func neighbours(r *reviewed) *graphView {
	if len(r.Blockers)+len(r.Dependents) == 0 {
		return nil
	}
	var nodes []node
	side := func(list []board.Task, layer int) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b board.Task) int {
			return cmp.Compare(toInt(a.Status.Terminal()), toInt(b.Status.Terminal()))
		})
		shown := len(list)
		if shown > maxNeighbours {
			shown = maxNeighbours - 1
		}
		for i := range list[:shown] {
			n := taskNode(&list[i])
			n.layer = layer
			nodes = append(nodes, n)
		}
		if rest := list[shown:]; len(rest) > 0 {
			open := 0
			for _, t := range rest {
				open += toInt(!t.Status.Terminal())
			}
			nodes = append(nodes, node{Name: number(len(rest)) + " more", Title: number(open) + " open", Shape: shape{"n-more", "", ""}, Class: "wait", layer: layer})
		}
	}
	side(r.Blockers, 0)
	above := len(nodes)
	me := taskNode(&r.Task)
	me.Class, me.layer = "me", toInt(above > 0)
	nodes = append(nodes, me)
	side(r.Dependents, me.layer+1)
	label := fmt.Sprintf("Dependencies: %v depends on %s; %s on it", r.Task.ID, plural(len(r.Blockers), "task", "tasks"), plural(len(r.Dependents), "task depends", "tasks depend"))
	width := 121
	if max(len(r.Blockers), len(r.Dependents)) < 2 {
		width = 200
	}
	g := drawGraph(label, "", nodes, nil, 2, width)
	g.Edges = star(g.Nodes, above)
	return g
}

// taskNode is a task in a graph.
func taskNode(t *board.Task) node {
	n := node{Name: t.ID.String(), Path: taskPath(t.ID), Title: line(t.Title, 120), Shape: stateShape(t.State())}
	switch {
	case t.Status == board.Done:
		n.Class, n.Shape.Class = "done", ""
	case t.Status == board.Pending && !t.Ready():
		n.Class = "wait"
	}
	return n
}
