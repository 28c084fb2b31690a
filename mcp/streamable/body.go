package streamable

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	smallBody = 32 << 10         // what a request may hold without asking
	bodyPace  = 16 << 10         // bytes a second that a client must send at least
	bodyBegin = 10 * time.Second // what it has for any body
)

var (
	errTooLarge = errors.New("streamable: the body is too large")
	errBusy     = errors.New("streamable: too many large bodies at once")
)

var beginnings = sync.Pool{New: func() any { return new([smallBody]byte) }}

// read reads the body, in memory of its own: handlers may keep parts of it. It
// returns how much of the common memory it holds.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) (body []byte, held int64, err error) {
	size, limit := r.ContentLength, int64(h.o.Limits.Bytes)
	if size < 0 || size > limit {
		size = limit
	}
	if size > smallBody {
		// A deadline from before is too short for it. It stays for small ones: at the
		// end of the body net/http takes it away.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	late := h.onBody(w, bodyBegin+time.Duration(size)*time.Second/bodyPace)
	body, held, err = h.readAll(r)
	if h.stopAlarm(late) {
		err = os.ErrDeadlineExceeded
	}
	return body, held, err
}

func (h *Handler) readAll(r *http.Request) (body []byte, held int64, err error) {
	limit, size := int64(h.o.Limits.Bytes), r.ContentLength
	if size > limit {
		return nil, 0, errTooLarge
	}
	if size < 0 || size > smallBody {
		// What is left behind when it turns out to be more is for the next one.
		first := beginnings.Get().(*[smallBody]byte)
		defer beginnings.Put(first)
		body = first[:0]
	} else {
		body = make([]byte, 0, size+1) // room to see the end
	}
	shared := cap(body) == smallBody
	for {
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return nil, held, errTooLarge
		case err == io.EOF:
			if shared {
				body = bytes.Clone(body)
			}
			return body, held, nil
		case err != nil:
			return nil, held, err
		}
		if len(body) < cap(body) {
			continue
		}
		more := min(int64(4*cap(body)), limit+1)
		if r.ContentLength > 0 {
			more = min(more, r.ContentLength+1)
		}
		if h.bytes.Add(more-held) > h.o.MaxBytes {
			h.bytes.Add(held - more)
			return nil, held, errBusy
		}
		held = more
		body, shared = append(make([]byte, 0, more), body...), false
	}
}

func (h *Handler) unreadable(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close")
	switch {
	case errors.Is(err, errTooLarge):
		h.refuse(w, http.StatusRequestEntityTooLarge, "the body is larger than "+strconv.Itoa(h.o.Limits.Bytes)+" bytes")
	case errors.Is(err, errBusy):
		h.busy(w, http.StatusServiceUnavailable)
	default:
		h.refuse(w, http.StatusBadRequest, "the body could not be read")
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // nor will the rest be
	}
}
