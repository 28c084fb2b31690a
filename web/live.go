package web

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/go-json-experiment/json"
)

const (
	// feedPage is how many events the follower reads at once.
	feedPage = 500
	// followEvery is how often it looks without a hint that something changed, and lookEvery
	// how often while pages are open: claims and most reports give no hint.
	followEvery = time.Second
	lookEvery   = 300 * time.Millisecond
	// sessionEvery is how often the sessions of open pages are checked.
	sessionEvery = 3 * time.Second
)

// follow reads the board's feed until ctx ends, and tells the open pages of each event.
func (s *Site) follow(ctx context.Context) {
	for again := false; s.followFeed(ctx, again); again = true {
		// Something may have been erased in the events that were missed.
		s.stats.reset()
		s.answers.reset()
		s.history.reset()
		s.activity.reset()
	}
}

// followFeed follows the feed from its end on, and reads what is before that for the statistics. It returns true if it
// missed events, which were archived. If it is called again for that, it makes all pages load again.
func (s *Site) followFeed(ctx context.Context, again bool) (missed bool) {
	var cursor board.Cursor
	for {
		end, err := s.board.FeedEnd(ctx)
		if err == nil {
			cursor = end
			break
		}
		if !s.rest(ctx, "reading the end of the feed failed", err) {
			return false
		}
	}
	s.hub.setCursor(cursor)
	if again {
		s.changed()
		s.hub.reload()
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	loaded := make(chan struct{})
	wg.Go(func() {
		for {
			err := s.stats.load(ctx, s.board, func(e board.Event) {
				s.answers.add(e)
				s.history.add(e)
			})
			s.changed()
			if err == nil {
				close(loaded)
				return
			}
			if !s.rest(ctx, "reading past events failed", err) {
				return
			}
		}
	})
	asked := newAsked()
	for ctx.Err() == nil {
		changes := s.board.Changes()
		es, err := s.board.Feed(ctx, nil, cursor, feedPage)
		switch {
		case errors.Is(err, board.ErrCursorTooOld):
			return true
		case err != nil:
			if !s.rest(ctx, "reading the feed failed", err) {
				return false
			}
			continue
		}
		var erased []board.ID
		for _, e := range es {
			s.stats.add(e)
			s.answers.add(e)
			s.history.add(e)
			if e.Kind == board.EventErased && !slices.Contains(erased, e.Task) {
				erased = append(erased, e.Task)
			}
		}
		select {
		case <-loaded:
			s.stats.pastRead()
			erased, loaded = append(erased, s.history.pastRead()...), nil
		default:
		}
		for _, id := range erased {
			s.activity.forget(id)
			s.readAgain(ctx, id)
		}
		if len(es) > 0 {
			cursor = es[len(es)-1].Cursor
			s.changed()
			for _, e := range es {
				s.hub.publish(newPageEvent(e))
			}
		}
		if len(es) < feedPage {
			s.publishAsked(ctx, asked)
			s.awaitEvents(ctx, changes)
		}
	}
	return false
}

// readAgain reads the events of a task of which something was erased: what was kept of their content was dropped.
func (s *Site) readAgain(ctx context.Context, id board.ID) {
	for after := int64(0); ; {
		es, err := s.board.Events(ctx, id, after, feedPage)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, board.ErrNotFound) {
				s.log.Warn("reading the events of a task again failed", "task", id, "err", err)
			}
			return // it is shown as erased
		}
		for _, e := range es {
			after = e.Seq
			s.stats.fill(e)
			s.history.fill(e)
		}
		if len(es) == 0 { // a server may return fewer than a page
			s.changed()
			return
		}
	}
}

// awaitEvents waits until it is time to look at the feed again.
func (s *Site) awaitEvents(ctx context.Context, changes <-chan struct{}) {
	d := followEvery
	if s.hub.count() > 0 {
		d = lookEvery
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-changes:
	case <-s.hub.look:
	}
}

// waitBehind is how long a page waits for an event that its replica has not heard of.
const waitBehind = 500 * time.Millisecond

// awaitCursor waits until the follower has seen an event that a page was told of, by this process or by another one
// that was quicker. What is not seen within waitBehind is long past, or nonsense.
func (s *Site) awaitCursor(ctx context.Context, c board.Cursor) {
	ctx, cancel := context.WithTimeout(ctx, waitBehind)
	defer cancel()
	for {
		seen, moved := s.hub.saw(c)
		if seen {
			return
		}
		s.hub.lookNow()
		select {
		case <-ctx.Done():
			return
		case <-moved:
		}
	}
}

// rest waits after an error, and reports whether to go on.
func (s *Site) rest(ctx context.Context, what string, err error) bool {
	if ctx.Err() == nil {
		s.log.Warn(what, "err", err)
		board.WaitFor(ctx, nil, 2*followEvery)
	}
	return ctx.Err() == nil
}

// asked remembers the open questions that belong to no task: they make no events.
type asked struct {
	open map[board.QuestionID]string
	at   time.Time
}

func newAsked() *asked { return &asked{} }

// publishAsked tells the open pages of questions without a task that were asked or answered.
func (s *Site) publishAsked(ctx context.Context, a *asked) {
	if time.Since(a.at) < followEvery/2 || s.hub.count() == 0 {
		return
	}
	a.at = time.Now()
	qs, err := s.board.Questions(ctx, board.QuestionFilter{State: board.QuestionOpen, Limit: feedPage})
	if err != nil {
		return
	}
	open := map[board.QuestionID]string{}
	for _, q := range qs {
		if q.Claim.IsZero() {
			open[q.ID] = q.Project
		}
	}
	tell := map[string]bool{}
	if a.open != nil {
		for id, project := range open {
			tell[project] = tell[project] || a.open[id] == ""
		}
		for id, project := range a.open {
			tell[project] = tell[project] || open[id] == ""
		}
	}
	a.open = open
	for project, news := range tell {
		if news {
			s.changed()
			s.hub.publish(&pageEvent{project: project, text: newsText("", project, "", string(board.EventAsked))})
		}
	}
}

// A pageEvent is what a page is told of an event: enough to decide whether it shows something of
// it. The text is made once, for all pages.
type pageEvent struct {
	project string
	cursor  board.Cursor
	text    []byte
}

func newPageEvent(e board.Event) *pageEvent {
	return &pageEvent{project: e.Task.Project, cursor: e.Cursor, text: newsText(e.Cursor, e.Task.Project, e.Task.String(), string(e.Kind))}
}

// newsText is an event in the form of a stream.
func newsText(cursor board.Cursor, project, task, kind string) []byte {
	data, _ := json.Marshal(struct {
		Seq     board.Cursor `json:"seq,omitzero"`
		Project string       `json:"project"`
		Task    string       `json:"task,omitzero"`
		Kind    string       `json:"kind"`
	}{cursor, project, task, kind})
	text := "data: " + string(data) + "\n\n"
	if cursor != "" {
		text = "id: " + string(cursor) + "\n" + text
	}
	return []byte(text)
}

// A hub has the streams of the open pages.
type hub struct {
	mu      sync.Mutex
	at      board.Cursor
	past    [pastCursors]board.Cursor // the last values of at, the oldest at next
	next    int
	moved   chan struct{} // closed when at changes; nil if nobody waits for it
	streams map[*stream]struct{}
	look    chan struct{} // receives when the follower is to look at once
	closed  chan struct{}
	once    sync.Once
}

func newHub() *hub {
	return &hub{streams: map[*stream]struct{}{}, look: make(chan struct{}, 1), closed: make(chan struct{})}
}

// pastCursors is how many events are remembered by their cursors.
const pastCursors = 1024

// queueSize is how many events a page may be behind.
const queueSize = 32

// A stream is that of one open page.
type stream struct {
	session string
	queue   chan *pageEvent
	// said is closed, once, to end the stream with a word: reload or signedout.
	said chan struct{}

	// Guarded by the hub's mutex.
	projects map[string]bool
	word     string
}

func (h *hub) close() { h.once.Do(func() { close(h.closed) }) }

// cursor returns a position in the feed such that all events after it are still to come.
func (h *hub) cursor() board.Cursor {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *hub) setCursor(c board.Cursor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moveLocked(c)
}

func (h *hub) moveLocked(c board.Cursor) {
	h.at, h.past[h.next] = c, c
	h.next = (h.next + 1) % len(h.past)
	if h.moved != nil {
		close(h.moved)
		h.moved = nil
	}
}

// saw reports whether a cursor was that of one of the last events, and returns a channel that is closed at the next one.
func (h *hub) saw(c board.Cursor) (bool, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.moved == nil {
		h.moved = make(chan struct{})
	}
	return slices.Contains(h.past[:], c), h.moved
}

// lookNow makes the follower look at once.
func (h *hub) lookNow() {
	select {
	case h.look <- struct{}{}:
	default: // it has not looked since the last time
	}
}

func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams)
}

// open adds a stream for a caller.
func (h *hub) open(session string, c *access.Caller) *stream {
	st := &stream{session: session, queue: make(chan *pageEvent, queueSize), said: make(chan struct{}), projects: projectsOf(c)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) == 0 {
		h.lookNow()
	}
	h.streams[st] = struct{}{}
	return st
}

func projectsOf(c *access.Caller) map[string]bool {
	m := map[string]bool{}
	for _, slug := range c.Projects(access.Feed) {
		m[slug] = true
	}
	return m
}

func (h *hub) drop(st *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, st)
}

// publish hands an event to the streams of those who may see its project. One that is too
// far behind is told to reload.
func (h *hub) publish(n *pageEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.cursor != "" {
		h.moveLocked(n.cursor)
	}
	for st := range h.streams {
		if !st.projects[n.project] {
			continue
		}
		select {
		case st.queue <- n:
		default:
			h.endLocked(st, "reload")
		}
	}
}

// endLocked ends a stream with a word.
func (h *hub) endLocked(st *stream, word string) {
	if st.word == "" {
		st.word = word
		close(st.said)
	}
	delete(h.streams, st)
}

// reload makes all pages load again.
func (h *hub) reload() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for st := range h.streams {
		h.endLocked(st, "reload")
	}
}

// signOut ends the streams of a session.
func (h *hub) signOut(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for st := range h.streams {
		if sameSession(st.session, session) {
			h.endLocked(st, "signedout")
		}
	}
}

// sessions lists the sessions of open pages, each once.
func (h *hub) sessions() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := map[string]bool{}
	for st := range h.streams {
		m[st.session] = true
	}
	return m
}

// projects lists the projects that somebody looks at.
func (h *hub) projects() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := map[string]bool{}
	for st := range h.streams {
		for slug := range st.projects {
			m[slug] = true
		}
	}
	return m
}

// checkSessions looks every few seconds whether the sessions of open pages still hold, and
// what they may see. A session is looked at once, however many pages it has.
func (s *Site) checkSessions(ctx context.Context) {
	tick := time.NewTicker(sessionEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for session := range s.hub.sessions() {
			c, err := s.door.Caller(ctx, session)
			switch {
			case errors.Is(err, auth.ErrUnauthenticated):
				s.hub.signOut(session)
			case err == nil:
				s.hub.setProjects(session, projectsOf(c))
			}
		}
	}
}

func (h *hub) setProjects(session string, projects map[string]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for st := range h.streams {
		if sameSession(st.session, session) {
			st.projects = projects
		}
	}
}
