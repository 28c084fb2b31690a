package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/permission"
	"github.com/bossman-dev/bossman/internal/visible"
)

const (
	// idleFor is how long an agent without work is still listed.
	idleFor = time.Hour
	// maxCrew is how many agents a page lists.
	maxCrew = 60
)

// A crewRow is an agent, and what it does.
type crewRow struct {
	Key, Name string
	Maker     maker
	Task      board.ID
	TaskPath  string
	Title     string // of the task, or why it has none
	Calm      bool   // there is no task
	State     shape
	Doing     string
	Pulse     pulse
	Lease     *leaseBar
	Note      string // instead of a lease
	NoteAt    *moment
	Seen      *moment
	Cost      string
	// Well is set if nothing about it needs attention: a phone folds those.
	Well bool

	kind crewKind
	cost int64
}

// A crewKind is what an agent is counted as.
type crewKind int

const (
	working crewKind = iota
	waiting
	silent
	idle
)

// A leaseBar is how much is left of a lease.
type leaseBar struct {
	Percent  int
	Label    string
	Low      bool
	Left     moment
	Until    string // for the script
	Secs     int    // the whole lease
	Expiring bool
}

// A pulse is the calls of an agent in the last ten minutes, as a path.
type pulse struct {
	Label, Path string
}

// A crew is all agents of a page.
type crew struct {
	Rows  []crewRow
	More  int
	Total int
	Well  int // rows that a phone folds

	working, waiting, silent, idle int
}

// crew lists the agents of the page's projects in a fixed order, so that rows never jump: by
// maker, then by name.
func (q *request) crew(ctx context.Context, d day, now time.Time) (crew, error) {
	var c crew
	var claims []board.Handle
	for _, slug := range q.slugs {
		o, err := q.site.summary(ctx, slug)
		if err != nil {
			return c, err
		}
		for _, claim := range o.Claims {
			claims = append(claims, claim.Handle)
		}
	}
	q.site.activity.refresh(ctx, claims)
	held := map[string]bool{}
	for _, slug := range q.slugs {
		o, err := q.site.summary(ctx, slug)
		if err != nil {
			return c, err
		}
		asked := map[board.Handle]*board.Question{}
		for i := range o.Open {
			if waits(&o.Open[i]) {
				asked[o.Open[i].Claim] = &o.Open[i]
			}
		}
		for _, claim := range o.Claims {
			held[claim.Worker.Name] = true
			c.Rows = append(c.Rows, q.site.claimRow(claim, o, asked[claim.Handle], now))
		}
		for _, claim := range o.Reviews {
			held[claim.Worker.Name] = true
			c.Rows = append(c.Rows, q.site.claimRow(claim, o, nil, now))
		}
	}
	workers, _, err := q.site.board.Workers(ctx, idleFor)
	if err != nil {
		return c, err
	}
	for _, w := range workers {
		if last, known := d.Workers[w.Name]; known && !held[w.Name] && w.Owner != "" {
			c.Rows = append(c.Rows, q.site.idleRow(w, last.Client, now))
		}
	}
	slices.SortStableFunc(c.Rows, func(a, b crewRow) int {
		return cmp.Or(cmp.Compare(a.Maker.Name, b.Maker.Name), cmp.Compare(a.Name, b.Name))
	})
	for _, r := range c.Rows {
		c.Well += toInt(r.Well)
		switch r.kind {
		case working:
			c.working++
		case waiting:
			c.waiting++
		case silent:
			c.silent++
		case idle:
			c.idle++
		}
	}
	c.Total = len(c.Rows)
	if c.Total > maxCrew {
		// Those that need attention are not cut off.
		slices.SortStableFunc(c.Rows, func(a, b crewRow) int { return cmp.Compare(toInt(a.Well), toInt(b.Well)) })
		c.More, c.Rows = c.Total-maxCrew, c.Rows[:maxCrew]
	}
	return c, nil
}

// toInt is 1 for true.
func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// claimRow is the row of an agent that holds a task or a review.
func (s *Site) claimRow(c board.Claim, o *overview, asked *board.Question, now time.Time) crewRow {
	d := s.activity.known(c.Handle)
	r := crewRow{
		Key: "w-" + keyOf(c.Worker.Name), Name: visible.Line(c.Worker.Name), Maker: makerOf(d.Run.Agent, c.Where.Client),
		Task: c.Task, TaskPath: taskPath(c.Task), Title: line(o.Titles[c.Task], 160), Pulse: newPulse(d, now), Cost: cost(d.Run.Cost, d.Run.Priced),
		cost: d.Run.Cost,
	}
	r.Lease = newLease(c, now)
	if !c.LastCall.IsZero() {
		r.Seen = new(ago(latest(c.LastCall, d.At), now))
	}
	verb, on := d.words()
	quiet := c.Silent(now)
	if !d.At.IsZero() {
		quiet = min(quiet, now.Sub(d.At)) // its log shows that it works
		if now.Sub(d.At) < 5*time.Minute {
			quiet = 0
		}
	}
	switch {
	case asked != nil:
		r.kind, r.State = waiting, shape{"ask", "you", "Waiting for you"}
		if _, ok := permission.In(asked); ok {
			r.State.ID = "lock"
		}
		r.Doing = "asked " + agoText(now.Sub(asked.AskedAt))
	case c.Killed, c.Left:
		r.kind, r.State, r.Doing = silent, shape{"quiet", "bad", "Gone"}, "its program has ended"
	case quiet > 0:
		r.kind, r.State = silent, shape{"quiet", "bad", "Silent " + span(quiet)}
		if on != "" {
			r.Doing = "last: " + on
		}
	case c.IsReview():
		r.State, r.Doing, r.Well = shape{"eye", "", "Reviewing"}, on, true
	default:
		r.State, r.Doing, r.Well = shape{"work", "", cmp.Or(verb, "Working")}, cmp.Or(on, line(c.Where.Branch, 80)), true
	}
	return r
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// idleRow is the row of an agent without work.
func (s *Site) idleRow(w board.Worker, client string, now time.Time) crewRow {
	r := crewRow{
		Key: "w-" + keyOf(w.Name), Name: visible.Line(w.Name), Maker: makerOf(client), Title: "No task", Calm: true,
		State: shape{"idle", "", "Idle"}, Doing: "no tokens spent", Pulse: newPulse(doing{}, now), kind: idle, Well: true, Note: "since",
	}
	r.NoteAt = new(s.clock(w.LastSeen, now))
	if w.StoppedBy != "" {
		r.State, r.Doing = shape{"held", "", "Stopped"}, "by "+visible.Line(w.StoppedBy)
	}
	return r
}

// keyOf is a name that can be an id in a page.
func keyOf(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '_'
	}, strings.ToLower(name))
}

// newLease shows how much of a lease is left.
func newLease(c board.Claim, now time.Time) *leaseBar {
	l := &leaseBar{Until: stamp(c.LeaseUntil), Secs: int(c.Lease.Seconds()), Left: left(c.LeaseUntil, now)}
	rest := max(0, c.LeaseUntil.Sub(now))
	if c.Lease > 0 {
		l.Percent = min(100, int(100*rest/c.Lease))
	}
	l.Low = l.Percent < 20
	l.Label = fmt.Sprintf("%s of %s of lease left", span(rest), span(c.Lease))
	return l
}

// newPulse draws the calls of the last ten minutes.
func newPulse(d doing, now time.Time) pulse {
	var path strings.Builder
	calls, most := 0, 0
	bars := d.bars(now)
	for _, n := range bars {
		calls += n
		most = max(most, n)
	}
	for i, n := range bars {
		if n > 0 {
			fmt.Fprintf(&path, "M%d 15v-%d", 1+4*i, 2+11*n/most)
		}
	}
	return pulse{Label: plural(calls, "call", "calls") + " in the last 10 minutes", Path: path.String()}
}
