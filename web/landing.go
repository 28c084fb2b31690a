package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

const (
	// maxQueued is how many tasks of a landing queue a page lists, maxMoves how many moves of
	// the target, and maxSentBack how many tasks that went back.
	maxQueued, maxMoves, maxSentBack = 50, 12, 12
	// countedMoves is how many moves of the target are read to count those of the last day.
	countedMoves = 200
)

// landingPage is what landing.html shows.
type landingPage struct {
	Title   string // the target, if there is one
	Words   string
	Targets []landingView
	Nowhere []string // projects that do not land their work
}

// A landingView is the landing of one project.
type landingView struct {
	Project, Target string
	Several         bool // the page has other projects, too
	Words           string
	// Stopped is what a lander says why nothing lands, and StoppedBy is whose lander that is.
	Stopped, StoppedBy string
	// Lander says who lands, and what the lander calls itself.
	Lander string
	Lives  bool
	Left   *moment
	Steps  []landStep
	Queue  []queuedView
	More   int
	Waits  []queuedView // those that wait for somebody or something
	Back   []backView
	Rework []backView
	Untold []backView
	// Landed is how many tasks landed in the last day, in how many batches.
	Landed, Batches int
	Each            string
	Median          string
	Moves           []moveView
}

// A landStep is something that the lander does.
type landStep struct {
	Shape      shape
	Head, Text string
	On         bool
	At         *moment
}

// A queuedView is a task in the queue.
type queuedView struct {
	Place    int
	Task     board.ID
	TaskPath string
	Path     string
	Title    string
	Worker   string
	Since    *moment
	Priority string
	Tip      string
	Why      string
	You      bool
	Includes string
	May      bool // the caller may take it out of the queue
	Moving   bool
}

// A backView is a task that went back, and why.
type backView struct {
	Shape    shape
	Task     board.ID
	TaskPath string
	Title    string
	Text     string
	Files    string
	At       *moment
}

// A moveView is a move of the target: a batch of tasks that landed together.
type moveView struct {
	ID     board.IntentID
	Commit string
	At     moment
	Tasks  []finishedView
}

// showLanding shows the queue, what is being checked, what landed, and what went back.
func showLanding(q *request) error {
	return q.showCached(func(ctx context.Context) (page, error) {
		p, err := q.landing(ctx)
		return page{Template: "landing", Title: "Landing", Current: "/landing", Follow: strings.Join(q.slugs, " "), Main: p}, err
	})
}

func (q *request) landing(ctx context.Context) (p landingPage, err error) {
	queued := 0
	for _, slug := range q.slugs {
		o, err := q.site.summary(ctx, slug)
		if err != nil {
			return p, err
		}
		if o.Project.Land == "" {
			p.Nowhere = append(p.Nowhere, slug)
			continue
		}
		v, n, err := q.landingOf(ctx, &o.Project)
		if err != nil {
			return p, err
		}
		queued += n
		p.Targets = append(p.Targets, v)
	}
	p.Words = plural(queued, "task is queued.", "tasks are queued.")
	switch len(p.Targets) {
	case 0:
		p.Words = "No project lands its work."
	case 1:
		p.Title, p.Words = p.Targets[0].Target, p.Targets[0].Words
	default:
		for i := range p.Targets {
			p.Targets[i].Several = true
		}
	}
	return p, nil
}

func (q *request) landingOf(ctx context.Context, project *board.Project) (v landingView, queued int, err error) {
	slug := project.Slug
	l, err := q.site.board.Line(ctx, slug)
	if err != nil {
		return v, 0, err
	}
	v = landingView{Project: slug, Target: line(project.Land, 100)}
	note := board.LandNote{}
	if l.Lander.Note != nil {
		note = *l.Lander.Note
	}
	if v.Lives = l.Lander.Until.After(l.Now); l.Lander.Holder != "" {
		v.Lander = capital(landerOf(l.Lander.Author())) + ", " + quoted(line(l.Lander.Holder, 80))
	}
	if v.Lives {
		v.Left = new(left(l.Lander.Until, l.Now))
	}
	if len(l.Queue) > 0 && note.Stopped != "" {
		v.Stopped, v.StoppedBy = quoted(line(note.Stopped, 1000)), landerOf(note.StoppedBy)
	}
	moves, err := q.site.board.Intents(ctx, board.IntentFilter{Project: slug, Target: project.Land, State: board.IntentLanded, Limit: countedMoves})
	if err != nil {
		return v, 0, err
	}
	v.Steps = q.landSteps(&l, note, v.Lives)
	q.addQueue(&v, &l, note)
	q.addMoves(&v, moves, l.Now)
	if err := q.addBack(ctx, &v, slug, note, l.Now); err != nil {
		return v, 0, err
	}
	if d := q.site.history.landWait(slug); d > 0 {
		v.Median = span(d)
	}
	v.Words = "Nothing has landed on " + v.Target + " yet."
	if len(moves) > 0 {
		v.Words = fmt.Sprintf("The last landing moved %s to %.10s.", v.Target, moves[0].New)
	}
	v.Words += " " + plural(len(l.Queue), "task is queued.", "tasks are queued.")
	if len(l.Queue) == board.MaxQueue {
		v.Words = strings.Replace(v.Words, " tasks are", " or more tasks are", 1)
	}
	return v, len(l.Queue), nil
}

// landSteps says what the lander does now.
func (q *request) landSteps(l *board.Line, note board.LandNote, lives bool) (list []landStep) {
	if lives && note.Doing != "" && note.Author == note.Leader {
		list = append(list, landStep{Shape: shape{"check", "ink", "Checking"}, Head: "The lander says: " + quoted(line(note.Doing, 240)), On: true})
	}
	if i := l.Open; i != nil {
		s := landStep{Shape: shape{"land", "ink", "Landing"}, Head: strings.TrimPrefix(landedWords(*i), "landed "), Text: fmt.Sprintf("%s moves from %.10s to %.10s", line(i.Target, 100), i.Old, i.New), On: lives, At: new(lasted(i.At, l.Now))}
		if i.Old == "" {
			s.Text = fmt.Sprintf("%s begins at %.10s", line(i.Target, 100), i.New)
		}
		if !lives {
			s.Text += "; whoever lands next finds out whether it did"
		}
		list = append(list, s)
	}
	return list
}

// addQueue lists the tasks of the queue, and what keeps them.
func (q *request) addQueue(v *landingView, l *board.Line, note board.LandNote) {
	why := map[board.ID]board.LandWait{}
	for _, w := range note.Waits {
		why[w.Task] = w
	}
	may := q.may(access.Return, v.Project)
	for i, x := range l.Queue {
		t := x.Task
		row := queuedView{
			Place: i + 1, Task: t.ID, TaskPath: taskPath(t.ID), Path: q.link(reviewPath(t.ID)), Title: line(t.Title, 140), Worker: line(x.Worker, 60),
			Tip: fmt.Sprintf("%.10s", x.Tip.Commit), May: may,
		}
		if at := q.site.history.acceptedAt(t.ID); !at.IsZero() {
			row.Since = new(lasted(at, l.Now))
		}
		if t.Priority != board.Normal {
			row.Priority = t.Priority.String()
		}
		var in []string
		for _, other := range x.Includes {
			if q.may(access.Get, other.Task.Project) {
				in = append(in, other.Task.String())
			}
		}
		if len(in) > 0 {
			row.Includes = "has work of " + strings.Join(in, ", ")
		}
		if l.Open != nil && slices.ContainsFunc(l.Open.Items, func(item board.Item) bool { return item.Task == t.ID }) {
			row.Moving, row.May = true, false
		}
		if w, ok := why[t.ID]; ok {
			row.Why, row.You = capital(told(w.Author, w.Why, 400)), w.ForPeople
			v.Waits = append(v.Waits, row)
			continue
		}
		if len(v.Queue) == maxQueued {
			v.More++
			continue
		}
		v.Queue = append(v.Queue, row)
	}
	slices.SortStableFunc(v.Waits, func(a, b queuedView) int { return cmp.Compare(toInt(!a.You), toInt(!b.You)) })
	v.Waits = v.Waits[:min(len(v.Waits), maxQueued)]
}

// addMoves lists the batches that landed, and counts those of the last day.
func (q *request) addMoves(v *landingView, moves []board.Intent, now time.Time) {
	for i, m := range moves {
		if now.Sub(m.EndedAt) < hours*time.Hour {
			v.Landed += len(m.Items)
			v.Batches++
		}
		if i >= maxMoves {
			continue
		}
		x := moveView{ID: m.ID, Commit: fmt.Sprintf("%.10s", m.New), At: q.site.clock(m.EndedAt, now)}
		for _, item := range m.Items[:min(len(m.Items), 20)] {
			x.Tasks = append(x.Tasks, finishedView{Task: item.Task, Path: taskPath(item.Task)})
		}
		v.Moves = append(v.Moves, x)
	}
	if v.Batches > 0 {
		v.Each = fmt.Sprintf("%.1f", float64(v.Landed)/float64(v.Batches))
	}
}

// addBack lists what went back and why, with the titles of all tasks that the page names.
func (q *request) addBack(ctx context.Context, v *landingView, slug string, note board.LandNote, now time.Time) error {
	back := q.site.history.sentBack(slug)
	for _, b := range back[:min(len(back), maxSentBack)] {
		x := backView{Task: b.Task, TaskPath: taskPath(b.Task), At: new(q.site.clock(b.At, now)), Files: fileList(b.Told.Files)}
		x.Shape, x.Text = backWords(b)
		v.Back = append(v.Back, x)
	}
	for _, r := range note.Reworks {
		v.Rework = append(v.Rework, backView{Shape: shape{"clash", "", "Conflict"}, Task: r.Task, TaskPath: taskPath(r.Task), Text: "Worked on again after a conflict, says " + landerOf(r.Author) + ". Other work on the same files waits for it.", Files: fileList(r.Files)})
	}
	for _, w := range note.Untold {
		v.Untold = append(v.Untold, backView{Shape: shape{"you", "you", "Not told"}, Task: w.Task, TaskPath: taskPath(w.Task), Text: capital(told(w.Author, w.Why, 400))})
	}
	v.Rework, v.Untold = v.Rework[:min(len(v.Rework), maxSentBack)], v.Untold[:min(len(v.Untold), maxSentBack)]
	f := board.TaskFilter{Projects: []string{slug}}
	for _, list := range [][]backView{v.Back, v.Rework, v.Untold} {
		for _, b := range list {
			f.IDs = append(f.IDs, b.Task)
		}
	}
	for _, m := range v.Moves {
		for _, t := range m.Tasks {
			f.IDs = append(f.IDs, t.Task)
		}
	}
	if len(f.IDs) == 0 {
		return nil
	}
	f.Limit = len(f.IDs)
	tasks, err := q.site.board.List(ctx, f)
	if err != nil {
		return err
	}
	titles := map[board.ID]string{}
	for _, t := range tasks {
		titles[t.ID] = line(t.Title, 120)
	}
	for _, list := range [][]backView{v.Back, v.Rework, v.Untold} {
		for i := range list {
			list[i].Title = titles[list[i].Task]
		}
	}
	for i := range v.Moves {
		for j := range v.Moves[i].Tasks {
			t := &v.Moves[i].Tasks[j]
			t.Title = titles[t.Task]
		}
	}
	return nil
}

// backWords says why a task went back, and what follows.
func backWords(b wentBack) (shape, string) {
	then := ""
	switch b.To {
	case board.Waiting:
		then = " A person is asked how to go on."
	case board.Failed:
		then = " It has used all of its attempts."
	}
	switch b.Told.Kind {
	case board.ReturnConflict:
		s := "Conflict with what was landed before."
		if !b.Told.Other.IsZero() {
			s = fmt.Sprintf("Conflict with %v “%s”.", b.Told.Other, line(b.Told.Title, 100))
		}
		g := shape{"clash", "", "Conflict"}
		if b.To == board.Waiting {
			g.Class = "you"
		}
		return g, s + " No failure is counted." + then
	case board.ReturnRed:
		return shape{"fail", "bad", "Red"}, "Red: " + line(b.Text, 300) + ". It counts as a failure." + then
	case board.ReturnClosed:
		return shape{"off", "", "Closed"}, "Its pull request was closed. " + line(b.Text, 300) + then
	}
	return shape{"off", "", "Returned"}, "Returned by " + line(b.Actor, 60) + ": “" + line(b.Text, 300) + "”" + then
}

// fileList names some files.
func fileList(files []string) string {
	var list []string
	for _, f := range files[:min(len(files), 4)] {
		list = append(list, line(f, 120))
	}
	if n := len(files) - len(list); n > 0 {
		list = append(list, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(list, ", ")
}
