package streamable

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

const (
	writePatience = 10 * time.Second // how long a client may take to read an event
	quietFor      = 15 * time.Second // a stream without events gets a comment after this
)

var (
	contentJSON   = []string{"application/json"}
	contentEvents = []string{"text/event-stream"}
	noCache       = []string{"no-cache"}
	noBuffering   = []string{"no"}
)

// A conn is an HTTP response that is an event stream.
type conn struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	gone context.CancelFunc // called when nothing more will be written; nil if nobody waits for that
}

// newConn begins the event stream: the status can no longer be changed.
func newConn(w http.ResponseWriter) *conn {
	h := w.Header()
	h["Content-Type"] = contentEvents
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffering
	w.WriteHeader(http.StatusOK)
	return &conn{w: w, rc: http.NewResponseController(w)}
}

// write sends bytes that end with a whole event. A client that does not read them
// in time is given up.
func (c *conn) write(b []byte) error {
	_ = c.rc.SetWriteDeadline(time.Now().Add(writePatience)) // not every writer has one
	if _, err := c.w.Write(b); err != nil {
		return err
	}
	return c.rc.Flush()
}

// end ends the response before its handler returns. It reports whether that can
// be done; nothing may be written afterwards.
func (c *conn) end() bool {
	if c.gone != nil {
		c.gone()
		return true
	}
	raw, rw, err := c.rc.Hijack()
	if err != nil {
		return false // HTTP/2 has no way
	}
	_ = raw.SetDeadline(time.Now().Add(writePatience))
	_, _ = rw.WriteString("0\r\n\r\n") // the last chunk
	_ = rw.Flush()
	_ = raw.Close()
	return true
}

// comment keeps a connection open that has nothing to say.
var comment = []byte(":\n\n")

// appendEvent writes an event. The data has no line ends in it. An empty id is
// left out.
func appendEvent(b []byte, id string, data []byte) []byte {
	if id != "" {
		b = append(append(append(b, "id: "...), id...), '\n')
	}
	b = append(append(b, "data: "...), data...)
	return append(b, '\n', '\n')
}

// appendRetry tells the client how long to wait before it connects again.
func appendRetry(b []byte, after time.Duration) []byte {
	b = append(b, "retry: "...)
	b = strconv.AppendInt(b, after.Milliseconds(), 10)
	return append(b, '\n')
}
