package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

const (
	// maxLanes is how many workers a page of the timeline has, and maxBars how many bars.
	maxLanes, maxBars = 40, 350
	// maxLandings is how many landings of a project are read.
	maxLandings = 200
	// narrow is the width below which bars of one kind are drawn as one, in percent.
	narrow = .7
)

// timelinePage is what timeline.html shows.
type timelinePage struct {
	Words          string
	Spans          []choice
	Earlier, Later string
	Trouble        bool
	End            string // the end of the span, if it is not now
	Project        string
	Ticks          []tick
	Now            string // where now is, empty if it is not shown
	NowAt          moment
	Lanes          []lane // of workers
	Targets        []lane // of landings
	MoreLanes      int
	Links          []handOver
	Lost           []lostTime
	Since          *moment // if the past before is not known
}

// A tick is a time on the axis.
type tick struct {
	X, Text, At string
	Anchor      string
	Line        bool
}

// A lane is what one worker did, or what landed on one target.
type lane struct {
	Name, Maker string
	Label       string
	Bars        []laneBar
	Landings    []laneMark
	Waits       string // where the worker waits for you now
	WaitsPath   string
	Ticks       []tick
	Now         string
	Landing     bool
}

// A laneBar is an attempt, or several that are too short to be seen.
type laneBar struct {
	Class    string
	X, Width string
	Path     string
	Title    string
	Text     string
}

type laneMark struct {
	X, Title, Path string
}

// A handOver is a line from the end of an attempt to the next one, of another worker.
type handOver struct {
	X1, Y1, X2, Y2 string
}

// A lostTime is a row about time that led to nothing.
type lostTime struct {
	Text     string
	Task     board.ID
	TaskPath string
	From, To moment
	Lost     string

	lost time.Duration
}

// spans are the zoom levels.
var spans = []struct {
	value, word string
	span, tick  time.Duration
}{
	{"1h", "1 hour", time.Hour, 10 * time.Minute},
	{"6h", "6 hours", 6 * time.Hour, time.Hour},
	{"24h", "24 hours", 24 * time.Hour, 3 * time.Hour},
	{"7d", "7 days", 7 * 24 * time.Hour, 24 * time.Hour},
}

// A window is the span of time that a timeline shows.
type window struct {
	from, to, now time.Time
	tick          time.Duration
	value         string // its zoom level
	live          bool   // it ends now
}

// at is where a time is, in percent.
func (w window) at(t time.Time) float64 {
	return 100 * float64(t.Sub(w.from)) / float64(w.to.Sub(w.from))
}

func percent(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) + "%" }

// showTimeline shows who worked on what, and how it ended.
func showTimeline(q *request) error {
	return q.showCached(func(ctx context.Context) (page, error) {
		p, err := q.timeline(ctx)
		return page{Template: "timeline", Title: "Timeline", Current: "/timeline", Follow: strings.Join(q.slugs, " "), Main: p}, err
	})
}

// window reads the span of time from the address.
func (q *request) window(now time.Time) window {
	v := q.URL.Query()
	w := window{now: now, live: true}
	s := spans[1]
	for _, x := range spans {
		if x.value == v.Get("span") {
			s = x
		}
	}
	w.tick, w.value = s.tick, s.value
	end := now
	if n, err := strconv.ParseInt(v.Get("end"), 10, 40); err == nil {
		if t := time.Unix(n, 0); t.Before(now) && t.After(now.Add(-historyTime)) {
			end, w.live = t, false
		}
	}
	w.from, w.to = end.Add(-s.span), end
	if w.live { // what runs is seen to run
		w.to = end.Add(s.span / 16)
	}
	return w
}

func (q *request) timeline(ctx context.Context) (p timelinePage, err error) {
	_, now, err := q.site.board.Workers(ctx, 0)
	if err != nil {
		return p, err
	}
	w := q.window(now)
	v := q.URL.Query()
	p.Trouble, p.Project = v.Get("show") == "trouble", v.Get("project")
	trouble := ""
	if p.Trouble {
		trouble = "trouble"
	}
	for _, s := range spans {
		p.Spans = append(p.Spans, choice{s.value, s.word, s.value == w.value})
	}
	link := func(end time.Time) string {
		at := ""
		if end.Before(now) {
			at = strconv.FormatInt(end.Unix(), 10)
		}
		return q.link("/timeline", "span", w.value, "end", at, "show", trouble)
	}
	span := w.to.Sub(w.from)
	if w.live {
		span = span * 16 / 17
	}
	end := w.to
	if w.live {
		end = now
	} else {
		p.End = strconv.FormatInt(end.Unix(), 10)
		p.Later = link(end.Add(span / 2))
	}
	if end.Add(-span / 2).After(now.Add(-historyTime)) {
		p.Earlier = link(end.Add(-span / 2))
	}
	p.Ticks = q.ticks(w)
	if w.live {
		p.Now, p.NowAt = percent(w.at(now)), q.site.clock(now, now)
	}
	if d := q.site.stats.day(nil, 0, now); !d.Complete && w.from.Before(d.Since) {
		p.Since = new(q.site.clock(d.Since, now))
	}
	tries, waiting, err := q.triesIn(ctx, w)
	if err != nil {
		return p, err
	}
	q.addLanes(&p, w, tries, waiting)
	if err := q.addLandings(ctx, &p, w); err != nil {
		return p, err
	}
	p.Words = tally(tries, q.site.clock(w.from, now).Text)
	p.Lost = q.lost(tries, w)
	return p, nil
}

// triesIn returns the attempts in a window, and the questions that workers wait for.
func (q *request) triesIn(ctx context.Context, w window) ([]try, map[string]board.QuestionID, error) {
	tries := q.site.history.between(q.slugs, w.from, w.to)
	known := map[board.Handle]bool{}
	for _, t := range tries {
		known[board.Handle{Task: t.Task, Attempt: t.Attempt}] = true
	}
	waiting := map[string]board.QuestionID{}
	for _, slug := range q.slugs {
		o, err := q.site.summary(ctx, slug)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range slices.Concat(o.Claims, o.Reviews) { // of which the feed is too short to tell
			k := board.Handle{Task: c.Task, Attempt: c.Attempt}
			if !known[k] && !c.GrantedAt.After(w.to) && !c.IsReview() {
				tries = append(tries, try{Task: c.Task, Attempt: c.Attempt, Worker: c.Worker.Name, Client: c.Where.Client, Begin: c.GrantedAt, How: running})
			}
		}
		in, err := q.site.inbox(ctx, slug)
		if err != nil {
			return nil, nil, err
		}
		for i := range in.Open {
			if x := &in.Open[i].Question; waits(x) {
				waiting[x.Asker.Name] = x.ID
			}
		}
	}
	slices.SortFunc(tries, func(a, b try) int {
		return cmp.Or(strings.Compare(a.Task.Project, b.Task.Project), cmp.Compare(a.Task.No, b.Task.No), cmp.Compare(toInt(a.Review), toInt(b.Review)), cmp.Compare(a.Attempt, b.Attempt), a.Begin.Compare(b.Begin))
	})
	return tries, waiting, nil
}

// ticks are the times on the axis.
func (q *request) ticks(w window) (list []tick) {
	zone := w.from.In(q.site.o.Zone)
	_, offset := zone.Zone()
	shift := time.Duration(offset) * time.Second
	for t := w.from.Add(shift).Truncate(w.tick).Add(-shift); !t.After(w.to); t = t.Add(w.tick) {
		x := w.at(t)
		if x < 0 || x > 99 {
			continue
		}
		k := tick{X: percent(x), Text: t.In(q.site.o.Zone).Format("15:04"), At: stamp(t), Anchor: "middle", Line: true}
		if w.tick >= 24*time.Hour {
			k.Text, k.At = t.In(q.site.o.Zone).Format("Mon 2"), ""
		}
		if x < 3 {
			k.Anchor = "start"
		}
		if w.live && w.at(w.now)-x < 6 {
			k.Text = "" // now stands there
		}
		list = append(list, k)
	}
	return list
}

// tally counts attempts by their outcome.
func tally(tries []try, since string) string {
	count, agents := map[outcome]int{}, map[string]bool{}
	for _, t := range tries {
		count[t.How]++
		agents[t.Worker] = true
	}
	if len(tries) == 0 {
		return "Nobody worked in this time."
	}
	var parts []string
	for _, x := range []struct {
		o    outcome
		word string
	}{{reached, "done"}, {failed, "failed"}, {expired, "fell silent"}, {parked, "waited for an answer"}, {ended, "given back"}, {running, "running"}} {
		if n := count[x.o]; n > 0 {
			parts = append(parts, number(n)+" "+x.word)
		}
	}
	return fmt.Sprintf("%s by %s since %s: %s.", plural(len(tries), "attempt", "attempts"), plural(len(agents), "agent", "agents"), since, strings.Join(parts, ", "))
}

// maxLost is how many rows say where time was lost.
const maxLost = 8

// lost lists where time was lost: tasks that failed, and leases that ran out.
func (q *request) lost(tries []try, w window) (list []lostTime) {
	for i := 0; i < len(tries); {
		j := i
		var bad []try
		for ; j < len(tries) && tries[j].Task == tries[i].Task; j++ {
			if t := tries[j]; !t.End.IsZero() && (t.How == failed || t.How == expired) {
				bad = append(bad, t)
			}
		}
		rest := tries[i:j]
		i = j
		if len(bad) == 0 {
			continue
		}
		first, last := bad[0], bad[len(bad)-1]
		x := lostTime{Task: first.Task, TaskPath: taskPath(first.Task), From: q.site.clock(first.Begin, w.now), To: q.site.clock(last.End, w.now)}
		for _, t := range bad {
			x.lost += t.End.Sub(t.Begin)
		}
		x.Lost = spanLong(x.lost)
		switch {
		case len(bad) > 1:
			x.Text = "failed " + times(len(bad))
		case first.How == expired:
			x.Text = line(first.Worker, 40) + " fell silent"
			for _, t := range rest {
				if t.Attempt == first.Attempt+1 && !t.Review {
					x.Text += "; " + line(t.Worker, 40) + " went on"
				}
			}
		default:
			x.Text = line(first.Worker, 40) + " failed: " + line(first.Text, 120)
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b lostTime) int { return cmp.Compare(b.lost, a.lost) })
	return list[:min(len(list), maxLost)]
}

// spanLong is a duration in hours and minutes.
func spanLong(d time.Duration) string {
	if d < time.Hour {
		return span(d)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
