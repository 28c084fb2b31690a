//go:build !linux

package postgres

import "syscall"

// control sets no socket options on this platform.
func control(string, string, syscall.RawConn) error { return nil }
