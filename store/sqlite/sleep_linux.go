package sqlite

import (
	"syscall"
	"time"
)

// sleep sleeps for d, which may be less than a millisecond; time.Sleep is not that exact.
func sleep(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil)
}
