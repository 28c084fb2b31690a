package web

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/permission"
	"github.com/bossman-dev/bossman/internal/visible"
)

const (
	// maxRead bounds how many tasks are read for a column, and maxScan how many pending ones
	// are looked at for those that are blocked.
	maxRead, maxScan = 200, 500
	// maxMatches is how many open tasks a filtered board shows.
	maxMatches = 300
)

// boardPage is what board.html shows.
type boardPage struct {
	Words  string
	Filter filterView
	Groups []columnGroup
	// Cancelled says how many tasks are cancelled: they have no column. It is empty if none is.
	Cancelled, CancelledPath string
	// NewPath and PlanPath are empty if the caller may not create tasks.
	NewPath, PlanPath string
	Empty             bool // there is no task
	// Cut is set if more tasks match the filter than are shown.
	Cut int
}

// A columnGroup is columns that stand one below the other.
type columnGroup struct {
	Key     string
	Columns []column
}

// A column is the tasks in a state.
type column struct {
	Key   string
	Shape shape
	Count string
	You   int // how many of them need a person
	Tiles []tile
	// More is the word of the link to the list of all.
	More, MorePath string
	None           string // instead of tiles
	Note           string // below them
}

// A tile is a task in a column.
type tile struct {
	ID    board.ID
	Path  string
	Title string
	Tag   string // its priority, unless it is normal
	Mark  string // why it needs attention
	Bad   bool
	You   bool // it needs a person
	Maker *maker
	Who   string
	Fact  string
	Cost  string
	At    *moment

	rank int
	at   time.Time
}

// A columnKind is a column, and which tasks it has.
type columnKind struct {
	key    string
	group  string
	shape  shape
	states []board.State
	most   int // how many tiles it shows
	none   string
}

// columnKinds are the columns in their order. Those of a group stand one below the other:
// seven columns side by side are too many for a screen.
var columnKinds = []columnKind{
	{"ready", "ready", shape{"ready", "", "Ready"}, []board.State{board.StateReady, board.StateReserved, board.StateCoolingDown}, 12, "Nothing is ready. Agents that ask get nothing now."},
	{"progress", "progress", shape{"work", "", "In progress"}, []board.State{board.StateInProgress, board.StateWaiting}, 12, "Nobody works now."},
	{"review", "judge", shape{"eye", "", "Review"}, []board.State{board.StateReview}, 6, "Nothing waits for a review."},
	{"landing", "judge", shape{"land", "", "Landing"}, []board.State{board.StateLanding}, 6, "Nothing waits to land."},
	{"blocked", "wait", shape{"block", "", "Blocked"}, []board.State{board.StateBlocked}, 6, "Nothing is blocked."},
	{"held", "wait", shape{"held", "", "Held"}, []board.State{board.StateDraft}, 6, "Nothing is held. What agents find on the way shows up here until you start it."},
	{"failed", "end", shape{"fail", "", "Failed"}, []board.State{board.StateFailed}, 6, "Nothing has failed."},
	{"done", "end", shape{"done", "", "Done"}, []board.State{board.StateDone}, 6, "Nothing is done yet."},
}

// showBoard shows the tasks in columns by state, or the list of those in one state.
func showBoard(q *request) error {
	v := q.URL.Query()
	if id, err := board.ParseID(strings.TrimSpace(v.Get("q"))); err == nil && q.may(access.Get, id.Project) {
		if _, err := q.site.board.Get(q.Context(), id, 0); err == nil {
			return q.redirect(taskPath(id), "")
		}
	}
	if v.Get("state") != "" {
		return showTasks(q)
	}
	return q.showCached(func(ctx context.Context) (page, error) {
		p, err := q.boardPage(ctx)
		return page{Template: "board", Title: "Board", Current: "/board", Follow: strings.Join(q.slugs, " "), Main: p}, err
	})
}

func (q *request) boardPage(ctx context.Context) (p boardPage, err error) {
	f, view, err := q.filter(ctx)
	if err != nil {
		return p, err
	}
	p.Filter = view
	if len(q.caller.Projects(access.Create)) > 0 {
		p.NewPath = q.link("/board/new")
	}
	if len(q.caller.Projects(access.CreatePlan)) > 0 {
		p.PlanPath = q.link("/board/plan")
	}
	r := &boardRead{request: q, ctx: ctx, filter: f, counts: map[board.State]int{}, claims: map[board.ID]board.Claim{}, marks: map[board.ID]mark{}}
	if err := r.overview(); err != nil {
		return p, err
	}
	tasks := map[string][]board.Task{}
	if view.Set {
		p.Cut, err = r.matches(tasks)
	} else {
		err = r.columns(tasks)
	}
	if err != nil {
		return p, err
	}
	open, done := r.open, r.counts[board.StateDone]
	p.Empty = !view.Set && open+done+r.counts[board.StateCancelled] == 0
	p.Words = number(open) + " open, " + number(done) + " done"
	if n := r.counts[board.StateCancelled]; n > 0 {
		p.Cancelled = number(n) + " cancelled"
		p.CancelledPath = q.link("/board", "state", "cancelled", "q", view.Text, "skill", view.Skill, "worker", view.Worker)
	}
	for _, k := range columnKinds {
		c := r.column(k, tasks[k.key], view.Set)
		if n := len(p.Groups); n == 0 || p.Groups[n-1].Key != k.group {
			p.Groups = append(p.Groups, columnGroup{Key: k.group})
		}
		g := &p.Groups[len(p.Groups)-1]
		if len(c.Tiles) == 0 && (k.key == "landing" && !r.lands || k.key == "failed") && c.Count == "0" {
			continue
		}
		g.Columns = append(g.Columns, c)
	}
	return p, nil
}

// A mark is why a task needs a person.
type mark struct {
	word, fact string
	bad, you   bool
}

// A boardRead reads a board.
type boardRead struct {
	*request
	ctx    context.Context
	filter board.TaskFilter
	counts map[board.State]int
	open   int
	claims map[board.ID]board.Claim // by the task that they are on
	marks  map[board.ID]mark
	inbox  []*board.Inbox
	rests  []board.Task
	lands  bool
	now    time.Time
}

// overview reads counts, claims, and what needs people.
func (r *boardRead) overview() error {
	for _, slug := range r.slugs {
		o, err := r.site.summary(r.ctx, slug)
		if err != nil {
			return err
		}
		in, err := r.site.inbox(r.ctx, slug)
		if err != nil {
			return err
		}
		for _, s := range board.States {
			r.counts[s] += o.Counts.In(s)
		}
		for _, s := range board.Open {
			r.open += o.Counts.Status[s]
		}
		for _, c := range o.Claims {
			r.claims[c.Task] = c
		}
		r.rests = append(r.rests, o.Resting...)
		r.lands = r.lands || o.Project.Land != ""
		r.inbox, r.now = append(r.inbox, in), o.Now
		r.markInbox(in)
	}
	return nil
}

// markInbox marks the tasks that need people.
func (r *boardRead) markInbox(in *board.Inbox) {
	for i := range in.Proposed {
		t := &in.Proposed[i]
		m := mark{word: "proposal", fact: "by " + visible.Line(t.Outline.Created.Detail.Worker), you: true}
		if t.Outline.Drafted.Kind != "" {
			m = mark{word: "draft", fact: "by an agent", you: true}
		}
		r.marks[t.Task.ID] = m
	}
	for i := range in.Stuck {
		t := &in.Stuck[i]
		r.marks[t.Task.ID] = mark{word: "stuck", fact: t.Outline.DeadBlocker.String() + " " + deadWord(t.Outline.DeadBlockerStatus), bad: true, you: true}
	}
	for i := range in.Review {
		t := &in.Review[i]
		m := mark{word: "review", fact: "attempt " + number(t.Task.Attempt), you: true}
		if t.Outline.Reviewer != "" {
			m = mark{word: visible.Line(t.Outline.Reviewer) + " reviews it", fact: m.fact}
		}
		r.marks[t.Task.ID] = m
	}
	for i := range in.Failed {
		t := &in.Failed[i]
		r.marks[t.Task.ID] = mark{word: "failed " + times(t.Task.Failures), fact: line(t.Outline.Reason, 90), bad: true, you: true}
	}
	for _, w := range in.Landing {
		if !w.Task.IsZero() {
			m := mark{word: "cannot land", fact: told(w.Author, w.Why, 90), bad: true, you: true}
			if w.Untold {
				m.word = "its issue was not told"
			}
			r.marks[w.Task] = m
		}
	}
	for i := range in.Open {
		question := &in.Open[i].Question
		id := question.Claim.Task
		if id.IsZero() {
			continue
		}
		m := mark{word: "question", you: true}
		if _, ok := permission.In(question); ok {
			m.word = "permission"
		}
		r.marks[id] = m
	}
}

// columns reads the tasks of each column, as many as it may show.
func (r *boardRead) columns(into map[string][]board.Task) error {
	list := func(key string, f board.TaskFilter) error {
		f.Projects = r.slugs
		ts, err := r.site.board.List(r.ctx, f)
		into[key] = append(into[key], ts...)
		return err
	}
	for _, in := range r.inbox {
		for _, t := range in.Review {
			into["review"] = append(into["review"], t.Task)
		}
		for _, t := range in.Failed {
			into["failed"] = append(into["failed"], t.Task)
		}
		for _, t := range in.Stuck {
			into["blocked"] = append(into["blocked"], t.Task)
		}
	}
	into["ready"] = append(into["ready"], r.rests...)
	var held []board.ID
	for id := range r.claims {
		if held = append(held, id); len(held) == maxRead {
			break
		}
	}
	done := r.site.stats.day(r.slugs, 0, r.now).Latest
	slices.SortFunc(done, func(a, b finished) int { return b.At.Compare(a.At) })
	var ended []board.ID
	for _, d := range done[:min(len(done), 6)] {
		ended = append(ended, d.Task)
	}
	for _, x := range []struct {
		key  string
		any  bool
		f    board.TaskFilter
		fits board.State
	}{
		{"ready", r.counts[board.StateReady] > 0, board.TaskFilter{Ready: true, Limit: maxRead}, ""},
		{"progress", len(held) > 0, board.TaskFilter{IDs: held, Limit: maxRead}, ""},
		{"progress", r.counts[board.StateWaiting] > 0, board.TaskFilter{Statuses: []board.Status{board.Waiting}, Limit: maxRead}, ""},
		{"landing", r.counts[board.StateLanding] > 0, board.TaskFilter{Statuses: []board.Status{board.Landing}, Limit: maxRead}, ""},
		{"blocked", r.counts[board.StateBlocked] > 0, board.TaskFilter{Statuses: []board.Status{board.Pending}, Limit: maxScan}, board.StateBlocked},
		{"held", r.counts[board.StateDraft] > 0, board.TaskFilter{Hold: true, Limit: maxRead}, ""},
		{"done", len(ended) > 0, board.TaskFilter{IDs: ended, Limit: maxRead}, ""},
	} {
		if !x.any {
			continue
		}
		if err := list(x.key, x.f); err != nil {
			return err
		}
		if x.fits != "" {
			into[x.key] = slices.DeleteFunc(into[x.key], func(t board.Task) bool { return t.State() != x.fits })
		}
	}
	return nil
}

// matches reads the tasks that the filter selects, and returns how many open ones it shows if
// there are more.
func (r *boardRead) matches(into map[string][]board.Task) (cutAt int, err error) {
	f := r.filter
	f.Statuses, f.Limit = board.Open, maxMatches+1
	ts, err := r.site.board.List(r.ctx, f)
	if err != nil {
		return 0, err
	}
	if len(ts) > maxMatches {
		ts, cutAt = ts[:maxMatches], maxMatches
	}
	r.counts, r.open = map[board.State]int{}, len(ts)
	if f.Query != "" && f.Worker == "" { // a search covers the newest ones, and nobody holds one that is done
		for _, ended := range []board.Status{board.Done, board.Cancelled} {
			f.Statuses, f.Limit = []board.Status{ended}, board.Searched
			list, err := r.site.board.List(r.ctx, f)
			if err != nil {
				return 0, err
			}
			ts = append(ts, list...)
		}
	}
	for _, t := range ts {
		s := t.State()
		r.counts[s]++
		for _, k := range columnKinds {
			if slices.Contains(k.states, s) {
				into[k.key] = append(into[k.key], t)
			}
		}
	}
	return cutAt, nil
}

// column builds a column of the tasks that were read for it.
func (r *boardRead) column(k columnKind, ts []board.Task, filtered bool) column {
	c := column{Key: k.key, Shape: k.shape, None: k.none, MorePath: r.link("/board", "state", k.key, "q", r.filter.Query, "skill", r.filter.Skill, "worker", r.filter.Worker)}
	count := 0
	for _, s := range k.states {
		count += r.counts[s]
	}
	if filtered {
		c.None = "None matches."
	}
	slices.SortFunc(ts, func(a, b board.Task) int {
		return cmp.Or(cmp.Compare(a.ID.Project, b.ID.Project), cmp.Compare(a.ID.No, b.ID.No))
	})
	ts = slices.CompactFunc(ts, func(a, b board.Task) bool { return a.ID == b.ID })
	tiles := make([]tile, 0, len(ts))
	for i := range ts {
		tiles = append(tiles, r.tile(&ts[i], k.key))
	}
	slices.SortStableFunc(tiles, func(a, b tile) int {
		if k.key == "done" {
			return b.at.Compare(a.at)
		}
		return cmp.Or(cmp.Compare(toInt(b.You), toInt(a.You)), cmp.Compare(a.rank, b.rank))
	})
	for _, t := range tiles {
		c.You += toInt(t.You)
	}
	c.Tiles = tiles[:min(len(tiles), k.most)]
	for i := range c.Tiles {
		r.holder(&c.Tiles[i])
	}
	count = max(count, len(tiles))
	c.Count = number(count)
	switch rest := count - len(c.Tiles); {
	case rest <= 0:
	case len(c.Tiles) == 0:
		c.None, c.More = "", "List all "+number(count)
	case k.key == "done":
		c.More = "All " + number(count)
	default:
		c.More = number(rest) + " more"
	}
	return c
}

// tile builds the tile of a task.
func (r *boardRead) tile(t *board.Task, key string) tile {
	x := tile{ID: t.ID, Path: taskPath(t.ID), Title: line(t.Title, 200), rank: int(t.Priority), at: t.EndedAt}
	if t.Priority != board.Normal && !t.Status.Terminal() {
		x.Tag = t.Priority.String()
	}
	if m, ok := r.marks[t.ID]; ok && key != "done" {
		x.Mark, x.Fact, x.Bad, x.You = m.word, m.fact, m.bad, m.you
	}
	switch t.State() {
	case board.StateReady:
		if len(t.Skills) > 0 {
			x.Fact = "skill: " + line(strings.Join(t.Skills, ", "), 60)
		}
	case board.StateReserved:
		x.Fact = "reserved for " + visible.Line(t.ReservedFor.Name)
	case board.StateCoolingDown:
		x.Fact = "cooling down, " + span(t.NotBefore.Sub(r.now)) + " left"
	case board.StateWaiting:
		x.Fact = cmp.Or(x.Fact, "parked until it is answered")
	case board.StateBlocked:
		if x.Fact == "" {
			x.Fact = blockedWords(t)
		}
	case board.StateDone:
		x.At = new(ago(t.EndedAt, r.now))
	}
	return x
}

// holder adds who works on a tile's task.
func (r *boardRead) holder(x *tile) {
	c, ok := r.claims[x.ID]
	if !ok {
		return
	}
	d := r.site.activity.of(r.ctx, c.Handle)
	x.Maker, x.Who, x.Cost, x.Fact = new(makerOf(d.Run.Agent, c.Where.Client)), visible.Line(c.Worker.Name), cost(d.Run.Cost, d.Run.Priced), ""
	if quiet := silence(c, d, r.now); x.Mark == "" && quiet > 0 {
		x.Mark, x.Bad = "silent "+span(quiet), true
	}
}

// silence is how long the holder of a claim has neither called nor written to its log; 0 if
// that is nothing unusual.
func silence(c board.Claim, d doing, now time.Time) time.Duration {
	quiet := c.Silent(now)
	if !d.At.IsZero() {
		if quiet = min(quiet, now.Sub(d.At)); now.Sub(d.At) < 5*time.Minute {
			return 0
		}
	}
	return quiet
}

// blockedWords says what a blocked task waits for.
func blockedWords(t *board.Task) string {
	var parts []string
	if t.OpenBlockers > 0 {
		parts = append(parts, "waits for "+plural(t.OpenBlockers, "task", "tasks"))
	}
	if t.OpenChildren > 0 {
		parts = append(parts, strconv.Itoa(t.DoneChildren)+" of "+strconv.Itoa(t.DoneChildren+t.OpenChildren)+" parts done")
	}
	return strings.Join(parts, ", ")
}
