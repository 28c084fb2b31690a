package streamable

import (
	"net/http"
	"sync"
	"time"
)

// An alarm goes off when a client takes too long to send its body, or when an
// exchange has sent nothing for a while. Few ever do. So alarms are used again, and
// one that is stopped lets its timer run: when that ends, it looks what is due now.
// Setting a timer, or a deadline of the connection, costs more than the rest of it.
type alarm struct {
	timer *time.Timer

	mu   sync.Mutex
	ends time.Time // when the timer ends; zero if it does not run
	due  time.Time
	body http.ResponseWriter // whose request is being read
	x    *exchange           // or that has sent nothing
}

// newAlarm is one that is not set.
func (h *Handler) newAlarm() *alarm {
	if a, ok := h.alarms.Get().(*alarm); ok {
		return a
	}
	a := new(alarm)
	a.timer = time.AfterFunc(time.Hour, a.look)
	a.timer.Stop()
	return a
}

// onBody sets an alarm that ends the reading of a body.
func (h *Handler) onBody(w http.ResponseWriter, after time.Duration) *alarm {
	a := h.newAlarm()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.body = w
	a.setLocked(after)
	return a
}

// onQuiet sets an alarm that tells x that it has sent nothing.
func (h *Handler) onQuiet(x *exchange) *alarm {
	a := h.newAlarm()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.x = x
	a.setLocked(quietFor)
	return a
}

func (a *alarm) setLocked(after time.Duration) {
	a.due = time.Now().Add(after)
	if a.ends.IsZero() || a.due.Before(a.ends) {
		a.ends = a.due
		a.timer.Reset(after)
	}
}

// stopAlarm ends an alarm's use: it does not go off afterwards. It reports whether
// one for a body has gone off before.
func (h *Handler) stopAlarm(a *alarm) bool {
	a.mu.Lock()
	over := a.body == nil && a.x == nil
	a.body, a.x = nil, nil
	a.mu.Unlock()
	h.alarms.Put(a)
	return over
}

// look runs when the timer has ended.
func (a *alarm) look() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ends = time.Time{}
	left := time.Until(a.due)
	switch {
	case a.body == nil && a.x == nil: // stopped
	case left > 0:
		a.setLocked(left)
	case a.body != nil:
		_ = http.NewResponseController(a.body).SetReadDeadline(time.Unix(1, 0)) // not every writer has one
		a.body = nil
	default:
		a.x.quiet()
		a.setLocked(quietFor)
	}
}
