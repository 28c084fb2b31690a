//go:build !linux

package proc

// Suspended cannot tell here.
func Suspended(int) bool { return false }
