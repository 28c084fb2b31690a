package streamable

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

const (
	smallBody   = 32 << 10         // size that does not count towards MaxBytes once it has arrived
	leastBody   = 4 << 10          // what any body counts for until then, with its connection
	minBodyRate = 16 << 10         // minimum rate at which a client must send, in bytes per second
	bodyGrace   = 10 * time.Second // additional time for any body
)

var errTooLarge = errors.New("streamable: body too large")

// A busyError is returned when there is no memory for a body.
type busyError struct {
	status int
	text   string
}

func (e *busyError) Error() string { return "streamable: " + e.text }

// readBody reads the body into a buffer, which is free only if nobody has kept a
// part of it. held is how much of MaxBytes it uses; zero if there is an error.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, owner string) (body *bodyBuffer, held int64, err error) {
	size, limit := r.ContentLength, int64(h.o.Limits.Bytes)
	if size < 0 || size > limit {
		size = limit
	}
	if size > smallBody {
		// An earlier deadline is too short for a large body. For small ones it
		// may stay: net/http removes it at the end of the body.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	alarm := h.bodyAlarm(w, bodyGrace+time.Duration(size)*time.Second/minBodyRate)
	body, held, err = h.readAll(r, owner)
	if h.stopAlarm(alarm) {
		err = os.ErrDeadlineExceeded
	}
	if release := held; err != nil || len(body.text) <= smallBody {
		held = 0
		h.bodies.release(owner, release)
	}
	return body, held, err
}

func (h *Handler) readAll(r *http.Request, owner string) (body *bodyBuffer, held int64, err error) {
	limit, size := int64(h.o.Limits.Bytes), r.ContentLength
	if size > limit {
		return nil, 0, errTooLarge
	}
	hold := func(n int64) error {
		if status := h.bodies.acquire(owner, n-held); status != 0 {
			return &busyError{status, h.bodies.refusal(status)}
		}
		held = n
		return nil
	}
	first := int64(smallBody)
	if size >= 0 && size <= smallBody {
		first = max(size, leastBody)
	}
	if err := hold(first); err != nil {
		return nil, 0, err
	}
	if size < 0 || size > smallBody {
		body = newBodyBuffer(smallBody)
	} else {
		body = newBodyBuffer(int(size) + 1) // one byte more, to see EOF
	}
	for {
		b := body.text
		n, err := r.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		body.text = b
		switch {
		case int64(len(b)) > limit:
			body.free()
			return nil, held, errTooLarge
		case err == io.EOF:
			if size < 0 && len(b) < cap(b)/2 {
				body = body.grown(len(b)) // into less memory
			}
			return body, held, nil
		case err != nil:
			body.free()
			return nil, held, err
		}
		if len(b) < cap(b) {
			continue
		}
		more := min(int64(4*cap(b)), limit+1)
		if r.ContentLength > 0 {
			more = min(more, r.ContentLength+1)
		}
		if err := hold(more); err != nil {
			body.free()
			return nil, held, err
		}
		body = body.grown(int(more))
	}
}

// A body of up to maxPeek bytes of a refused request is read for its id, if it
// arrives within peekTime. Net/http would drain it anyway.
const (
	maxPeek  = 4 << 10
	peekTime = time.Second
)

// peekID returns the id of the message in the body of a refused request, or the
// zero ID if it is too large or not a message.
func (h *Handler) peekID(w http.ResponseWriter, r *http.Request) jsonrpc.ID {
	if r.Method != http.MethodPost || r.ContentLength <= 0 || r.ContentLength > maxPeek {
		return jsonrpc.ID{}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(peekTime)) // not every writer supports it
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return jsonrpc.ID{}
	}
	packet, err := jsonrpc.Decode(body, h.o.Limits)
	if bad, ok := errors.AsType[*jsonrpc.Malformed](err); ok {
		return bad.ID
	}
	if packet.Message == nil || !packet.Message.IsRequest() {
		return jsonrpc.ID{}
	}
	return packet.Message.ID
}

func (h *Handler) writeBodyError(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close")
	busy, isBusy := errors.AsType[*busyError](err)
	switch {
	case errors.Is(err, errTooLarge):
		h.refuse(w, http.StatusRequestEntityTooLarge, "body is larger than "+strconv.Itoa(h.o.Limits.Bytes)+" bytes")
	case isBusy:
		h.busy(w, busy.status, jsonrpc.ID{}, busy.text)
	case errors.Is(err, os.ErrDeadlineExceeded):
		h.refuse(w, http.StatusRequestTimeout, "the body did not arrive in time: send it at once, and at least 16 KiB each second")
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // do not drain the rest
	default:
		h.refuse(w, http.StatusBadRequest, "cannot read the body")
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // do not drain the rest
	}
}
