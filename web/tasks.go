package web

import (
	"context"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

const (
	// listPage is how many tasks a page of a list has.
	listPage = 100
	// maxPasses bounds how many pages of the board are read to fill one, where the board
	// cannot select what is wanted.
	maxPasses = 2
)

// tasksPage is what tasks.html shows: the tasks in a state, oldest first.
type tasksPage struct {
	Word, Words string
	Filter      filterView
	Rows        []taskRow
	BoardPath   string
	FirstPath   string // of the first page, unless this is it
	NextPath    string
	// Searched is set if the page is not full although there may be more.
	Searched bool
}

type taskRow struct {
	ID       board.ID
	Path     string
	Title    string
	State    shape
	Priority string
	Fact     string
	Who      string
	At       moment
}

// A listState is what a list may be of. fits are the states that the board cannot select by a
// filter.
type listState struct {
	key, word string
	filter    board.TaskFilter
	fits      []board.State
}

// listStates are those of the columns, and some more.
var listStates = []listState{
	{"open", "Open", board.TaskFilter{Statuses: board.Open}, nil},
	{"ready", "Ready", board.TaskFilter{Ready: true}, nil},
	{"resting", "Reserved or cooling down", board.TaskFilter{Resting: true}, nil},
	{"progress", "In progress", board.TaskFilter{Statuses: []board.Status{board.InProgress, board.Waiting}}, nil},
	{"review", "In review", board.TaskFilter{Statuses: []board.Status{board.InReview}}, nil},
	{"landing", "Landing", board.TaskFilter{Statuses: []board.Status{board.Landing}}, nil},
	{"blocked", "Blocked", board.TaskFilter{Statuses: []board.Status{board.Pending}}, []board.State{board.StateBlocked}},
	{"held", "Held", board.TaskFilter{Hold: true}, nil},
	{"failed", "Failed", board.TaskFilter{Statuses: []board.Status{board.Failed}}, nil},
	{"done", "Done", board.TaskFilter{Statuses: []board.Status{board.Done}}, nil},
	{"cancelled", "Cancelled", board.TaskFilter{Statuses: []board.Status{board.Cancelled}}, nil},
	{"all", "All", board.TaskFilter{}, nil},
}

// showTasks shows the list of the tasks in a state.
func showTasks(q *request) error {
	return q.showCached(func(ctx context.Context) (page, error) {
		p, err := q.tasksPage(ctx)
		return page{Template: "tasks", Title: p.Word, Current: "/board", Follow: strings.Join(q.slugs, " "), Main: p}, err
	})
}

func (q *request) tasksPage(ctx context.Context) (p tasksPage, err error) {
	f, view, err := q.filter(ctx)
	if err != nil {
		return p, err
	}
	i := slices.IndexFunc(listStates, func(s listState) bool { return s.key == view.State })
	if i < 0 {
		return p, board.ErrNotFound
	}
	state := listStates[i]
	for _, s := range listStates {
		view.States = append(view.States, choice{s.key, s.word, s.key == state.key})
	}
	p.Word, p.Filter, p.BoardPath = state.word, view, q.link("/board", "q", view.Text, "skill", view.Skill, "worker", view.Worker)
	f.Statuses, f.Ready, f.Hold, f.Resting = state.filter.Statuses, state.filter.Ready, state.filter.Hold, state.filter.Resting
	path := func(after string) string {
		return q.link("/board", "state", state.key, "q", view.Text, "skill", view.Skill, "worker", view.Worker, "after", after)
	}
	if after := q.URL.Query().Get("after"); after != "" {
		if f.After, err = board.ParseID(after); err != nil || !slices.Contains(q.slugs, f.After.Project) {
			return p, board.ErrNotFound
		}
		p.FirstPath = path("")
	}
	list, next, err := q.listTasks(ctx, f, state.fits)
	if err != nil {
		return p, err
	}
	if !next.IsZero() {
		p.NextPath = path(next.String())
		p.Searched = len(list) < listPage
	}
	if p.Rows, err = q.taskRows(ctx, list); err != nil {
		return p, err
	}
	p.Words = "Oldest first."
	if p.FirstPath == "" && p.NextPath == "" {
		p.Words = plural(len(list), "task", "tasks") + ", oldest first."
	}
	return p, nil
}

// listTasks lists a page of tasks, and the last task before the next one; zero if there is
// none.
func (q *request) listTasks(ctx context.Context, f board.TaskFilter, fits []board.State) (list []board.Task, next board.ID, err error) {
	f.Limit = listPage + 1
	if fits != nil {
		f.Limit = 1000
	}
	for range maxPasses {
		ts, err := q.site.board.List(ctx, f)
		if err != nil {
			return nil, next, err
		}
		for _, t := range ts {
			if fits != nil && !slices.Contains(fits, t.State()) {
				continue
			}
			if len(list) == listPage {
				return list, list[listPage-1].ID, nil
			}
			list = append(list, t)
		}
		if len(ts) < f.Limit {
			return list, board.ID{}, nil
		}
		f.After = ts[len(ts)-1].ID
	}
	return list, f.After, nil
}

// taskRows builds the rows of a list, with who holds the tasks.
func (q *request) taskRows(ctx context.Context, list []board.Task) (rows []taskRow, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	held := map[string][]board.ID{}
	for _, t := range list {
		if t.Status == board.InProgress {
			held[t.ID.Project] = append(held[t.ID.Project], t.ID)
		}
	}
	holders := map[board.ID]string{}
	for slug, ids := range held {
		cs, err := q.site.board.Claims(ctx, board.ClaimFilter{Project: slug, Tasks: ids})
		if err != nil {
			return nil, err
		}
		for _, c := range cs {
			holders[c.Task] = visible.Line(c.Worker.Name)
		}
	}
	_, now, err := q.site.board.Workers(ctx, 0)
	for i := range list {
		t := &list[i]
		r := taskRow{ID: t.ID, Path: taskPath(t.ID), Title: line(t.Title, 200), State: stateShape(t.State()), Who: holders[t.ID], At: ago(t.CreatedAt, now)}
		if t.State() == board.StateWaiting || t.State() == board.StateReview {
			r.State.Class = "you"
		}
		if !t.EndedAt.IsZero() {
			r.At = ago(t.EndedAt, now)
		}
		if t.Priority != board.Normal {
			r.Priority = t.Priority.String()
		}
		if t.State() == board.StateBlocked {
			r.Fact = blockedWords(t)
		}
		rows = append(rows, r)
	}
	return rows, err
}
