package web

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// addLanes draws the lanes of workers, in an order that does not change, and the hand-overs.
func (q *request) addLanes(p *timelinePage, w window, tries []try, waiting map[string]board.QuestionID) {
	by := map[string][]try{}
	for _, t := range tries {
		name := cmp.Or(t.Worker, "unknown")
		by[name] = append(by[name], t)
	}
	var names []string
	makers := map[string]string{}
	for name, list := range by {
		client, bad := "", false
		for _, t := range list {
			client = cmp.Or(client, t.Client)
			bad = bad || t.How == failed || t.How == expired
		}
		if p.Trouble && !bad {
			continue
		}
		makers[name] = makerOf(client).Name
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(strings.Compare(makers[a], makers[b]), strings.Compare(a, b)) })
	p.MoreLanes = max(0, len(names)-maxLanes)
	names = names[:min(len(names), maxLanes)]
	row := map[string]int{}
	for i, name := range names {
		row[name] = i
		list := by[name]
		slices.SortFunc(list, func(a, b try) int { return a.Begin.Compare(b.Begin) })
		l := lane{Name: line(name, 40), Maker: makers[name], Ticks: p.Ticks, Now: p.Now, Label: line(name, 40) + ": " + plural(len(list), "attempt", "attempts")}
		if id, ok := waiting[name]; ok && w.live {
			l.Waits, l.WaitsPath = p.Now, q.link(questionPath(id))
		}
		p.Lanes = append(p.Lanes, l)
	}
	groups := make([][]barGroup, len(names))
	for short := narrow; ; short *= 2 { // until the page is small enough
		bars := 0
		for i, name := range names {
			groups[i] = groupTries(w, by[name], short)
			bars += len(groups[i])
		}
		if bars <= maxBars || short > 50 {
			break
		}
	}
	for i := range groups {
		p.Lanes[i].Bars = q.bars(w, groups[i])
	}
	p.Links = handOvers(w, tries, row)
}

// A barGroup is attempts that are drawn as one bar, between two places in percent.
type barGroup struct {
	tries    []try
	from, to float64
}

// groupTries groups the attempts of a worker, sorted by their beginning: neighbours of one
// kind that are shorter than that are drawn as one.
func groupTries(w window, list []try, short float64) (groups []barGroup) {
	for i, t := range list {
		from, to := w.at(t.Begin), w.at(w.now)
		if !t.End.IsZero() {
			to = w.at(t.End)
		}
		from, to = max(0, from), min(100, to)
		if to < from {
			continue
		}
		if n := len(groups); n > 0 {
			g := &groups[n-1]
			if to-from < short && g.to-g.from < 3*short && from-g.to < short/2 && g.tries[0].How == t.How && t.How != running && g.tries[0].Review == t.Review {
				g.tries, g.to = append(g.tries, t), max(g.to, to)
				continue
			}
		}
		groups = append(groups, barGroup{list[i : i+1 : i+1], from, to})
	}
	return groups
}

// bars draws groups of attempts. One of several attempts leads to a closer look.
func (q *request) bars(w window, groups []barGroup) (out []laneBar) {
	for _, g := range groups {
		t := g.tries[0]
		b := laneBar{Class: string(t.How), X: percent(g.from), Width: percent(max(.25, g.to-g.from)), Path: taskPath(t.Task), Title: q.tryWords(t, w)}
		if t.How == ended {
			b.Class = "off"
		}
		text := strconv.FormatInt(int64(t.Task.No), 10)
		if t.Review {
			text = "r " + text
			b.Path = q.link(reviewPath(t.Task))
		}
		if len(g.tries) > 1 {
			b.Title = plural(len(g.tries), "attempt", "attempts") + ", " + outcomeWord(t.How) + ": look closer"
			text = "×" + strconv.Itoa(len(g.tries))
			b.Path = q.closer(w, g.tries)
		}
		if g.to-g.from > 1.1*float64(len(text)) {
			b.Text = text
		}
		out = append(out, b)
	}
	return out
}

// closer is the address of the next zoom level around some attempts.
func (q *request) closer(w window, list []try) string {
	at := slices.IndexFunc(spans, func(s struct {
		value, word string
		span, tick  time.Duration
	},
	) bool {
		return s.value == w.value
	})
	s := spans[max(0, at-1)]
	mid := list[0].Begin.Add(list[len(list)-1].End.Sub(list[0].Begin) / 2)
	end := mid.Add(s.span / 2)
	v := url.Values{"span": {s.value}}
	if end.Before(w.now) {
		v.Set("end", strconv.FormatInt(end.Unix(), 10))
	}
	if q.URL.Query().Get("project") != "" {
		v.Set("project", q.project)
	}
	return "/timeline?" + v.Encode()
}

// outcomeWord says how an attempt ended.
func outcomeWord(o outcome) string {
	switch o {
	case running:
		return "running"
	case reached:
		return "done"
	case failed:
		return "failed"
	case expired:
		return "lease ran out"
	case parked:
		return "waited for an answer"
	}
	return "given back"
}

// tryWords describes an attempt.
func (q *request) tryWords(t try, w window) string {
	end := t.End
	if end.IsZero() {
		end = w.now
	}
	what := fmt.Sprintf("%v, attempt %d", t.Task, t.Attempt)
	if t.Review {
		what = fmt.Sprintf("review of %v", t.Task)
	}
	words := what + ": " + outcomeWord(t.How) + " after " + span(end.Sub(t.Begin))
	if t.How == running {
		words = what + ": running for " + span(end.Sub(t.Begin))
	}
	if t.Text != "" && (t.How == failed || t.How == ended) {
		words += ": " + line(t.Text, 120)
	}
	return words
}

// handOvers draws a line from the end of each attempt to the next one, if another worker made
// that.
func handOvers(w window, tries []try, row map[string]int) (list []handOver) {
	y := func(name string) string { return percent(100 * (float64(row[name]) + .5) / float64(max(1, len(row)))) }
	for i := 1; i < len(tries); i++ {
		a, b := tries[i-1], tries[i]
		if a.Task != b.Task || a.Review || b.Review || b.Attempt != a.Attempt+1 || a.Worker == b.Worker || a.End.IsZero() {
			continue
		}
		_, okA := row[a.Worker]
		_, okB := row[b.Worker]
		x1, x2 := w.at(a.End), w.at(b.Begin)
		if !okA || !okB || x2 < 0 || x1 < 0 || x2 > 100 || len(list) == 100 {
			continue
		}
		list = append(list, handOver{percent(x1), y(a.Worker), percent(x2), y(b.Worker)})
	}
	return list
}

// addLandings draws a lane for each target that work lands on.
func (q *request) addLandings(ctx context.Context, p *timelinePage, w window) error {
	for _, slug := range q.slugs {
		o, err := q.site.summary(ctx, slug)
		if err != nil {
			return err
		}
		if o.Project.Land == "" {
			continue
		}
		moves, err := q.site.board.Intents(ctx, board.IntentFilter{Project: slug, State: board.IntentLanded, Limit: maxLandings})
		if err != nil {
			return err
		}
		l := lane{Name: line(o.Project.Land, 40), Maker: "landings", Ticks: p.Ticks, Now: p.Now, Landing: true}
		if len(q.slugs) > 1 {
			l.Maker = slug + " landings"
		}
		for _, m := range moves {
			x := w.at(m.EndedAt)
			if x < 0 || x > 100 {
				continue
			}
			l.Landings = append(l.Landings, laneMark{percent(x), landedWords(m), "/landing?project=" + slug + "#m" + m.ID.String()})
		}
		l.Label = plural(len(l.Landings), "landing", "landings") + " on " + l.Name
		p.Targets = append(p.Targets, l)
	}
	return nil
}

// landedWords names what a move of a target landed.
func landedWords(m board.Intent) string {
	var ids []string
	for _, i := range m.Items {
		ids = append(ids, i.Task.String())
	}
	if len(ids) > 6 {
		ids = append(ids[:6], "and "+strconv.Itoa(len(m.Items)-6)+" more")
	}
	return "landed " + strings.Join(ids, ", ")
}
