package web

import (
	"context"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

const (
	// hours is how many hours the statistics cover.
	hours = 24
	// maxPast bounds how many events are read at the start to fill them.
	maxPast = 100_000
	// maxRemembered bounds the tasks and workers that are remembered for a project.
	maxRemembered = 500
)

// stats are numbers of the last 24 hours, by project, folded from the feed. They are in
// memory: each process counts for itself.
type stats struct {
	mu       sync.Mutex
	projects map[string]*projectStats
	complete bool // the past was read to its end
	since    time.Time
	seen     map[seen]bool // events that were counted while the past is being read
	erasures erasures      // nil if the past was read
}

type seen struct {
	task board.ID
	seq  int64
}

// projectStats has an hour in each element; hour says which one, counted from 1970.
type projectStats struct {
	hour    [hours]int64
	done    [hours]int
	failed  [hours]int
	pending [hours]int // net change of the pending tasks
	latest  []finished
	workers map[string]lastWork // who was given work
}

// lastWork is when a worker was given work last, and the program that it said it runs in.
type lastWork struct {
	At     time.Time
	Client string

	from seen // the event
}

// finished is a task that was landed or done.
type finished struct {
	Task board.ID
	At   time.Time
}

func newStats() *stats {
	s := &stats{}
	s.reset()
	return s
}

// reset forgets everything.
func (s *stats) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.projects, s.complete, s.since, s.seen, s.erasures = map[string]*projectStats{}, false, time.Time{}, map[seen]bool{}, erasures{}
}

// pastRead tells that all further events are new.
func (s *stats) pastRead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erasures = nil
}

// load reads the past, at most maxPast events. If the feed is longer, the statistics begin
// now, since only its end would count. also is called with each event that was read.
func (s *stats) load(ctx context.Context, b access.Board, also func(board.Event)) error {
	_, now, err := b.Workers(ctx, 0)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.since = now
	s.mu.Unlock()
	var past []board.Event
	var cursor board.Cursor
	for n := 0; n < maxPast; n += feedPage {
		es, err := b.Feed(ctx, nil, cursor, feedPage)
		if err != nil {
			return err
		}
		for _, e := range es {
			also(e)
			if now.Sub(e.When()) < hours*time.Hour {
				e.Detail = board.Detail{Worker: e.Detail.Worker, Where: board.Where{Client: e.Detail.Where.Client}, At: e.Detail.At} // without its texts
				past = append(past, e)
			}
		}
		if len(es) < feedPage {
			s.mu.Lock()
			for _, e := range past {
				s.addLocked(e)
			}
			s.complete, s.seen = true, nil
			s.mu.Unlock()
			return nil
		}
		cursor = es[len(es)-1].Cursor
	}
	return nil
}

// add counts an event.
func (s *stats) add(e board.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(e)
}

func (s *stats) addLocked(e board.Event) {
	if e.Kind == board.EventErased {
		s.erasures.note(e)
		s.clientsLocked(e.Task, func(seq int64) (string, bool) { return "", seq < e.Seq })
	}
	e = s.erasures.clean(e)
	if s.seen != nil {
		k := seen{e.Task, e.Seq}
		if s.seen[k] {
			return
		}
		if len(s.seen) < maxPast {
			s.seen[k] = true
		}
	}
	p := s.projects[e.Task.Project]
	if p == nil {
		p = &projectStats{workers: map[string]lastWork{}}
		s.projects[e.Task.Project] = p
	}
	p.add(e)
}

// fill takes the content of an event that was dropped, as it was read again.
func (s *stats) fill(e board.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clientsLocked(e.Task, func(seq int64) (string, bool) {
		return e.Detail.Where.Client, seq == e.Seq && e.Kind == board.EventClaimed
	})
}

// clientsLocked replaces the programs that workers said they run in at a task. of returns the one for the number of an
// event; false leaves it as it is.
func (s *stats) clientsLocked(id board.ID, of func(seq int64) (string, bool)) {
	p := s.projects[id.Project]
	if p == nil {
		return
	}
	for name, w := range p.workers {
		if w.from.task != id {
			continue
		}
		if client, ok := of(w.from.seq); ok {
			w.Client = client
			p.workers[name] = w
		}
	}
}

func (p *projectStats) add(e board.Event) {
	at := e.When()
	hour := at.Unix() / 3600
	i := int(hour % hours)
	if hour < p.hour[i] {
		return // older than what is kept
	}
	if p.hour[i] != hour {
		p.hour[i], p.done[i], p.failed[i], p.pending[i] = hour, 0, 0, 0
	}
	if e.From != e.To {
		if e.To == board.Pending {
			p.pending[i]++
		}
		if e.From == board.Pending {
			p.pending[i]--
		}
		if e.To == board.Done {
			p.done[i]++
			p.latest = append(p.latest, finished{e.Task, at})
			if len(p.latest) > 10 {
				p.latest = p.latest[1:]
			}
		}
	}
	if e.Kind == board.EventFailed || e.Kind == board.EventExpired {
		p.failed[i]++
	}
	if e.Kind == board.EventClaimed && e.Detail.Worker != "" {
		if len(p.workers) >= maxRemembered {
			clear(p.workers)
		}
		p.workers[e.Detail.Worker] = lastWork{at, e.Detail.Where.Client, seen{e.Task, e.Seq}}
	}
}

// A day is the last 24 hours of some projects, the oldest hour first.
type day struct {
	Done, Failed [hours]int
	// Pending is how many tasks were pending at the end of each hour.
	Pending  [hours]int
	Latest   []finished // newest first
	Workers  map[string]lastWork
	Complete bool
	Since    time.Time
}

// day adds up the last 24 hours of projects, whose pending tasks are now so many.
func (s *stats) day(slugs []string, pending int, now time.Time) day {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := day{Complete: s.complete, Since: s.since, Workers: map[string]lastWork{}}
	var net [hours]int
	last := now.Unix() / 3600
	for _, slug := range slugs {
		p := s.projects[slug]
		if p == nil {
			continue
		}
		for i, hour := range p.hour {
			back := last - hour
			if back < 0 || back >= hours {
				continue
			}
			at := hours - 1 - int(back)
			d.Done[at] += p.done[i]
			d.Failed[at] += p.failed[i]
			net[at] += p.pending[i]
		}
		for i := len(p.latest) - 1; i >= 0; i-- {
			if now.Sub(p.latest[i].At) < hours*time.Hour {
				d.Latest = append(d.Latest, p.latest[i])
			}
		}
		for name, w := range p.workers {
			if w.At.After(d.Workers[name].At) {
				d.Workers[name] = w
			}
		}
	}
	for i := hours - 1; i >= 0; i-- {
		d.Pending[i] = max(pending, 0)
		pending -= net[i]
	}
	return d
}

func sum(list [hours]int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}
