package streamable

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

const (
	writeTimeout    = 10 * time.Second // how long a client may take to read an event
	commentInterval = 15 * time.Second // a stream without events gets a comment after this time
)

var (
	contentJSON   = []string{"application/json"}
	contentEvents = []string{"text/event-stream"}
	noCache       = []string{"no-cache"}
	noBuffering   = []string{"no"}
)

// A conn is an HTTP response that is an event stream.
type conn struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	onClose context.CancelFunc // called when nothing more will be written; may be nil
}

// newConn starts the event stream. The status can no longer be changed.
func newConn(w http.ResponseWriter) *conn {
	h := w.Header()
	h["Content-Type"] = contentEvents
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffering
	w.WriteHeader(http.StatusOK)
	return &conn{w: w, rc: http.NewResponseController(w)}
}

// write writes one or more complete events. It fails if the client does not
// read them in time.
func (c *conn) write(b []byte) error {
	_ = c.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer supports it
	if _, err := c.w.Write(b); err != nil {
		return err
	}
	return c.rc.Flush()
}

// end ends the response before its handler returns. It reports whether that is
// possible; nothing may be written afterwards.
func (c *conn) end() bool {
	if c.onClose != nil {
		c.onClose()
		return true
	}
	raw, rw, err := c.rc.Hijack()
	if err != nil {
		return false // not possible with HTTP/2
	}
	_ = raw.SetDeadline(time.Now().Add(writeTimeout))
	_, _ = rw.WriteString("0\r\n\r\n") // the last chunk
	_ = rw.Flush()
	_ = raw.Close()
	return true
}

// comment keeps an idle connection open.
var comment = []byte(":\n\n")

// appendEvent appends an event. data must not contain line breaks. An empty id
// is omitted.
func appendEvent(b []byte, id string, data []byte) []byte {
	if id != "" {
		b = append(append(append(b, "id: "...), id...), '\n')
	}
	b = append(append(b, "data: "...), data...)
	return append(b, '\n', '\n')
}

// appendRetry appends the time that the client should wait before it
// reconnects.
func appendRetry(b []byte, after time.Duration) []byte {
	b = append(b, "retry: "...)
	b = strconv.AppendInt(b, after.Milliseconds(), 10)
	return append(b, '\n')
}
