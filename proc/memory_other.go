//go:build !linux

package proc

import "os/exec"

// LimitMemory does nothing here: the limit would not hold.
func LimitMemory(*exec.Cmd, int64) {}
