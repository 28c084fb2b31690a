package streamable

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// Reasons for refusing a request temporarily, besides limits.
const (
	endingText = "busy: this server is ending; try again"
	storeText  = "busy: sessions cannot be read or written now; try again"
)

// retryAfterSecs is when a client that was refused may retry.
const retryAfterSecs = "1"

// busy refuses a request temporarily. text says why.
func (h *Handler) busy(w http.ResponseWriter, status int, id jsonrpc.ID, text string) {
	w.Header().Set("Retry-After", retryAfterSecs)
	if text == storeText || text == endingText {
		sendAway(w)
	}
	h.refuseMessage(w, status, id, text)
}

// sendAway closes the connection after the response: this server cannot serve anybody now, and
// the next connection may reach another one.
func sendAway(w http.ResponseWriter) { w.Header().Set("Connection", "close") }

func (h *Handler) notAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	h.refuse(w, http.StatusMethodNotAllowed, "method not allowed")
}

// limitDrain bounds how long net/http drains an unread body before it sends the
// response.
func limitDrain(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyGrace)) // not every writer supports it
}

// refuse refuses a request that is not a valid message.
func (h *Handler) refuse(w http.ResponseWriter, status int, text string) {
	h.refuseMessage(w, status, jsonrpc.ID{}, text)
}

// refuseMessage refuses the message with an id, or with the zero ID one whose id
// is not known.
func (h *Handler) refuseMessage(w http.ResponseWriter, status int, id jsonrpc.ID, text string) {
	limitDrain(w)
	h.server.Rejected(errors.New(text))
	h.writeError(w, status, id, mcp.LatestRevision, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s", text))
}

// refuseUnread refuses a request whose body was not read. If it is a short
// message, the response has its id.
func (h *Handler) refuseUnread(w http.ResponseWriter, r *http.Request, status int, text string) {
	h.refuseMessage(w, status, h.peekID(w, r), text)
}

// writeError writes an error response in the form of a revision.
func (h *Handler) writeError(w http.ResponseWriter, status int, id jsonrpc.ID, revision mcp.Revision, err *jsonrpc.Error) {
	writeJSON(w, status, jsonrpc.One(&jsonrpc.Message{ID: id, Error: err, NoID: transport.RulesOf(revision).ErrorWithoutID}))
}

// maxPooledBuffer is the size of the largest buffer that is reused.
const maxPooledBuffer = 256 << 10

// shortResponse is the size up to which net/http computes the Content-Length
// itself, at less cost.
const shortResponse = 1 << 10

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// longResult is the size of a result from which it is not copied into a buffer
// with the rest of the response.
const longResult = 4 << 10

// writeJSON writes a response, whose results must be those of Handle.
func writeJSON(w http.ResponseWriter, status int, p jsonrpc.Packet) error {
	buf := buffers.Get().(*[]byte)
	b := (*buf)[:0]
	var rest []byte
	if m := p.Message; m != nil && len(m.Result) > longResult {
		b = append(b, `{"jsonrpc":"2.0","id":`...)
		b = append(b, m.ID.String()...)
		b = append(b, `,"result":`...)
		rest = append(m.Result, '}')
	} else {
		b = p.Append(b)
	}
	h := w.Header()
	h["Content-Type"] = contentJSON
	if size := len(b) + len(rest); size > shortResponse {
		h["Content-Length"] = []string{strconv.Itoa(size)}
	}
	w.WriteHeader(status)
	_, err := w.Write(b)
	if err == nil && rest != nil {
		_, err = w.Write(rest)
	}
	if cap(b) <= maxPooledBuffer {
		*buf = b
		buffers.Put(buf)
	}
	return err
}

// statusOf returns the HTTP status for an error code.
func statusOf(code int) int {
	switch code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidRequest, mcp.CodeHeaderMismatch, mcp.CodeMissingCapability, mcp.CodeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func response(id jsonrpc.ID, result json.RawMessage, err error) jsonrpc.Message {
	if err != nil {
		return jsonrpc.Message{ID: id, Error: asError(err)}
	}
	return jsonrpc.Message{ID: id, Result: result}
}

// asError returns the error for the client.
func asError(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "the request was cancelled")
}
