package web

import (
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

const (
	// keepAlive is how often a stream without events writes something, so that proxies keep it.
	keepAlive = 25 * time.Second
	// writeTimeout is how long a write to a stream may take.
	writeTimeout = 10 * time.Second
	// maxMissed is how many missed events a page is told; with more it loads again.
	maxMissed = 200
)

func sameSession(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// serveStream serves the events of an open page. It begins after the event that the page, or
// the stream before this one, had last.
func serveStream(q *request) error {
	if !q.site.running.Load() {
		http.Error(q.w, "there are no live updates", http.StatusServiceUnavailable)
		return nil
	}
	out := &streamWriter{w: q.w, c: http.NewResponseController(q.w)}
	st := q.site.hub.open(q.session, q.caller)
	defer q.site.hub.drop(st)
	h := q.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	q.w.WriteHeader(http.StatusOK)
	if !out.write([]byte("retry: 1000\n\n")) || !q.catchUp(out) {
		return nil
	}
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-q.Context().Done():
			return nil
		case <-q.site.hub.closed:
			return nil // the browser comes back, to this process or another
		case <-st.said:
			out.write([]byte("event: " + st.word + "\nid: " + string(q.site.hub.cursor()) + "\ndata: {}\n\n"))
			return nil
		case n := <-st.queue:
			if !out.write(n.text) {
				return nil
			}
		case <-tick.C:
			if !out.write([]byte(": still here\n\n")) {
				return nil
			}
		}
	}
}

// catchUp sends what happened since the browser had its last event. The stream is open
// already, so nothing is lost in between; the page may be told of an event twice.
func (q *request) catchUp(out *streamWriter) bool {
	after := board.Cursor(q.Header.Get("Last-Event-ID"))
	if after == "" {
		after = board.Cursor(q.URL.Query().Get("after"))
	}
	end := q.site.hub.cursor()
	if after == "" || after == end {
		return out.write([]byte("event: ready\nid: " + string(end) + "\ndata: {}\n\n"))
	}
	slugs := q.caller.Projects(access.Feed)
	es, err := q.site.board.Feed(q.Context(), slugs, after, maxMissed)
	if err != nil || len(es) == maxMissed {
		return out.write([]byte("event: reload\nid: " + string(end) + "\ndata: {}\n\nevent: ready\ndata: {}\n\n"))
	}
	for _, e := range es {
		if !out.write(newPageEvent(e).text) {
			return false
		}
	}
	return out.write([]byte("event: ready\ndata: {}\n\n"))
}

// A streamWriter writes events, each at once and within a time.
type streamWriter struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func (s *streamWriter) write(text []byte) bool {
	_ = s.c.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every server can
	if _, err := s.w.Write(text); err != nil {
		return false
	}
	return s.c.Flush() == nil
}
