package web

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

const (
	// activityEvery is how often the logs of running agents are read, while somebody looks.
	activityEvery = 5 * time.Second
	// pulseSpan is how much of the past a pulse shows, in pulseBars bars.
	pulseSpan = 10 * time.Minute
	pulseBars = 30
	// maxDoing bounds what is kept of a log's last entry.
	maxDoing = 300
)

// activity knows what running agents do: the last entries of their logs, and their cost. It
// reads of each log only what is new.
type activity struct {
	board access.Board

	mu   sync.Mutex
	runs map[board.Handle]*runActivity
}

// A runActivity is what an agent did at an attempt.
type runActivity struct {
	mu     sync.Mutex
	read   time.Time // when it was read last
	last   int64     // the number of the last part of the log
	marks  []time.Time
	entry  string
	at     time.Time
	run    board.Run
	hasRun bool
}

func newActivity(b access.Board) *activity {
	return &activity{board: b, runs: map[board.Handle]*runActivity{}}
}

// forget drops what is known of those who worked on a task.
func (a *activity) forget(task board.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.runs, func(h board.Handle, _ *runActivity) bool { return h.Task == task })
}

// reset drops everything.
func (a *activity) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.runs)
}

// A doing is a copy of what is known of an agent at work.
type doing struct {
	Entry string    // the last entry of its log
	At    time.Time // and when that was
	Run   board.Run
	Known bool // the program that runs the agent tells of it
	Marks []time.Time
}

const (
	// refreshTime is how long a page waits for the logs of running agents: it shows the rest
	// without, and is told of it by an event.
	refreshTime = 100 * time.Millisecond
	// refreshers is how many logs are read at a time.
	refreshers = 8
)

// refresh reads the logs of claims that were not read lately, within a time. Errors are as
// good as silence: a page shows the rest.
func (a *activity) refresh(ctx context.Context, claims []board.Handle) {
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	next := make(chan board.Handle)
	var wg sync.WaitGroup
	for range min(refreshers, len(claims)) {
		wg.Go(func() {
			for h := range next {
				a.look(ctx, h)
			}
		})
	}
	for _, h := range claims {
		if ctx.Err() != nil {
			break
		}
		next <- h
	}
	close(next)
	wg.Wait()
}

// of returns what the agent with a claim does. For many claims, refresh and known are quicker.
func (a *activity) of(ctx context.Context, h board.Handle) doing {
	a.look(ctx, h)
	return a.known(h)
}

// known returns what was read of the agent with a claim.
func (a *activity) known(h board.Handle) doing {
	a.mu.Lock()
	r := a.runs[h]
	a.mu.Unlock()
	if r == nil {
		return doing{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doing()
}

func (r *runActivity) doing() doing { return doing{r.entry, r.at, r.run, r.hasRun, r.marks} }

// look reads what the agent with a claim does, unless that was read lately, and reports
// whether there is something new.
func (a *activity) look(ctx context.Context, h board.Handle) (changed bool) {
	if h.IsReview() { // its log is not kept
		return false
	}
	a.mu.Lock()
	r := a.runs[h]
	if r == nil {
		if len(a.runs) > 4*board.MaxSummed {
			clear(a.runs) // of tasks that were long ago
		}
		r = &runActivity{}
		a.runs[h] = r
	}
	a.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.read) < activityEvery-time.Second {
		return false
	}
	changed, err := r.update(ctx, a.board, h)
	if err == nil {
		r.read = time.Now()
	}
	return changed
}

// update reads what is new of the run.
func (r *runActivity) update(ctx context.Context, b access.Board, h board.Handle) (changed bool, err error) {
	runs, err := b.Runs(ctx, h.Task)
	i := slices.IndexFunc(runs, func(run board.Run) bool { return run.Claim == h })
	if err != nil || i < 0 || runs[i].At.Equal(r.run.At) { // a log grows only together with its run
		return false, err
	}
	parts, err := b.Log(ctx, h.Task, h.Attempt, r.last)
	if err != nil {
		return false, err
	}
	r.run, r.hasRun = runs[i], true
	for _, p := range parts {
		r.last = max(r.last, p.No)
		r.take(p.Text)
	}
	return true, nil
}

// take adds a part of the log. An entry begins with a time; its further lines are indented.
func (r *runActivity) take(text string) {
	for l := range strings.SplitSeq(text, "\n") {
		stamp, rest, ok := strings.Cut(l, " ")
		at, err := time.Parse(time.RFC3339, stamp)
		if !ok || err != nil {
			continue
		}
		r.entry, r.at = cut(visible.Line(rest), maxDoing), at
		r.marks = append(r.marks, at)
	}
	if n := len(r.marks); n > 0 {
		old := 0
		for old < n && r.marks[n-1].Sub(r.marks[old]) > pulseSpan {
			old++
		}
		r.marks = append([]time.Time(nil), r.marks[old:]...) // readers have the old one
	}
}

// followActivity reads the logs of running agents, while somebody looks, and tells the pages.
func (s *Site) followActivity(ctx context.Context) {
	tick := time.NewTicker(activityEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		slugs := slices.Sorted(maps.Keys(s.hub.projects()))
		for _, slug := range slugs[:min(len(slugs), maxProjects)] {
			o, err := s.summary(ctx, slug)
			if err != nil {
				continue
			}
			for _, c := range o.Claims {
				if s.activity.look(ctx, c.Handle) {
					s.changed()
					s.hub.publish(&pageEvent{project: slug, text: newsText("", slug, c.Task.String(), "activity")})
				}
			}
		}
	}
}

// logMargin is in front of what an agent said itself, in each line of its log; other lines begin with words of ours.
const logMargin = "| "

// ownWords begin the lines of a log that are not the agent's, besides those about calls, with what is shown for them.
var ownWords = [][2]string{
	{"asks for permission to use ", "Asking"}, {"may use ", "Allowed"}, {"may not use ", "Refused"}, {"runs ", "Running"},
}

// words says what an agent does, from an entry of its log: a word, and on what.
func (d doing) words() (word, on string) {
	if d.Entry == "" {
		return "", ""
	}
	for _, own := range ownWords {
		if rest, ok := strings.CutPrefix(d.Entry, own[0]); ok {
			return own[1], rest
		}
	}
	rest, called := strings.CutPrefix(d.Entry, "calls ")
	if !called {
		return "Thinking", strings.TrimPrefix(d.Entry, logMargin)
	}
	tool, on, _ := strings.Cut(rest, ": ")
	switch low := strings.ToLower(tool); {
	case strings.Contains(low, "bash"), strings.Contains(low, "shell"), strings.Contains(low, "command"), strings.Contains(low, "exec"):
		return "Running", on
	case strings.Contains(low, "edit"), strings.Contains(low, "write"), strings.Contains(low, "patch"), strings.Contains(low, "change"):
		return "Editing", on
	case strings.Contains(low, "read"), strings.Contains(low, "view"):
		return "Reading", on
	case strings.Contains(low, "grep"), strings.Contains(low, "glob"), strings.Contains(low, "search"):
		return "Searching", on
	}
	return "Calling", strings.TrimSpace(tool + " " + on)
}

// bars returns how many entries the log had in each part of the last ten minutes.
func (d doing) bars(now time.Time) (b [pulseBars]int) {
	for _, at := range d.Marks {
		i := pulseBars - 1 - int(now.Sub(at)/(pulseSpan/pulseBars))
		if i >= 0 && i < pulseBars {
			b[i]++
		}
	}
	return b
}
