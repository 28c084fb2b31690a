//go:build !linux

package sqlite

import "time"

// sleep sleeps for d.
func sleep(d time.Duration) { time.Sleep(d) }
