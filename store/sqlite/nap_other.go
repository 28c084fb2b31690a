//go:build !linux

package sqlite

import "time"

func nap(d time.Duration) { time.Sleep(d) }
