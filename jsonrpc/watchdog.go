package jsonrpc

import "time"

// A watchdog notices a piece of work that takes too long, and costs the others
// next to nothing: its timer is not set anew for each, but keeps running while
// there is work, and looks whether it is still the same. So work is noticed when
// it has taken between one interval and two.
//
// Its fields are guarded by the owner's mutex.
type watchdog struct {
	every time.Duration
	timer *time.Timer
	on    bool   // the timer runs
	busy  bool   // a piece of work is going on
	turn  uint64 // counts the pieces
	seen  uint64 // turn, when the timer was set last
}

// newWatchdog makes a watchdog that calls look, in a goroutine of its own, which
// then asks lateLocked.
func newWatchdog(every time.Duration, look func()) *watchdog {
	// Far off, or it might run before it is stopped, and before the owner has us.
	w := &watchdog{every: every, timer: time.AfterFunc(time.Hour, look)}
	w.timer.Stop()
	return w
}

func (w *watchdog) beginLocked() {
	w.turn++
	w.busy = true
	if !w.on {
		w.setLocked()
	}
}

func (w *watchdog) endLocked() { w.busy = false }

func (w *watchdog) setLocked() {
	w.on = true
	w.seen = w.turn
	w.timer.Reset(w.every)
}

// lateLocked reports whether the work of an interval ago is still going on. If
// not, the watchdog goes on watching, unless nothing has happened since.
func (w *watchdog) lateLocked() bool {
	w.on = false
	if w.turn != w.seen {
		w.setLocked()
		return false
	}
	return w.busy
}

func (w *watchdog) stop() { w.timer.Stop() }
