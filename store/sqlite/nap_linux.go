package sqlite

import (
	"syscall"
	"time"
)

// nap sleeps for less than a millisecond, which time.Sleep cannot.
func nap(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil)
}
