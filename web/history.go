package web

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

const (
	// historyTime is how far back the timeline reaches.
	historyTime = 7 * 24 * time.Hour
	// maxTries, maxReturned and maxActs bound what is remembered: attempts in all, and tasks
	// that went back, and acts of people, of one project.
	maxTries, maxReturned, maxActs = 20_000, 50, 200
)

// An outcome is how an attempt ended.
type outcome string

const (
	running outcome = "run"
	reached outcome = "done" // reported done, or a verdict of a review
	failed  outcome = "fail"
	expired outcome = "lost" // the lease ran out
	parked  outcome = "rest" // it waits for an answer
	ended   outcome = "off"  // given back, released or cancelled
)

// A try is an attempt, or the review of one by an agent.
type try struct {
	Task    board.ID
	Attempt int
	Review  bool
	Worker  string
	Client  string
	Begin   time.Time
	End     time.Time // zero while it runs
	How     outcome
	Text    string

	at                time.Time // of the event that was added last
	claimSeq, textSeq int64     // the events that Client and Text are from
}

type tryKey struct {
	task    board.ID
	attempt int
	review  int64 // the event that began the review; 0 for an attempt
}

// A wentBack is a task that was taken out of the landing queue.
type wentBack struct {
	Task    board.ID
	Attempt int
	At      time.Time
	Actor   string
	Text    string
	Told    board.Returned
	To      board.Status

	seq int64
}

// An act is something that a person did.
type act struct {
	At     time.Time
	Actor  string
	Kind   board.Kind
	Task   board.ID
	Text   string
	Fields []string

	seq int64
}

// history is what happened lately, folded from the feed. It is in memory: each process folds
// for itself. Events may come in any order, and more than once.
type history struct {
	mu       sync.Mutex
	tries    map[tryKey]*try
	order    []tryKey
	reviews  map[board.ID]tryKey // the reviews that run
	returned map[string][]wentBack
	acts     map[string][]act
	accepted map[board.ID]time.Time
	waits    map[string][]time.Duration // from accepted to landed
	seen     map[seen]bool              // acts and returns that were counted
	erasures erasures                   // nil if the past was read
}

func newHistory() *history {
	h := &history{}
	h.reset()
	return h
}

// reset forgets everything.
func (h *history) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries, h.order, h.reviews = map[tryKey]*try{}, nil, map[board.ID]tryKey{}
	h.returned, h.acts = map[string][]wentBack{}, map[string][]act{}
	h.accepted, h.waits = map[board.ID]time.Time{}, map[string][]time.Duration{}
	h.seen, h.erasures = map[seen]bool{}, erasures{}
}

// pastRead tells that all further events are new, and returns the tasks of which something was erased meanwhile.
func (h *history) pastRead() []board.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	tasks := slices.Collect(maps.Keys(h.erasures))
	h.erasures = nil
	return tasks
}

// add folds an event.
func (h *history) add(e board.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := e.When()
	if time.Since(at) > historyTime+time.Hour {
		return
	}
	if e.Kind == board.EventErased {
		h.erasures.note(e)
		h.dropLocked(e.Task, e.Seq)
	}
	e = h.erasures.clean(e)
	h.addTryLocked(e, at)
	h.addReviewLocked(e, at)
	once := e.Kind == board.EventReturned || e.Kind == board.EventAccepted || e.Kind == board.EventLanding || e.Kind == board.EventLanded || e.Detail.By == board.ByPerson
	if !once {
		return
	}
	k := seen{e.Task, e.Seq}
	if h.seen[k] {
		return
	}
	if len(h.seen) > maxTries {
		clear(h.seen)
	}
	h.seen[k] = true
	h.addLandingLocked(e, at)
	if e.Detail.By == board.ByPerson {
		list := append(h.acts[e.Task.Project], act{at, e.Actor, e.Kind, e.Task, actText(e), e.Detail.Fields, e.Seq})
		slices.SortStableFunc(list, func(a, b act) int { return a.At.Compare(b.At) })
		h.acts[e.Task.Project] = list[max(0, len(list)-maxActs):]
	}
}

func actText(e board.Event) string { return cut(e.Detail.Text, 200) }

// dropLocked drops the content of a task's events before one. Which of it was erased is known only by reading it again.
func (h *history) dropLocked(id board.ID, before int64) {
	h.contentLocked(id, func(seq int64, _ time.Time, _ board.Kind) (board.Event, bool) {
		return board.Event{Detail: board.Detail{Text: board.Erased}}, seq < before
	})
}

// fill takes the content of an event that was dropped, as it was read again.
func (h *history) fill(e board.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.contentLocked(e.Task, func(seq int64, at time.Time, kind board.Kind) (board.Event, bool) {
		// A task that was archived and imported again has other events under these numbers.
		return e, seq == e.Seq && (at.IsZero() || at.Equal(e.When())) && (kind == "" || kind == e.Kind)
	})
}

// contentLocked replaces what is kept of the content of a task's events. of returns an event with the content for the
// number, the time and the kind of one, which are zero if they are not known; false leaves it as it is.
func (h *history) contentLocked(id board.ID, of func(seq int64, at time.Time, kind board.Kind) (board.Event, bool)) {
	for i := range h.acts[id.Project] {
		a := &h.acts[id.Project][i]
		if a.Task != id || a.Kind == board.EventErased || a.Text == "" {
			continue
		}
		if e, ok := of(a.seq, a.At, a.Kind); ok {
			a.Text = actText(e)
		}
	}
	for i := range h.returned[id.Project] {
		w := &h.returned[id.Project][i]
		if w.Task != id {
			continue
		}
		if e, ok := of(w.seq, w.At, board.EventReturned); ok {
			w.setContent(e)
		}
	}
	for k, t := range h.tries {
		if k.task != id {
			continue
		}
		if e, ok := of(t.claimSeq, t.Begin, board.EventClaimed); ok {
			t.Client = e.Detail.Where.Client
		}
		if t.Text == "" {
			continue
		}
		if e, ok := of(t.textSeq, t.End, ""); ok {
			t.Text = tryText(e)
		}
	}
}

func tryText(e board.Event) string { return cut(e.Detail.Text, 300) }

// setContent sets what people and agents wrote.
func (w *wentBack) setContent(e board.Event) {
	w.Text, w.Told = cut(e.Detail.Text, 400), board.Returned{}
	if e.Detail.Returned != nil {
		w.Told = *e.Detail.Returned
	}
}

// addTryLocked folds the beginning and the end of an attempt.
func (h *history) addTryLocked(e board.Event, at time.Time) {
	switch {
	case e.Detail.Attempt == 0:
		return
	case e.Kind == board.EventClaimed, e.Kind == board.EventRevived, e.From == board.InProgress && e.To != board.InProgress:
	default:
		return
	}
	t := h.tryLocked(tryKey{task: e.Task, attempt: e.Detail.Attempt})
	if e.Kind == board.EventClaimed {
		t.Begin, t.Worker, t.Client, t.claimSeq = at, e.Detail.Worker, e.Detail.Where.Client, e.Seq
	}
	if t.Worker == "" {
		t.Worker = e.Detail.Worker
	}
	if at.Before(t.at) {
		return
	}
	t.at = at
	switch e.Kind {
	case board.EventClaimed, board.EventRevived:
		t.End, t.How = time.Time{}, running
	default:
		t.End, t.How, t.Text, t.textSeq = at, outcomeOf(e), tryText(e), e.Seq
	}
}

// outcomeOf is how an event ended an attempt.
func outcomeOf(e board.Event) outcome {
	switch e.Kind {
	case board.EventDone, board.EventReview, board.EventLanding:
		return reached
	case board.EventFailed:
		return failed
	case board.EventExpired:
		return expired
	case board.EventParked:
		return parked
	}
	return ended
}

// addReviewLocked folds the review of a task by an agent.
func (h *history) addReviewLocked(e board.Event, at time.Time) {
	if e.Kind == board.EventReviewing {
		k := tryKey{task: e.Task, review: e.Seq}
		t := h.tryLocked(k)
		t.Review, t.Worker = true, e.Detail.Worker
		if t.Begin.IsZero() {
			t.Begin, t.How = at, running
			h.reviews[e.Task] = k
		}
		return
	}
	k, ok := h.reviews[e.Task]
	if !ok || e.Kind != board.EventReviewEnded && !(e.From == board.InReview && e.To != board.InReview) {
		return
	}
	t := h.tries[k]
	if t == nil || at.Before(t.Begin) {
		return
	}
	t.End, t.How = at, reached
	if e.Kind == board.EventReviewEnded {
		t.How = ended
		if e.Detail.Cause == board.CauseExpired {
			t.How = expired
		}
	}
	delete(h.reviews, e.Task)
}

// addLandingLocked folds what the landing queue did.
func (h *history) addLandingLocked(e board.Event, at time.Time) {
	slug := e.Task.Project
	switch e.Kind {
	case board.EventAccepted, board.EventLanding:
		if e.To == board.Landing {
			if len(h.accepted) > maxTries {
				clear(h.accepted)
			}
			h.accepted[e.Task] = at
		}
	case board.EventLanded:
		if since, ok := h.accepted[e.Task]; ok && !at.Before(since) {
			list := append(h.waits[slug], at.Sub(since))
			h.waits[slug] = list[max(0, len(list)-maxActs):]
		}
	case board.EventReturned:
		w := wentBack{Task: e.Task, Attempt: e.Detail.Attempt, At: at, Actor: e.Actor, To: e.To, seq: e.Seq}
		w.setContent(e)
		list := append(h.returned[slug], w)
		slices.SortStableFunc(list, func(a, b wentBack) int { return a.At.Compare(b.At) })
		h.returned[slug] = list[max(0, len(list)-maxReturned):]
	}
}

// tryLocked returns an attempt, which may be new. The oldest are forgotten.
func (h *history) tryLocked(k tryKey) *try {
	if t := h.tries[k]; t != nil {
		return t
	}
	if len(h.order) >= maxTries {
		for _, old := range h.order[:maxTries/4] {
			delete(h.tries, old)
		}
		h.order = slices.Clone(h.order[maxTries/4:])
	}
	t := &try{Task: k.task, Attempt: k.attempt}
	h.tries[k] = t
	h.order = append(h.order, k)
	return t
}

// between returns copies of the attempts of projects that ran in a span of time, by task and
// attempt.
func (h *history) between(slugs []string, from, to time.Time) (list []try) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.tries {
		if t.Begin.IsZero() || t.Begin.After(to) || !t.End.IsZero() && t.End.Before(from) || !slices.Contains(slugs, t.Task.Project) {
			continue
		}
		list = append(list, *t)
	}
	return list
}

// sentBack returns what went back in a project, newest first.
func (h *history) sentBack(slug string) []wentBack {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := slices.Clone(h.returned[slug])
	slices.Reverse(list)
	return list
}

// landWait returns the median time from accepted to landed of a project; zero if it is not
// known.
func (h *history) landWait(slug string) time.Duration {
	h.mu.Lock()
	list := slices.Clone(h.waits[slug])
	h.mu.Unlock()
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// acceptedAt returns when a task came into the landing queue; zero if that is not known.
func (h *history) acceptedAt(id board.ID) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.accepted[id]
}

// actsOf returns what people did in projects, newest first.
func (h *history) actsOf(slugs []string) (list []act) {
	h.mu.Lock()
	for _, slug := range slugs {
		list = append(list, h.acts[slug]...)
	}
	h.mu.Unlock()
	slices.SortStableFunc(list, func(a, b act) int { return b.At.Compare(a.At) })
	return list
}
