package main

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"
)

// Only the end of our own reader is no error.
func TestUnread(t *testing.T) {
	a := newApp()
	pipe := os.NewSyscallError("write", syscall.EPIPE)
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("print: %w", &fs.PathError{Op: "write", Path: a.stdout.Name(), Err: syscall.EPIPE}), true},
		{&fs.PathError{Op: "write", Path: a.stdout.Name(), Err: syscall.ENOSPC}, false},
		{&fs.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, false},
		{&net.OpError{Op: "write", Net: "tcp", Err: pipe}, false},
	} {
		if got := a.unread(tt.err); got != tt.want {
			t.Errorf("unread(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}
