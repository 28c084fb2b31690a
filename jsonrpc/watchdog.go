package jsonrpc

import "time"

// A watchdog detects work that takes too long, at almost no cost for work that
// does not. It does not set a timer for each piece of work. One timer ticks
// while there is work, and each tick checks whether the work of the previous
// tick is still going on. So work is detected after one to two intervals.
//
// The fields are guarded by the owner's mutex.
type watchdog struct {
	interval    time.Duration
	timer       *time.Timer
	ticking     bool   // the timer is set
	busy        bool   // work is going on
	count       uint64 // number of pieces of work so far
	countAtTick uint64 // count when the timer was last set
}

// newWatchdog returns a watchdog that calls tick in its own goroutine; tick
// then calls lateLocked.
func newWatchdog(interval time.Duration, tick func()) *watchdog {
	// The long delay makes sure that Stop prevents the first tick, which would
	// run before the owner has the watchdog.
	w := &watchdog{interval: interval, timer: time.AfterFunc(time.Hour, tick)}
	w.timer.Stop()
	return w
}

func (w *watchdog) beginLocked() {
	w.count++
	w.busy = true
	if !w.ticking {
		w.resetLocked()
	}
}

func (w *watchdog) endLocked() { w.busy = false }

func (w *watchdog) resetLocked() {
	w.ticking = true
	w.countAtTick = w.count
	w.timer.Reset(w.interval)
}

// lateLocked reports whether the work of the previous tick is still going on.
// If there was new work meanwhile, it sets the timer again.
func (w *watchdog) lateLocked() bool {
	w.ticking = false
	if w.count != w.countAtTick {
		w.resetLocked()
		return false
	}
	return w.busy
}

func (w *watchdog) stop() { w.timer.Stop() }
