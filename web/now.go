package web

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// nowPage is what now.html shows.
type nowPage struct {
	Say   string // the headline
	Quiet bool   // nothing needs anybody
	Crew  crew
	// Words say how the crew is.
	Words string
	Needs []need
	// Folded are needs beyond the first ones, and More is how many are not listed at all.
	Folded []need
	More   int
	Day    dayView
	// Paused are the projects whose hand-out is paused.
	Paused []pausedProject
	Empty  bool // there is no task
}

type pausedProject struct {
	Slug, By string
}

// A dayView is the statistics of the last 24 hours.
type dayView struct {
	Done, Failed   int
	DoneLabel      string
	Bars           []bar
	First, Middle  moment
	Queue          int
	Ready, Blocked int
	QueuePath      string // the line, as points of an SVG
	QueueLabel     string
	Cost, Each     string
	Since          *moment // if the numbers do not cover 24 hours
	Latest         []finishedView
	LatestAt       *moment
	MoreDone       int
}

type bar struct {
	Class               string
	X, Y, Width, Height string
	Radius              string
}

type finishedView struct {
	Task  board.ID
	Path  string
	Title string
}

// maxFirst is how many needs are shown before the rest is folded, so that the crew is in sight.
const maxFirst = 7

// showNow shows what needs people, and who works on what.
func showNow(q *request) error {
	return q.showCached(func(ctx context.Context) (page, error) {
		p, err := q.now(ctx)
		return page{Template: "now", Title: "Now", Current: "/", Follow: strings.Join(q.slugs, " "), Main: p}, err
	})
}

func (q *request) now(ctx context.Context) (p nowPage, err error) {
	needs, total, at, err := q.needs(ctx)
	if err != nil {
		return p, err
	}
	p.Needs, p.More, p.Quiet = needs, total-len(needs), total == 0
	if len(needs) > maxFirst+1 {
		p.Needs, p.Folded = needs[:maxFirst], needs[maxFirst:]
	}
	p.Say = plural(total, "thing needs you.", "things need you.")
	if total == 0 {
		p.Say = "Nothing needs you."
	}
	var pending, ready, blocked, tasks int
	var spent int64
	for _, slug := range q.slugs {
		o, err := q.site.summary(ctx, slug)
		if err != nil {
			return p, err
		}
		pending += o.Counts.Status[board.Pending]
		ready += o.Counts.Ready
		blocked += o.Counts.Blocked
		tasks += o.Counts.Total()
		spent += o.Spent.Cost
		at = o.Now
		if o.Project.PausedBy != "" {
			p.Paused = append(p.Paused, pausedProject{slug, visible.Line(o.Project.PausedBy)})
		}
	}
	p.Empty = tasks == 0
	d := q.site.stats.day(q.slugs, pending, at)
	if p.Crew, err = q.crew(ctx, d, at); err != nil {
		return p, err
	}
	p.Words = p.Crew.words()
	p.Day, err = q.dayView(ctx, d, at, spent)
	p.Day.Queue, p.Day.Ready, p.Day.Blocked = pending, ready, blocked
	return p, err
}

// words says how the crew is: "9 of 12 agents are working. 1 is waiting for you."
func (c crew) words() string {
	if c.Total == 0 {
		return "No agent is connected."
	}
	s := fmt.Sprintf("%d of %s working.", c.working, plural(c.Total, "agent is", "agents are"))
	if c.working == c.Total {
		s = "All " + plural(c.Total, "agent is", "agents are") + " working."
		if c.Total == 1 {
			s = "1 agent is working."
		}
	}
	var rest []string
	for _, x := range []struct {
		n    int
		what string
	}{{c.waiting, "waiting for you"}, {c.silent, "silent"}, {c.idle, "idle"}} {
		if x.n > 0 {
			rest = append(rest, plural(x.n, "is", "are")+" "+x.what)
		}
	}
	if len(rest) > 0 {
		s += " " + strings.Join(rest, ", ") + "."
	}
	return s
}

// chart is the height of the bars above the line, and where the line is.
const (
	chartHeight = 70
	chartLine   = 73
)

// dayView draws the last 24 hours.
func (q *request) dayView(ctx context.Context, d day, now time.Time, spent int64) (v dayView, err error) {
	v.Done, v.Failed = sum(d.Done), sum(d.Failed)
	most, at := 1, 0
	for i := range hours {
		if n := max(d.Done[i], 3*d.Failed[i]); n > most {
			most = n
		}
		if d.Done[i] > d.Done[at] {
			at = i
		}
	}
	v.DoneLabel = fmt.Sprintf("Finished per hour over the last 24 hours, %d in total, most in one hour %d. Failed attempts below the line, %d in total.", v.Done, d.Done[at], v.Failed)
	percent := func(i int) string { return fmt.Sprintf("%.2f%%", float64(i)*100/hours) }
	for i := range hours {
		if n := d.Done[i]; n > 0 {
			h := max(2, chartHeight*n/most)
			class := "bar"
			if i == hours-1 {
				class = "now"
			}
			v.Bars = append(v.Bars, bar{class, percent(i), fmt.Sprint(chartLine - 1 - h), "3.3%", fmt.Sprint(h), "1.5"})
		}
		if n := d.Failed[i]; n > 0 {
			v.Bars = append(v.Bars, bar{"x", percent(i), fmt.Sprint(chartLine + 2), "3.3%", fmt.Sprint(min(18, max(3, chartHeight*n/most))), "1"})
		}
	}
	v.First, v.Middle = q.site.clock(now.Add(-hours*time.Hour).Truncate(time.Hour), now), q.site.clock(now.Add(-hours/2*time.Hour).Truncate(time.Hour), now)
	v.First.Text, v.Middle.Text = lastWord(v.First.Text), lastWord(v.Middle.Text)
	v.QueuePath, v.QueueLabel = queueLine(d.Pending)
	if spent > 0 {
		v.Cost = cost(spent, true)
		if today := doneSince(d, now.UTC().Truncate(24*time.Hour), now); today > 0 && d.Complete {
			v.Each = cost(spent/int64(today), true)
		}
	}
	if !d.Complete {
		v.Since = new(q.site.clock(d.Since, now))
	}
	return v, q.latest(ctx, d, now, &v)
}

func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }

// doneSince is how many tasks were finished since the hour of a time.
func doneSince(d day, since, now time.Time) (n int) {
	for i := range hours {
		if hour := now.Truncate(time.Hour).Add(-time.Duration(hours-1-i) * time.Hour); !hour.Before(since) {
			n += d.Done[i]
		}
	}
	return n
}

// queueLine draws how many tasks were pending.
func queueLine(pending [hours]int) (path, label string) {
	most := max(1, slices.Max(pending[:]))
	var b strings.Builder
	for i, n := range pending {
		fmt.Fprintf(&b, "%.2f,%.1f ", float64(i)*100/(hours-1), 24-22*float64(n)/float64(most))
	}
	return strings.TrimSpace(b.String()), fmt.Sprintf("Tasks in the queue over the last 24 hours: between %d and %d, now %d.", slices.Min(pending[:]), slices.Max(pending[:]), pending[hours-1])
}

// maxLatest is how many finished tasks the fold names.
const maxLatest = 8

// latest names the tasks that were finished last.
func (q *request) latest(ctx context.Context, d day, now time.Time, v *dayView) error {
	slices.SortFunc(d.Latest, func(a, b finished) int { return b.At.Compare(a.At) })
	list := d.Latest[:min(len(d.Latest), maxLatest)]
	if len(list) == 0 {
		return nil
	}
	v.LatestAt = new(ago(list[0].At, now))
	v.MoreDone = v.Done - len(list)
	f := board.TaskFilter{Projects: q.slugs, Limit: maxLatest}
	for _, t := range list {
		f.IDs = append(f.IDs, t.Task)
	}
	ts, err := q.site.board.List(ctx, f)
	titles := map[board.ID]string{}
	for _, t := range ts {
		titles[t.ID] = t.Title
	}
	for _, t := range list {
		v.Latest = append(v.Latest, finishedView{t.Task, taskPath(t.Task), line(titles[t.Task], 120)})
	}
	return err
}
