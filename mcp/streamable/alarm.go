package streamable

import (
	"net/http"
	"sync"
	"time"
)

// An alarm fires when a client takes too long to send its body, or when an
// exchange has sent nothing for a while. Most never fire. Therefore alarms are
// reused, and a stopped alarm leaves its timer running: when that fires, it
// checks what is due now. Setting a timer or a connection deadline for each
// request would cost more than everything else.
type alarm struct {
	timer *time.Timer

	mu      sync.Mutex
	firesAt time.Time // when the timer fires; zero if it is not running
	due     time.Time
	body    http.ResponseWriter // response whose request body is being read
	x       *exchange           // or exchange that has sent nothing
}

// newAlarm returns an alarm that is not set.
func (h *Handler) newAlarm() *alarm {
	if a, ok := h.alarms.Get().(*alarm); ok {
		return a
	}
	a := new(alarm)
	a.timer = time.AfterFunc(time.Hour, a.fire)
	a.timer.Stop()
	return a
}

// bodyAlarm returns an alarm that ends the reading of a body.
func (h *Handler) bodyAlarm(w http.ResponseWriter, after time.Duration) *alarm {
	a := h.newAlarm()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.body = w
	a.setLocked(after)
	return a
}

// quietAlarm returns an alarm that calls x.onQuiet.
func (h *Handler) quietAlarm(x *exchange) *alarm {
	a := h.newAlarm()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.x = x
	a.setLocked(commentInterval)
	return a
}

func (a *alarm) setLocked(after time.Duration) {
	a.due = time.Now().Add(after)
	if a.firesAt.IsZero() || a.due.Before(a.firesAt) {
		a.firesAt = a.due
		a.timer.Reset(after)
	}
}

// stopAlarm stops an alarm. It reports whether a body alarm has fired.
func (h *Handler) stopAlarm(a *alarm) bool {
	a.mu.Lock()
	fired := a.body == nil && a.x == nil
	a.body, a.x = nil, nil
	a.mu.Unlock()
	h.alarms.Put(a)
	return fired
}

// fire is called when the timer fires.
func (a *alarm) fire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.firesAt = time.Time{}
	left := time.Until(a.due)
	switch {
	case a.body == nil && a.x == nil: // stopped
	case left > 0:
		a.setLocked(left)
	case a.body != nil:
		_ = http.NewResponseController(a.body).SetReadDeadline(time.Unix(1, 0)) // not every writer supports it
		a.body = nil
	default:
		a.x.onQuiet()
		a.setLocked(commentInterval)
	}
}
